"""Compiling the kernels: announced when it has to be done, and on request before a clock runs.

Numba keeps compiled kernels in a folder for each folder of sources: in ``__pycache__`` beside them, or below
``NUMBA_CACHE_DIR``.  So compiling happens once for a version of the package, of numba and of Python on a machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors.compiling import say, uncounted, watch
from rerank.errors.stops import current, protected
from rerank.search.boxes.antiparallel import NO_GROUPS
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.cached import cache_of, entries, is_compiled
from rerank.search.circuits.demands import Demands
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches, screen_supports
from rerank.search.lines.search import LineSearch
from rerank.search.rows.choice import rows_alone
from rerank.search.rows.lines import lines_on
from rerank.search.rows.tables import row_tables
from rerank.search.supports.screens import Screens, layout
from rerank.search.supports.subsets import Supports
from rerank.search.tables import tables

if TYPE_CHECKING:
    from rerank.problem import Problem
    from rerank.search.rows.tables import RowTables
    from rerank.search.tables import Tables

_asked = _rows_asked = False
LINE = "Compiling the search, once for this machine: about 40 seconds on two cores; kept in {}."


def announce(verbose: bool = False, rows: bool = False) -> bool:
    """Say in one line that kernels are about to be compiled, if they are.

    The line goes to the log, and to standard error where that is a terminal or ``verbose`` asks for it.

    Returns
    -------
    bool
        Whether there was something to announce.
    """
    if is_compiled(rows):
        return False
    say(LINE.format(os.path.commonpath([cache_of(kernel) for kernel in entries()])), verbose)
    return True


def compile_kernels(verbose: bool = False) -> float:
    """Compile or load every kernel of the search, and return the seconds it took.

    Parameters
    ----------
    verbose : bool
        Announce compiling on standard error even if that is no terminal.
    """
    seconds, interrupted = protected(lambda: _compiled(verbose))
    if interrupted:
        raise KeyboardInterrupt
    return seconds


@uncounted()
def _compiled(verbose: bool, rows: bool = False) -> float:
    global _asked
    began = time.perf_counter()
    here, there = (_compile_row_boxes, _compile_row_lines) if rows else (_compile_pairs, _compile_rows)
    helper = _helper(there) if announce(verbose, rows) else None
    try:
        here()
        while helper is not None and helper.poll() is None:
            _unless_asked()
            time.sleep(0.01)
    finally:
        if helper is not None:
            helper.kill()  # it has ended, but for an error here
            helper.wait()
    _unless_asked()
    there()  # from the helper's cache, or here if there was no helper
    _asked = _asked or not rows
    return time.perf_counter() - began


def _unless_asked() -> None:
    """Raise KeyboardInterrupt after Ctrl-C."""
    if current().asked.is_set():
        raise KeyboardInterrupt


def _compile_pairs() -> None:
    """The kernels for tables of pairs: about half of what there is to compile."""
    from rerank.search.supports.groups import groups_of

    for problem in _small():
        t, domain = tables(problem), Domain.of(problem)
        _explored(t)
        LineSearch(t, domain).climb(np.ones(2), rounds=1)
        for groups, pairs in ((groups_of(problem), None), (None, layout(t, 1))):
            screens = Screens(groups, pairs, 1.0, 0.0, False)
            screen_supports(screens, Supports(2, [1]).rows(0, 2), np.full(2, -1.0), domain.signed)
        Demands(problem, problem.units[0], domain, t.tolerance).decided([(1, 0)], np.inf)


def _explored(t: Tables | RowTables) -> None:
    """Explore a few boxes of two features."""
    centres, halves = Domain.free(2).roots()
    names, sides = np.arange(len(centres)), np.zeros((len(centres), 0), np.int32)
    batch = NodeBatch(0, centres, halves, np.full(len(centres), t.ideal + t.slack), names, sides)
    support = Support(np.arange(2), None, NO_GROUPS)
    explore_batches(t, [support], [batch], [0.0], [-np.inf], t.slack, 1e4, 1e4, False, 1)


def _compile_rows() -> None:
    """The kernels for rows."""
    _compile_row_boxes()
    _compile_row_lines()


def _compile_row_boxes() -> None:
    for problem in _small():
        _explored(row_tables(problem, np.ones(2)))


def _compile_row_lines() -> None:
    for problem in _small():
        lines = lines_on(row_tables(problem, np.ones(2)), Domain.of(problem))
        lines.climb(np.ones(2), rounds=1)
        lines.finish(replace(lines.begun(np.ones(2), rounds=1), widths=[1.0]))


def _small() -> list[Problem]:
    """One problem of each kind that the kernels tell apart, though they serve both with one signature."""
    from rerank.problem import problem_of
    from rerank.statistics import parse

    X, gains = [[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]], [1.0, 2.0, 0.0]
    return [problem_of(X, gains, parse(statistic)) for statistic in ("auc", "dcg")]


def _helper(part: Callable[[], None]) -> subprocess.Popen[bytes] | None:
    """A second process that compiles its part into the cache meanwhile; None if it cannot be started."""
    if not sys.executable or (os.cpu_count() or 1) < 2:
        return None
    name = part.__name__
    command = f"from {__name__} import {name}; {name}()"
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", command],
            env=os.environ | {"PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def ready(problem: Problem | None = None, points: bool = False, proof: bool = False) -> None:
    """Compile the kernels unless that was done, on this machine or in this process; time limits do not count it.

    A search by rows alone compiles its own kernels, half of all; what else it may call is compiled when it is called.
    """
    global _asked, _rows_asked
    rows = problem is not None and rows_alone(problem, points, proof)
    if _asked or (rows and _rows_asked):
        return
    _, interrupted = protected(lambda: is_compiled(rows) or _compiled(False, rows))
    if interrupted:
        raise KeyboardInterrupt
    watch()
    _asked, _rows_asked = not rows, True
