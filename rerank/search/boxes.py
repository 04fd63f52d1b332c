"""Branch and bound over boxes of weights: bundles of boxes, best bound first, each explored depth first.

A round hands a fixed number of tasks to joblib, whatever the number of cores; every task starts from the
incumbent of the round's beginning and their findings are merged in order.  So the answer does not depend on
the number of workers, and any joblib backend will do.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from rerank.search.frame import frame
from rerank.search.opposite import NO_LINES, Lines, opposite
from rerank.search.supports import faces
from rerank.search.tables import Tables
from rerank.search.tasks import NAMES, Bundle, Findings, Support, run_task

Floats = NDArray[np.float64]
Names = NDArray[np.int64]

TASKS = 8
ALONE = 0.04  # seconds of exploring before work is shared out; starting workers costs some milliseconds
FIRST_WORK = 4e5  # pairs visited by a task of the first round, doubled from round to round
MOST_WORK = 1.2e7  # about a tenth of a second
MOST_BUNDLES = 50_000  # beyond, bundles are finished instead of opened: depth first


@dataclass(eq=False)
class BoxSearch:
    """Open boxes of all supports, the best point met, and the rounds that shrink the difference.

    Parameters
    ----------
    tables : Tables
    columns : list of intp arrays
        The supports.
    prices : float64 (number of supports,)
        What each support costs, in the tables' unit (0 without a price on features).
    signed : bool (d,)
        Weights that must not be negative.
    value : float
        Best value minus price met so far, in the tables' unit.
    framed : bool
        Whether correlated features get boxes in a frame of their own (:mod:`rerank.search.frame`).
    """

    tables: Tables
    columns: list[NDArray[np.intp]]
    prices: Floats
    signed: NDArray[np.bool_]
    value: float
    weights: Floats | None = None
    n_jobs: int | None = None
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
    _speed: float = 5e7
    _busy: float = 0.0
    _opened: int = field(default=0, init=False)  # supports looked at
    _named: int = field(default=0, init=False)  # faces named

    def __post_init__(self) -> None:
        self._task = 1
        if len(self.columns) == 1:  # shared out from the start
            whole = self._root()
            for part in np.array_split(np.arange(whole.bounds.size), min(TASKS, whole.bounds.size)):
                self._push(whole.part(part))

    @property
    def waiting(self) -> int:
        """Number of supports that have not been looked at; smaller and cheaper ones come first."""
        return len(self.columns) - self._opened

    def _waiting_bound(self) -> float:
        """Bound (minus price) of the next support, which no later one exceeds; -inf if none waits."""
        if not self.waiting:
            return -np.inf
        return self.tables.ideal + self.tables.slack - float(self.prices[self._opened])

    def _root(self) -> Bundle:
        """The faces of the next support's cube."""
        s = self._opened
        centres, halves = faces(self.columns[s].size, self.signed[self.columns[s]])
        names = np.arange(self._named, self._named + len(centres), dtype=np.int64)
        self._opened, self._named = s + 1, self._named + len(centres)
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

    def offer(self, value: float, weights: Floats) -> None:
        """Take a point whose value (minus its price) is known from elsewhere."""
        if value > self.value:
            self.value, self.weights = value, weights

    def run(
        self, deadline: float, progress: Callable[[BoxSearch], None] | None = None, until: float = np.inf
    ) -> bool:
        """Rounds until everything is settled (True) or ``deadline`` or ``until`` has passed (False)."""
        P = self.tables.pairs.shape[1]  # setting up a task costs a few looks at every pair
        work = max(FIRST_WORK, 16.0 * P)
        with ExitStack() as stack:
            pool = None
            while self._drop_settled():
                now = time.perf_counter()
                if now >= min(deadline, until):
                    return False
                if pool is None and self._busy > ALONE:
                    pool = stack.enter_context(Parallel(n_jobs=self.n_jobs, prefer="threads"))
                most = self._speed * max(min(deadline, until) - now, 0.02) / TASKS
                self._round(pool, min(work, max(most, 4.0 * P)), now)
                work = min(2 * work, max(MOST_WORK, 60.0 * P))
                if progress is not None:
                    progress(self)
        return True

    def _drop_settled(self) -> bool:
        """Whether boxes are left that could beat the value; settled bundles and small boxes are let go."""
        limit = self.value + self.slack
        if self.heap and -self.heap[0][0] <= limit:
            self.heap.clear()
        if self._waiting_bound() <= limit:
            self._opened = len(self.columns)
        self.stubborn = [b for b in self.stubborn if b.bound - self.prices[b.support] > limit]
        return bool(self.heap or self.waiting)

    def _round(self, pool: Parallel | None, work: float, now: float) -> None:
        if len(self.heap) > MOST_BUNDLES:
            work *= 16  # finish what is open rather than open more
        picked: list[Bundle] = []
        try:
            self._pick(picked, TASKS * (1 if len(self.columns) == 1 else 24))
            done = self._explore(pool, picked, work)
        except BaseException:
            for bundle in picked:  # nobody finished them, so the bound must go on counting them
                self._push(bundle)
            raise
        spent = time.perf_counter() - now
        self._busy += spent
        self._speed = 0.5 * self._speed + 0.5 * done / max(spent, 1e-6)

    def _pick(self, picked: list[Bundle], most: int) -> None:
        """Take the bundles of largest bound; supports that wait come before what is left of others."""
        while len(picked) < most and (self.heap or self.waiting):
            fresh = not self.heap or self._waiting_bound() >= -self.heap[0][0]
            picked.append(self._root() if fresh else heapq.heappop(self.heap)[2])

    def _explore(self, pool: Parallel | None, picked: list[Bundle], work: float) -> float:
        single = len(self.columns) == 1
        shares = [picked[i::TASKS] for i in range(min(TASKS, len(picked)))]
        jobs = []
        for share in shares:
            each = max(work / len(share), (2.0 if single else 120.0) * self.tables.pairs.shape[1])
            supports = [self._support(b) for b in share]
            incumbents = [self.value + float(self.prices[b.support]) for b in share]
            first = self._task * NAMES
            jobs.append((self.tables, supports, share, incumbents, self.slack, each, self.record, first))
            self._task += 1
        if pool is None:
            results = [run_task(*job) for job in jobs]
        else:
            results = pool(delayed(run_task)(*job) for job in jobs)
        done = 0.0
        for findings in results:
            for found in findings:
                done += found.work
                self._take(found)
        return done

    def _take(self, found: Findings) -> None:
        self.boxes += found.boxes
        if found.weights is not None:
            self.offer(found.value - float(self.prices[found.support]), found.weights)
        if self.record and found.splits.size:
            self.splits.append(found.splits)
        if found.stubborn is not None:
            self.stubborn.append(found.stubborn)
        if found.left is None:
            return
        left = found.left
        order = np.argsort(left.bounds, kind="stable")  # the kernel takes the last box first
        for part in np.array_split(order, min(4, order.size)):
            self._push(left.part(part))

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
