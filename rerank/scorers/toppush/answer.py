"""What is found of a TopPush problem: an answer, or the certificate that zero weights are optimal.

``w = 0`` is optimal for every alpha and loss exactly when some ``p_g`` in ``P_g``
(:mod:`rerank.scorers.toppush.threshold`) give ``sum_i c_i x_i = sum_g C_g sum_j p_gj x_j``, ``C_g = sum_{i in g} c_i``.
With one list and the largest score as threshold: when the mean of the positives is in the convex hull of the negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from rerank.scorers.data import Floats
from rerank.scorers.toppush.problem import TopPushProblem

# The two means agree if they differ, in each column, by this share of its largest entry.
EQUAL = 1e-8
# With more active cuts than this their matrix is too large to factor again and again.
MANY_ACTIVE = 1500


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


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found; also what the next fit starts from.

    Attributes
    ----------
    w : float64 (d,)
        Weights of the problem's columns.
    a, beta : float64 (m,), (n,)
        The dual point that proves most, in the units of :mod:`.problem`; zeros if none was found.
    n_iter : int
    met : bool
        Whether the method met its rule to stop.
    gap : float
        Relative duality gap as the method tracked it; NaN under the authors' rule.
    vertices : CSR matrix (k, n), optional
        Coefficients of the cuts, row by row; None from the accelerated method, which has none.
    active : bool (k,)
        Which of the cuts were active.
    hull : HullCertificate, optional
        Why zero weights are optimal, if they are.
    """

    w: Floats
    a: Floats
    beta: Floats
    n_iter: int = 0
    met: bool = False
    gap: float = float("nan")
    vertices: Any = None
    active: NDArray[np.bool_] | None = None
    hull: HullCertificate | None = None

    @property
    def many_active(self) -> bool:
        """Whether more cuts were active than the method of cuts takes."""
        return self.active is not None and int(self.active.sum()) > MANY_ACTIVE


def no_answer(problem: TopPushProblem) -> Answer:
    """Zero weights, nothing proved and no cut: the start of a fit."""
    (m, d), n = problem.positives.shape, problem.negatives.shape[0]
    return Answer(
        np.zeros(d), np.zeros(m), np.zeros(n), vertices=csr_matrix((0, n)), active=np.zeros(0, np.bool_)
    )


def certificate_of(problem: TopPushProblem, beta: Floats) -> HullCertificate | None:
    """The certificate made of multipliers ``beta`` (n,) of any scale, if they are one."""
    mass = problem.per_list(problem.share)
    got = np.bincount(problem.negative_list, beta, problem.n_lists)
    if (got <= 0).any():
        return None
    p = beta * (mass / got)[problem.negative_list]
    if (p > mass[problem.negative_list] * problem.threshold.caps() * (1 + 1e-9)).any():
        return None
    residual = np.abs(problem.residual(np.ones(problem.share.size), p))
    if (residual > EQUAL * _sizes(problem)).any():
        return None
    weights = np.zeros(problem.n_rows)
    weights[problem.negative_rows] = p
    mean = problem.full(problem.positives.T @ problem.share + problem.centre)
    return HullCertificate(weights, mean, float(residual.max(initial=0.0)))


def _sizes(problem: TopPushProblem) -> Floats:
    """The largest absolute entry of each column."""
    parts = (problem.positives, problem.negatives)
    return np.max(
        [abs(X).max(axis=0).toarray()[0] if issparse(X) else np.abs(X).max(axis=0) for X in parts], axis=0
    )
