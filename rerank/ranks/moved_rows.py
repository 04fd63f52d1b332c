"""Equal rows moved apart, at least as far as the margin asks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.ranks.duplicates import duplicates, table

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Seed = int | Generator | RandomState | None

DRAWS = 50
"""Random orders tried before giving up: one is enough unless a moved row meets another."""


def perturb_rows(
    X: ArrayLike,
    size: float | None = None,
    epsilon: float = 1e-4,
    *,
    qid: ArrayLike | None = None,
    random_state: Seed = None,
) -> Floats:
    """A copy of the data in which equal rows are moved apart, far enough for their scores to differ by epsilon.

    Each column of a group of m equal rows is spread evenly over ``2 * size`` of the column's range, in an order of
    its own and without leaving the range.  So the rows differ by at least epsilon in *every* column that is not
    constant, and can be told apart under any support.  A smaller move would do harm: a difference below epsilon is
    counted lost by Subrank and is infeasible for ResolvedRank.

    Parameters
    ----------
    X : array (n, d)
    size : float, optional
        Half of the spread, as a share of the column's range; the least allowed, ``epsilon (m - 1) / 2`` for the
        largest group, if omitted.
    epsilon : float
        Margin, in units of the scaled score.
    qid : array (n,), optional
        Equal rows of different lists are left alone.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (n, d)
        Rows without a twin are unchanged.

    Raises
    ------
    InputError
        When ``size`` is too small or above 1/2, when all columns are constant, or when a column's values are too
        large for its range to be divided so finely in double precision.
    """
    data = table(X).copy()
    groups = duplicates(data, qid=qid)
    if not groups:
        return data
    spread = _spread(max(group.size for group in groups), size, epsilon)
    low, high = data.min(axis=0), data.max(axis=0)
    moving = np.flatnonzero(high > low)
    if moving.size == 0:
        raise InputError("All rows are equal: there is no column whose range could say how far to move them.")
    rng = generator(random_state)
    for _ in range(DRAWS):
        moved = data.copy()
        for group in groups:
            for j in moving:
                width = spread * (high[j] - low[j])
                centre = min(max(float(data[group[0], j]), low[j] + width), high[j] - width)
                places = centre + width * rng.permutation(np.linspace(-1, 1, group.size))
                moved[group, j] = np.clip(places, low[j], high[j])
        if not duplicates(moved, qid=qid) and _apart(moved, groups, moving, epsilon):
            return moved
    raise InputError(
        "The moved rows meet other rows, or are not a margin apart in double precision; choose a larger size, or "
        "subtract a constant from columns whose values are large against their range."
    )


def _spread(largest: int, size: float | None, epsilon: float) -> float:
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InputError(f"The margin epsilon is {epsilon}; it must be a positive number.")
    least = epsilon * (largest - 1) / 2
    size = least if size is None else size
    if not least <= size <= 0.5:
        raise InputError(
            f"A size of {size:g} of the range was asked for; {largest} equal rows need at least {least:.6g} for their "
            f"scores to differ by {epsilon:g}, and at most 0.5 stays in the range; merge them if that is too much."
        )
    # A hair above the least spacing, so that rounding to doubles does not take it below epsilon.
    return min(size * (1 + 1e-9), 0.5)


def _apart(moved: Floats, groups: list[Integers], moving: Integers, epsilon: float) -> bool:
    """Rows of a group at least epsilon apart in every moving column, in units of its new range: exactly."""
    for j in moving:
        least = Fraction(epsilon) * (Fraction(moved[:, j].max()) - Fraction(moved[:, j].min()))
        for group in groups:
            places = [Fraction(value) for value in np.sort(moved[group, j])]
            if any(above - below < least for below, above in itertools.pairwise(places)):
                return False
    return True


def generator(random_state: Seed) -> Generator | RandomState:
    """A source of random numbers from a seed, or the one that was given."""
    return (
        random_state
        if isinstance(random_state, (Generator, RandomState))
        else np.random.default_rng(random_state)
    )
