"""Exact line search in weight space: good weights for any number of features, in any time.

Every line is solved to its optimum (:mod:`rerank.search.lines.kernel`); lines follow the coordinates, random
directions and the differences between the best points met so far.  Lines through one point share nothing, so
the search can stop after any of them.  Lines share the work with boxes by what each of them brings.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.errors.stops import current
from rerank.problem.lists import Floats, Indices
from rerank.search.domain import Domain
from rerank.search.quotas import middles
from rerank.search.workspace import line_pairs

Point = tuple[float, Floats]

LINE = 30.0  # evaluations of a pair that one line costs, the sorting of its ends included,
LINE_ITSELF = 5e3  # and for any number of pairs
LONGER = 1e-9  # how much longer the intervals of a line are made, where single points are looked for,
DIGITS = 2.0**20  # coordinates are then rounded to multiples of 1 / DIGITS
KEEP = 6  # elite points whose differences serve as directions
ROUNDS = 50  # of directions in one climb
PATIENCE = 2  # rounds without a better point that end a climb
LOOKS = 8  # values on a line whose best point does not meet the quotas
LEAST_SHARE, MOST_SHARE = 1 / 15, 4.0  # of the work on boxes, whatever lines bring


@dataclass(eq=False)
class Climb:
    """A climb under way."""

    w: Floats  # its best point
    rounds: int = ROUNDS
    patience: int = PATIENCE
    value: float = -np.inf
    before: float = -np.inf
    turn: int = 0
    idle: int = 0
    queue: list[Floats] = field(default_factory=list)  # directions of this round that are still to be tried, last first
    widths: list[float] = field(default_factory=list)  # of the smooth climb that comes first, last first,
    at: Floats | None = None  # and where it stands
    kind: int = 0  # smooth and then by lines, or (1) by whole lines alone


@dataclass(eq=False)
class ClimbState:
    """Where a series of climbs stands: what a job is given and what it returns."""

    rng: np.random.Generator
    elite: list[Point] = field(default_factory=list)  # the best ends of climbs, best first
    climb: Climb | None = None
    found: Floats | None = None  # the point of the last call that beat them
    random_start: bool = False
    owed: float = 0.0  # work that is still to be done, below 0 where a step took more than was given
    spent: list[float] = field(default_factory=lambda: [0.0, 0.0])  # work on climbs of each kind,
    gains: list[int] = field(default_factory=lambda: [0, 0])  # and how many of them ended above all before

    def remember(self, points: Iterable[Point]) -> None:
        """Add points to the elite, of equal points only one."""
        kept: list[Point] = []
        for value, w in sorted([*self.elite, *points], key=lambda point: -point[0]):
            if len(kept) < KEEP and not any(np.array_equal(w, x) for _, x in kept):
                kept.append((value, w))
        self.elite = kept


@dataclass(eq=False)
class LineSearch:
    """Line searches on one problem, in coordinates. With ``exact``, the value of a point with every pair decided
    exactly, single points of lines are tried where rows lie on a grid.
    """

    tables: Any  # Tables, or RowTables in a subclass
    domain: Domain
    random_state: int = 0
    deadline: float = np.inf  # value of ``time.perf_counter()`` after which no line is begun
    exact: Callable[[Floats], float] | None = None
    lines: int = 0
    work: float = 0.0

    def __post_init__(self) -> None:
        self.state = ClimbState(np.random.default_rng(self.random_state))

    @property
    def late(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() > self.deadline or current().now

    @property
    def cost(self) -> float:
        """Evaluations of a pair that a line costs."""
        return LINE_ITSELF + LINE * self.tables.size

    def line(self, w: Floats, u: Floats, features: Indices | None = None, reach: float = np.inf) -> Point:
        """Best value on ``w + tau u`` and its point, in normal form; on ``features`` if given. A ``reach``, which says
        how far from ``w`` to look, is not read: pairs are sorted on the whole line anyway.
        """
        from rerank.search.lines.kernel import ends, sweep

        t = self.tables
        cols = slice(None) if features is None else features
        w_, u_ = w[cols], u[cols]
        domain = self.domain if features is None else self.domain.part(features)
        low, high = domain.interval(w_, u_)
        table, lost = line_pairs(t, features), np.zeros(t.slots.unit_of.size, np.int64)
        at, who = np.empty(2 * t.size), np.empty(2 * t.size, np.int64)
        norming = domain.norming(w_).size
        memory = np.empty((2, 5, 2 * norming + 1)), np.zeros((2, t.size))
        n, low_value = ends(table, w_, u_, norming, low, high, memory, at, who, lost)

        def best(at: Floats) -> tuple[float, float]:
            upto = np.zeros(t.count_start[-1], np.int64)
            found: tuple[float, float] = sweep(table, np.argsort(at), at, who, low_value, lost.copy(), low, high, upto)
            return found

        most, tau = best(at[:n])
        self.lines += 1
        self.work += self.cost
        if not np.isfinite(most):
            return -np.inf, w
        point = most, self.domain.normal(w + tau * u)
        if self.exact is not None and t.spacing > 0:
            # Pairs that are won up to a point and from it on are won together there: intervals a little longer show it.
            hoped, tau = best(at[:n] - np.sign(who[:n]) * LONGER * (1.0 + np.abs(at[:n])))
            v = self.domain.normal(w + tau * u)
            for near in (v, self.domain.normal(np.rint(v * DIGITS) / DIGITS)) if hoped > most else ():
                if (value := self.exact(near)) > point[0]:
                    point = value, near
        return self.counted(point, w, u, low, high)

    def counted(self, point: Point, w: Floats, u: Floats, low: float, high: float) -> Point:
        """A point of a line as it counts: itself where it meets the quotas, else the best of some points that do. Where
        none of them does, the one nearest to that, with a value below all others.
        """
        quotas = self.tables.quotas
        if not quotas.any or quotas.lead(point[1]) > 0:
            return point
        tried = np.array([self.domain.normal(w + tau * u) for tau in np.tan(middles(low, high))])
        leads = quotas.leads(tried)
        self.work += tried.shape[0] * quotas.rows.shape[0]
        good = np.flatnonzero(leads > 0)
        if not good.size:
            best = int(np.argmax(leads))
            return self.judged(0.0, tried[best]), tried[best]
        some = tried[good[np.linspace(0, good.size - 1, min(LOOKS, good.size)).astype(np.intp)]]
        return max(((self.value(v), v) for v in some), key=lambda found: found[0])

    def judged(self, value: float, v: Floats) -> float:
        """The value of a point as it counts: below all others where it does not meet the quotas."""
        quotas = self.tables.quotas
        lead = quotas.lead(v) if quotas.any else np.inf
        return value if lead > 0 else lead - 1.0 - float(self.tables.ideal)

    def value(self, v: Floats) -> float:
        """Value of a point in the tables' unit; pairs within rounding of the margin are lost."""
        self.work += self.tables.size
        return float(self.tables.value_of(v @ self.tables.pairs - self.tables.epsilon > self.tables.tolerance))

    glances = False  # whether a glance at a line costs much less than the line

    def glance(self, w: Floats, u: Floats, features: Indices | None = None) -> float:
        """What :meth:`line` finds, or a part of it for less."""
        return self.line(w, u, features)[0]

    def climb(
        self, w: Floats, features: Indices | None = None, rounds: int = ROUNDS, patience: int = PATIENCE
    ) -> Point:
        """Follow coordinates, then random and elite directions, until ``patience`` rounds bring nothing."""
        # A smooth climb moves all weights, so one on some features is by lines alone.
        climb = self.begun(w, rounds, patience) if features is None else Climb(w, rounds, patience)
        return self.finish(climb, features)

    def begun(self, w: Floats, rounds: int = ROUNDS, patience: int = PATIENCE, width: float = np.inf) -> Climb:
        """A climb from ``w``; where there is a smooth climb it begins with the widest width up to ``width``."""
        return Climb(self.domain.kept(w), rounds, patience)

    def smooth(self, climb: Climb) -> None:
        """Follow a smooth climb with its next width."""
        climb.widths.clear()

    def reach(self, climb: Climb) -> float:
        """How far to look along the next line of a climb."""
        return np.inf

    def finish(self, climb: Climb, features: Indices | None = None, after: Callable[[], None] | None = None) -> Point:
        """Follow a climb to its end, with a call after each line."""
        while self.step(climb, features) and not self.late:
            if after is not None:
                after()
        self.state.remember([(climb.value, climb.w)])
        return climb.value, climb.w

    def step(self, climb: Climb, features: Indices | None = None) -> bool:
        """Search one line of a climb; False where the climb has ended."""
        if climb.widths:
            self.smooth(climb)
            return True
        if not climb.queue:
            gained = climb.turn < 2 or climb.value > climb.before + 1e-12 * abs(climb.before)
            climb.idle = 0 if gained else climb.idle + 1
            if climb.idle >= climb.patience or climb.turn >= climb.rounds:
                return False
            climb.before = climb.value
            climb.queue = self._directions(climb, features)[::-1]
            climb.turn += 1
        reach = self.reach(climb) if features is None else np.inf
        value, point = self.line(climb.w, climb.queue.pop(), features, reach)
        if value >= climb.value:
            climb.value, climb.w = value, point
        return True

    def _directions(self, climb: Climb, features: Indices | None) -> list[Floats]:
        rng, d = self.state.rng, climb.w.size
        free = np.arange(d) if features is None else features
        free = free[len(self.domain.anchor) :]
        if climb.turn % 2 == 0 or free.size == 1:
            axes = np.zeros((free.size, d))
            axes[np.arange(free.size), rng.permutation(free)] = 1.0
            return list(axes)
        some = np.zeros((free.size, d))
        some[:, free] = rng.standard_normal((free.size, free.size))
        toward = [e - climb.w for _, e in self.state.elite if not np.array_equal(e, climb.w)]
        usable = [u for u in toward if np.any(u[free]) and not np.any(np.delete(u, free))]
        return list(some) + usable

    def restarts(self, w: Floats, work: float = np.inf) -> None:
        """Go on climbing for so many evaluations: first from ``w``, then from random points and shaken elite points."""
        state = self.state
        state.found = None
        state.owed += work
        best = state.elite[0][0] if state.elite else -np.inf
        while state.owed > 0 and not self.late:
            if state.climb is None:
                state.climb = self.restart(w)
            before = self.work
            if self.step(state.climb):
                state.owed -= self.work - before
                state.spent[state.climb.kind] += self.work - before
                if state.climb.value > best:
                    best, state.found = state.climb.value, state.climb.w
            else:
                state.gains[state.climb.kind] += not state.elite or state.climb.value > state.elite[0][0]
                state.remember([(state.climb.value, state.climb.w)])
                state.climb = None

    def restart(self, w: Floats) -> Climb:
        """The next climb of a series."""
        state = self.state
        if not state.random_start:
            state.random_start = True
            return self.begun(w)
        point = self.domain.random_point(state.rng)
        if state.elite and state.rng.random() < 0.5:
            shaken = state.elite[state.rng.integers(len(state.elite))][1] + 0.3 * (point - self.domain.unchanged)
            point = self.domain.normal(shaken) if shaken.any() else point
        return self.begun(point)


def states(count: int, random_state: int) -> list[ClimbState]:
    """Series of climbs that go on beside each other, the first of them from the best point known."""
    return [ClimbState(np.random.default_rng([random_state, i]), random_start=i > 0) for i in range(count)]


@dataclass
class LineShare:
    """Work of a job that follows lines, as a part of the work on all boxes."""

    now: float  # the share
    judged: float = 0.0  # work on boxes when it was last judged
    by_lines: float = 0.0  # by how much lines raised the value since then,
    by_boxes: float = 0.0  # and boxes closed the gap

    def judge(self, done: float, least: float, blind: bool) -> None:
        """Judge anew whenever the work on boxes has doubled, and at first after the ``least`` work.

        The share is doubled where the work on lines brought more and halved where that on boxes did.  It stays where
        neither brought anything, unless boxes are ``blind``: their bound is still that of the ideal lists.
        """
        if done < 2.0 * self.judged + least:
            return
        if self.by_lines > self.now * self.by_boxes or (self.by_boxes <= 0.0 and blind):
            self.now = max(self.now, min(2.0 * self.now, MOST_SHARE))
        elif self.by_boxes > 0.0:
            self.now = min(self.now, max(0.5 * self.now, LEAST_SHARE))
        self.judged, self.by_lines, self.by_boxes = done, 0.0, 0.0
