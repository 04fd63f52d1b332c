"""The open boxes of a search and the best point met: what the branch and bound shrinks."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.antiparallel import NO_GROUPS, AntiparallelPairs, antiparallel_pairs
from rerank.search.boxes.basis import whitened_basis
from rerank.search.boxes.nodes import NAMES, Findings, NodeBatch, Support
from rerank.search.domain import Domain
from rerank.search.rows.tables import RowTables
from rerank.search.supports.screening import Screens, Waiting

Floats = NDArray[np.float64]
Names = NDArray[np.int64]

FIRST_BATCHES = 16  # into which the faces of a single cube are divided
BATCHES = 4  # of a job, so that jobs do the same work though batches differ;
BATCHES_OF_MANY = 24  # where there are many supports, so that many of them are explored early,
EVALUATIONS = 120.0  # with so many evaluations of every pair at least
A_JOB = 1e8  # evaluations of a pair by a job on many supports
PARTS = 4  # batches into which the boxes left by one job are divided, by their bounds
MOST_BATCHES = 50_000  # beyond, batches are finished instead of opened: depth first


@dataclass(eq=False)
class OpenBoxes:
    """Open boxes of all supports in batches, best bound first, and the best point met.

    Parameters
    ----------
    tables : Tables or RowTables
    columns : sequence of intp arrays
        The supports.
    prices : float64 (number of supports,)
        What each support costs, in the tables' unit (0 without a price on features).
    domain : Domain
        The weights that are allowed.
    value : float
        Best value minus price met so far, in the tables' unit.
    weights : float64 (d,), optional
        The best point.
    record : bool
        Whether to keep the splits, for a proof.
    whitened : bool
        Whether correlated features get boxes in a whitened basis (:mod:`rerank.search.boxes.basis`).
    screens : callable, optional
        Makes what many supports are screened with (:mod:`rerank.search.supports.screening`).
    """

    tables: Any
    columns: Sequence[NDArray[np.intp]]
    prices: Floats
    domain: Domain
    value: float
    weights: Floats | None = None
    record: bool = False
    whitened: bool = False
    screens: Callable[[], Screens | None] | None = None
    cap: float = np.inf  # a bound on every value (price not subtracted) that needs no boxes
    boxes: int = field(default=0, init=False)  # explored so far
    heap: list[tuple[float, int, NodeBatch]] = field(init=False)
    unresolved: list[NodeBatch] = field(init=False)  # boxes too small to split
    splits: list[Names] = field(init=False)
    n_splits: int = field(init=False)
    listed: set[int] = field(default_factory=set, init=False)  # names of boxes fathomed by listing vertices
    antiparallel: dict[int, AntiparallelPairs] = field(default_factory=dict, init=False)
    bases: dict[int, Floats | None] = field(init=False)

    def __post_init__(self) -> None:
        self.restart(self.whitened)

    def restart(self, whitened: bool) -> None:
        """Begin again from the root with the best point met, in whitened bases or on the features' own axes."""
        self.whitened = whitened
        self.heap, self.unresolved, self.splits, self.bases = [], [], [], {}
        self.n_splits = 0
        self.pushed, self.named, self.job = 0, 0, 1  # counters of batches, of faces named, and of jobs
        # A proof holds the splits of every support, and a single one needs no screening.
        screens = None if len(self.columns) == 1 or self.record else self.screens
        self.unexplored = Waiting(self.tables, self.columns, self.prices, self.domain.signed, screens)
        if len(self.columns) == 1:  # shared out from the start
            whole = self._root()
            for part in np.array_split(np.arange(whole.bounds.size), min(FIRST_BATCHES, whole.bounds.size)):
                self._push(whole.part(part))

    @property
    def waiting(self) -> int:
        """Number of supports that have not been explored; smaller and cheaper ones come first."""
        return len(self.unexplored)

    def _root(self) -> NodeBatch:
        """The boxes that the domain of the next support falls into."""
        s, most = self.unexplored.take()
        centres, halves = self.domain.part(self.columns[s]).roots()
        names = np.arange(self.named, self.named + len(centres), dtype=np.int64)
        self.named += len(centres)
        bounds = np.full(len(centres), most)
        return NodeBatch(s, centres, halves, bounds, names, np.zeros((len(centres), 0), np.int32))

    def _push(self, batch: NodeBatch) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (-(batch.bound - self.prices[batch.support]), self.pushed, batch))

    @property
    def slack(self) -> float:
        """By how much a fathomed box may beat the value: rounding of sums, and of adding and subtracting a price."""
        priced = 4e-15 * (self.tables.total + abs(self.value)) if self.prices.any() else 0.0
        return self.tables.slack + priced

    def open_bound(self) -> float:
        """Largest bound (minus price) of what is not fathomed yet, never below the value."""
        tops = [-self.heap[0][0]] if self.heap else []
        tops.append(self.unexplored.bound())
        tops += [b.bound - float(self.prices[b.support]) for b in self.unresolved]
        return max(self.value, min(max(tops), self.cap))

    @property
    def by_rows(self) -> bool:
        """Whether the kernel for rows explores the boxes."""
        return isinstance(self.tables, RowTables)

    @property
    def best(self) -> Floats:
        """Best point so far, or all ones where that is zero."""
        found = self.weights
        return found if found is not None and found.any() else np.ones(self.domain.n_features)

    def offer(self, value: float, weights: Floats) -> None:
        """Keep a point if it is better than the best; ``value`` is in the tables' unit, minus the price."""
        if value > self.value:
            self.value, self.weights = value, weights

    def drop_fathomed(self) -> bool:
        """Drop the batches and supports that cannot beat the value; whether any are left to explore."""
        limit = self.value + self.slack
        if self.cap <= limit:
            self.heap.clear()
            self.unexplored.clear()
            self.unresolved = []
        if self.heap and -self.heap[0][0] <= limit:
            self.heap.clear()
        if self.unexplored.bound() <= limit:
            self.unexplored.clear()
        self.unresolved = [b for b in self.unresolved if b.bound - self.prices[b.support] > limit]
        return bool(self.heap or self.waiting)

    def _new_first(self) -> bool:
        return not self.heap or self.unexplored.bound() >= -self.heap[0][0]

    def screening_shares(self, count: int) -> list[tuple[Any, ...]]:
        """Arguments of ``screen_supports`` for up to ``count`` jobs, if supports that wait come first."""
        # Without a point to beat nothing would be fathomed; exploring some supports first gives one.
        if self.weights is None or not self.weights.any() or not self._new_first():
            return []
        return self.unexplored.shares(self.value + self.slack, count)

    def merge_screened(self, results: Iterable[tuple[Floats, int]]) -> None:
        """Merge what the screening jobs returned."""
        self.boxes += self.unexplored.merge(results)

    def pick(self, count: int) -> list[NodeBatch]:
        """Remove the batches of largest bound for ``count`` jobs; supports that wait come before the rest of others."""
        picked: list[NodeBatch] = []
        most = count * BATCHES
        if len(self.columns) > 1:
            most = count * int(np.clip(A_JOB / (EVALUATIONS * max(self.tables.size, 1)), 1, BATCHES_OF_MANY))
        while len(picked) < most and (self.heap or self.waiting):
            picked.append(self._root() if self._new_first() else heapq.heappop(self.heap)[2])
        return picked

    def put_back(self, picked: list[NodeBatch]) -> None:
        """Put back the batches of jobs that did not end, so that the bound still counts them."""
        for batch in picked:
            self._push(batch)

    def shares(self, picked: list[NodeBatch], count: int, work: float) -> list[tuple[Any, ...]]:
        """Arguments of ``explore_batches`` for at most ``count`` jobs, each with some ``work`` to do."""
        if len(self.heap) > MOST_BATCHES:
            work *= 16
        shares: list[tuple[Any, ...]] = []
        for share in (picked[i::count] for i in range(min(count, len(picked)))):
            each = whole = work
            if len(self.columns) > 1:
                each = max(work / len(share), EVALUATIONS * self.tables.size)
                whole = each * len(share)
            supports = [self._support(b) for b in share]
            incumbents = [self.value + float(self.prices[b.support]) for b in share]
            first = self.job * NAMES
            shares.append(
                (self.tables, supports, share, incumbents, self.slack, each, whole, self.record, first)
            )
            self.job += 1
        return shares

    def merge(self, results: Iterable[Findings]) -> float:
        """Merge what the jobs found; returns the work that was done."""
        done = 0.0
        for found in results:
            done += found.work
            self.boxes += found.boxes
            if found.weights is not None:
                self.offer(found.value - float(self.prices[found.support]), found.weights)
            if self.record and found.splits.size:
                self.splits.append(found.splits)
                self.n_splits += len(found.splits)
            if found.unresolved is not None:
                self.unresolved.append(found.unresolved)
            if found.open is not None:
                order = np.argsort(found.open.bounds, kind="stable")  # the kernel explores the last box first
                for part in np.array_split(order, min(PARTS, order.size)):
                    self._push(found.open.part(part))
        return done

    def _support(self, batch: NodeBatch) -> Support:
        """The batch's support; antiparallel pairs are searched for if a first job did not fathom it."""
        i = batch.support
        features = self.columns[i]
        if self.by_rows:
            return Support(features, self.basis(i), NO_GROUPS)
        if i not in self.antiparallel:
            whole = (batch.halves >= 0.5).any()
            if batch.sides.shape[1] == 0 and len(self.columns) > 1 and whole:
                return Support(features, self.basis(i), NO_GROUPS)
        return Support(features, self.basis(i), self.grouped(i))

    def grouped(self, support: int) -> AntiparallelPairs:
        """The antiparallel pairs of a support, searched for once."""
        if support not in self.antiparallel:
            self.antiparallel[support] = antiparallel_pairs(self.tables, self.columns[support])
        return self.antiparallel[support]

    def basis(self, support: int) -> Floats | None:
        """The basis of a support's boxes, None for the features' own axes."""
        if not self.whitened:
            return None
        if support not in self.bases:
            features = self.columns[support]
            free = not (self.domain.signed[features].any() or self.domain.anchored)
            covariance = self.tables.covariance[np.ix_(features, features)]
            self.bases[support] = whitened_basis(covariance, self.tables.epsilon) if free else None
        return self.bases[support]
