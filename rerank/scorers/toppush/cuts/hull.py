"""When TopPush has no answer: zero weights are optimal for every alpha.

``w = 0`` is optimal exactly when some ``p_g`` in ``P_g`` (:mod:`rerank.scorers.toppush.threshold`) give
``sum_i c_i x_i = sum_g C_g sum_j p_gj x_j``, ``C_g = sum_{i in g} c_i``: with one list and the largest score as
threshold, when the mean of the positives is in the convex hull of the negatives.  Neither alpha nor the loss matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]

# The two means agree if they differ, in each column, by this share of its largest entry.
EQUAL = 1e-8


@dataclass(frozen=True, eq=False)
class HullCertificate:
    """Proof that no weights do better than 0.

    Attributes
    ----------
    weights : array (n_rows,)
        Convex weights over the rows of the data, those of the negatives only; in each list they sum to the list's
        share of the positives.
    mean : array (d,)
        The weighted mean of the positives.
    residual : float
        ``max |mean - X'weights|``, computed from centred rows where they are dense.
    """

    weights: Floats
    mean: Floats
    residual: float


def certificate_of(problem: TopPushProblem, n_rows: int, beta: Floats) -> HullCertificate | None:
    """The certificate made of multipliers ``beta`` (n,), if they are one.

    Parameters
    ----------
    problem : TopPushProblem
    n_rows : int
        Rows of the data.
    beta : array (n,)
        Multipliers of the negatives at ``w = 0``, of any scale.
    """
    pull = problem.per_list(problem.share)
    got = np.bincount(problem.negative_list, beta, problem.n_lists)
    if (got <= 0).any():
        return None
    p = beta * (pull / got)[problem.negative_list]
    if (p > pull[problem.negative_list] * problem.threshold.caps() * (1 + 1e-9)).any():
        return None
    residual = np.abs(problem.residual(np.ones(problem.share.size), p))
    if (residual > EQUAL * _sizes(problem)).any():
        return None
    weights = np.zeros(n_rows)
    weights[problem.negative_rows] = p
    mean = problem.full(problem.positives.T @ problem.share + problem.centre)
    return HullCertificate(weights, mean, float(residual.max(initial=0.0)))


def _sizes(problem: TopPushProblem) -> Floats:
    """The largest absolute entry of each column."""
    parts = (problem.positives, problem.negatives)
    return np.max(
        [abs(X).max(axis=0).toarray()[0] if issparse(X) else np.abs(X).max(axis=0) for X in parts], axis=0
    )
