"""What HiGHS reports while it works: its log, its points and its latest figures."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from rerank.solvers.outcome import Point, Progress
from rerank.solvers.running import Stopper

if TYPE_CHECKING:
    from formulations.compile import Program

LOG_LIMIT = 1_000_000
"""Characters of log that an outcome keeps."""


@dataclass
class Listener:
    """Callbacks of one run of HiGHS. HiGHS's thread calls them; another thread reads what they keep.

    Attributes
    ----------
    best : Point or None
        The best point within ``tolerance`` so far; a start counts.
    latest : Progress or None
    start_accepted : bool or None
        From HiGHS's own log line about the start, the only place where it says so.
    echo : list of text files
        The log is written to them as it comes.
    """

    program: Program
    tolerance: float
    stopper: Stopper
    began: float
    best: Point | None = None
    latest: Progress | None = None
    start_accepted: bool | None = None
    log: list[str] = field(default_factory=list)
    echo: list[TextIO] = field(default_factory=list)
    _size: int = 0

    def attach(self, highs: Any) -> None:
        """Subscribe to HiGHS's callbacks."""
        highs.cbLogging.subscribe(lambda event: self._log(event.message))
        highs.cbMipImprovingSolution.subscribe(self._improved)
        highs.cbMipLogging.subscribe(self._moved)
        highs.cbMipInterrupt.subscribe(self._moved)
        highs.cbSimplexInterrupt.subscribe(self._asked)
        highs.cbIpmInterrupt.subscribe(self._asked)

    @staticmethod
    def detach(highs: Any) -> None:
        """Unsubscribe from all of them."""
        for kind in (highs.cbLogging, highs.cbMipImprovingSolution, highs.cbMipLogging, highs.cbMipInterrupt,
                     highs.cbSimplexInterrupt, highs.cbIpmInterrupt):  # fmt: skip
            kind.clear()

    def keep(self, point: Point) -> None:
        """Remember a point if it is feasible and the best so far."""
        if point.violation <= self.tolerance and (self.best is None or point.objective > self.best.objective):
            self.best = point

    def _log(self, text: str) -> None:
        if "MIP start solution is " in text:
            self.start_accepted = "is feasible" in text
        self._size += len(text)
        if self._size <= LOG_LIMIT:
            self.log.append(text)
        for stream in self.echo:
            stream.write(text)

    def _improved(self, event: Any) -> None:
        x = np.array(event.data_out.mip_solution, dtype=np.float64)
        if x.size == self.program.cost.size:
            self.keep(Point.of(self.program, x))
        self._moved(event)

    def _moved(self, event: Any) -> None:
        out, constant = event.data_out, self.program.constant
        # Before the first node HiGHS's bound is infinite and may have either sign.
        bound = math.inf if math.isinf(out.mip_dual_bound) else constant - out.mip_dual_bound
        seconds = time.monotonic() - self.began
        # HiGHS's own figure of the point differs from the recomputed one in the last digits.
        incumbent = -math.inf if self.best is None else self.best.objective
        self.latest = Progress(seconds, incumbent, bound, int(out.mip_node_count))
        self._asked(event)

    def _asked(self, event: Any) -> None:
        if self.stopper.stopped():
            event.interrupt()
