"""Run a solver's program outside this process: limited, interruptible, its log kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rerank.errors import SolverError
from rerank.solvers.outcome import Stop

POLL = 0.05
"""Seconds between looks at the process."""

GRACE = 1.2
"""Seconds a solver has to write what it found once it is told to stop."""


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    Attributes
    ----------
    stopped : Stop or None
        Why it was told to stop; None if it ended by itself.
    code : int
        Exit code; negative for a signal.
    seconds : float
    log : str
        Standard output and standard error.
    """

    stopped: Stop | None
    code: int
    seconds: float
    log: str


def run_command(
    command: Sequence[str],
    folder: Path,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Ran:
    """Run a command in a folder; on Ctrl-C, ``cancel`` or the limit interrupt it, then end it.

    Parameters
    ----------
    command : sequence of str
    folder : path
        Working directory; the log is kept there too.
    time_limit : float, optional
        Seconds; meant as a fence behind the solver's own limit.
    cancel : threading.Event, optional

    Raises
    ------
    SolverError
        If the command cannot be started.
    """
    began = time.monotonic()
    log = folder / "log.txt"
    with open(log, "wb") as stream:
        try:
            # A session of its own: Ctrl-C on the terminal reaches us alone, and we pass it on.
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise SolverError(f"{command[0]} cannot be started: {error.strerror}.") from error
        try:
            stopped = _wait(process, None if time_limit is None else began + time_limit, cancel)
        finally:
            _end(process)
    text = log.read_text(encoding="utf-8", errors="replace")
    return Ran(stopped, process.returncode, time.monotonic() - began, text)


def _wait(
    process: subprocess.Popen[bytes], deadline: float | None, cancel: threading.Event | None
) -> Stop | None:
    try:
        while True:
            try:
                process.wait(POLL)
                return None
            except subprocess.TimeoutExpired:
                if cancel is not None and cancel.is_set():
                    reason = Stop.interrupted
                elif deadline is not None and time.monotonic() > deadline:
                    reason = Stop.time_limit
                else:
                    continue
            break
    except KeyboardInterrupt:
        reason = Stop.interrupted
    _signal(process, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    return reason


def _end(process: subprocess.Popen[bytes]) -> None:
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
