"""Screening of supports: most are fathomed before the box search explores any of them.

A limit on the number of features leaves up to millions of supports, and nearly all of them hold nothing near the best
value.  Jobs bound many at a time (:mod:`.screens`); what they leave open is searched box by box, best bound first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.nodes import NodeBatch
from rerank.search.supports.subsets import Supports

if TYPE_CHECKING:
    from rerank.search.supports.screens import Screens
    from rerank.search.tables import RowTables, Tables

Floats = NDArray[np.float64]
Boxes = NodeBatch | None  # open boxes of a support; None for all of it

FIRST = 8  # supports of a job of the first round at most; no more than twice as many from round to round
WORK = 1e8  # evaluations of a pair by one job, some hundredths of a second
ENOUGH = 400  # supports left open, or half of all: more than one round explores; they may give a better value
LONG, FEWEST = 100_000, 4  # pairs from where setting a support up takes as long as many boxes, and supports of a job


@dataclass(eq=False)
class Waiting:
    """Supports that the box search has not explored: those that screening left open, by bound, and the unscreened.

    Parameters
    ----------
    tables : Tables or RowTables
    columns : sequence of intp arrays
        The supports.
    prices : float64 (number of supports,)
        Never falling.
    signed : bool (d,)
    screens : callable, optional
        Makes what supports are screened with; only a sequence :class:`Supports` is screened.
    """

    tables: Tables | RowTables
    columns: Sequence[NDArray[np.intp]]
    prices: Floats
    signed: NDArray[np.bool_]
    screens: Callable[[], Screens | None] | None
    _open: list[tuple[float, int, Boxes]] = field(default_factory=list)  # a heap: penalty minus bound, support, boxes
    _next: int = 0
    _part: int = 0  # supports of a job; 0 until the first
    _made: Screens | None = None

    def __len__(self) -> int:
        return len(self.columns) - self._next + len(self._open)

    def bound(self) -> float:
        """What no value minus penalty on a support that waits exceeds; -inf if none waits."""
        most = -self._open[0][0] if self._open else -np.inf
        if self._next < len(self.columns):
            most = max(most, self.tables.ideal + self.tables.slack - float(self.prices[self._next]))
        return most

    def take(self) -> tuple[int, float, Boxes]:
        """Remove the next support; returns it with the bound of its values, and its open boxes."""
        if self._open:
            low, s, boxes = heapq.heappop(self._open)
            return s, float(self.prices[s]) - low, boxes
        self._next += 1
        return self._next - 1, self.tables.ideal + self.tables.slack, None

    @property
    def unscreened(self) -> int:
        """For how many supports coarse boxes are still to come."""
        return 0 if self._made is None or self._made.pairs is None else len(self.columns) - self._next

    def clear(self) -> None:
        """Drop all of them."""
        self._open.clear()
        self._next = len(self.columns)

    def place(self) -> tuple[int, int, list[tuple[float, int, Boxes]]]:
        """How far screening is: the next support, supports of a job, and those left open."""
        return self._next, self._part, list(self._open)

    def go_on(self, place: tuple[int, int, list[tuple[float, int, Boxes]]]) -> None:
        """Go on at a :meth:`place`."""
        self._next, self._part, self._open = place[0], place[1], list(place[2])

    def shares(self, limit: float, count: int, blind: bool = False) -> list[tuple[Any, ...]]:
        """Arguments of ``screen_supports`` for ``count`` jobs; empty if screening is not possible or has to wait.

        A job fathoms the supports on which nothing beats ``limit`` plus the penalty.  Where that is ``blind``, no
        weights being known, or many supports are open, coarse boxes wait; bounds by groups do not.
        """
        columns = self.columns
        if not isinstance(columns, Supports):
            return []
        if self._made is None and self.screens is not None:
            self._made, self.screens = self.screens(), None
        wait = blind or len(self._open) >= max(ENOUGH, len(columns) // 2)
        if self._made is None or (wait and self._made.pairs is not None):
            return []
        if self._part == 0:
            from rerank.search.supports.screening_rows import MOST_BOXES

            self._part = int(np.clip(WORK / self._made.cost(MOST_BOXES), self._fewest, FIRST))
        shares: list[tuple[Any, ...]] = []
        begin = self._next
        while begin < len(columns) and len(shares) < count:
            some = columns.rows(begin, begin + self._part)
            limits = limit + self.prices[begin : begin + len(some)]
            shares.append((self._made, some, limits, self.signed))
            begin += len(some)
        return shares

    @property
    def _fewest(self) -> int:
        pairs = None if self._made is None else self._made.pairs
        return FEWEST if pairs is not None and pairs.idle.size > LONG else 1

    def merge(self, results: Iterable[tuple[Floats, list[Boxes], int]]) -> int:
        """Keep the supports that the jobs did not fathom; returns the number of boxes that they took."""
        boxes, begin, ideal = 0, self._next, self.tables.ideal
        for bounds, batches, needed in results:
            for i in np.flatnonzero(bounds > -np.inf):
                s, batch = self._next + int(i), batches[i]
                most = min(float(bounds[i]), ideal) + self.tables.slack
                if batch is not None:
                    batch = replace(batch.bounded(np.minimum(batch.bounds, ideal) + self.tables.slack), support=s)
                heapq.heappush(self._open, (float(self.prices[s]) - most, s, batch))
            self._next += bounds.size
            boxes += needed
        if self._made is not None:
            cost = self._made.cost(max(boxes / max(self._next - begin, 1), 1.0))
            self._part = int(np.clip(WORK / cost, self._fewest, 2 * self._part))
        return boxes
