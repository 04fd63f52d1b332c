"""When to stop: at a deadline, or because of Ctrl-C; and calls that Ctrl-C cannot break in the middle.

Python raises KeyboardInterrupt in the main thread, between any two of its steps.  Compiled code that makes Python
objects does not survive that.  So such code runs in a thread of its own (:func:`protected`) and asks between its steps
whether to stop (:func:`current`).
"""

from __future__ import annotations

import _thread
import atexit
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from rerank.errors import InputError
from rerank.errors.compiling import working_time

Answer = TypeVar("Answer")

POLL = 0.1
"""Seconds of a wait after which Ctrl-C is looked for; only Windows needs it."""

LINGER = 5.0
"""Seconds that the interpreter waits, when it ends, for calls that a second Ctrl-C left behind."""


class Stop:
    """Says whether it is time to stop.

    Parameters
    ----------
    seconds : float or None
        From now on, without the time in which kernels are compiled; None for no limit.
    outer : Stop, optional
        If that says stop, so does this one.

    Attributes
    ----------
    deadline : float
        On the clock of :func:`rerank.errors.compiling.working_time`, infinite without a limit.
    asked : threading.Event
        Set by Ctrl-C.
    ask : callable
        Makes a call in the thread that waits in :func:`protected`, or in this one if none waits.
    """

    def __init__(self, seconds: float | None = None, outer: Stop | None = None) -> None:
        own = math.inf if seconds is None else working_time() + seconds
        self.deadline: float = own if outer is None else min(own, outer.deadline)
        self.asked: threading.Event = threading.Event() if outer is None else outer.asked
        self.ask: Callable[[Callable[[], Any]], Any] = (lambda call: call()) if outer is None else outer.ask

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 after Ctrl-C."""
        return 0.0 if self.asked.is_set() else max(0.0, self.deadline - working_time())

    @property
    def now(self) -> bool:
        """Whether to stop now."""
        return self.asked.is_set() or working_time() > self.deadline


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)
_left_behind: list[_Call[Any]] = []


def current() -> Stop:
    """The stop that holds here; one that never says stop outside of :func:`limited` and :func:`protected`."""
    return _current.get() or Stop()


@contextmanager
def limited(seconds: float | None) -> Iterator[Stop]:
    """Inside the block, :func:`current` says stop after so many seconds, or when it would have done so anyway."""
    token = _current.set(Stop(seconds, _current.get()))
    try:
        yield current()
    finally:
        _current.reset(token)


def protected(call: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Run a call in a thread, where no KeyboardInterrupt is raised, while this thread waits for it.

    Ctrl-C sets ``current().asked`` for the call, which then has to end by itself.  A second Ctrl-C is raised at once.
    In another thread than the main one the call runs as it is, because no KeyboardInterrupt is raised there.

    Returns
    -------
    answer : object
        What the call returned; an exception of the call is raised here.
    interrupted : bool
        Whether Ctrl-C came while it ran.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came before the call began, or a second time.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(), current().asked.is_set()
    work = _Call(call)
    try:
        work.start()
        work.wait()
    except BaseException as error:
        work.stop.asked.set()
        if work.claim.acquire(blocking=False):  # the thread has not begun, and now does nothing
            raise
        work.wait()
        if not isinstance(error, KeyboardInterrupt):  # of a signal handler of the user's
            raise
    return work.answer(), work.stop.asked.is_set()


class _Call(Generic[Answer]):
    """A call in a thread of its own.

    Flags say how far it is, and the queues only wake the thread that waits: a KeyboardInterrupt may lose what a queue
    returned, and no flag.  Thread.start and Event.wait will not do, as an interrupt may leave their locks taken.
    """

    def __init__(self, call: Callable[[], Answer]) -> None:
        self.stop = Stop(None, _current.get())
        self.stop.asked = threading.Event()
        self.stop.ask = self._ask
        self.claim = threading.Lock()
        self._call = call
        self._context = copy_context()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._done = False
        self._left_behind = False
        self._found: list[Answer] = []
        self._error: BaseException | None = None
        self._request: Callable[[], None] | None = None

    def start(self) -> None:
        """Start the thread."""
        _thread.start_new_thread(self._work, ())

    def _work(self) -> None:
        if not self.claim.acquire(blocking=False):
            return
        sys.settrace(threading.gettrace())  # as threading.Thread does, for debuggers and coverage
        try:
            self._context.run(_current.set, self.stop)
            self._found.append(self._context.run(self._call))
        except BaseException as error:
            self._error = error
        self._done = True
        self._wake.put(None)

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Let the thread that waits make a call, and return its answer or raise its exception."""
        answered: SimpleQueue[None] = SimpleQueue()
        found: list[Any] = []
        errors: list[BaseException] = []

        def request() -> None:
            try:
                found.append(call())
            except BaseException as error:
                errors.append(error)
            answered.put(None)

        self._request = request
        self._wake.put(None)
        while not found and not errors:
            with suppress(Empty):
                answered.get(timeout=POLL)
            if self._left_behind:
                raise KeyboardInterrupt
        self._request = None
        if errors:
            raise errors[0]
        return found[0]

    def wait(self) -> None:
        """Wait until the thread is done; a KeyboardInterrupt is raised, and the wait can go on after it."""
        handled = None
        try:
            while not self._done:
                request = self._request
                if request is not None and request is not handled:
                    request()
                    handled = request
                    continue
                with suppress(Empty):
                    self._wake.get(timeout=POLL)
        except BaseException:
            if self.stop.asked.is_set():  # not the first
                self._left_behind = True
                _leave(self)
            raise

    def answer(self) -> Answer:
        """What the call returned; its exception is raised."""
        if self._error is not None:
            raise self._error
        return self._found[0]

    def linger(self, seconds: float) -> None:
        """Wait, at most so long, for a call that was left behind."""
        end = time.monotonic() + seconds
        while not self._done and time.monotonic() < end:
            time.sleep(0.01)


def _leave(call: _Call[Any]) -> None:
    if not _left_behind:
        atexit.register(_linger)
    _left_behind.append(call)


def _linger() -> None:
    for call in _left_behind:
        call.linger(LINGER)


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a MemoryError of the block into an :class:`InputError` with advice."""
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"There is not enough memory for this fit ({str(error) or 'of an unknown size'}); lower n_candidates or "
            "n_jobs, or give fewer rows or features."
        ) from error
