"""The exact optimum of a small anchored problem: every vertex of its box, by elimination in rationals.

As for the cube (:mod:`tests.oracles.vertices`): the best weights may be moved to a point where as many planes meet as
there are corrections, each ``w.(x_i - x_k) = epsilon``, a limit, or ``w_j = 0``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from rerank.errors import InputError
from rerank.problem import Problem
from tests.cases.instances import draw
from tests.oracles.oracle import Optimum, _solve, objective_at
from tests.oracles.oracle import optimum as free_optimum
from tests.oracles.vertices import scaled


def anchored(seed: int, **options: int) -> Problem:
    """A drawn problem whose first column is the given score."""
    while True:
        free = draw(seed, **options).problem
        rng = np.random.default_rng([seed, 1])
        seed += 1_000_003
        try:
            return corrected(rng, free)
        except InputError:
            continue


def corrected(rng: np.random.Generator, free: Problem) -> Problem:
    """The problem whose first column is the given score: limits of every kind, some of them 0.

    Raises
    ------
    InputError
        If there is no second column, or a deviation is 0.
    """
    d = free.n_features
    low = -rng.choice([0.0, 0.03, 0.1, 0.5, 1.0, rng.uniform(0, 2)], size=d)
    high = np.where(rng.random(d) < 0.6, -low, rng.choice([0.0, 0.25, rng.uniform(0, 2)], size=d))
    low[0] = high[0] = 1.0
    return Problem.build(
        free.X, free.lists, epsilon=free.epsilon, C=free.C, max_features=free.max_features, limits=(low, high)
    )


def best(problem: Problem) -> Optimum:
    """The exact maximum of a problem, anchored or not, and weights that reach it."""
    found = optimum(problem) if problem.anchored else free_optimum(problem)
    assert found is not None
    return found


def optimum(problem: Problem) -> Optimum:
    """The exact maximum and weights that reach it."""
    assert problem.limits is not None
    points, d = scaled(problem), problem.n_features
    zero, one, margin = Fraction(0), Fraction(1), problem.epsilon.exact
    low, high = ([Fraction(float(v)) for v in side] for side in problem.limits)
    unit = [[one if j == f else zero for j in range(1, d)] for f in range(1, d)]
    planes = {(*row, r) for f, row in enumerate(unit, 1) for r in (zero, low[f], high[f])}
    for item in problem.lists:
        members = list(zip(item.rows.tolist(), item.gains.tolist(), strict=True))
        for i, k in [(a[0], b[0]) for a in members for b in members if a[1] > b[1]]:
            difference = [a - b for a, b in zip(points[i], points[k], strict=True)]
            planes.add((*difference[1:], margin - difference[0]))
    begin = (one,) + (zero,) * (d - 1)
    best = Optimum(objective_at(problem, begin), begin)
    for chosen in combinations(sorted(planes), d - 1):
        rest = _solve([list(row[:-1]) for row in chosen], [row[-1] for row in chosen])
        if rest is None or not all(a <= v <= b for a, v, b in zip(low[1:], rest, high[1:], strict=True)):
            continue
        if sum(v != 0 for v in rest) > (problem.max_features or d):
            continue
        value = objective_at(problem, (one, *rest))
        best = Optimum(value, (one, *rest)) if value > best.value else best
    return best
