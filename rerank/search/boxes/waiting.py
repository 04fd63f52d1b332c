"""Supports that the box search has not looked at, and the sieve that most of them do not pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.supports.screening import layout, settled
from rerank.search.supports.supports import Supports
from rerank.search.tables import Tables
from rerank.search.workers import Job

Floats = NDArray[np.float64]

FIRST = 8  # supports of a job of the first round at most; no more than twice as many from round to round
WORK = 1e8  # pairs a job looks at, some hundredths of a second
ENOUGH = 400  # supports that passed, more than a round of boxes takes: those come first, they may find a better value


@dataclass(eq=False)
class Waiting:
    """Supports in the order of their prices: those that passed the sieve, then those that it has not seen.

    Parameters
    ----------
    tables : Tables
    columns : sequence of intp arrays
        The supports.
    prices : float64 (number of supports,)
        Never falling.
    signed : bool (d,)
    sieved : bool
        Whether there is a sieve at all; there is none for other sequences than :class:`Supports`.
    """

    tables: Tables
    columns: Sequence[NDArray[np.intp]]
    prices: Floats
    signed: NDArray[np.bool_]
    sieved: bool
    _passed: deque[int] = field(default_factory=deque)
    _next: int = 0
    _part: int = FIRST  # supports of a job
    _layout: Any = None

    def __post_init__(self) -> None:
        self.sieved &= isinstance(self.columns, Supports)

    def __len__(self) -> int:
        return len(self.columns) - self._next + len(self._passed)

    @property
    def first(self) -> int:
        """The next support, which no later one beats in price."""
        return self._passed[0] if self._passed else self._next

    def take(self) -> int:
        """Hand out the next support."""
        if self._passed:
            return self._passed.popleft()
        self._next += 1
        return self._next - 1

    def clear(self) -> None:
        """Let all of them go."""
        self._passed.clear()
        self._next = len(self.columns)

    def jobs(self, limit: float, shares: int) -> list[Job]:
        """Jobs that settle supports on which nothing beats ``limit`` plus the price; none if that has to wait."""
        columns = self.columns
        if not isinstance(columns, Supports) or not self.sieved or len(self._passed) >= ENOUGH:
            return []
        if self._layout is None:
            from rerank.search.supports.screening_kernel import MOST_BOXES

            self._layout = layout(self.tables, columns[-1].size)
            if self._layout is None:
                self.sieved = False
                return []
            self._part = int(np.clip(WORK / (MOST_BOXES * self._layout.idle.size), 1, FIRST))
        jobs: list[Job] = []
        begin = self._next
        while begin < len(columns) and len(jobs) < shares:
            some = columns.rows(begin, begin + self._part)
            limits = limit + self.prices[begin : begin + len(some)]
            jobs.append((settled, (self._layout, some, limits, self.signed)))
            begin += len(some)
        return jobs

    def sort(self, results: Iterable[tuple[NDArray[np.bool_], int]]) -> int:
        """Keep the supports that passed; returns the number of boxes looked at."""
        boxes, begin = 0, self._next
        for done, looked in results:
            self._passed.extend((self._next + np.flatnonzero(~done)).tolist())
            self._next += done.size
            boxes += looked
        cost = max(boxes / max(self._next - begin, 1), 1.0) * self._layout.idle.size
        self._part = int(np.clip(WORK / cost, 1, 2 * self._part))
        return boxes
