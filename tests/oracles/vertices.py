r"""Every vertex at which the optimum of a small problem may lie, and the exact objective there.

Why vertices are enough
-----------------------
``V`` never falls when a pair more is won, and the set where a pair is won, ``{w : w.(x_i - x_k) >=
epsilon}``, is closed. ``|w|_0`` can only drop in a limit, so ``-C |w|_0`` can only rise there: the
objective is upper semicontinuous, the surface of the cube is compact, and a maximiser ``w*`` exists.  Let
``w*_f = s`` with ``s = +1`` or ``-1``, ``P`` the pairs it wins and ``Z`` its zero coordinates.  The
polytope ::

    Q = { w : w_f = s,  |w_j| <= 1,  w_j = 0 on Z,  signs kept,  w.(x_i - x_k) >= epsilon on P }

is bounded and holds ``w*``, so it has a vertex ``v``.  There every pair of ``P`` is still won, the
support is not larger, the signs are kept and ``max|v_j| = 1``: ``v`` is a maximiser as well.  A vertex is
the only solution of ``d`` independent tight constraints, ``w_f = s`` can be one of them, and the others
are among ``w.(x_i - x_k) = epsilon``, ``w_j = +-1`` and ``w_j = 0``.  So it suffices to intersect those
planes on every face, keep what lies in the box and compare ``w = 0``.

Two restrictions keep the argument, with more planes: pairs that must be *apart* (``|w.(x_i - x_k)| >=
epsilon``) and pairs that must be *apart or tied*; each is a finite union of closed half-spaces, so ``Q``
gets the half-space that ``w*`` satisfies.  The Subrank objective (every pair of a positive with any other
item) never falls with a pair won either.

Why the floating-point sieve keeps the answer exact
---------------------------------------------------
Each vertex is written in homogeneous form ``(W, Q)``, ``w = W / Q``, by Cramer's rule; every quantity
tested is a sum of products of at most three differences.  Its rounding error is below ``32 u`` times the
sum of the products' magnitudes (plus ``1e-290`` for underflow).  Whatever lies within that error is taken
in the optimistic sense: a pair is won, a coordinate is zero, a bound holds.  So the optimistic value is
never below the true one, and only vertices whose optimistic value (compared exactly, as integers) is
above the best exact value found so far can change it.  Those are evaluated with Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem

Rule = Literal["value", "subrank", "apart", "resolved"]
Pair = tuple[int, int]

ERROR = 32 * 2.0**-53
UNDERFLOW = 1e-290


@dataclass(frozen=True)
class Optimum:
    """The largest objective and a vertex where it is reached."""

    value: Fraction
    weights: tuple[Fraction, ...]


@lru_cache(maxsize=8)  # asked for each point of a problem
def scaled(problem: Problem) -> list[list[Fraction]]:
    """``(x - low) / (high - low)`` as rationals, one row per item."""
    low = [Fraction(float(v)) for v in problem.low]
    span = [Fraction(float(v)) - at for v, at in zip(problem.high, low, strict=True)]
    return [
        [(Fraction(float(x)) - at) / width for x, at, width in zip(row, low, span, strict=True)] for row in problem.X
    ]


class Enumeration:
    """Planes, pairs and values of one problem under one rule."""

    def __init__(self, problem: Problem, rule: Rule) -> None:
        self.problem, self.rule, self.d = problem, rule, problem.n_features
        if self.d > 3:
            raise ValueError(f"The oracle enumerates at most 3 features; this problem has {self.d}.")
        self.limit = self.d if problem.max_features is None else problem.max_features
        self.signs = [int(v) for v in problem.signs] + [0] * (3 - self.d)
        self._read_pairs()
        self._read_differences()
        self._read_values()

    def _read_pairs(self) -> None:
        """Pairs that earn (the first must win), and pairs that must be apart."""
        earning: dict[Pair, int] = {}
        apart: list[Pair] = []
        for item in self.problem.lists:
            members = list(zip(item.rows.tolist(), item.gains.tolist(), strict=True))
            for (i, g), (k, h) in [(a, b) for a in members for b in members if a[0] != b[0]]:
                if g > h or (self.rule == "subrank" and g > 0):
                    earning.setdefault((i, k), len(earning))
                if i < k and (self.rule == "resolved" or (self.rule == "apart" and g > 0 and h > 0)):
                    apart.append((i, k))
        self.earning, self.apart = earning, apart

    def _read_differences(self) -> None:
        """Differences as integers over one denominator, padded to three features, and as nearest doubles."""
        points = scaled(self.problem)
        pairs = [*self.earning, *self.apart]
        exact = [
            [a - b for a, b in zip(points[i], points[k], strict=True)] + [Fraction(0)] * (3 - self.d) for i, k in pairs
        ]
        margin = self.problem.epsilon.exact
        self.unit = lcm(margin.denominator, *(v.denominator for row in exact for v in row))
        self.whole = [[int(v * self.unit) for v in row] for row in exact]
        self.margin = int(margin * self.unit)
        self.float = np.array([[float(v) for v in row] for row in exact]).reshape(len(pairs), 3)

    def _read_values(self) -> None:
        """Each unit's pairs, and what each place earns: integers over one denominator, and doubles."""
        lists = self.problem.lists
        mass = sum((Fraction(float(item.weight)) for item in lists), Fraction(0))
        tables: list[tuple[list[list[int]], list[Fraction]]] = []
        self.hits: list[list[int]] = []
        self.above: list[NDArray[np.intp]] = []  # positives that take a place above each
        constant = Fraction(0)
        for item in lists:
            share = Fraction(float(item.weight)) / (mass * Fraction(float(item.scale)))
            constant += share * Fraction(float(item.constant))
            members = list(zip(item.rows.tolist(), (Fraction(float(g)) for g in item.gains), strict=True))
            previous = Fraction(0)
            for threshold in sorted({g for _, g in members if g > 0}):
                positive = [i for i, g in members if g >= threshold]
                rivals = [k for k, g in members if g < threshold or self.rule == "subrank"]
                indices = [[self.earning[i, k] for k in rivals if k != i] for i in positive]
                factor = share * (threshold - previous)
                self.hits.append([1 if item.hits is None else int(item.hits[j]) for j in range(len(positive))])
                self.above.append(np.arange(len(positive)) * (not item.alone))
                tables.append((indices, [factor * Fraction(float(a)) for a in item.coefficients]))
                previous = threshold
        penalty = Fraction(self.problem.C)
        self.value_unit = lcm(
            constant.denominator, penalty.denominator, *(v.denominator for _, row in tables for v in row)
        )
        self.constant, self.penalty = int(constant * self.value_unit), int(penalty * self.value_unit)
        self.tables = [(indices, [int(v * self.value_unit) for v in row]) for indices, row in tables]
        self.float_tables = [(np.array(ix, np.intp), np.array([float(v) for v in row])) for ix, row in tables]
        self.size = abs(float(constant)) + sum(
            abs(float(max(row, key=abs))) * sum(hits) for (_, row), hits in zip(tables, self.hits)
        )

    def exact_value(self, won: NDArray[np.bool_], support: int) -> int:
        """The objective, times ``value_unit``, of a set of pairs won and a number of non-zero weights."""
        total = self.constant - self.penalty * support
        for (indices, row), hits, above in zip(self.tables, self.hits, self.above):
            if self.rule == "subrank":
                total += sum(row[int(won[ix].sum())] for ix in indices)
                continue
            lost = sorted(len(ix) - int(won[ix].sum()) for ix in indices)
            places = [len(row) - 1 - int(j) - count for j, count in zip(above, lost)]
            total += sum(weight * row[place] for weight, place in zip(hits, places))
        return total

    def float_values(self, won: NDArray[np.bool_], support: NDArray[np.int64]) -> NDArray[np.float64]:
        """:meth:`exact_value` of many sets of pairs, in the objective's unit and doubles."""
        constant = np.float64(self.constant / self.value_unit)
        total: NDArray[np.float64] = constant - self.problem.C * support.astype(np.float64)
        for (indices, row), hits, above in zip(self.float_tables, self.hits, self.above):
            if self.rule == "subrank":
                total = total + row[won[:, indices].sum(axis=2)].sum(axis=1)
                continue
            lost = np.sort((~won)[:, indices].sum(axis=2), axis=1)
            earned = row[row.size - 1 - above - lost]
            total = total + (earned * np.array(hits, float)).sum(axis=1)
        return total

    def solve(self) -> Optimum | None:
        best, where = None, (Fraction(0),) * self.d
        nothing = np.zeros(len(self.earning), bool)
        if self.rule != "apart" or not self.apart:
            best = self.exact_value(nothing, 0)
        faces = self._faces()
        value = np.concatenate([f.value for f in faces])
        owner = np.repeat(np.arange(len(faces)), [f.value.size for f in faces])
        local = np.concatenate([np.arange(f.value.size) for f in faces])
        seen: dict[tuple[bytes, int], int] = {}
        for at in np.argsort(-value, kind="stable"):
            face, c = faces[owner[at]], local[at]
            if best is not None and value[at] < best / self.value_unit - 1e-9 * (self.size + 3 * self.problem.C):
                break
            key = (face.won[c].tobytes(), int(face.support[c]))
            if key not in seen:
                seen[key] = self.exact_value(face.won[c], key[1])
            if best is not None and seen[key] <= best:
                continue
            found = face.exact(int(c))
            if found is not None and (best is None or found[0] > best):
                best, where = found[:2]
        return None if best is None else Optimum(Fraction(best, self.value_unit), where)

    def _faces(self) -> list[_Face]:
        return [_Face(self, axis, side) for axis in range(self.d) for side in (1, -1) if side * self.signs[axis] >= 0]


class _Face:
    """The vertices on one face ``w_axis = side`` of the cube and their optimistic values."""

    def __init__(self, owner: Enumeration, axis: int, side: int) -> None:
        self.owner, self.axis, self.side = owner, axis, side
        self.free = [j for j in range(3) if j != axis]
        self.lines = list(self._lines())
        self._intersect()
        self._sieve()

    def _lines(self) -> Iterator[tuple[int, int, int, float, float, float, float]]:
        """Distinct lines ``a u + b v = r``: integers, then doubles with the magnitude of what made ``r``."""
        o, (p, q) = self.owner, self.free
        known: set[tuple[int, int, int]] = set()
        for j, a, b in ((p, 1, 0), (q, 0, 1)):
            for r in (0,) if j >= o.d else (0, 1, -1):
                known.add((a, b, r))
                yield a, b, r, float(a), float(b), float(r), float(abs(r))
        whole = [(row, flt, level) for row, flt, level in self._levels()]
        for row, flt, level in whole:
            a, b, r = row[p], row[q], level - self.side * row[self.axis]
            if a == 0 and b == 0:
                continue
            common = gcd(a, b, r) * (1 if (a, b) > (0, 0) else -1)
            key = (a // common, b // common, r // common)
            if key not in known:
                known.add(key)
                at, on = level / o.unit, float(flt[self.axis])
                yield a, b, r, float(flt[p]), float(flt[q]), at - self.side * on, abs(at) + abs(on)

    def _levels(self) -> Iterator[tuple[list[int], NDArray[np.float64], int]]:
        """Differences with the levels at which something changes."""
        o = self.owner
        for at, (row, flt) in enumerate(zip(o.whole, o.float, strict=True)):
            yield row, flt, o.margin
            if at >= len(o.earning):
                yield row, flt, -o.margin
                if o.rule == "resolved":
                    yield row, flt, 0

    def _intersect(self) -> None:
        slopes: dict[tuple[int, int], int] = {}
        kind = np.empty(len(self.lines), np.intp)
        for at, (a, b, *_) in enumerate(self.lines):
            common = gcd(a, b) * (1 if (a, b) > (0, 0) else -1)
            kind[at] = slopes.setdefault((a // common, b // common), len(slopes))
        first, second = np.triu_indices(len(self.lines), 1)
        crossing = kind[first] != kind[second]
        self.first, self.second = first[crossing], second[crossing]

    def _sieve(self) -> None:
        """Cramer's rule in doubles with error bounds; keeps what may lie in the box, at its best."""
        o = self.owner
        table = np.array([line[3:] for line in self.lines])
        (a1, b1, r1, m1), (a2, b2, r2, m2) = table[self.first].T, table[self.second].T
        point = np.stack([a1 * b2 - a2 * b1, r1 * b2 - r2 * b1, a1 * r2 - a2 * r1], axis=1)
        a1, b1, a2, b2 = abs(a1), abs(b1), abs(a2), abs(b2)
        size = np.stack([a1 * b2 + a2 * b1, m1 * b2 + m2 * b1, a1 * m2 + a2 * m1], axis=1)
        error = ERROR * size + UNDERFLOW
        unsure = np.abs(point[:, 0]) <= error[:, 0]
        point *= np.where(point[:, :1] < 0, -1.0, 1.0)
        keep = np.ones(point.shape[0], bool)
        support = np.ones(point.shape[0], np.int64)
        for at, j in enumerate(self.free, start=1):
            keep &= np.abs(point[:, at]) <= point[:, 0] + error[:, at] + error[:, 0]
            keep &= o.signs[j] * point[:, at] >= -error[:, at]
            support += np.abs(point[:, at]) > error[:, at]
        support[unsure] = 1
        keep |= unsure
        columns = [self.axis, *self.free]
        rows = o.float[:, columns] * np.array([self.side, 1.0, 1.0])
        margin = o.problem.epsilon
        level = point[keep] @ rows.T  # w.(x_i - x_k), times the common denominator
        bound = ERROR * (size[keep] @ (np.abs(rows) + [margin, 0.0, 0.0]).T) + UNDERFLOW
        reach = margin * point[keep, :1]
        above = (level - reach >= -bound) | unsure[keep, None]
        ok = support[keep] <= o.limit
        if o.apart:
            rest = slice(len(o.earning), None)
            fine = above[:, rest] | (-level[:, rest] - reach >= -bound[:, rest])
            if o.rule == "resolved":
                fine |= np.abs(level[:, rest]) <= bound[:, rest]
            ok &= fine.all(axis=1)
        chosen = np.flatnonzero(keep)[ok]
        self.first, self.second = self.first[chosen], self.second[chosen]
        self.support, self.won = support[chosen], np.ascontiguousarray(above[ok, : len(o.earning)])
        self.value = o.float_values(self.won, self.support)

    def exact(self, c: int) -> tuple[int, tuple[Fraction, ...], NDArray[np.bool_]] | None:
        """Objective (times ``value_unit``), weights and pairs won at a vertex; None if it is not allowed."""
        o = self.owner
        a1, b1, r1 = self.lines[self.first[c]][:3]
        a2, b2, r2 = self.lines[self.second[c]][:3]
        point = [0, 0, 0]
        bottom = a1 * b2 - a2 * b1
        turn = 1 if bottom > 0 else -1
        bottom *= turn
        point[self.axis] = self.side * bottom
        point[self.free[0]] = turn * (r1 * b2 - r2 * b1)
        point[self.free[1]] = turn * (a1 * r2 - a2 * r1)
        support = sum(v != 0 for v in point)
        if support > o.limit or any(abs(v) > bottom or s * v < 0 for v, s in zip(point, o.signs, strict=True)):
            return None
        level = [sum(w * v for w, v in zip(point, row, strict=True)) for row in o.whole]
        reach = o.margin * bottom
        for v in level[len(o.earning) :]:
            if abs(v) < reach and not (o.rule == "resolved" and v == 0):
                return None
        won = np.array([v >= reach for v in level[: len(o.earning)]], bool)
        return o.exact_value(won, support), tuple(Fraction(v, bottom) for v in point[: o.d]), won
