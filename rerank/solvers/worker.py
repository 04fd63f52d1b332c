"""Run a call that cannot be interrupted from Python, and come back on time whatever it does."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rerank.solvers.outcome import Stop

POLL = 0.05
"""Seconds between looks at the clock, the cancel event and the progress."""

GRACE = 1.0
"""Seconds a call may go on after it was told to stop; in a large first LP HiGHS does not look for ten."""

LINGER = 2.0
"""Seconds the interpreter waits at its end for calls that were left behind."""

_left_behind: list[tuple[threading.Event, Callable[[], None]]] = []


@dataclass
class Stopper:
    """Told by the waiting thread, read by the working one.

    Attributes
    ----------
    reason : Stop or None
        Why the call was told to stop; None while it was not.
    """

    reason: Stop | None = None
    _event: threading.Event = field(default_factory=threading.Event)

    def stop(self, reason: Stop) -> None:
        """Tell the call to stop; the first reason stands."""
        if self.reason is None:
            self.reason = reason
        self._event.set()

    def stopped(self) -> bool:
        """Whether the call was told to stop."""
        return self._event.is_set()


def run(
    call: Callable[[], None],
    stopper: Stopper,
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
    tick: Callable[[], bool | None] | None = None,
    on_exit: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``call`` in a thread; wait for it here, where Ctrl-C arrives.

    Ctrl-C, ``cancel`` and a true answer of ``tick`` tell the stopper ``interrupted``, the deadline tells it
    ``time_limit``; the call is then given :data:`GRACE` seconds and left behind if it takes longer. A second
    Ctrl-C is raised.

    Parameters
    ----------
    call : callable
        Watches ``stopper.stopped()`` as often as it can.
    stopper : Stopper
    cancel : threading.Event, optional
    deadline : float, optional
        On the clock of :func:`time.monotonic`.
    tick : callable, optional
        Called here about every :data:`POLL` seconds.
    on_exit : callable
        Called if the interpreter ends while the call, left behind, still runs.

    Returns
    -------
    bool
        Whether the call came back; its own exception is raised here.
    """
    failure: list[BaseException] = []
    # An event, not Thread.join: a join that Ctrl-C interrupts marks a thread at work as ended (CPython 3.11).
    done = threading.Event()

    def work() -> None:
        try:
            call()
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True, name="rerank-solver").start()
    try:
        try:
            _wait(done, stopper, cancel, deadline, tick)
        except KeyboardInterrupt:
            stopper.stop(Stop.interrupted)
        done.wait(GRACE)
    finally:
        if not done.is_set():
            stopper.stop(Stop.error)
            _leave(done, on_exit)
    if not done.is_set():
        return False
    if failure:
        raise failure[0]
    return True


def _wait(
    done: threading.Event,
    stopper: Stopper,
    cancel: threading.Event | None,
    deadline: float | None,
    tick: Callable[[], bool | None] | None,
) -> None:
    while not done.wait(POLL) and not stopper.stopped():
        if cancel is not None and cancel.is_set():
            stopper.stop(Stop.interrupted)
        elif deadline is not None and time.monotonic() > deadline:
            stopper.stop(Stop.time_limit)
        elif tick is not None and tick():
            stopper.stop(Stop.interrupted)


def _leave(done: threading.Event, on_exit: Callable[[], None]) -> None:
    # A daemon thread that returns into an interpreter already torn down would abort the process.
    if not _left_behind:
        atexit.register(_linger)
    _left_behind[:] = [(old, end) for old, end in _left_behind if not old.is_set()] + [(done, on_exit)]


def _linger() -> None:
    end = time.monotonic() + LINGER
    for done, on_exit in _left_behind:
        if not done.wait(max(0.0, end - time.monotonic())):
            on_exit()
