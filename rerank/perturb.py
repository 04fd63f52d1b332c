r"""Equal rows, and small moves of weights or rows that break ties.

Rows that agree on every feature with a weight have equal scores whatever those weights are.  Lemma 2 of
[RudinWang2018] moves weights so that all other ties break and no strict order changes; its hypothesis must be read
as "no two rows equal *on the support of the weights*".  With it, and only where :func:`theorem_applies` says so, the
optimum of the Subrank program is one of the ResolvedRank program.

>>> from rerank.perturb import duplicates, perturb_weights
>>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
>>> [group.tolist() for group in duplicates(X, support=[0])]
[[2, 3]]
>>> w = perturb_weights([1.0, 1.0], X, random_state=0)     # rows 0 and 1 were tied, below row 2, below row 3
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray

from rerank.duplicates import Merged, duplicates, merge_duplicates, table
from rerank.errors import InputError
from rerank.rationals import as_integers
from rerank.theorem import Verdict, theorem_applies

__all__ = [
    "Merged",
    "Verdict",
    "duplicates",
    "merge_duplicates",
    "perturb_rows",
    "perturb_weights",
    "theorem_applies",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Seed = int | Generator | RandomState | None

DRAWS = 50
"""Random directions tried before giving up: one is enough unless rounding to doubles undoes it."""

LEMMA_DRAWS = 10
"""Of these, how many keep to the lemma's own step."""


def perturb_weights(w: ArrayLike, X: ArrayLike, random_state: Seed = None) -> Floats:
    r"""Weights near ``w`` that keep every strict order of scores and break every tie [RudinWang2018, Lemma 2].

    With K the support of ``w``, u a random unit vector on K, and

    * margin = the smallest positive difference of two scores (left out when all are tied),
    * nu = the smallest ``|w_j|`` on K, X_max = the largest ``|x_ij|``, d the number of features,
    * eta = min(margin / (2 X_max sqrt(d)), nu),

    the result is ``w + delta u`` for some ``0 < delta < eta``, divided by its largest entry if that leaves the box
    ``|w_j| <= 1`` or if ``max|w_j|`` was exactly 1.  It is returned only after an exact check that it keeps what it
    should and breaks every tie.  Where rounding to doubles swallows so short a step, longer ones are put to the
    same check.

    Parameters
    ----------
    w : array (d,)
        Weights in [-1, 1], not all 0.
    X : array (n, d)
        Rows to be scored, in the space of ``w``.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (d,)
        ``w`` itself when it has no tie.

    Raises
    ------
    InputError
        When ``w`` is 0 or outside the box, when two rows coincide on its support (naming them), or when the scores
        are so close that no double near ``w`` separates them.
    """
    data, weights = _checked(w, X)
    scores = _exact_scores(weights, data)
    order = np.argsort(scores, kind="stable")
    if not np.any(np.diff(scores[order]) == 0):
        return weights
    support = np.flatnonzero(weights)
    smallest = float(np.abs(weights[support]).min())
    eta = min(_safe_step(weights, data, scores[order]), smallest)
    rng = _generator(random_state)
    for draw in range(DRAWS):
        # eta is safe for rows anywhere in the box. Where rounding to doubles swallows it, a longer step may do no
        # harm to the rows at hand; the exact check decides.
        longest = min(eta * 4.0 ** max(0, draw - LEMMA_DRAWS), smallest)
        direction = rng.standard_normal(support.size)
        moved = weights.copy()
        moved[support] += longest * rng.uniform(0.25, 0.75) * direction / np.linalg.norm(direction)
        largest = float(np.abs(moved).max())
        if largest > 1 or np.abs(weights).max() == 1:
            moved = moved / largest
        if _keeps_and_breaks(weights, scores, moved, data):
            return moved
    raise InputError(
        "No weights near these break all ties and keep every order in double precision (the closest scores differ by "
        "rounding only); scale the features to [0, 1], or merge such rows."
    )


def _checked(w: ArrayLike, X: ArrayLike) -> tuple[Floats, Floats]:
    data = table(X)
    weights = np.array(w, dtype=np.float64)
    if weights.shape != (data.shape[1],) or not np.isfinite(weights).all():
        raise InputError(
            f"Weights of shape {weights.shape} were given; {data.shape[1]} finite numbers are needed."
        )
    if np.abs(weights).max(initial=0.0) > 1:
        raise InputError("A weight is larger than 1 in size; divide the weights by the largest.")
    if not weights.any():
        raise InputError(
            "All weights are 0, so all rows are tied and the lemma does not apply; give one a value."
        )
    equal = duplicates(data, np.flatnonzero(weights))
    if equal:
        i, k = (int(row) for row in equal[0][:2])
        raise InputError(
            f"Rows {i} and {k} are equal on the {np.count_nonzero(weights)} features with a weight, so no change of "
            "these weights breaks their tie; merge them, or give weight to a feature in which they differ."
        )
    return data, weights


def _exact_scores(weights: Floats, data: Floats) -> NDArray[np.object_]:
    """Scores as integers over one unit (see :func:`_safe_step` for the unit)."""
    support = np.flatnonzero(weights)
    return as_integers(data[:, support])[0] @ as_integers(weights[support])[0]


def _safe_step(weights: Floats, data: Floats, ascending: NDArray[np.object_]) -> float:
    """The lemma's margin / (2 X_max sqrt(d)), rounded; what is left to the draw (a quarter) covers the rounding."""
    support = np.flatnonzero(weights)
    gaps = [gap for gap in np.diff(ascending).tolist() if gap]
    if not gaps:
        return math.inf
    unit = as_integers(data[:, support])[1] * as_integers(weights[support])[1]
    return float(Fraction(min(gaps), unit)) / (2 * float(np.abs(data).max()) * math.sqrt(data.shape[1]))


def _keeps_and_breaks(old: Floats, old_scores: NDArray[np.object_], new: Floats, data: Floats) -> bool:
    """Same support and signs, strict orders kept, no tie left: exactly."""
    if not np.array_equal(np.sign(old), np.sign(new)):
        return False
    scores = _exact_scores(new, data)
    order = np.argsort(scores, kind="stable")
    return bool(np.all(np.diff(scores[order]) > 0) and np.all(np.diff(old_scores[order]) >= 0))


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
    rng = _generator(random_state)
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


def _generator(random_state: Seed) -> Generator | RandomState:
    return (
        random_state
        if isinstance(random_state, (Generator, RandomState))
        else np.random.default_rng(random_state)
    )
