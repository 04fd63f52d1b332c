"""Run a call in a thread, or a command in a process, and come back on time whatever it does.

Ctrl-C, a cancel event or a deadline tell the solver to stop, and it then has about a second to return what it found.
After that a command is killed. A call in a thread cannot be killed: it is left behind.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rerank.errors import SolverError
from rerank.solvers.outcome import Stop

POLL = 0.05
"""Seconds between two checks of the clock, the cancel event and the progress."""

CALL_GRACE = 1.0
"""Seconds a call may take to return once it is told to stop; in a large first LP HiGHS takes up to ten."""

COMMAND_GRACE = 1.2
"""Seconds a command has to write its solution once it is told to stop."""

LINGER = 2.0
"""Seconds the interpreter waits, when it ends, for calls that were left behind."""

_left_behind: list[tuple[threading.Event, Callable[[], None]]] = []


@dataclass
class Stopper:
    """Set by the thread that waits, read by the thread that works.

    Attributes
    ----------
    reason : Stop or None
        Why the call was told to stop; None if it was not.
    """

    reason: Stop | None = None
    _event: threading.Event = field(default_factory=threading.Event)

    def stop(self, reason: Stop) -> None:
        """Tell the call to stop; the first reason is kept."""
        if self.reason is None:
            self.reason = reason
        self._event.set()

    def stopped(self) -> bool:
        """Whether the call was told to stop."""
        return self._event.is_set()


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    Attributes
    ----------
    stopped : Stop or None
        Why it was told to stop; None if it ended by itself.
    code : int
        Exit code; negative for a signal.
    log : str
        Standard output and standard error.
    """

    stopped: Stop | None
    code: int
    log: str


def run_call(
    call: Callable[[], None],
    stopper: Stopper,
    *,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
    tick: Callable[[], bool | None] | None = None,
    on_exit: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``call`` in a thread and wait for it in this one, which is where Ctrl-C arrives.

    Ctrl-C, ``cancel`` and a true answer of ``tick`` tell the stopper ``interrupted``, the deadline tells it
    ``time_limit``. If the call does not return within :data:`CALL_GRACE` seconds, it is left behind. A second
    Ctrl-C is raised.

    Parameters
    ----------
    call : callable
        Should check ``stopper.stopped()`` as often as it can.
    stopper : Stopper
    cancel : threading.Event, optional
    deadline : float, optional
        On the clock of :func:`time.monotonic`.
    tick : callable, optional
        Called in this thread about every :data:`POLL` seconds.
    on_exit : callable
        Called if the interpreter ends while a call that was left behind is still running.

    Returns
    -------
    bool
        Whether the call returned; an exception of the call is raised here.
    """
    failure: list[BaseException] = []
    # Thread.join will not do: a join interrupted by Ctrl-C marks a running thread as ended (CPython 3.11).
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
        reason = _wait(done.wait, cancel, deadline, tick)
        if reason is not None:
            stopper.stop(reason)
            done.wait(CALL_GRACE)
    finally:
        if not done.is_set():
            stopper.stop(Stop.error)
            _leave(done, on_exit)
    if not done.is_set():
        return False
    if failure:
        raise failure[0]
    return True


def run_command(
    command: Sequence[str],
    folder: Path,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    log_file: str | os.PathLike[str] | None = None,
) -> Ran:
    """Run a command in a folder. On Ctrl-C, ``cancel`` or the limit, interrupt it; if it goes on, kill it.

    Parameters
    ----------
    command : sequence of str
    folder : path
        Working directory.
    time_limit : float, optional
        Seconds; for a solver that does not keep its own limit.
    cancel : threading.Event, optional
    log_file : path, optional
        Where the log is written as it comes; in the folder if omitted.

    Raises
    ------
    SolverError
        If the command cannot be started.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    log = folder / "log.txt" if log_file is None else Path(log_file)
    with open(log, "wb") as stream:
        try:
            # In a session of its own the command does not receive the terminal's Ctrl-C; we pass it on.
            process = subprocess.Popen(
                list(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SolverError(f"{command[0]} cannot be started: {error.strerror}.") from error
        try:
            stopped = _wait(lambda seconds: _ended(process, seconds), cancel, deadline)
            if stopped is not None:
                _signal(process, signal.SIGINT)
                _ended(process, COMMAND_GRACE)
        finally:
            _kill(process)
    return Ran(stopped, process.returncode, log.read_text(encoding="utf-8", errors="replace"))


def _wait(
    ended: Callable[[float], bool],
    cancel: threading.Event | None,
    deadline: float | None,
    tick: Callable[[], bool | None] | None = None,
) -> Stop | None:
    """Wait until ``ended(seconds)`` is true, or return the reason to stop before that."""
    try:
        while not ended(POLL):
            if cancel is not None and cancel.is_set():
                return Stop.interrupted
            if deadline is not None and time.monotonic() > deadline:
                return Stop.time_limit
            if tick is not None and tick():
                return Stop.interrupted
    except KeyboardInterrupt:
        return Stop.interrupted
    return None


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


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        if os.name != "nt":
            _signal(process, signal.SIGKILL)
        process.kill()
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)
