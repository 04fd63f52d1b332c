"""Compiling the kernels: announced when it has to be done, and on request before a clock runs.

Numba keeps compiled kernels in a folder for each folder of sources: in ``__pycache__`` beside them, or below
``NUMBA_CACHE_DIR``.  So compiling happens once for a version of the package, of numba and of Python on a machine.
"""

import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rerank.errors.compiling import say, uncounted, watch
from rerank.errors.kernels import MARK, at_once
from rerank.errors.stops import current, unbroken
from rerank.problem import Problem
from rerank.search.boxes.antiparallel import NO_GROUPS
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches, screen_supports
from rerank.search.lines.ascent import Ascent
from rerank.search.lines.search import LineSearch
from rerank.search.rows.choice import lines_by_rows, number_of_pairs, rough, rows_alone, smooth_from
from rerank.search.rows.lines import lines_on
from rerank.search.sizes import OutOfTimeError
from rerank.search.supports.screening import Screens, layout
from rerank.search.supports.subsets import Supports
from rerank.search.tables import RowTables, Tables, is_linear, row_tables, tables
from rerank.search.top.demands import Demands

PARTS = {  # what is compiled apart, the dearest first, and the seconds that it takes on one core of a usual machine
    "row lines": 13,
    "supports": 7,
    "row boxes": 6,
    "linear boxes": 6,
    "levels": 6,
    "pair boxes": 5,
    "pair lines": 3,
    "smooth": 3,
}
RULED = " with rules"
PARTS_OF_RULES = {"row boxes" + RULED: 9, "linear boxes" + RULED: 8, "pair boxes" + RULED: 7}
"""What is compiled for rows on the weights and quotas alone, when the first problem has some."""
SECONDS = PARTS | PARTS_OF_RULES
KINDS = {"linear boxes": ["auc"], "pair boxes": ["dcg"]}  # other parts serve both with one signature
TYPES = "rerank.search.tables", "rerank.search.workspace", "rerank.problem.quotas"
"""Where what kernels are given is defined, and a constant of theirs."""

LINE = "Compiling the search, once for this machine: about {} seconds on two cores; kept in {}."
NOT_KEPT = "Compiling the search for this process: about {} seconds."
_asked: set[str] = set()


@uncounted()
def is_compiled(parts: Iterable[str] = tuple(PARTS)) -> bool:
    """Whether every kernel of the parts is compiled, here or in the cache on disk; imports numba."""
    from numba import config

    kernels = entries(parts)
    if config.DISABLE_JIT or all(kernel.signatures for kernel in kernels):
        return True
    cached = {(index.parent, index.name.partition("-")[0]) for index in _indices()}
    return all((cache_of(kernel), name_of(kernel)) in cached for kernel in kernels)


def entries(parts: Iterable[str] = tuple(PARTS)) -> list[Any]:
    """The kernels of the parts that Python calls, but for a few that compile in no time."""
    from rerank.search.boxes import kernel as boxes
    from rerank.search.lines import kernel as lines
    from rerank.search.rows import kernel as row_boxes
    from rerank.search.rows import sweep
    from rerank.search.rows.smooth import smoothed
    from rerank.search.supports.groups import lower_bounds
    from rerank.search.supports.screening_kernel import screen
    from rerank.search.top.removal import removal

    kernels = {
        "pair boxes": [boxes.explore_lists],
        "linear boxes": [boxes.explore_linear],
        "pair lines": [lines.ends, lines.sweep],
        "row boxes": [row_boxes.explore],
        "pair boxes" + RULED: [boxes.explore_lists_ruled],
        "linear boxes" + RULED: [boxes.explore_linear_ruled],
        "row boxes" + RULED: [row_boxes.explore_ruled],
        "row lines": [sweep.best_of_line, sweep.value_of],
        "smooth": [smoothed],
        "supports": [screen, lower_bounds],
        "levels": [removal],
    }
    return [kernel for part in parts for kernel in kernels[part]]


def _indices() -> list[Path]:
    """Index files of the kernels' cache for this Python; those that no longer fit the sources are removed."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = []
    for own in {f.py_func.__module__: f for f in entries()}.values():
        if (folder := cache_of(own)) is None:
            continue
        module = sys.modules[own.py_func.__module__]
        # numba compares with a kernel's own file; a kernel also holds the code of those it calls, from other files, and
        # the names of the types that it is given.
        changed = max(_changed(part) for part in _called(module).union(map(sys.modules.__getitem__, TYPES)))
        for index in folder.glob(f"{module.__name__.rpartition('.')[2]}.*.{version}*.nbi"):
            with suppress(OSError):
                if index.stat().st_mtime >= changed:
                    found.append(index)
                else:
                    index.unlink()
    return found


def _called(module: ModuleType) -> set[ModuleType]:
    """The module and those whose functions its own kernels call."""
    kernels = [f for f in vars(module).values() if hasattr(f, "py_func") or hasattr(f, MARK)]
    homes = {getattr(f, "py_func", f).__module__ for f in kernels} - {module.__name__}
    return {module}.union(*(_called(sys.modules[home]) for home in homes))


def cache_of(kernel: Any) -> Path | None:
    """The folder in which numba keeps a kernel, if it can: each folder of sources has its own."""
    return None if kernel.stats.cache_path is None else Path(kernel.stats.cache_path)


def _kept() -> str | None:
    """The folder below which all kernels are kept, None if some are not."""
    folders = [cache_of(kernel) for kernel in entries()]
    return None if None in folders else os.path.commonpath([str(folder) for folder in folders])


def name_of(kernel: Any) -> str:
    """How the names of a kernel's files in the cache begin."""
    return f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__qualname__}"


def _changed(module: ModuleType) -> float:
    """When a source was changed; 0 for the future, since a wrong clock must not empty the cache each time."""
    try:
        when = Path(str(module.__file__)).stat().st_mtime
    except OSError:
        return 0.0
    return when if when <= time.time() else 0.0


def announce(verbose: bool = False, parts: Iterable[str] = tuple(PARTS)) -> bool:
    """Say in one line that kernels are about to be compiled; whether they are. The line goes to the log, and to
    standard error where that is a terminal or ``verbose`` asks for it.
    """
    if is_compiled(parts := list(parts)):
        return False
    each, where = [sum(SECONDS[part] for part in share) for share in _shares(parts)], _kept()
    seconds = sum(each) if where is None else max(each)  # nothing comes from another process
    say((LINE if where else NOT_KEPT).format(5 * math.ceil(seconds / 5), where), verbose)
    return True


def compile_kernels(verbose: bool = False, rules: bool = False) -> float:
    """Compile or load every kernel of the search, and return the seconds it took.

    Parameters
    ----------
    verbose : bool
        Announce compiling on standard error even if that is no terminal.
    rules : bool
        Also those for constraints and quotas.
    """
    return unbroken(lambda: _compiled(verbose, SECONDS if rules else PARTS))


@uncounted()
def _compiled(verbose: bool, parts: Iterable[str]) -> float:
    began = time.perf_counter()
    here, there = _shares(parts)
    helper = _helper(there) if announce(verbose, [*here, *there]) and there and _kept() else None
    try:
        _compile(here)
        while helper is not None and helper.poll() is None:
            _unless_asked()
            time.sleep(0.01)
    finally:
        if helper is not None:
            helper.kill()  # it has ended, but for an error here
            helper.wait()
    _unless_asked()
    _compile(there)  # from the helper's cache, or here if there was no helper
    _asked.update(here, there)
    return time.perf_counter() - began


def _unless_asked() -> None:
    """Raise KeyboardInterrupt after Ctrl-C."""
    if current().asked.is_set():
        raise KeyboardInterrupt


def _shares(parts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The parts for two processes, which take about as long."""
    shares: tuple[list[str], list[str]] = [], []
    for part in sorted(parts, key=lambda part: -SECONDS[part]):
        min(shares, key=lambda share: sum(SECONDS[part] for part in share)).append(part)
    return shares


def _compile(parts: Iterable[str]) -> None:
    from rerank.problem import WeightRow, problem_of
    from rerank.statistics import parse

    X, gains, often = [[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]], [1.0, 2.0, 0.0], gc.get_threshold()
    gc.set_threshold(100_000)  # numba makes so many objects that looking for unused ones took a twentieth of the time
    try:
        for part in parts:
            kind = part.removesuffix(RULED)
            rows = [WeightRow((Fraction(1), Fraction(1)), Fraction(0), None)] if kind != part else []
            for statistic in KINDS.get(kind, ["auc", "dcg"]):
                problem = problem_of(X, gains, parse(statistic), rows=rows)
                with at_once():
                    _COMPILE[kind](problem, Domain.of(problem))
    finally:
        gc.set_threshold(*often)


def _supports(problem: Problem, domain: Domain) -> None:
    from rerank.search.supports.groups import groups_of

    for groups, pairs in ((groups_of(problem), None), (None, layout(tables(problem), 1))):
        screens = Screens(groups, pairs, 1.0, 0.0, False)
        screen_supports(screens, Supports(2, [1]).rows(0, 2), np.full(2, -1.0), domain.signed)


def _rows(problem: Problem) -> RowTables:
    return row_tables(problem, np.ones(2))


_COMPILE: dict[str, Callable[[Problem, Domain], object]] = {
    "linear boxes": lambda problem, domain: _explored(tables(problem), domain),
    "pair boxes": lambda problem, domain: _explored(tables(problem), domain),
    "pair lines": lambda problem, domain: LineSearch(tables(problem), domain).climb(np.ones(2), rounds=1),
    "row boxes": lambda problem, domain: _explored(_rows(problem), domain),
    "row lines": lambda problem, domain: lines_on(_rows(problem), domain).climb(np.ones(2), rounds=1),
    "smooth": lambda problem, domain: Ascent(_rows(problem), domain).reached(np.ones(2), 1.0),
    "supports": _supports,
    "levels": lambda problem, domain: Demands(problem, problem.units[0], domain, tables(problem).tolerance).decided(
        [(1, 0)], np.inf
    ),
}


def _explored(t: Tables | RowTables, domain: Domain) -> None:
    """Explore a few boxes of two features."""
    centres, halves = domain.roots()
    batch = NodeBatch.of(0, centres, halves, np.full(len(centres), t.ideal + t.slack), np.arange(len(centres)))
    support = Support(np.arange(2), None, NO_GROUPS, walls=domain.walls)
    explore_batches(t, [support], [batch], [0.0], [-np.inf], t.slack, 1e4, 1e4, False, 1)


def _helper(parts: list[str]) -> subprocess.Popen[bytes] | None:
    """A second process that compiles its parts into the cache meanwhile; None if it cannot be started."""
    if not sys.executable or (os.cpu_count() or 1) < 2:
        return None
    command = f"from {__name__} import _compile; _compile({parts!r})"
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


def ready(problem: Problem, points: bool = False, proof: bool = False) -> None:
    """Load or compile those kernels of a problem that do not begin as Python, unless that was done in this process.

    Time limits do not count it, and nothing is done where the time is over.  What is not foreseen here is loaded or
    compiled where it is called.
    """
    if current().now:
        return
    rows = sum(unit.positive.size + unit.negative.size for unit in problem.units)
    entries_seen = problem.n_features * (rows if rows_alone(problem, points, proof) else number_of_pairs(problem))
    parts = {part for part in _needed(problem, points, proof) - _asked if not _begins(part, entries_seen)}
    if not parts:
        return
    with suppress(OutOfTimeError):  # the time was over while it was looked up what is compiled
        unbroken(lambda: is_compiled(parts) or _compiled(False, parts))
        watch()
        _asked.update(parts)


def _begins(part: str, entries_seen: int) -> bool:
    """Whether kernels that look at so many entries of pairs or rows begin as Python."""
    return all(kernel.interpreted(entries_seen) for kernel in entries([part]))


def _needed(problem: Problem, points: bool, proof: bool) -> set[str]:
    """The parts that a search is going to call."""
    supports = problem.max_features is not None or problem.C > 0
    ruled = RULED if problem.rows or problem.quotas else ""
    smooth = {"smooth"} if problem.n_features >= smooth_from(len(problem.lists)) else set()
    if rows_alone(problem, points, proof):
        return {"row boxes" + ruled, "row lines"} | smooth
    by_rows = not problem.by_sum and rough(problem) if supports else lines_by_rows(problem)
    lines = {"row lines"} | smooth if by_rows else {"pair lines"}
    boxes = "linear boxes" if is_linear(problem) else "pair boxes"
    return {boxes + ruled} | lines | ({"supports"} if supports else set())
