"""Branch and bound over boxes of weights: bundles of boxes, best bound first, each explored depth first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.antiparallel import NO_LINES, Lines, opposite
from rerank.search.boxes.frame import frame
from rerank.search.boxes.tasks import NAMES, Bundle, Findings, Support, run_task
from rerank.search.boxes.waiting import Waiting
from rerank.search.supports.supports import faces
from rerank.search.tables import Tables
from rerank.search.workers import Job

Floats = NDArray[np.float64]
Names = NDArray[np.int64]

SHARES = 16  # bundles that the faces of a single cube are dealt into
BUNDLES = 4  # that one job explores one after the other, so that jobs do the same work though bundles differ;
SUPPORTS = 24  # where there are many supports, each of them gets a look
LOOKS = 120.0  # so many looks at every pair at least
PARTS = 4  # bundles that the boxes left by one job are dealt into, by their bounds
MOST_BUNDLES = 50_000  # beyond, bundles are finished instead of opened: depth first


@dataclass(eq=False)
class BoxSearch:
    """Open boxes of all supports and the best point met: the difference that the rounds shrink.

    Parameters
    ----------
    tables : Tables
    columns : sequence of intp arrays
        The supports.
    prices : float64 (number of supports,)
        What each support costs, in the tables' unit (0 without a price on features).
    signed : bool (d,)
        Weights that must not be negative.
    value : float
        Best value minus price met so far, in the tables' unit.
    framed : bool
        Whether correlated features get boxes in a frame of their own (:mod:`rerank.search.boxes.frame`).
    """

    tables: Tables
    columns: Sequence[NDArray[np.intp]]
    prices: Floats
    signed: NDArray[np.bool_]
    value: float
    weights: Floats | None = None
    record: bool = False
    framed: bool = False
    boxes: int = 0
    root_bound: float = np.inf
    heap: list[tuple[float, int, Bundle]] = field(default_factory=list)
    stubborn: list[Bundle] = field(default_factory=list)
    splits: list[Names] = field(default_factory=list)
    lines: dict[int, Lines] = field(default_factory=dict)
    frames: dict[int, Floats | None] = field(default_factory=dict)
    _count: int = 0
    _task: int = 0
    _waiting: Waiting = field(init=False)  # supports not looked at
    _named: int = field(default=0, init=False)  # faces named

    def __post_init__(self) -> None:
        self._task = 1
        # A proof holds the splits of every support, and a single one has no others to share the sieve with.
        sieved = len(self.columns) > 1 and not self.record
        self._waiting = Waiting(self.tables, self.columns, self.prices, self.signed, sieved)
        if len(self.columns) == 1:  # shared out from the start
            whole = self._root()
            for part in np.array_split(np.arange(whole.bounds.size), min(SHARES, whole.bounds.size)):
                self._push(whole.part(part))

    @property
    def waiting(self) -> int:
        """Number of supports that have not been looked at; smaller and cheaper ones come first."""
        return len(self._waiting)

    def _waiting_bound(self) -> float:
        """Bound (minus price) of the next support, which no later one exceeds; -inf if none waits."""
        if not self.waiting:
            return -np.inf
        return self.tables.ideal + self.tables.slack - float(self.prices[self._waiting.first])

    def _root(self) -> Bundle:
        """The faces of the next support's cube."""
        s = self._waiting.take()
        centres, halves = faces(self.columns[s].size, self.signed[self.columns[s]])
        names = np.arange(self._named, self._named + len(centres), dtype=np.int64)
        self._named += len(centres)
        bounds = np.full(len(centres), self.tables.ideal + self.tables.slack)
        return Bundle(s, centres, halves, bounds, names, np.zeros((len(centres), 0), np.int32))

    def _push(self, bundle: Bundle) -> None:
        self._count += 1
        heapq.heappush(self.heap, (-(bundle.bound - self.prices[bundle.support]), self._count, bundle))

    @property
    def slack(self) -> float:
        """By how much a settled box may beat the value: rounding of sums, and of adding and taking away a price."""
        priced = 4e-15 * (self.tables.total + abs(self.value)) if self.prices.any() else 0.0
        return self.tables.slack + priced

    def open_bound(self) -> float:
        """Largest bound (minus price) of what is not settled yet, never below the value."""
        tops = [-self.heap[0][0]] if self.heap else []
        tops.append(self._waiting_bound())
        tops += [b.bound - float(self.prices[b.support]) for b in self.stubborn]
        return max([self.value, *tops])

    @property
    def best(self) -> Floats:
        """Best point so far, or all ones where that is zero."""
        return self.weights if self.weights is not None and self.weights.any() else np.ones(self.signed.size)

    def offer(self, value: float, weights: Floats) -> None:
        """Take a point whose value (minus its price) is known from elsewhere."""
        if value > self.value:
            self.value, self.weights = value, weights

    def drop_settled(self) -> bool:
        """Whether boxes are left that could beat the value; settled bundles and small boxes are let go."""
        limit = self.value + self.slack
        if self.heap and -self.heap[0][0] <= limit:
            self.heap.clear()
        if self._waiting_bound() <= limit:
            self._waiting.clear()
        self.stubborn = [b for b in self.stubborn if b.bound - self.prices[b.support] > limit]
        return bool(self.heap or self.waiting)

    def _new_first(self) -> bool:
        return not self.heap or self._waiting_bound() >= -self.heap[0][0]

    def sieving(self, shares: int) -> list[Job]:
        """Jobs that settle many supports at a time, if it is the turn of supports that nobody has looked at."""
        # Without any point to beat nothing would be settled; a first look at some supports brings one.
        if self.weights is None or not self.weights.any() or not self._new_first():
            return []
        return self._waiting.jobs(self.value + self.slack, shares)

    def sieved(self, results: Iterable[tuple[NDArray[np.bool_], int]]) -> None:
        """Take what came of them."""
        self.boxes += self._waiting.sort(results)

    def pick(self, shares: int) -> list[Bundle]:
        """Take the bundles of largest bound; supports that wait come before what is left of others."""
        picked: list[Bundle] = []
        most = shares * (BUNDLES if len(self.columns) == 1 else SUPPORTS)
        while len(picked) < most and (self.heap or self.waiting):
            fresh = self._new_first()
            picked.append(self._root() if fresh else heapq.heappop(self.heap)[2])
        return picked

    def put_back(self, picked: list[Bundle]) -> None:
        """Take back what nobody finished, so that the bound goes on counting it."""
        for bundle in picked:
            self._push(bundle)

    def jobs(self, picked: list[Bundle], shares: int, work: float) -> list[Job]:
        """At most ``shares`` jobs that explore the bundles, each with some ``work`` to do."""
        if len(self.heap) > MOST_BUNDLES:
            work *= 16  # finish what is open rather than open more
        jobs: list[Job] = []
        for share in (picked[i::shares] for i in range(min(shares, len(picked)))):
            each = whole = work
            if len(self.columns) > 1:
                each = max(work / len(share), LOOKS * self.tables.pairs.shape[1])
                whole = each * len(share)
            supports = [self._support(b) for b in share]
            incumbents = [self.value + float(self.prices[b.support]) for b in share]
            first = self._task * NAMES
            given = (self.tables, supports, share, incumbents, self.slack, each, whole, self.record, first)
            jobs.append((run_task, given))
            self._task += 1
        return jobs

    def take(self, results: Iterable[Findings]) -> float:
        """Merge what was found; returns the work that was done."""
        done = 0.0
        for found in results:
            done += found.work
            self.boxes += found.boxes
            if found.weights is not None:
                self.offer(found.value - float(self.prices[found.support]), found.weights)
            if self.record and found.splits.size:
                self.splits.append(found.splits)
            if found.stubborn is not None:
                self.stubborn.append(found.stubborn)
            if found.left is not None:
                order = np.argsort(found.left.bounds, kind="stable")  # the kernel takes the last box first
                for part in np.array_split(order, min(PARTS, order.size)):
                    self._push(found.left.part(part))
        return done

    def _support(self, bundle: Bundle) -> Support:
        """The bundle's support; opposite pairs are looked for once a first look did not settle it."""
        i = bundle.support
        features = self.columns[i]
        if i not in self.lines:
            fresh = (
                bundle.forces.shape[1] == 0 and len(self.columns) > 1 and bundle.bound >= self.tables.ideal
            )
            if fresh:
                return Support(features, self.frame(i), NO_LINES)
            self.lines[i] = opposite(self.tables, features)
        return Support(features, self.frame(i), self.lines[i])

    def frame(self, support: int) -> Floats | None:
        """The frame of a support's boxes, None for the features' own axes."""
        if not self.framed:
            return None
        if support not in self.frames:
            features = self.columns[support]
            free = not self.signed[features].any()
            self.frames[support] = (
                frame(self.covariance[np.ix_(features, features)], self.tables.epsilon) if free else None
            )
        return self.frames[support]

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the differences of pairs."""
        return np.atleast_2d(np.cov(self.tables.pairs))


def open_ends(search: BoxSearch) -> tuple[Floats, Floats] | None:
    """Ends of a box of weights around everything open and the best point; None where it is not boxes of weights."""
    if search.waiting or any(frame is not None for frame in search.frames.values()):
        return None
    d = search.signed.size
    low = high = np.zeros(d) if search.weights is None else search.weights
    for bundle in [bundle for _, _, bundle in search.heap] + search.stubborn:
        features = search.columns[bundle.support]
        below, above = np.zeros(d), np.zeros(d)
        below[features] = (bundle.centres - bundle.halves).min(axis=0)
        above[features] = (bundle.centres + bundle.halves).max(axis=0)
        low, high = np.minimum(low, below), np.maximum(high, above)
    return low, high
