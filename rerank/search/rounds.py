"""Rounds of jobs: most explore boxes, some follow lines, and what they found is merged in order.

A round hands out a fixed number of jobs, whatever the number of workers; every job starts from what was known
when the round began.  Jobs are sized by the work they do and not by the clock, so until the time runs out the
search takes the same way with any number of workers and on any joblib backend.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.search import BoxSearch
from rerank.search.lines.search import LineSearch, State, follow
from rerank.search.workers import Job, Workers

Floats = NDArray[np.float64]

JOBS = 16  # of a round; the last to end keeps the other workers waiting for a part of one job in so many
ALONE = 0.02  # seconds of exploring before work is shared out; waking a thread takes some 1e-4 s
FIRST_WORK = 2e5  # pairs visited by a job of the first round, doubled from round to round
MOST_WORK = 8e6  # some hundredths of a second
LINE = 30.0  # visits of a pair that one line costs, the sorting of its ends with it,
LINE_ITSELF = 5e3  # and for any number of pairs
LEAST_LOOKS = 4.0  # looks at every pair that setting up a job is worth


@dataclass(eq=False)
class Rounds:
    """The rounds of one search.

    Parameters
    ----------
    search : BoxSearch
    n_jobs : int or None
        As joblib counts workers.
    lines : LineSearch, optional
        Where the lines are searched.
    states : list of State
        One for each job of a round that follows lines.
    offer : callable
        Takes a point that a line led to.
    share : float
        Work of a job that follows lines, in parts of what all boxes of the round before took.
    """

    search: BoxSearch
    n_jobs: int | None = None
    lines: LineSearch | None = None
    states: list[State] = field(default_factory=list)
    offer: Callable[[Floats], None] | None = None
    share: float = 1 / 15
    done: float = 0.0
    _work: float = 0.0
    _busy: float = 0.0
    _speed: float = 5e7
    _owed: float = 0.0

    def run(
        self,
        deadline: float,
        progress: Callable[[BoxSearch], None] | None = None,
        work: float = np.inf,
    ) -> bool:
        """Rounds until every box is settled (True), or ``deadline`` has come or ``work`` is done (False)."""
        with Workers(self.n_jobs) as workers:
            while self.search.drop_settled():
                left = deadline - time.perf_counter()
                if left <= 0 or self.done >= work:
                    return False
                if not self._sieve(workers):
                    self._round(workers, left)
                if progress is not None:
                    progress(self.search)
        return True

    def _sieve(self, workers: Workers) -> bool:
        """Settle many supports at a time; False if it is not their turn."""
        began = time.perf_counter()
        jobs = self.search.sieving(JOBS)
        if jobs:
            self.search.sieved(workers.run(jobs, alone=self._busy < ALONE))
            self._busy += time.perf_counter() - began
        return bool(jobs)

    def _round(self, workers: Workers, left: float) -> None:
        s = self.search
        pairs = s.tables.pairs.shape[1]
        self._work = min(max(2 * self._work, FIRST_WORK, 16.0 * pairs), max(MOST_WORK, 60.0 * pairs))
        each = min(self._work, max(self._speed * max(left, 0.02) / JOBS, LEAST_LOOKS * pairs))
        began = time.perf_counter()
        picked = s.pick(JOBS - len(self.states))
        try:
            boxes = s.jobs(picked, JOBS - len(self.states), each)
            results = workers.run([*boxes, *self._line_jobs(left)], alone=self._busy < ALONE)
        except BaseException:
            s.put_back(picked)
            raise
        explored = s.take([found for job in results[: len(boxes)] for found in job])
        self._take_lines(results[len(boxes) :])
        spent = time.perf_counter() - began
        self.done += explored
        self._owed += explored * self.share
        self._busy += spent
        self._speed = 0.5 * self._speed + 0.5 * explored / max(spent, 1e-6)

    def _line_jobs(self, left: float) -> list[Job]:
        """Lines for a share of the work that boxes have taken, once that is enough for one."""
        if self.lines is None:
            return []
        cost = LINE_ITSELF + LINE * self.lines.tables.pairs.shape[1]
        count = int(self._owed / cost)
        if count == 0:
            return []
        self._owed -= count * cost
        given = (self.lines.tables, self.lines.signed)
        return [(follow, (*given, state, self.search.best, count, left)) for state in self.states]

    def _take_lines(self, states: Sequence[State]) -> None:
        """Offer what the lines led to, and let every one of them know the best points of all."""
        if states:
            self.states = list(states)
        best = [point for state in states for point in state.elite]
        for state in states:
            if state.found is not None and self.offer is not None:
                self.offer(state.found)
            state.remember(best)
