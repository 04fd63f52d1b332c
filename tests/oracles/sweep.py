r"""The exact optimum in two dimensions, by sweeping the four sides of the square; a second oracle, for
hundreds of items.

On the side ``w_f = s`` the other weight is ``t`` in ``[-1, 1]``, and a pair with scaled difference ``x``
is won for ``t >= (epsilon - s x_f) / x_g`` when ``x_g > 0``, for ``t <=`` the same when ``x_g < 0``.
Between two critical ``t`` nothing changes; the sets are closed and ``|w|_0`` only drops at a point, so
the value at a critical ``t`` is never below the value beside it.  It is enough to look at the critical
points, at ``t = 0`` and at the ends: in ascending ``t``, first the pairs won from here on, then the
value, then the pairs won only up to here.

Critical points are sorted by their nearest doubles; those that the rounding error cannot tell apart are
compared as rationals. Values are sums of integers (the coefficients over one denominator), so nothing is
rounded.  A change of one lost count by one moves one entry of the sorted counts: constant time.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from math import lcm

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from tests.oracles.vertices import Optimum, scaled

ROUNDING = 16 * 2.0**-53


class _SortedCounts:
    """Sorted lost counts of one binary list and what they earn; one count up or down in constant time."""

    def __init__(self, positive: int, negative: int, table: list[int], hits: list[int], down: int) -> None:
        self.table, self.top, self.hits, self.down = table, len(table) - 1, hits, down
        self.first = [0] * (negative + 1) + [positive]  # first[v]: how many counts are below v
        self.total = sum(hits[j] * table[self.top - down * j - negative] for j in range(positive))

    def move(self, count: int, by: int) -> None:
        """One of the counts equal to ``count`` rises (1) or falls (-1) by one."""
        edge = max(count, count + by)
        at = self.first[edge] - (by > 0)
        self.first[edge] -= by
        place = self.top - self.down * at - count
        self.total += self.hits[at] * (self.table[place - by] - self.table[place])


class _State:
    """Lost counts of every item in every binary list, starting with nothing won."""

    def __init__(self, problem: Problem) -> None:
        mass = sum((Fraction(float(q.weight)) for q in problem.lists), Fraction(0))
        self.pairs: list[tuple[int, int]] = []
        self.touches: list[list[tuple[int, int]]] = []  # (binary list, item) of each pair
        sizes: list[tuple[int, int, list[Fraction], list[int], int]] = []
        self.constant = Fraction(0)
        for q in problem.lists:
            share = Fraction(float(q.weight)) / (mass * Fraction(float(q.scale)))
            self.constant += share * Fraction(float(q.constant))
            levels = sorted({float(g) for g in q.gains if g > 0})
            base = len(sizes)
            for below, level in zip([0.0, *levels], levels, strict=False):
                factor = share * (Fraction(level) - Fraction(below))
                here = int((q.gains >= level).sum())
                table = [factor * Fraction(float(a)) for a in q.coefficients]
                hits = [1] * here if q.hits is None else [int(h) for h in q.hits[:here]]
                sizes.append((here, q.gains.size - here, table, hits, int(not q.alone)))
            grade = [sum(g >= level for level in levels) for g in q.gains.tolist()]
            for a, i in enumerate(q.rows.tolist()):
                for b, k in enumerate(q.rows.tolist()):
                    if grade[a] > grade[b]:
                        self.pairs.append((i, k))
                        self.touches.append([(base + t, i) for t in range(grade[b], grade[a])])
        self.unit = lcm(
            Fraction(problem.C).denominator,
            self.constant.denominator,
            *(v.denominator for _, _, row, *_ in sizes for v in row),
        )
        self.sizes = [(p, n, [int(v * self.unit) for v in row], *rest) for p, n, row, *rest in sizes]
        self.penalty, self.offset = int(Fraction(problem.C) * self.unit), int(self.constant * self.unit)

    def reset(self) -> None:
        self.lists = [_SortedCounts(*size) for size in self.sizes]
        self.lost = {key: self.sizes[key[0]][1] for touch in self.touches for key in touch}

    def move(self, pair: int, by: int) -> None:
        """A pair is won (-1) or lost (1)."""
        for key in self.touches[pair]:
            self.lists[key[0]].move(self.lost[key], by)
            self.lost[key] += by

    def objective(self, support: int) -> int:
        return self.offset + sum(u.total for u in self.lists) - self.penalty * support


def sweep(problem: Problem) -> Optimum:
    """The exact maximum of a problem with two features; ``O(P log P)`` for ``P`` mixed pairs."""
    state = _State(problem)
    state.reset()
    best, where = state.objective(0), (Fraction(0), Fraction(0))
    whole, margin = _differences(problem, state.pairs)
    for axis in (0, 1):
        for side in (1, -1):
            if side * problem.signs[axis] < 0:
                continue
            for objective, left in _side(problem, state, whole, margin, axis, side):
                if objective > best:
                    best, where = objective, _weights(axis, side, Fraction(*left))
    return Optimum(Fraction(best, state.unit), where)


def _weights(axis: int, side: int, t: Fraction) -> tuple[Fraction, Fraction]:
    return (Fraction(side), t) if axis == 0 else (t, Fraction(side))


def _differences(problem: Problem, pairs: list[tuple[int, int]]) -> tuple[NDArray[np.object_], int]:
    """Scaled differences (pairs, 2) and the margin as integers over one denominator."""
    points, margin = scaled(problem), problem.epsilon.exact
    unit = lcm(margin.denominator, *(v.denominator for row in points for v in row))
    whole = np.array([[int(v * unit) for v in row] for row in points], dtype=object)
    first, second = np.array(pairs, np.intp).reshape(-1, 2).T
    return whole[first] - whole[second], int(margin * unit)


def _side(
    problem: Problem, state: _State, whole: NDArray[np.object_], margin: int, axis: int, side: int
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Objective at every critical point of a side and between, with where that begins."""
    state.reset()
    sign, alone = int(problem.signs[1 - axis]), problem.max_features == 1
    start, stop = (0 if sign > 0 or alone else -1), (0 if sign < 0 or alone else 1)
    marks = sorted({start, 0, stop})
    events = [(mark, 1, 1, -1) for mark in marks]  # numerator, denominator, what happens, pair
    for pair, row in enumerate(whole):
        top, slope = margin - side * row[axis], row[1 - axis]
        if slope == 0:
            if top <= 0:
                state.move(pair, -1)
            continue
        if slope < 0:
            state.move(pair, -1)
        top, bottom = (top, slope) if slope > 0 else (-top, -slope)
        if abs(top) > 4 * bottom:  # outside the side, where the order of events does not matter
            top, bottom = (4 if top > 0 else -4), 1
        events.append((top, bottom, 0 if slope > 0 else 2, pair))
    inside, previous = False, (0, 1)
    for group in _ascending(events):
        t = group[0][:2]
        if inside:
            yield state.objective(2), previous
        for *_, what, pair in group:
            if what == 0:
                state.move(pair, -1)
        marked = [numerator for numerator, _, what, _ in group if what == 1]
        inside |= start in marked
        if inside:
            yield state.objective(2 if t[0] else 1), t
        if stop in marked:
            return
        for *_, what, pair in group:
            if what == 2:
                state.move(pair, 1)
        previous = t


def _ascending(events: list[tuple[int, int, int, int]]) -> Iterator[list[tuple[int, int, int, int]]]:
    """Events grouped by equal place, in ascending order of place."""
    # int / int rounds to nearest, which keeps order: only equal doubles need a comparison of rationals.
    nearest = np.array([top / bottom for top, bottom, *_ in events])
    order = np.argsort(nearest, kind="stable")
    for _, block in groupby(order.tolist(), key=lambda at: nearest[at]):
        some = [events[at] for at in block]
        if len(some) == 1:
            yield some
            continue
        exact = sorted(((Fraction(e[0], e[1]), e) for e in some), key=lambda pair: pair[0])
        for _, same in groupby(exact, key=lambda pair: pair[0]):
            yield [e for _, e in same]
