"""Compiling the kernels: announced when it has to be done, and on request before a clock runs.

Numba keeps compiled kernels in a folder for each folder of sources: in ``__pycache__`` beside them, or below
``NUMBA_CACHE_DIR``.  So compiling happens once for a version of the package, of numba and of Python on a machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors.compiling import say, uncounted
from rerank.errors.stops import current, protected
from rerank.search.boxes.antiparallel import NO_GROUPS
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.circuits.demands import Demands
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches, screen_supports
from rerank.search.lines.search import LineSearch
from rerank.search.rows.lines import lines_on
from rerank.search.rows.tables import row_tables
from rerank.search.supports.screens import Screens, layout
from rerank.search.supports.subsets import Supports
from rerank.search.tables import tables

if TYPE_CHECKING:
    from rerank.problem import Problem
    from rerank.search.rows.tables import RowTables
    from rerank.search.tables import Tables

_asked = False
LINE = "Compiling the search, once for this machine: some 15 seconds; kept in {}."


def is_compiled() -> bool:
    """Whether every kernel is compiled, in this process or in the cache on disk; takes a few milliseconds."""
    from numba import config

    entries = _entries()
    if config.DISABLE_JIT or all(kernel.signatures for kernel in entries):
        return True
    cached = {(index.parent, index.name.partition("-")[0]) for index in _indices()}
    return all((_cache_of(kernel), _name(kernel)) in cached for kernel in entries)


def _entries() -> list[Any]:
    """The kernels that are called from Python; compiling them compiles all others."""
    from rerank.search.boxes.kernel import explore
    from rerank.search.circuits.removal import removal
    from rerank.search.lines.kernel import ends, sweep
    from rerank.search.rows.kernel import explore as explore_rows
    from rerank.search.rows.smooth import smoothed
    from rerank.search.rows.sweep import best_of_line, value_of
    from rerank.search.supports.groups import bound_by_groups
    from rerank.search.supports.screening_kernel import screen

    return [explore, removal, ends, sweep, screen, explore_rows, best_of_line, value_of, smoothed, bound_by_groups]


def _indices() -> list[Path]:
    """Index files of the kernels' cache for this Python; those that no longer fit the sources are removed."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = []
    for module in set[ModuleType]().union(*(_called(sys.modules[f.py_func.__module__]) for f in _entries())):
        # numba compares with a kernel's own file; a kernel also holds the code of those it calls, from other files.
        changed = max(_changed(part) for part in _called(module))
        own = next(f for f in _kernels(module) if f.py_func.__module__ == module.__name__)
        for index in _cache_of(own).glob(f"{module.__name__.rpartition('.')[2]}.*.{version}*.nbi"):
            with suppress(OSError):
                if index.stat().st_mtime >= changed:
                    found.append(index)
                else:
                    index.unlink()
    return found


def _kernels(module: ModuleType) -> list[Any]:
    """The kernels that a module defines or calls."""
    return [f for f in vars(module).values() if hasattr(f, "py_func")]


def _called(module: ModuleType) -> set[ModuleType]:
    """The module and those whose kernels its own kernels call."""
    homes = {f.py_func.__module__ for f in _kernels(module)} - {module.__name__}
    return {module}.union(*(_called(sys.modules[home]) for home in homes))


def _cache_of(kernel: Any) -> Path:
    """The folder in which numba keeps a kernel: each folder of sources has its own."""
    return Path(kernel.stats.cache_path)


def _name(kernel: Any) -> str:
    """How the names of a kernel's files in the cache begin."""
    return f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__qualname__}"


def _changed(module: ModuleType) -> float:
    """When a source was changed; 0 for the future, since a wrong clock must not empty the cache each time."""
    try:
        when = Path(str(module.__file__)).stat().st_mtime
    except OSError:
        return 0.0
    return when if when <= time.time() else 0.0


def announce(verbose: bool = False) -> bool:
    """Say in one line that kernels are about to be compiled, if they are.

    The line goes to the log, and to standard error where that is a terminal or ``verbose`` asks for it.

    Returns
    -------
    bool
        Whether there was something to announce.
    """
    if is_compiled():
        return False
    say(LINE.format(os.path.commonpath([_cache_of(kernel) for kernel in _entries()])), verbose)
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
def _compiled(verbose: bool) -> float:
    global _asked
    began = time.perf_counter()
    helper = _helper() if announce(verbose) else None
    try:
        _compile_pairs()
        while helper is not None and helper.poll() is None:
            _unless_asked()
            time.sleep(0.01)
    finally:
        if helper is not None:
            helper.kill()  # it has ended, but for an error here
            helper.wait()
    _unless_asked()
    _compile_rows()  # from the helper's cache, or here if there was no helper
    _asked = True
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
    for problem in _small():
        t = row_tables(problem, np.ones(2))
        _explored(t)
        lines = lines_on(t, Domain.of(problem))
        lines.climb(np.ones(2), rounds=1)
        lines.finish(replace(lines.begun(np.ones(2), rounds=1), widths=[1.0]))


def _small() -> list[Problem]:
    """One problem of each kind that the kernels tell apart, though they serve both with one signature."""
    from rerank.problem import problem_of
    from rerank.statistics import parse

    X, gains = [[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]], [1.0, 2.0, 0.0]
    return [problem_of(X, gains, parse(statistic)) for statistic in ("auc", "dcg")]


def _helper() -> subprocess.Popen[bytes] | None:
    """A second process that compiles its part into the cache meanwhile; None if it cannot be started."""
    if not sys.executable or (os.cpu_count() or 1) < 2:
        return None
    name = _compile_rows.__name__
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


def ready() -> None:
    """Compile the kernels unless that was done, on this machine or in this process; time limits do not count it."""
    global _asked
    if _asked:
        return
    _, interrupted = protected(lambda: is_compiled() or _compiled(False))
    if interrupted:
        raise KeyboardInterrupt
    _asked = True
