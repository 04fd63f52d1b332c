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
from typing import Any, Generic, TypeAlias, TypeVar

from rerank.errors import InputError
from rerank.errors.compiling import working_time

Answer = TypeVar("Answer")
Look: TypeAlias = Callable[[], "str | None"]
Ends: TypeAlias = Callable[[], None]

INTERRUPTED = "interrupted"  # why to stop, after Ctrl-C
POLL = 0.05  # seconds between two looks at the clock, at events and, on Windows, for Ctrl-C
GRACE = 1.0  # seconds that an :func:`attended` call may take to end once it is asked to; HiGHS may take ten
LINGER = 5.0  # seconds that the interpreter waits, when it ends, for each call that was left behind


class Deadline:
    """Says whether it is time to stop: ``seconds`` from now on, or when the stop ``outer`` says so."""

    def __init__(self, seconds: float | None = None, outer: Deadline | None = None) -> None:
        own = math.inf if seconds is None else working_time() + seconds
        # On the clock of :func:`working_time`, infinite without a limit.
        self.deadline: float = own if outer is None else min(own, outer.deadline)
        self.asked: threading.Event = threading.Event() if outer is None else outer.asked  # set by Ctrl-C
        # Makes a call in the thread that waits in :func:`protected`, or in this one if none waits.
        self.ask: Callable[[Callable[[], Any]], Any] = (lambda call: call()) if outer is None else outer.ask

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 after Ctrl-C."""
        return 0.0 if self.asked.is_set() else max(0.0, self.deadline - working_time())

    @property
    def now(self) -> bool:
        """Whether to stop now."""
        return self.asked.is_set() or working_time() > self.deadline


_current: ContextVar[Deadline | None] = ContextVar("stop", default=None)


def current() -> Deadline:
    """The stop that holds here; one that never says stop outside of :func:`limited` and :func:`protected`."""
    return _current.get() or Deadline()


@contextmanager
def limited(seconds: float | None) -> Iterator[Deadline]:
    """Inside the block, :func:`current` says stop after so many seconds, or when it would have done so anyway."""
    token = _current.set(Deadline(seconds, _current.get()))
    try:
        yield current()
    finally:
        _current.reset(token)


def protected(call: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Run a call in a thread, where no KeyboardInterrupt is raised, while this thread waits for it.

    Ctrl-C sets ``current().asked`` for the call, which then has to end by itself.  A second Ctrl-C is raised at once.
    In another thread than the main one the call runs as it is, because no KeyboardInterrupt is raised there.

    Returns what the call returned, and whether Ctrl-C came while it ran; before it began, that is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(), current().asked.is_set()
    work = _Call(call)
    reason = work.attend()
    return work.get(), reason is not None


def unbroken(call: Callable[[], Answer]) -> Answer:
    """What a :func:`protected` call returns; after Ctrl-C, and once it has ended, KeyboardInterrupt is raised."""
    answer, interrupted = protected(call)
    if interrupted:
        raise KeyboardInterrupt
    return answer


def attended(call: Callable[[], Any], look: Look, on_exit: Ends) -> tuple[bool, str | None]:
    """Run a call in a thread, and leave it behind if it goes on :data:`GRACE` seconds after it was asked to stop.

    ``look`` says in this thread, every :data:`POLL` seconds, why to stop, or None. Ctrl-C is a
    reason, too; a second one is raised. ``on_exit`` is called if the interpreter ends before a call left behind.

    Returns whether the call ended, and why it was asked to; an exception of the call is raised here.
    """
    work = _Call(call)
    reason = work.attend(look, GRACE, on_exit)
    if work.done:
        work.get()
    return work.done, reason


class _Result(Generic[Answer]):
    """What a call returns or raises, for another thread."""

    def __init__(self) -> None:
        self.done = False
        self._answers: list[Answer] = []
        self._error: BaseException | None = None

    def of(self, call: Callable[[], Answer]) -> None:
        try:
            self._answers.append(call())
        except BaseException as error:
            self._error = error
        self.done = True

    def get(self) -> Answer:
        if self._error is not None:
            raise self._error
        return self._answers[0]


class _Call(_Result[Answer]):
    """A call in a thread of its own. Flags say how far it is, and the queues only wake the thread that waits: a
    KeyboardInterrupt may lose what a queue returned, and no flag. Thread.start and Event.wait will not do, as an
    interrupt may leave their locks taken.
    """

    def __init__(self, call: Callable[[], Answer]) -> None:
        super().__init__()
        self.stop = Deadline(None, _current.get())
        self.stop.asked, self.stop.ask = threading.Event(), self._ask
        self._call, self._context, self._claim = call, copy_context(), threading.Lock()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._request: Callable[[], None] | None = None
        self._left_behind = False

    def _work(self) -> None:
        if self._claim.acquire(blocking=False):
            sys.settrace(threading.gettrace())  # as threading.Thread does, for debuggers and coverage
            self._context.run(_current.set, self.stop)
            self.of(lambda: self._context.run(self._call))
            self._wake.put(None)

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Let the thread that waits make a call, and return its answer or raise its exception."""
        result, answered = _Result[Any](), SimpleQueue[None]()

        def request() -> None:
            result.of(call)
            answered.put(None)

        self._request = request
        self._wake.put(None)
        while not result.done:
            with suppress(Empty):
                answered.get(timeout=POLL)
            if self._left_behind:
                raise KeyboardInterrupt
        self._request = None
        return result.get()

    def attend(self, look: Look = lambda: None, grace: float = math.inf, on_exit: Ends = lambda: None) -> str | None:
        """Start the thread and wait for it; after Ctrl-C, or when ``look`` says why, ask it to stop, and return why."""
        reason, raised = None, None
        try:
            _thread.start_new_thread(self._work, ())
            reason = self._wait(look, math.inf)
        except BaseException as error:
            if self._claim.acquire(blocking=False):  # the thread has not begun, and now does nothing
                raise
            reason, raised = INTERRUPTED, error
        if reason is not None:
            self.stop.asked.set()
            try:
                self._wait(lambda: None, grace)
            finally:
                if not self.done:
                    self._left_behind = True
                    atexit.register(self._linger, on_exit)
        if raised is not None and not isinstance(raised, KeyboardInterrupt):  # of a signal handler or ``look``
            raise raised
        return reason

    def _wait(self, look: Look, seconds: float) -> str | None:
        """Wait until the thread is done, for some seconds, or until ``look`` says why to stop, which is returned."""
        handled, end = None, time.monotonic() + seconds
        while not self.done and time.monotonic() < end:
            request = self._request
            if request is not None and request is not handled:
                request()
                handled = request
                continue
            with suppress(Empty):
                self._wake.get(timeout=POLL)
            if not self.done and (reason := look()) is not None:
                return reason
        return None

    def _linger(self, on_exit: Ends) -> None:
        """Wait for a call that was left behind: its thread would abort a process that is torn down."""
        end = time.monotonic() + LINGER
        while not self.done and time.monotonic() < end:
            time.sleep(0.01)
        if not self.done:
            on_exit()


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
