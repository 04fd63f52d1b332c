"""Which kernels there are, and which are compiled: in this process, or in the cache that numba keeps on disk."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any


def is_compiled(rows: bool = False) -> bool:
    """Whether every kernel, or those for ``rows``, are compiled, here or in the cache on disk; takes milliseconds."""
    from numba import config

    kernels = row_entries() if rows else entries()
    if config.DISABLE_JIT or all(kernel.signatures for kernel in kernels):
        return True
    cached = {(index.parent, index.name.partition("-")[0]) for index in _indices()}
    return all((cache_of(kernel), name_of(kernel)) in cached for kernel in kernels)


def entries() -> list[Any]:
    """The kernels that are called from Python; compiling them compiles all others."""
    from rerank.search.boxes.kernel import explore
    from rerank.search.circuits.removal import removal
    from rerank.search.lines.kernel import ends, sweep
    from rerank.search.supports.groups import bound_by_groups
    from rerank.search.supports.screening_kernel import screen

    return [explore, removal, ends, sweep, screen, bound_by_groups, *row_entries()]


def row_entries() -> list[Any]:
    """Those that a search by rows alone calls, but for a few that it seldom needs."""
    from rerank.search.rows.kernel import explore
    from rerank.search.rows.smooth import smoothed
    from rerank.search.rows.sweep import best_of_line, value_of

    return [explore, best_of_line, value_of, smoothed]


def _indices() -> list[Path]:
    """Index files of the kernels' cache for this Python; those that no longer fit the sources are removed."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = []
    for module in set[ModuleType]().union(*(_called(sys.modules[f.py_func.__module__]) for f in entries())):
        # numba compares with a kernel's own file; a kernel also holds the code of those it calls, from other files.
        changed = max(_changed(part) for part in _called(module))
        own = next(f for f in _kernels(module) if f.py_func.__module__ == module.__name__)
        for index in cache_of(own).glob(f"{module.__name__.rpartition('.')[2]}.*.{version}*.nbi"):
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


def cache_of(kernel: Any) -> Path:
    """The folder in which numba keeps a kernel: each folder of sources has its own."""
    return Path(kernel.stats.cache_path)


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
