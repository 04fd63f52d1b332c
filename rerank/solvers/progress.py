"""Progress of a solver: a live line on standard error, in a terminal or under a cell; printed lines."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import IO

from rerank.errors.telling import harmless, stderr
from rerank.solvers.outcome import Options, Progress

INTERVAL = 0.1  # seconds between two reports
QUIET = 1.0  # seconds between two printed lines while nothing improves

Report = Callable[[Progress], bool | None]
Line = Callable[[Progress], str]


def line(now: Progress) -> str:
    """One report of a solver in words."""
    figures = (f"{value:.6g}" if math.isfinite(value) else "-" for value in (now.incumbent, now.bound, now.gap))
    return "{:6.1f} s  incumbent {}  bound {}  gap {}  nodes {}".format(now.seconds, *figures, max(now.nodes, 0))


def claims(name: str) -> Line:
    """What puts a report of a search in words: the largest value of ``name`` found, and what no weights exceed."""

    def words(now: Progress) -> str:
        ends = ((">=", now.incumbent), ("<=", now.bound))
        sides = [f"{sign} {value:.6g}" for sign, value in ends if math.isfinite(value)]
        return f"{name} {', '.join([*sides, f'{now.nodes:,} boxes', f'{now.seconds:.1f} s'])}"

    return words


@contextmanager
def reporting(options: Options, label: str) -> Iterator[Report | None]:
    """A function that passes progress to the live line and to the caller; None if neither wants it."""
    with live(label) if options.verbose == 1 else nullcontext() as shown:
        listeners = [listener for listener in (shown, options.progress) if listener is not None]

        def report(now: Progress) -> bool:
            answers = [listener(now) for listener in listeners]
            return any(answers)

        yield report if listeners else None


@contextmanager
def live(label: str, stream: IO[str] | None = None, told: Line = line) -> Iterator[Report | None]:
    """A line with the latest progress, which is erased at the end; None where there is no terminal and no notebook.
    ``label`` stands before the report, which ``told`` puts in words; the stream is standard error if omitted.
    """
    out = stderr() if stream is None else stream
    if type(sys.stderr if stream is None else stream).__module__.startswith("ipykernel."):
        with _under_a_cell(label, out, told) as report:
            yield report
        return
    if not out.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(file=out), auto_refresh=False, transient=True) as display:

        def show(now: Progress) -> None:
            text = Text(harmless(f"{label} {told(now)}"), no_wrap=True, overflow="ellipsis")
            display.update(text, refresh=True)

        yield show


@contextmanager
def _under_a_cell(label: str, out: IO[str], told: Line) -> Iterator[Report]:
    """The line in a notebook, which rewrites what follows a carriage return but knows no other movement."""
    width, due = 0, 0.0

    def show(now: Progress) -> None:
        nonlocal width, due
        if time.monotonic() >= due:
            due = time.monotonic() + INTERVAL
            text = f"{label} {told(now)}"
            print(f"\r{text:<{width}}", end="", file=out, flush=True)
            width = max(width, len(text))

    try:
        yield show
    finally:
        print(f"\r{'':<{width}}\r", end="", file=out, flush=True)


def printed(label: str, told: Line = line) -> Report:
    """A report that prints a line, on any standard error, for each better incumbent and once a second besides."""
    out, best, due = stderr(), -math.inf, 0.0

    def show(now: Progress) -> None:
        nonlocal best, due
        if now.incumbent > best or now.seconds >= due:
            best, due = max(best, now.incumbent), now.seconds + QUIET
            print(f"{label} {told(now)}", file=out, flush=True)

    return show


def throttled(report: Report | None, latest: Callable[[], Progress | None]) -> Callable[[], bool | None]:
    """A tick that reports the latest progress, each once, at most every :data:`INTERVAL` seconds."""
    last, due = None, 0.0

    def tick() -> bool | None:
        nonlocal last, due
        now = latest()
        if report is None or now is None or now is last or time.monotonic() < due:
            return False
        last, due = now, time.monotonic() + INTERVAL
        return report(now)

    return tick
