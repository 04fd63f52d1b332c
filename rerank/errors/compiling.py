"""The clock of time limits, which stands still while kernels are compiled or loaded, and modules imported.

Compiling happens once for a version on a machine, and takes seconds; loading happens once in every process.  Which
kernels a fit needs is known when it calls them, so the clock is stopped where numba makes one ready (:func:`watch`).
All threads share the clock, since numba does that in one thread at a time while others wait.
"""

import functools
import importlib
import logging
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from rerank.errors import telling

ROOM = "rerank."  # how the names of modules begin whose kernels count; a user's own are part of the fit

logger: logging.Logger = logging.getLogger(__name__)
_lock = threading.Lock()
_watched = False
_announced: set[str] = set()


class _State(NamedTuple):
    """Seconds spent, how many blocks and kernels are being made ready, and since when (infinite for none)."""

    spent: float = 0.0
    depth: int = 0
    began: float = math.inf


_state = _State()
# It is replaced as a whole and read without the lock, since a process forked while a thread holds that would wait for
# ever.


def compiling_time() -> float:
    """Seconds that this process has spent so far on compiling and loading kernels, and on imports of a fit."""
    now, state = time.perf_counter(), _state
    return state.spent + max(0.0, now - state.began)


def working_time() -> float:
    """A clock in seconds, from an arbitrary start, that stands still while kernels are made ready."""
    now, state = time.perf_counter(), _state
    return min(now, state.began) - state.spent


@contextmanager
def uncounted() -> Iterator[None]:
    """The time of the block is compiling."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def waited(seconds: float) -> None:
    """Take seconds off the clock for which this process waited while others made kernels ready."""
    global _state
    with _lock:
        _state = _state._replace(spent=_state.spent + seconds)


def load_modules(*names: str) -> Any:
    """Import modules that a fit needs, while the clock stands still; returns the last of them."""
    with uncounted():
        return [importlib.import_module(name) for name in names][-1]


def _count(step: int) -> None:
    """A block begins (1) or ends (-1); the clock stands still from the first that begins to the last that ends."""
    global _state
    with _lock:
        now, depth = time.perf_counter(), _state.depth + step
        if depth > 0:
            _state = _State(_state.spent, depth, min(now, _state.began))
        elif _state.depth == 1:
            _state = _State(_state.spent + now - _state.began)


def say(line: str, verbose: bool = False) -> None:
    """Write a line to the log, and to standard error where that is a terminal or ``verbose`` asks for it."""
    logger.info(line)
    if verbose or telling.stderr().isatty():
        telling.say(line)


def watch() -> None:
    """Stop the clock from now on while numba compiles or loads a kernel of this package; needs numba imported."""
    global _watched
    if _watched or "numba" not in sys.modules:
        return
    _watched = True
    from numba.core import event
    from numba.core.dispatcher import Dispatcher

    class Listener(event.Listener):
        """Says once for each package that it is compiled, unless that is part of something announced."""

        def on_start(self, event: Any) -> None:
            kernel = event.data["dispatcher"]
            package = kernel.py_func.__module__.rpartition(".")[0]
            if _ours(kernel) and _state.depth == 1 and package not in _announced:
                _announced.add(package)
                where = kernel.stats.cache_path
                told = f"once for this machine: some seconds; kept in {where}" if where else "for this process"
                say(f"Compiling {package}, {told}.")

        def on_end(self, event: Any) -> None:
            pass

    ready = Dispatcher.compile

    # Numba tells of no loading, so its step that compiles or loads is wrapped; a kernel compiles those that it calls.
    @functools.wraps(ready)
    def counted(self: Any, sig: Any) -> Any:
        with uncounted() if _ours(self) else nullcontext():
            return ready(self, sig)

    setattr(Dispatcher, "compile", counted)  # noqa: B010 - no method of a class of ours
    event.register("numba:compile", Listener())


def _ours(kernel: Any) -> bool:
    return str(kernel.py_func.__module__).startswith(ROOM)
