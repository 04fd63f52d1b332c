"""The best value under linear rows on the weights, by listing vertices in rationals: none of the search's code.

Without limits: on every face ``w_j = 1`` and ``w_j = -1`` of the cube; with limits: in their box, the first weight
being 1.  Weights that are measured by their sum have a margin that grows with it, and are not all 0.  The value is
upper semicontinuous and the set is compact, so that a vertex of the arrangement of pairs at the margin, rows at their
sides, ends of weights and ``w_j = 0`` has the largest one.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from rerank.problem import Problem
from tests.oracles.oracle import statistic_at
from tests.oracles.vertices import scaled

Vector = list[Fraction]
Plane = tuple[Vector, Fraction]


def value(problem: Problem, w: Vector) -> Fraction:
    """``V(w) - C |w|_0`` from its definition."""
    margin = problem.epsilon.exact * (sum(w) if problem.by_sum else 1)
    used = sum(x != 0 for x in (w[1:] if problem.anchored else w))
    return statistic_at(problem, tuple(w), margin) - Fraction(problem.C) * used


def allowed(problem: Problem, w: Vector) -> bool:
    """Whether weights keep signs, limits, the number of features, and every row."""
    used = sum(x != 0 for x in (w[1:] if problem.anchored else w))
    if problem.max_features is not None and used > problem.max_features:
        return False
    if problem.limits is None:
        if any(abs(x) > 1 or x * int(s) < 0 for x, s in zip(w, problem.signs, strict=True)):
            return False
    elif any(not Fraction(float(a)) <= x <= Fraction(float(b)) for x, a, b in zip(w, *problem.limits, strict=True)):
        return False
    for row in problem.rows:
        at = sum((a * x for a, x in zip(row.coefficients, w, strict=True)), Fraction(0))
        if (row.lower is not None and at < row.lower) or (row.upper is not None and at > row.upper):
            return False
    return True


def best(problem: Problem) -> tuple[Fraction | None, Vector]:
    """The largest value of allowed weights, and weights that have it; None where none are allowed."""
    X, d = scaled(problem), problem.n_features
    planes: dict[tuple[Fraction, ...], None] = {}
    for q in problem.lists:
        members = list(zip(q.rows.tolist(), q.gains.tolist(), strict=True))
        for i, k in ((i, k) for i, g in members for k, h in members if g > h):
            apart, side = (problem.epsilon.exact, 0) if problem.by_sum else (0, problem.epsilon.exact)
            planes[(*(a - b - apart for a, b in zip(X[i], X[k], strict=True)), Fraction(side))] = None
    for row in problem.rows:
        planes |= {(*row.coefficients, side): None for side in (row.lower, row.upper) if side is not None}
    for j in range(d):
        ends = (-1, 0, 1) if problem.limits is None else (*(Fraction(float(x[j])) for x in problem.limits), 0)
        planes |= {(*(Fraction(int(i == j)) for i in range(d)), Fraction(end)): None for end in ends}
    faces = [(0, 1)] if problem.anchored else [(j, side) for j in range(d) for side in (1, -1)]
    most, where = None, [Fraction(0)] * d
    candidates = [] if problem.anchored or problem.by_sum else [where]
    for axis, side in faces:
        candidates += _vertices([(list(p[:-1]), p[-1]) for p in planes], d, axis, Fraction(side))
    for w in {tuple(w): None for w in candidates}:
        if allowed(problem, list(w)):
            found = value(problem, list(w))
            most, where = (found, list(w)) if most is None or found > most else (most, where)
    return most, where


def _vertices(planes: list[Plane], d: int, axis: int, at: Fraction) -> Iterator[Vector]:
    free = [j for j in range(d) if j != axis]
    lines = {(*(a[j] for j in free), b - a[axis] * at): None for a, b in planes if any(a[j] for j in free)}
    for chosen in combinations(lines, len(free)):
        if len(free) == 0:
            solved: Vector | None = []
        elif len(free) == 1:
            solved = [chosen[0][1] / chosen[0][0]]
        else:  # by Cramer's rule
            (a, b, r), (c, e, s) = chosen
            below = a * e - b * c
            solved = [(r * e - b * s) / below, (a * s - r * c) / below] if below else None
        if solved is not None:
            w = [Fraction(0)] * d
            w[axis] = at
            for j, x in zip(free, solved, strict=True):
                w[j] = x
            yield w


def weights_of(w: np.ndarray) -> Vector:
    """Stored doubles as rationals."""
    return [Fraction(float(x)) for x in w]
