"""A search kept in memory when its time is over, so that it can go on, and the circuits that it leaves to programs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors.stops import protected
from rerank.problem.proof import Circuits
from rerank.search.circuits.packing import Circuits as Pool
from rerank.search.circuits.packing import pool_of
from rerank.search.loop import PROGRAMS, BranchAndBound

if TYPE_CHECKING:
    from rerank.search.run import Run


@dataclass(eq=False)
class Held:
    """What :func:`rerank.search.solve` leaves in memory; the same call with it goes on instead of beginning anew.

    Attributes
    ----------
    run : Run or None
    loop : BranchAndBound or None
        None before the first call, and where that had no time to begin.
    paused : bool
        Whether only the time ended the search: with more of it, the search goes on.
    """

    run: Run | None = None
    loop: BranchAndBound | None = None
    paused: bool = False
    left_at: float = 0.0
    rows: Pool | None = None  # circuits for programs alone

    def leave(self, closed: bool, interrupted: bool) -> None:
        """Note how a part of the search ended."""
        self.left_at = time.perf_counter()
        if self.loop is not None:
            boxes, most = self.loop.boxes, self.loop.node_limit
            spent = most is not None and boxes.boxes >= most
            self.paused = not (closed or interrupted or spent) and bool(boxes.heap or boxes.waiting)

    def come_back(self) -> None:
        """Leave the time between two parts out of the seconds of the search."""
        if self.run is not None:
            self.run.began += time.perf_counter() - self.left_at

    def circuits(self, seconds: float | None) -> Circuits:
        """Sets of pairs that no weights win together, for the rows of a program; none where boxes are the better bound.

        The bound of the search falls to what they show, where that is lower.

        Parameters
        ----------
        seconds : float or None
            Seconds after which to stop.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C.
        """
        found, interrupted = protected(lambda: self._circuits(np.inf if seconds is None else seconds))
        if interrupted:
            raise KeyboardInterrupt
        return found

    def _circuits(self, seconds: float) -> Circuits:
        run, loop = self.run, self.loop
        if run is None or loop is None:
            return Circuits.none()
        loop.circuits = loop.circuits or loop.pool
        if loop.circuits is not None:
            loop.bound_by_circuits(seconds)
            pool = loop.pool
        else:  # circuits do not bound this statistic by themselves
            pool = self.rows = self.rows or pool_of(run.tables, run.domain, run.random_state)
            if pool is not None:
                pool.loss(PROGRAMS, seconds)
        return Circuits.none() if pool is None else pool.recorded(every=True)
