r"""Equal rows, and small changes of weights or rows that break ties.

Rows that agree on every feature with a weight have equal scores whatever those weights are.  Lemma 2 of
[RudinWang2018] moves weights so that all other ties break and no strict order changes; its hypothesis must be read
as "no two rows equal *on the support of the weights*".  With it, and only where :func:`theorem_applies` says so, the
optimum of the Subrank program is one of the ResolvedRank program.

>>> from rerank.ranks.perturb import duplicates, perturb_weights
>>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
>>> [group.tolist() for group in duplicates(X, support=[0])]
[[2, 3]]
>>> w = perturb_weights([1.0, 1.0], X, random_state=0)     # rows 0 and 1 were tied, below row 2, below row 3
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.io.arrays import check_matrix
from rerank.io.options import source
from rerank.ranks.equal_rows import DRAWS, Merged, Seed, duplicates, merge_duplicates, perturb_rows
from rerank.ranks.positions import affine, snap
from rerank.ranks.row_gains import Floats
from rerank.ranks.theorem import Verdict, theorem_applies

__all__ = [
    "Merged",
    "Verdict",
    "duplicates",
    "merge_duplicates",
    "perturb_rows",
    "perturb_weights",
    "theorem_applies",
]

LEMMA_DRAWS = 10
"""How many of the random directions keep to the lemma's own step."""


def perturb_weights(w: ArrayLike, X: ArrayLike, random_state: Seed = None) -> Floats:
    r"""Weights near ``w`` that keep every strict order of scores and break every tie [RudinWang2018, Lemma 2].

    A tie is what it is wherever rows are ranked: scores are rounded to 2^-40 before they are compared
    (:func:`rerank.ranks.positions.snap`), so that the rounding of a sum orders nothing.  With K the support of ``w``,
    u a random unit vector on K, and

    * margin = the smallest positive difference of two rounded scores (left out when all are tied),
    * nu = the smallest ``|w_j|`` on K, X_max = the largest ``|x_ij|``, d the number of features,
    * eta = min(margin / (2 X_max sqrt(d)), nu),

    the result is ``w + delta u`` for some ``0 < delta < eta``, divided by its largest entry if that leaves the box
    ``|w_j| <= 1`` or if ``max|w_j|`` was exactly 1.  It is returned only after a check that its rounded scores keep
    what they should and are all different.  Where so short a step is lost in rounding, longer ones are tried and
    checked in the same way.

    Parameters
    ----------
    w : array (d,)
        Weights in [-1, 1], not all 0.
    X : array (n, d)
        Rows to be scored, in the space of ``w``: as the weights of a fit ask for features scaled to [0, 1].
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (d,)
        ``w`` itself when it has no tie.

    Raises
    ------
    InputError
        When ``w`` is 0 or outside the box, when two rows coincide on its support (naming them), or when rows are so
        close that no weights near ``w`` give them different scores.
    """
    data, weights = _checked(w, X)
    scores = snap(affine(data, weights))
    order = np.argsort(scores, kind="stable")
    gaps = np.diff(scores[order])
    if gaps.all():
        return weights
    support = np.flatnonzero(weights)
    smallest = float(np.abs(weights[support]).min())
    size = 2 * float(np.abs(data).max()) * math.sqrt(data.shape[1])
    eta = min(float(gaps[gaps > 0].min(initial=math.inf)) / size if size else math.inf, smallest)
    rng = source(random_state)
    for draw in range(DRAWS):
        # eta is safe for rows anywhere in the box. Where it is lost in rounding, a longer step may still keep the order
        # of the given rows; the check decides.
        longest = min(eta * 4.0 ** max(0, draw - LEMMA_DRAWS), smallest)
        direction = rng.standard_normal(support.size)
        moved = weights.copy()
        moved[support] += longest * rng.uniform(0.25, 0.75) * direction / np.linalg.norm(direction)
        largest = float(np.abs(moved).max())
        if largest > 1 or np.abs(weights).max() == 1:
            moved = moved / largest
        if _keeps_and_breaks(weights, scores, moved, data):
            return moved
    i, k = (int(row) for row in order[np.flatnonzero(gaps == 0)[0] :][:2])
    raise InputError(
        f"Rows {i} and {k} are among the ties, and no weights were found near these that break all ties and keep every "
        "order of scores rounded to 2^-40; scale the features to [0, 1], or merge rows that differ by rounding only."
    )


def _checked(w: ArrayLike, X: ArrayLike) -> tuple[Floats, Floats]:
    data = check_matrix(X)
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


def _keeps_and_breaks(old: Floats, old_scores: Floats, new: Floats, data: Floats) -> bool:
    """Same support and signs, strict orders kept, no tie left."""
    if not np.array_equal(np.sign(old), np.sign(new)):
        return False
    scores = snap(affine(data, new))
    order = np.argsort(scores, kind="stable")
    return bool(np.all(np.diff(scores[order]) > 0) and np.all(np.diff(old_scores[order]) >= 0))
