"""Exact arithmetic where rounding decides: the value of a point, and boxes too small to split.

The sets on which a pair is won are closed, so the value is upper semicontinuous and takes its maximum over a
box at a vertex of the arrangement that the undecided pairs' hyperplanes and the box's sides cut out.  In a
box of width 2^-29 few pairs are undecided, and the vertices can be listed in rationals.

In long lists few rows can matter at a point or in a small box: the N-th largest lower end of the irrelevant rows rules
out every row that cannot reach it (as in :mod:`rerank.problem.partitions`).  The problem of the rows that are left has
the same value, and few pairs.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem import Problem, RankedList
from rerank.problem.lists import Floats, Indices
from rerank.search.boxes.listing import grid_of, vertices
from rerank.search.boxes.nodes import NodeBatch
from rerank.search.boxes.open import OpenBoxes
from rerank.search.boxes.signs import ROUNDING, Relations
from rerank.search.boxes.signs import largest as largest_by_signs
from rerank.search.boxes.whole import as_whole, whole_inside
from rerank.search.domain import Domain
from rerank.search.exact import ExactRows
from rerank.search.quotas import ExactQuotas, QuotasInBox
from rerank.search.rows.choice import last_hit, number_of_pairs
from rerank.search.rows.lines import RowLines
from rerank.search.sizes import OutOfTimeError
from rerank.search.tables import Tables, tables

ONE = Fraction(1)
Point = tuple[Fraction, ...]
Plane = tuple[Point, Fraction]

ZERO = Fraction(0)
MOST_VERTICES = 20_000
MOST_PAIRS = 2_000  # undecided in a box
MOST_NEAR = 200_000  # of the rows that can matter; a box with more stays open, a point with more loses those in doubt
ROUNDED = 1e-12  # by which a vertex that is computed may miss the one that is meant
SMALLEST = 2.0**-30  # half-width below which a coordinate is not split


@dataclass(frozen=True, eq=False)
class _Box:
    """A box of a support, and what is undecided in it."""

    features: Indices
    centre: Floats
    half: Floats
    sure: NDArray[np.bool_]  # whether all of the box wins a pair
    undecided: Indices  # pairs
    alike: dict[Point, list[int]]  # the same by their difference: on few features many pairs have one
    walls: list[Plane]  # the rows on the weights
    asked: QuotasInBox | None


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact differences of the pairs of a problem and the value of points near which some of them are undecided. The
    tables' columns were multiplied by the domain's scale, so that points are coordinates.
    """

    problem: Problem
    tables: Tables
    domain: Domain
    quotas: ExactQuotas | None = None

    @cached_property
    def rows(self) -> ExactRows:
        """The rows of the problem in rationals."""
        return ExactRows(self.problem, self.domain.scale) if self.quotas is None else self.quotas.exact

    @property
    def epsilon(self) -> Fraction:
        """The margin that differences have to reach; 0 where it is a part of them."""
        return Fraction(0) if self.problem.by_sum else self.problem.epsilon.exact

    @cached_property
    def walls(self) -> list[tuple[list[Fraction], Fraction]]:
        """The rows on the weights, ``a.v >= b`` on all coordinates."""
        scale = [Fraction(float(s)) for s in self.domain.scale]
        sides = (side for row in self.problem.rows for side in row.sides())
        return [([a * s for a, s in zip(row, scale, strict=True)], side) for row, side in sides]

    def difference(self, p: int, features: Indices) -> Point:
        """Scaled difference of pair ``p`` on some features, exactly, less the margin where that is a part of it."""
        apart = self.problem.epsilon.exact - self.epsilon
        row = self.rows.difference(int(self.tables.upper[p]), int(self.tables.lower[p]), features)
        return tuple(x - apart for x in row) if apart else row

    def wins(self, p: int, v: list[Fraction], norm: Fraction = ONE) -> bool:
        """Whether ``v`` wins pair ``p``, exactly, where the margin is multiplied by ``norm``."""
        return self._score(v, self.difference(p, np.arange(len(v)))) >= self.epsilon * norm

    @staticmethod
    def _score(v: Sequence[Fraction], row: Sequence[Fraction]) -> Fraction:
        return sum((a * b for a, b in zip(v, row, strict=True) if a), Fraction(0))

    def value(self, v: Floats) -> float:
        """Value, in the tables' unit, of the weights at ``v``, every pair decided exactly (no penalty subtracted). At
        coordinates beyond 1 the margin is multiplied by the largest.
        """
        t, norm = self.tables, max(1.0, self.domain.norm(v))
        margin, tolerance = v @ t.pairs - t.epsilon * norm, t.tolerance * norm
        won = margin > tolerance
        weights, scale = (map(Fraction, side.tolist()) for side in (self.domain.weights(v), self.domain.scale))
        exact = [w / s for w, s in zip(weights, scale, strict=True)]
        for p in np.flatnonzero(np.abs(margin) <= tolerance):
            won[p] = self.wins(int(p), exact, Fraction(norm))
        return t.value_of(won)

    def largest(
        self,
        features: Indices,
        centre: Floats,
        half: Floats,
        floor: float = -np.inf,
        unit: Callable[[float], float] = float,
    ) -> tuple[float, list[Floats]] | None:
        """Largest value in a box, in a ``unit``, and points that have it, or a bound that is no more than the floor;
        None if that would take too long, or the time is up.
        """
        t = self.tables
        asked = None if self.quotas is None else self.quotas.inside(features, centre, half)
        if asked is not None and not asked.possible:
            return -np.inf, []
        D = t.pairs[features]
        middle, radius = centre @ D - t.epsilon, half @ np.abs(D) + t.tolerance
        undecided = np.flatnonzero(np.abs(middle) <= radius)
        if undecided.size > MOST_PAIRS:
            return None
        alike: dict[Point, list[int]] = {}
        for p in undecided.tolist():
            alike.setdefault(self.difference(p, features), []).append(p)
        walls = [(tuple(row[j] for j in features), side) for row, side in self.walls]
        box = _Box(features, centre, half, middle > radius, undecided, alike, walls, asked)
        if asked is not None and asked.demands:
            return self._by_signs(box, floor, unit)
        found = self._on_grid(box) if t.linear and not (walls or self.problem.by_sum) else None
        if found is None and (points := self._points(box)) is not None:
            found = self._best_of(box, points)
        return None if found is None else (unit(found[0]), found[1])

    def _by_signs(self, box: _Box, floor: float, unit: Callable[[float], float]) -> tuple[float, list[Floats]] | None:
        """As :meth:`largest` where quotas are open: pairs, rows on the weights, and quotas together."""
        assert box.asked is not None
        t, features, (centre, half) = self.tables, box.features, (box.centre, box.half)
        free, orders = np.flatnonzero(half > 0), box.asked.relations(centre, half)
        first = [same[0] for same in box.alike.values()]
        n, m = len(first), len(first) + len(box.walls)
        rows = np.zeros((m + len(orders.rows), features.size))
        rows[:n], rows[m:] = t.pairs[features][:, first].T, orders.rounded or rows[m:]
        rows[n:m] = [[float(x) for x in row] for row, _ in box.walls] or rows[n:m]
        sides = np.r_[np.full(n, t.epsilon), [float(side) for _, side in box.walls], np.zeros(len(rows) - m)]
        sizes = np.abs(rows[n:m]) @ (np.abs(centre) + half) + np.abs(sides[n:m])
        rounding = np.r_[np.full(n, t.tolerance), ROUNDING * sizes, np.full(len(rows) - m, orders.tolerance)]

        def exact() -> tuple[NDArray[Any], NDArray[Any]]:
            planes = [*((row, self.epsilon) for row in box.alike), *box.walls, *((row, ZERO) for row in orders.rows)]
            c, h = ([Fraction(x) for x in side.tolist()] for side in (centre, half))
            found, constants = np.empty((len(planes), free.size), object), np.empty(len(planes), object)
            for i, (row, side) in enumerate(planes):
                found[i] = [h[j] * row[j] for j in free]
                constants[i] = self._score(c, row) - side
            return found, constants

        signs = Relations(rows[:, free] * half[free], rows @ centre - sides, rounding, m, exact)
        of = np.empty(box.undecided.size, np.intp)
        for number, same in enumerate(box.alike.values()):
            of[np.searchsorted(box.undecided, same)] = number

        def worth(held: NDArray[np.bool_]) -> float:
            won = box.sure.copy()
            won[box.undecided] = held[of]
            return unit(t.value_of(won))

        found = largest_by_signs(signs, list(range(n, m)), worth, lambda held: orders.met(held[m:]), floor)
        if found is None:
            return None
        points = np.zeros((len(found[1]), t.pairs.shape[0]))
        points[:, features] = centre
        for point, u in zip(points, found[1], strict=True):
            point[features[free]] += half[free] * u
        return found[0], list(points)

    def _points(self, box: _Box) -> list[list[Fraction]] | None:
        """Points of a box among which are those of largest value; None if there are too many, or the time is up."""
        free = np.flatnonzero(box.half > 0)
        if comb(len(box.alike) + len(box.walls) + 2 * free.size, free.size) > MOST_VERTICES:
            return None
        points = _vertices([*((row, self.epsilon) for row in box.alike), *box.walls], box.centre, box.half, free)
        if current().now:
            return None
        return [x for x in points if all(self._score(x, row) >= side for row, side in box.walls)]

    def _best_of(self, box: _Box, points: list[list[Fraction]]) -> tuple[float, list[Floats]] | None:
        """The largest value of some points of a box and those that have it; None if the time is up."""
        stop, best, at, exactly = current(), -np.inf, list[list[float]](), dict[Point, None]()
        seen: dict[bytes, float] = {}
        for x in points:
            if stop.now:
                return None
            won = box.sure.copy()
            for row, same in box.alike.items():
                won[same] = self._score(x, row) >= self.epsilon
            key = won[box.undecided].tobytes()
            if key not in seen:
                seen[key] = self.tables.value_of(won)
            if seen[key] > best:
                best, at, exactly = seen[key], [], {}
            if seen[key] == best:
                at.append([float(v) for v in x])
                exactly[tuple(x)] = None
        if at:
            at.append(np.mean(at, axis=0).tolist())
        at += [whole.tolist() for x in exactly if (whole := as_whole(x)) is not None]
        found = np.zeros((len(at), self.tables.pairs.shape[0]))
        found[:, box.features] = at or 0.0
        return best, list(found)

    def _on_grid(self, box: _Box) -> tuple[float, list[Floats]] | None:
        """As :meth:`largest` where the rows are small whole numbers and the ends of the box too; else None."""
        alike, centre, half = box.alike, box.centre, box.half
        t, stop = self.tables, current()
        whole = not ((centre - half) % 1).any() and not ((centre + half) % 1).any()
        grid = grid_of([list(row) for row in alike], int(np.count_nonzero(half))) if alike and whole else None
        if grid is None:
            return None
        rows, unit = grid
        loss = np.array([t.loss[same].sum() for same in alike.values()])
        top = t.total - t.loss[~box.sure].sum()
        best, found = -np.inf, dict[bytes, list[Floats]]()
        for points, won in vertices(rows, centre, half, self.problem.epsilon.exact * unit):
            if stop.now:
                return None
            values = top + won @ loss
            if values.max(initial=-np.inf) > best:
                best, found = float(values.max()), {}
            for i in np.flatnonzero(values == best):
                found.setdefault(won[i].tobytes(), []).append(points[i])
        at = np.zeros((2 * len(found), t.pairs.shape[0]))
        at[:, box.features] = [x for met in found.values() for x in (np.mean(met, axis=0), met[0])] or 0.0
        numbers = [whole_inside(v, np.full(v.size, ROUNDED)) for v in at[1::2]]
        return best, [*at, *(v for v in numbers if v is not None)]


@dataclass(frozen=True, eq=False)
class RowExact:
    """The same for long lists, by :class:`Exact` on the rows that can matter."""

    problem: Problem
    lines: RowLines
    domain: Domain
    quotas: ExactQuotas | None = None

    def value(self, w: Floats) -> float:
        """Value of ``w`` in the tables' unit; every pair is decided exactly where there are few in doubt."""
        least, most = (self.lines.value(w, sign) for sign in (1.0, -1.0))
        if least == most:
            return least
        near = self._near(w, np.zeros(w.size))
        return least if near is None else max(least, self._inner(near, near.value(w)))

    def largest(
        self, features: Indices, centre: Floats, half: Floats, floor: float = -np.inf
    ) -> tuple[float, list[Floats]] | None:
        """As that of :class:`Exact`."""
        c, h = np.zeros(self.domain.n_features), np.zeros(self.domain.n_features)
        c[features], h[features] = centre, half
        near = self._near(c, h)
        return None if near is None else near.largest(features, centre, half, floor, partial(self._inner, near))

    def _inner(self, near: Exact, value: float) -> float:
        return near.tables.to_value(value) - self.lines.tables.constant

    def _near(self, centre: Floats, half: Floats) -> Exact | None:
        """Exact arithmetic on the rows that can matter in a box; None where they have too many pairs, or time is up."""
        t = self.lines.tables
        middle, reach = np.empty(len(self.problem.X)), np.empty(len(self.problem.X))
        norm = max(1.0, self.domain.norm(centre))
        middle[t.order], reach[t.order] = t.rows @ centre, np.abs(t.rows) @ half + t.tolerance * norm
        lists = [_cut(item, middle[item.rows], reach[item.rows], t.epsilon * norm) for item in self.problem.lists]
        problem = replace(self.problem, lists=tuple(lists), quotas=())  # the other rows have places, too
        if number_of_pairs(problem) > MOST_NEAR:
            return None
        # The rows that are left out earn nothing, so the constant is that of the whole lists.
        with suppress(OutOfTimeError):
            return Exact(problem, tables(problem, scale=self.domain.scale), self.domain, self.quotas)
        return None


def _cut(item: RankedList, middle: Floats, reach: Floats, epsilon: float) -> RankedList:
    """The rows of a list that can reach the places that earn something, and are not behind every hit that counts."""
    places = int(np.count_nonzero(item.coefficients))
    lower, limit = middle - reach, -np.inf
    if 0 < places <= np.count_nonzero(item.gains == 0):
        limit = _last(lower[item.gains == 0], places)
    if item.hits is not None:
        above = [lower[item.gains >= g] for g in item.thresholds()]
        behind = [_last(ends, last_hit(item.hits[: ends.size])) for ends in above]
        limit = max(limit, min(behind, default=-np.inf))
    left = np.flatnonzero(middle + reach > limit - epsilon)
    rows, gains = item.rows[left], item.gains[left]
    coefficients = item.coefficients[item.coefficients.size - left.size :]
    hits = None if item.hits is None else item.hits[: left.size]
    return replace(item, rows=rows, gains=gains, coefficients=coefficients, hits=hits)


def _last(ends: Floats, places: int) -> float:
    """The smallest of so many largest ends."""
    return float(np.partition(ends, -places)[-places])


def _vertices(rows: list[Plane], centre: Floats, half: Floats, free: Indices) -> list[list[Fraction]]:
    """Different vertices of the arrangement of the planes ``row.x = side`` and the box's sides, inside the box. When it
    is time to stop, only some of them.
    """
    base, planes, (low, high) = _on_free(rows, centre, half, free)
    for i, ends in enumerate(zip(low, high, strict=True)):
        unit = tuple(Fraction(int(i == m)) for m in range(free.size))
        planes |= dict.fromkeys((unit, end) for end in ends)
    found: dict[tuple[Fraction, ...], None] = {}
    stop = current()
    for chosen in combinations(planes, free.size):
        if stop.now:
            break
        x = _solved([[*row, rhs] for row, rhs in chosen])
        if x is not None and all(a <= v <= z for a, v, z in zip(low, x, high, strict=True)):
            found[tuple(x)] = None
    return [_placed(x, base, free) for x in found]


def _on_free(
    rows: list[Plane], centre: Floats, half: Floats, free: Indices
) -> tuple[list[Fraction], dict[Plane, None], list[list[Fraction]]]:
    """The centre of a box, the different planes on the coordinates that are free, and the ends of these."""
    base, fixed = [Fraction(c) for c in centre.tolist()], np.flatnonzero(half == 0)
    planes: dict[Plane, None] = {}
    for row, side in rows:
        planes[tuple(row[j] for j in free), side - sum((row[j] * base[j] for j in fixed), Fraction(0))] = None
    return base, planes, [[base[j] + sign * Fraction(float(half[j])) for j in free] for sign in (-1, 1)]


def _placed(x: Sequence[Fraction], base: list[Fraction], free: Indices) -> list[Fraction]:
    point = list(base)
    for j, v in zip(free, x, strict=True):
        point[j] = v
    return point


def _solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Solution of a square system by elimination; None where it is singular."""
    n = len(rows)
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i and rows[r][i]:
                factor = rows[r][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def fathom_unresolved(
    boxes: OpenBoxes,
    exact: Exact | RowExact,
    offer: Callable[[Floats], None],
    after: Callable[[OpenBoxes], None] = lambda boxes: None,
) -> bool:
    """Fathom the boxes that were set aside for it by exact arithmetic; True if nothing is left open.

    ``offer`` is called with the points that are better than the best, ``after`` between batches, when ``boxes`` holds
    all that is open.  The boxes for which this worked are named in ``boxes.listed``; where there are too many vertices
    a box that can be split is explored further.  Boxes in a whitened basis stay open: vertices are listed for boxes of
    weights only.  Those that are left when time is up stay open, too.
    """
    stop = current()
    for _ in range(len(boxes.unresolved)):
        if stop.now:
            break
        batch = boxes.unresolved.pop(0)
        left, again = _listed(boxes, batch, exact, offer), np.zeros(batch.bounds.size, np.bool_)
        if boxes.axes.basis(batch.support) is None and not stop.now:
            known = np.isin(batch.names, np.fromiter(boxes.listed, np.int64, len(boxes.listed)))
            price = float(boxes.prices[batch.support])
            again = ~known & (left.bounds - price > boxes.limit) & (batch.halves > SMALLEST).any(axis=1)
        if again.any():
            boxes.put_back([left.part(np.flatnonzero(again))])
        if not again.all():
            boxes.unresolved.append(left.part(np.flatnonzero(~again)))
        after(boxes)
    return not (boxes.drop_fathomed() or boxes.unresolved)


def placed(part: Floats, features: Indices, count: int) -> Floats:
    """Coordinates of some features among all ``count``, 0 elsewhere."""
    v = np.zeros(count)
    v[features] = part
    return v


def _listed(boxes: OpenBoxes, batch: NodeBatch, exact: Exact | RowExact, offer: Callable[[Floats], None]) -> NodeBatch:
    """The batch with the bounds that vertices give; until time is up."""
    stop, bounds = current(), batch.bounds.copy()
    price, features = float(boxes.prices[batch.support]), boxes.columns[batch.support]
    floor = boxes.limit + price
    while floor - price > boxes.limit:
        floor = np.nextafter(floor, -np.inf)
    if boxes.axes.basis(batch.support) is not None:
        return batch
    if isinstance(exact, Exact):
        exact = Exact(exact.problem, boxes.axes.pairs(batch.support), exact.domain, exact.quotas)
    for i, name in enumerate(batch.names.tolist()):
        if stop.now:
            break
        if name in boxes.listed or bounds[i] - price <= boxes.limit:
            continue
        found = exact.largest(features, batch.centres[i], batch.halves[i], floor)
        if found is not None:
            bounds[i] = min(bounds[i], found[0])
            boxes.listed.add(name)
        if bounds[i] - price > boxes.value + boxes.slack:
            points = [] if found is None else found[1]
            if (whole := whole_inside(batch.centres[i], batch.halves[i])) is not None:
                points = [*points, placed(whole, features, boxes.domain.n_features)]
            for w in points:
                offer(w)
    return batch.bounded(bounds)
