"""Values of many weights at once, in doubles and never overstated: for pictures, and where no search can begin."""

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.problem.lists import BinaryList, Floats
from rerank.problem.problem import Problem

BATCH = 2**21  # scores that are held at once


def values_at(problem: Problem, weights: ArrayLike) -> Floats:
    """``V(w) - C |w|_0`` of many weights, or a little less: pairs within rounding of the margin count as lost.

    Parameters
    ----------
    problem : Problem
    weights : array (m, d)
        In scaled space, one row for each value.

    Returns
    -------
    float64 array (m,)

    Raises
    ------
    InputError
        For weights of another shape, or numbers that are not finite.
    """
    given = np.asarray(weights, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != problem.n_features or not np.isfinite(given).all():
        raise InputError(
            f"The weights have shape {given.shape}; give finite numbers, {problem.n_features} for each value."
        )
    step = max(1, BATCH // max(item.rows.size for item in problem.lists))
    found = np.full(len(given), problem.constant)
    found -= problem.C * np.count_nonzero(given[:, int(problem.anchored) :], axis=1)
    for first in range(0, len(given), step):
        some = slice(first, first + step)
        for unit in problem.units:
            found[some] += _values(problem, unit, given[some])
    return found - 1e-13 * (np.abs(found) + problem.ideal)


def _values(problem: Problem, unit: BinaryList, weights: Floats) -> Floats:
    """Part of the values that a unit has."""
    n = unit.positive.size
    reach = problem.epsilon + 1e-12 * (1.0 + problem.n_features) * (1.0 + problem.largest_score)
    reach = reach * np.abs(weights).sum(axis=1)[:, None] if problem.by_sum else reach
    scores = weights @ problem.scaled[np.concatenate([unit.positive, unit.negative])].T
    scores[:, :n] -= reach
    # The j-th best positive row stands at place j + l of this order, l the pairs that it lost; equal ones are won, and
    # the stable order has positive rows first.
    if unit.alone:
        order = np.argsort(-scores, axis=1, kind="stable")
        lost = np.minimum((order >= n).cumsum(axis=1), unit.coefficients.size - 1)
        return unit.factor * np.asarray(((order < n) * unit.coefficients[::-1][lost]).sum(axis=1))
    coefficients = np.trim_zeros(unit.coefficients[::-1], "b")
    positive = np.argsort(-scores, axis=1, kind="stable")[:, : coefficients.size] < n
    hits = unit.hits[np.maximum(positive.cumsum(axis=1) - 1, 0)]
    return unit.factor * ((positive * hits) @ coefficients)
