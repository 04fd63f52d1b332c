"""The clock of time limits, which stands still while kernels are compiled.

Compiling happens once for a version on a machine, and takes seconds.  Which kernels a fit needs is known when it calls
them, so numba itself says when it compiles one (:func:`watch`).  All threads share the clock, since numba compiles in
one thread at a time while others wait.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rerank.errors import telling

ROOM = "rerank."
"""How the names of modules begin whose kernels count; a user's own are part of the fit."""

logger: logging.Logger = logging.getLogger(__name__)
_lock = threading.Lock()
_watched = False
_announced: set[str] = set()


class _State(NamedTuple):
    """Seconds spent, how many blocks and kernels are being compiled, and since when (infinite for none)."""

    spent: float = 0.0
    depth: int = 0
    began: float = math.inf


_state = _State()
# It is replaced as a whole and read without the lock, since a process forked while a thread holds that would wait for
# ever.


def compiling_time() -> float:
    """Seconds that this process has spent on compiling kernels so far."""
    now, state = time.perf_counter(), _state
    return state.spent + max(0.0, now - state.began)


def working_time() -> float:
    """A clock in seconds, from an arbitrary start, that stands still while kernels are compiled."""
    now, state = time.perf_counter(), _state
    return min(now, state.began) - state.spent


@contextmanager
def uncounted() -> Iterator[None]:
    """The time of the block is compiling."""
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _state
    with _lock:
        began = time.perf_counter() if _state.depth == 0 else _state.began
        _state = _State(_state.spent, _state.depth + 1, began)


def _end() -> None:
    global _state
    with _lock:
        if _state.depth > 1:
            _state = _State(_state.spent, _state.depth - 1, _state.began)
        elif _state.depth == 1:
            _state = _State(_state.spent + time.perf_counter() - _state.began)


def say(line: str, verbose: bool = False) -> None:
    """Write a line to the log, and to standard error where that is a terminal or ``verbose`` asks for it."""
    logger.info(line)
    if verbose or telling.stderr().isatty():
        telling.say(line)


def watch() -> None:
    """Notice from now on when numba compiles a kernel of this package; does nothing before numba is imported."""
    global _watched
    if _watched or "numba" not in sys.modules:
        return
    _watched = True
    from numba.core import event

    class Listener(event.Listener):
        """Stops the clock from the first kernel to the last; a kernel compiles those that it calls."""

        def on_start(self, event: Any) -> None:
            if (name := _module(event)).startswith(ROOM):
                _begin()
                _announce(name, event.data["dispatcher"])

        def on_end(self, event: Any) -> None:
            if _module(event).startswith(ROOM):
                _end()

    event.register("numba:compile", Listener())


def _module(event: Any) -> str:
    return str(event.data["dispatcher"].py_func.__module__)


def _announce(name: str, kernel: Any) -> None:
    """Say once for each package of kernels that it is compiled, unless that is part of something announced."""
    package = name.rpartition(".")[0]
    if _state.depth == 1 and package not in _announced:
        _announced.add(package)
        say(f"Compiling {package}, once for this machine: some seconds; kept in {kernel.stats.cache_path}.")
