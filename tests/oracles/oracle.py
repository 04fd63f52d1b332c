r"""The exact optimum of a small problem, by enumerating vertices in integer arithmetic.

The quantity is ``max V(w) - C |w|_0`` over ``w = 0`` and the surface ``max|w_j| = 1``, with signs and a
support limit, for a :class:`rerank.problem.Problem` of up to three features.  Nothing here or in
:mod:`.vertices`, which says why vertices are enough and why the answer is exact, is shared with the search,
the certificate, the programs or ``rerank.ranks``.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from tests.oracles.vertices import Enumeration, Optimum, Rule, scaled


def statistic_at(
    problem: Problem, w: NDArray[np.float64] | tuple[Fraction, ...], epsilon: Fraction | None = None
) -> Fraction:
    """``V(w)`` by its definition: every item against every other, in rationals; ``epsilon`` may differ."""
    weights = [v if isinstance(v, Fraction) else Fraction(float(v)) for v in w]
    margin = problem.epsilon.exact if epsilon is None else epsilon
    margin *= sum(weights) if problem.by_sum else 1
    scores = [sum((a * b for a, b in zip(weights, row, strict=True)), Fraction(0)) for row in scaled(problem)]
    total, mass = Fraction(0), Fraction(0)
    for item in problem.lists:
        gain = {int(row): Fraction(float(g)) for row, g in zip(item.rows, item.gains, strict=True)}
        raw, previous = Fraction(0), Fraction(0)
        for threshold in sorted({g for g in gain.values() if g > 0}):
            positive = [i for i in gain if gain[i] >= threshold]
            negative = [k for k in gain if gain[k] < threshold]
            lost = sorted(sum(scores[i] - scores[k] < margin for k in negative) for i in positive)
            for place, count in enumerate(lost, start=1):
                weight = 1 if item.hits is None else int(item.hits[place - 1])
                at = count + (1 if item.alone else place)
                earned = weight * Fraction(float(item.coefficients[len(gain) - at]))
                raw += (threshold - previous) * earned
            previous = threshold
        weight = Fraction(float(item.weight))
        total += weight * (raw + Fraction(float(item.constant))) / Fraction(float(item.scale))
        mass += weight
    return total / mass


def objective_at(problem: Problem, w: NDArray[np.float64] | tuple[Fraction, ...]) -> Fraction:
    """``V(w) - C |w|_0`` in rationals."""
    counted = w if problem.limits is None else w[1:]
    return statistic_at(problem, w) - Fraction(problem.C) * sum(v != 0 for v in counted)


def optimum(problem: Problem, rule: Rule = "value") -> Optimum | None:
    """The exact maximum under a rule; None where nothing satisfies the restriction.

    Parameters
    ----------
    problem : Problem
        At most three features; meant for a dozen rows.
    rule : str
        ``"value"``: the problem itself.  ``"apart"``: the same over the weights that keep every two relevant
        items of a list apart by epsilon.  ``"resolved"``: over the weights with no difference inside a list
        strictly between 0 and epsilon, which is what the ResolvedRank program solves.  ``"subrank"``: the
        Subrank program's objective.
    """
    return Enumeration(problem, rule).solve()


def best(problem: Problem) -> Optimum:
    """The exact maximum of a problem, with a given score or without, and weights that reach it."""
    found = by_elimination(problem) if problem.anchored or problem.by_sum or problem.rows else optimum(problem)
    assert found is not None
    return found


def allowed(problem: Problem, w: tuple[Fraction, ...]) -> bool:
    """Whether weights keep signs, limits, the number of features, and every row."""
    if sum(v != 0 for v in w[problem.anchored :]) > (problem.max_features or problem.n_features):
        return False
    low, high = _ends(problem)
    inside = all(a <= v <= b and v * int(s) >= 0 for a, v, b, s in zip(low, w, high, problem.signs, strict=True))
    return inside and all(
        sum((a * v for a, v in zip(row, w, strict=True)), Fraction(0)) >= side
        for own in problem.rows
        for row, side in own.sides()
    )


def _ends(problem: Problem) -> list[list[Fraction]]:
    """Least and largest weights."""
    ends = (-np.ones(problem.n_features), np.ones(problem.n_features)) if problem.limits is None else problem.limits
    return [[Fraction(float(v)) for v in side] for side in ends]


def by_elimination(problem: Problem) -> Optimum | None:
    """The slow twin, with no sieve and no integers: every ``d`` planes by elimination in rationals.

    It also serves problems with a given score, whose first weight is 1 and whose others keep limits, with linear rows
    on the weights, and with a margin that grows with the sum of the weights, which are not all 0 then.  The set of
    allowed weights is compact and the value upper semicontinuous, so that the best weights may be moved to a point
    where as many planes meet as there are weights: a pair at the margin, a row at its side, an end of a weight, or
    ``w_j = 0``.  None if no weights are allowed.
    """
    points, d, margin = scaled(problem), problem.n_features, problem.epsilon.exact
    unit = [tuple(Fraction(j == f) for j in range(d)) for f in range(d)]
    planes = {(*unit[f], end) for f in range(d) for side in _ends(problem) for end in (Fraction(0), side[f])}
    apart, reach = (margin, Fraction(0)) if problem.by_sum else (Fraction(0), margin)
    for item in problem.lists:
        members = list(zip(item.rows.tolist(), item.gains.tolist(), strict=True))
        for i, k in [(a[0], b[0]) for a in members for b in members if a[1] > b[1]]:
            planes.add((*(a - b - apart for a, b in zip(points[i], points[k], strict=True)), reach))
    planes |= {(*row, side) for own in problem.rows for row, side in own.sides()}
    faces = [(0, 1)] if problem.anchored else [(f, side) for f in range(d) for side in (1, -1)]
    tried = set() if problem.anchored or problem.by_sum else {(Fraction(0),) * d}
    for f, side in faces:
        for chosen in combinations(sorted(planes), d - 1):
            rows = [(*unit[f], Fraction(side)), *chosen]
            tried.add(_solve([list(row[:-1]) for row in rows], [row[-1] for row in rows]))
    found = [Optimum(objective_at(problem, w), w) for w in tried if w is not None and allowed(problem, w)]
    return max(found, key=lambda one: one.value, default=None)


def _solve(rows: list[list[Fraction]], right: list[Fraction]) -> tuple[Fraction, ...] | None:
    """The only solution of a square system, or None."""
    d = len(rows)
    for j in range(d):
        pivot = next((i for i in range(j, d) if rows[i][j] != 0), None)
        if pivot is None:
            return None
        rows[j], rows[pivot], right[j], right[pivot] = rows[pivot], rows[j], right[pivot], right[j]
        for i in range(d):
            if i != j and rows[i][j] != 0:
                t = rows[i][j] / rows[j][j]
                rows[i] = [a - t * b for a, b in zip(rows[i], rows[j], strict=True)]
                right[i] -= t * right[j]
    return tuple(right[j] / rows[j][j] for j in range(d))
