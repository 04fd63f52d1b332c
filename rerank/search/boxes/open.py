"""The open boxes of a search and the best point met: what the branch and bound shrinks."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats, Indices
from rerank.search.boxes.axes import Axes
from rerank.search.boxes.nodes import NAMES, Findings, NodeBatch
from rerank.search.domain import Domain
from rerank.search.supports.screening import Screens, Waiting

Names = NDArray[np.int64]

FIRST_BATCHES = 16  # into which the faces of a single cube are divided
BATCHES = 4  # of a job, so that jobs do the same work though batches differ;
BATCHES_OF_MANY = 24  # where there are many supports, so that many of them are explored early,
EVALUATIONS = 120.0  # with so many evaluations of every pair at least
EXTRA = 1e7  # and so many where equal pairs are merged: about what it takes to list the vertices of a support
A_JOB = 1e8  # evaluations of a pair by a job on many supports
PARTS = 4  # batches into which the boxes left by one job are divided, by their bounds
MOST_CORNERS = 5  # sides of a box whose vertices are looked at
MOST_BATCHES = 50_000  # beyond, batches are finished instead of opened: depth first


@dataclass(eq=False)
class OpenBoxes:
    """Open boxes of all supports in batches, best bound first, and the best point met."""

    tables: Any
    columns: Sequence[Indices]  # the supports,
    prices: Floats  # and what each costs, in the tables' unit; 0 without a penalty on features
    domain: Domain
    value: float  # best value minus penalty met so far, in the tables' unit,
    weights: Floats | None = None  # and its point
    record: bool = False  # whether to keep the splits, for a proof
    screens: Callable[[], Screens | None] | None = None  # makes what many supports are screened with
    cap: float = np.inf  # a bound on every value known from elsewhere, or from boxes explored before
    target: float = -np.inf  # boxes whose bound (minus penalty) is at most this are set aside
    boxes: int = field(default=0, init=False)  # explored so far
    axes: Axes = field(init=False)
    heap: list[tuple[float, int, NodeBatch]] = field(init=False)
    unresolved: list[NodeBatch] = field(init=False)  # boxes too small to split
    splits: list[Names] = field(init=False)
    n_splits: int = field(init=False)
    listed: set[int] = field(init=False)  # names of boxes fathomed by listing vertices
    aside: float = field(init=False)  # largest bound (minus penalty) of the boxes set aside
    shown_before: float = field(default=np.inf, init=False)  # the least bound that all boxes showed together,
    kept: tuple[list[Names], set[int]] = field(init=False)  # and what shows it

    def __post_init__(self) -> None:
        self.axes, self.kept = Axes(self.tables, self.columns, self.domain), ([], set())
        self.restart(whitened=False)

    def restart(self, whitened: bool) -> None:
        """Begin again from the root with the best point met, in whitened bases or on the features' own axes."""
        self.axes.change(whitened)
        self.heap, self.unresolved, self.splits = [], [], []
        self.n_splits, self.listed, self.aside = 0, set(), -np.inf
        self.pushed, self.named, self.job = 0, 0, 1  # counters of batches, of faces named, and of jobs
        # A proof holds the splits of every support, and a single one needs no screening.
        screens = None if len(self.columns) == 1 or self.record else self.screens
        self.unexplored = Waiting(self.tables, self.columns, self.prices, self.domain.signed, screens)
        if len(self.columns) == 1:  # shared out from the start
            whole = self._root()
            for part in np.array_split(np.arange(whole.bounds.size), min(FIRST_BATCHES, whole.bounds.size)):
                self._push(whole.part(part))

    def _root(self) -> NodeBatch:
        """The boxes that the domain of the next support falls into, or those of them that screening left open."""
        s, most, batch = self.unexplored.take()
        return self._whole(s, most) if batch is None else batch

    def _whole(self, s: int, most: float) -> NodeBatch:
        """The boxes that the domain of a support falls into."""
        centres, halves = self.domain.part(self.columns[s]).roots()
        names = np.arange(self.named, self.named + len(centres), dtype=np.int64)
        self.named += len(centres)
        return NodeBatch.of(s, centres, halves, np.full(names.size, most), names)

    def _push(self, batch: NodeBatch) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (-(batch.bound - self.prices[batch.support]), self.pushed, batch))

    @property
    def slack(self) -> float:
        """By how much a fathomed box may beat the value: rounding of sums, and of adding and subtracting a penalty."""
        priced = 4e-15 * (self.tables.total + abs(self.value)) if self.prices.any() else 0.0
        return self.tables.slack + priced

    def reached(self) -> None:
        """Remember what boxes that are all set aside show."""
        if self.largest_bound() < self.shown_before:
            self.shown_before, self.kept = self.largest_bound(), (self.splits, self.listed)
            self.cap = min(self.cap, self.shown_before)

    def largest_bound(self) -> float:
        """Largest bound (minus penalty) of what is not fathomed yet."""
        tops = [self.unexplored.bound(), -self.heap[0][0] if self.heap else -np.inf]
        tops += [self.aside] if self.passed_over else []
        tops += [b.bound - float(self.prices[b.support]) for b in self.unresolved]
        return max(tops)

    @property
    def passed_over(self) -> bool:
        """Whether boxes were set aside that may hold better values: for a target, or a bound that others showed."""
        return self.aside > self.value + self.slack

    def open_bound(self) -> float:
        """Bound on every value (minus penalty), never below the best."""
        return max(self.value, min(self.largest_bound(), self.cap))

    def recorded(self) -> tuple[list[Names], set[int]]:
        """The splits, and the names of the boxes with listed vertices, that show the lowest bound."""
        return (self.splits, self.listed) if self.largest_bound() <= self.shown_before else self.kept

    @property
    def limit(self) -> float:
        """Bound (minus penalty) up to which boxes are not explored now."""
        return max(self.value + self.slack, self.target)

    def _set_aside(self, bound: float) -> None:
        self.aside = max(self.aside, bound)

    def corners(self) -> Floats:
        """Vertices of the smallest of the boxes explored next, which touch the points where pairs differ by the margin.
        No centre is such a point once a split has gone through it. None where the rows lie on no grid, or there are too
        many vertices.
        """
        if not (self.heap and self.tables.spacing > 0 and not self.axes.whitened):
            return np.empty((0, self.domain.n_features))
        batch = self.heap[0][2]
        first = int(np.argmin(np.where(batch.bounds >= batch.bound, batch.halves.max(axis=1), np.inf)))
        moving = np.flatnonzero(batch.halves[first])
        if moving.size > MOST_CORNERS:
            return np.empty((0, self.domain.n_features))
        found = np.zeros((2**moving.size, self.domain.n_features))
        found[:, self.columns[batch.support]] = batch.centres[first]
        for i, j in enumerate(moving):
            side = 1 - 2 * (np.arange(len(found)) >> i & 1)
            found[:, self.columns[batch.support][j]] += side * batch.halves[first, j]
        return found

    @property
    def best(self) -> Floats:
        """Best point so far, or all ones where that is zero."""
        found = self.weights
        return np.ones(self.domain.n_features) if found is None or not found.any() else self.domain.normal(found)

    def offer(self, value: float, weights: Floats) -> None:
        """Keep a point if it is better than the best; ``value`` is in the tables' unit, minus the penalty."""
        if value > self.value:
            self.value, self.weights = value, weights

    def drop_fathomed(self) -> bool:
        """Drop the batches and supports that cannot beat value or target; whether any are left to explore."""
        limit = np.inf if self.cap <= self.value + self.slack else self.limit
        if self.heap and -self.heap[0][0] <= limit:
            self._set_aside(-self.heap[0][0])
            self.heap.clear()
        if self.unexplored and self.unexplored.bound() <= limit:
            self._set_aside(self.unexplored.bound())
            self.unexplored.clear()
        bounds = [b.bound - float(self.prices[b.support]) for b in self.unresolved]
        self._set_aside(max((x for x in bounds if x <= limit), default=-np.inf))
        self.unresolved = [b for b, x in zip(self.unresolved, bounds, strict=True) if x > limit]
        return bool(self.heap or self.unexplored)

    def _new_first(self) -> bool:
        return not self.heap or self.unexplored.bound() >= -self.heap[0][0]

    def screening_shares(self, count: int) -> list[tuple[Any, ...]]:
        """Arguments of ``screen_supports`` for up to ``count`` jobs, if supports that wait come first."""
        # Without a point to beat nothing would be fathomed; exploring some supports first gives one.
        blind = self.weights is None or not self.weights.any()
        return self.unexplored.shares(self.limit, count, blind) if self._new_first() else []

    def merge_screened(self, results: Iterable[tuple[Floats, list[NodeBatch | None], int]]) -> None:
        """Merge what the screening jobs returned."""
        self.boxes += self.unexplored.merge(results)
        self._set_aside(self.limit)

    def pick(self, count: int) -> list[NodeBatch]:
        """Remove the batches of largest bound for ``count`` jobs; supports that wait come before the rest of others."""
        picked: list[NodeBatch] = []
        many = int(np.clip(A_JOB / (EVALUATIONS * max(self.tables.size, 1)), 1, BATCHES_OF_MANY))
        most = count * (BATCHES if len(self.columns) == 1 else many)
        while len(picked) < most and (self.heap or self.unexplored):
            picked.append(self._root() if self._new_first() else heapq.heappop(self.heap)[2])
        return picked

    def put_back(self, picked: list[NodeBatch]) -> None:
        """Put back the batches of jobs that did not end, so that the bound still counts them."""
        for batch in picked:
            self._push(batch)

    def shares(self, picked: list[NodeBatch], count: int, work: float) -> list[tuple[Any, ...]]:
        """Arguments of ``explore_batches`` for at most ``count`` jobs, each with some ``work`` to do."""
        work *= 16 if len(self.heap) > MOST_BATCHES else 1
        shares: list[tuple[Any, ...]] = []
        for share in (picked[i::count] for i in range(min(count, len(picked)))):
            each = whole = work
            supports = [self.axes.support(b) for b in share]
            prices = [float(self.prices[b.support]) for b in share]
            if len(self.columns) > 1:
                few = all(s.pairs not in (None, self.tables) for s in supports)
                each = max(work / len(share), EXTRA if few else EVALUATIONS * self.tables.size)
                whole = each * len(share)
            values, targets = [self.value + x for x in prices], [self.target + x for x in prices]
            limits = (
                values,
                targets,
                self.slack,
                each,
                whole,
                self.record,
                self.job * NAMES,
                bool(self.unresolved or self.listed),
            )
            shares.append((self.tables, supports, share, *limits))
            self.job += 1
        return shares

    def merge(self, results: Iterable[Findings]) -> float:
        """Merge what the jobs found; returns the work that was done."""
        done = 0.0
        for found in results:
            done += found.work
            self.boxes += found.boxes
            self._set_aside(found.aside - float(self.prices[found.support]))
            if found.weights is not None:
                self.offer(found.value - float(self.prices[found.support]), found.weights)
            if self.record and found.splits.size:
                self.splits.append(found.splits)
                self.n_splits += len(found.splits)
            left = [batch for batch in (found.open, found.unresolved) if batch is not None]
            if left and not self.record and self.axes.few(found.support):
                self.unresolved.append(self._whole(found.support, max(batch.bound for batch in left)))
                continue
            if found.unresolved is not None:
                self.unresolved.append(found.unresolved)
            if found.open is not None:
                order = np.argsort(found.open.bounds, kind="stable")  # the kernel explores the last box first
                for part in np.array_split(order, min(PARTS, order.size)):
                    self._push(found.open.part(part))
        return done
