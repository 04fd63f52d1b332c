"""A live line on standard error while a solver works; nothing where standard error is no terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rerank.solvers.outcome import Options, Progress

INTERVAL = 0.1
"""Seconds between two reports."""

Report = Callable[[Progress], bool | None]


@contextmanager
def reporting(options: Options, label: str) -> Iterator[Report | None]:
    """The caller's progress function joined with the live line; None where nobody listens."""
    with live(label) if options.verbose == 1 else _nobody() as line:
        listeners = [listener for listener in (line, options.progress) if listener is not None]

        def tell(now: Progress) -> bool:
            answers = [listener(now) for listener in listeners]
            return any(answers)

        yield tell if listeners else None


@contextmanager
def live(label: str, stream: IO[str] | None = None) -> Iterator[Report | None]:
    """A line that shows seconds, incumbent, bound, gap and nodes, and vanishes at the end.

    Parameters
    ----------
    label : str
        Stands before the figures.
    stream : text file, optional
        Standard error if omitted. None is yielded, and rich is not imported, unless it is a terminal.
    """
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(file=out), auto_refresh=False, transient=True) as display:

        def show(now: Progress) -> None:
            display.update(Text(f"{label}  {line(now)}"), refresh=True)

        yield show


def line(now: Progress) -> str:
    """One progress report in words."""
    return (
        f"{now.seconds:6.1f} s  incumbent {_figure(now.incumbent)}  bound {_figure(now.bound)}  "
        f"gap {_figure(now.gap)}  nodes {max(now.nodes, 0)}"
    )


def throttled(report: Report | None, latest: Callable[[], Progress | None]) -> Callable[[], bool | None]:
    """A tick that reports the latest news, each once, at most every :data:`INTERVAL` seconds."""
    told: list[Progress | None] = [None]
    due = [0.0]

    def tick() -> bool | None:
        news = latest()
        if report is None or news is None or news is told[0] or time.monotonic() < due[0]:
            return False
        told[0], due[0] = news, time.monotonic() + INTERVAL
        return report(news)

    return tick


@contextmanager
def _nobody() -> Iterator[None]:
    yield None


def _figure(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "-"
