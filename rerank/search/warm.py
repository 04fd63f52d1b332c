"""Compiling the kernels: announced when it has to be done, and on request before a clock runs.

Compiled kernels are cached beside the sources (or where ``NUMBA_CACHE_DIR`` says), so that compiling happens once
for a version of the package, of numba and of Python on a machine.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rerank.problem import Problem

_asked = False
logger = logging.getLogger(__name__)
LINE = "Compiling the search, once for this machine: some 15 seconds; kept in {}."


def is_compiled() -> bool:
    """Whether the largest kernel is compiled, in this process or in the cache on disk; takes a few milliseconds."""
    from rerank.search.boxes.kernel import explore

    if explore.signatures:
        return True
    return any(index.name.startswith("kernel.explore-") for index in _indices())


def _indices() -> list[Path]:
    """Index files of the kernels' cache for this Python; those that no longer fit the sources are removed."""
    from rerank.search.boxes import kernel
    from rerank.search.lines import kernel as line_kernel
    from rerank.search.supports import screening_kernel as sieve_kernel

    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = []
    for module in _called(kernel) | _called(line_kernel) | _called(sieve_kernel):
        # numba looks at a kernel's own file; a kernel also holds the code of those it calls, from other files.
        changed = max(_changed(part) for part in _called(module))
        for index in _cache_of(module).glob(f"{module.__name__.rpartition('.')[2]}.*.{version}*.nbi"):
            with suppress(OSError):
                if index.stat().st_mtime >= changed:
                    found.append(index)
                else:
                    index.unlink()
    return found


def _cache_of(module: ModuleType) -> Path:
    """The folder in which numba keeps the kernels of a module."""
    return Path(
        next(
            f.stats.cache_path for f in vars(module).values() if hasattr(f, "py_func")
            and f.py_func.__module__ == module.__name__
        )
    )  # fmt: skip


def _called(module: ModuleType) -> set[ModuleType]:
    """The module and those whose kernels its own kernels call."""
    homes = {f.py_func.__module__ for f in vars(module).values() if hasattr(f, "py_func")} - {module.__name__}
    return {module}.union(*(_called(sys.modules[home]) for home in homes))


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
    from rerank.search.boxes.kernel import explore

    line = LINE.format(explore.stats.cache_path)
    logger.info(line)
    if verbose or (sys.stderr is not None and sys.stderr.isatty()):
        print(line, file=sys.stderr, flush=True)
    return True


def compile_kernels(verbose: bool = False) -> float:
    """Compile or load every kernel of the search, and return the seconds it took.

    Parameters
    ----------
    verbose : bool
        Announce compiling on standard error even if that is no terminal.
    """
    from rerank.search.solver import solve

    global _asked
    _asked = True  # the solves below must not come back here
    began = time.perf_counter()
    helper = _helper() if announce(verbose) else None
    try:
        compile_boxes()
    finally:
        if helper is not None:
            helper.wait()
    for (
        problem
    ) in _small():  # loads what the helper left in the cache, or compiles it where there was no helper
        for limit in (None, 1):
            solve(replace(problem, max_features=limit), time_limit=None, n_jobs=1)
    return time.perf_counter() - began


def compile_boxes() -> None:
    """The kernels of the box search: a good half of what there is to compile."""
    from rerank.search.boxes.search import BoxSearch
    from rerank.search.rounds import Rounds
    from rerank.search.tables import tables

    for problem in _small():
        search = BoxSearch(tables(problem), [np.arange(2)], np.zeros(1), np.zeros(2, bool), 0.0)
        Rounds(search, 1).run(np.inf)


def compile_lines_and_sieve() -> None:
    """The other half."""
    from rerank.search.solver import line_search
    from rerank.search.supports.screening import layout, settled
    from rerank.search.supports.supports import Supports
    from rerank.search.tables import tables

    global _asked
    _asked = True
    for problem in _small():
        line_search(problem, time_limit=1e-3)
        t = tables(problem)
        some = Supports(2, [1]).rows(0, 2)
        settled(layout(t, 1), some, np.full(2, t.ideal), np.zeros(2, bool))


def _small() -> list[Problem]:
    """One problem of each kind that the kernels tell apart, though they serve both with one signature."""
    from rerank.problem import problem_of
    from rerank.statistics import parse

    X, gains = [[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]], [1.0, 2.0, 0.0]
    return [problem_of(X, gains, parse(statistic)) for statistic in ("auc", "dcg")]


def _helper() -> subprocess.Popen[bytes] | None:
    """A second process that compiles its half into the cache meanwhile; None where that is not to be had."""
    if not sys.executable or (os.cpu_count() or 1) < 2:
        return None
    command = "from rerank.search.warm import compile_lines_and_sieve; compile_lines_and_sieve()"
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


def ready() -> float:
    """Compile the kernels unless that was done, on this machine or in this process, and return the seconds it took.

    Time limits do not count this: it happens once for a version on a machine.
    """
    global _asked
    if _asked:
        return 0.0
    _asked = True
    return 0.0 if is_compiled() else compile_kernels()
