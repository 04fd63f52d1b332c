"""Which kernels there are, and which are compiled: in this process, or in the cache that numba keeps on disk."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from rerank.errors.compiling import uncounted
from rerank.search.compiled import MARK

PARTS = {
    "row lines": 13, "row boxes": 9, "linear boxes": 8, "pair boxes": 7, "supports": 7, "levels": 6, "pair lines": 3,
    "smooth": 3,
}  # fmt: skip
"""What is compiled apart, the dearest first, and the seconds that it takes on one core of a usual machine."""


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
        module = sys.modules[own.py_func.__module__]
        # numba compares with a kernel's own file; a kernel also holds the code of those it calls, from other files.
        changed = max(_changed(part) for part in _called(module))
        for index in cache_of(own).glob(f"{module.__name__.rpartition('.')[2]}.*.{version}*.nbi"):
            with suppress(OSError):
                if index.stat().st_mtime >= changed:
                    found.append(index)
                else:
                    index.unlink()
    return found


def _kernels(module: ModuleType) -> list[Any]:
    """The kernels that a module defines or calls, and the functions that are compiled into them."""
    return [f for f in vars(module).values() if hasattr(f, "py_func") or hasattr(f, MARK)]


def _called(module: ModuleType) -> set[ModuleType]:
    """The module and those whose functions its own kernels call."""
    homes = {getattr(f, "py_func", f).__module__ for f in _kernels(module)} - {module.__name__}
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
