"""Linear RankSVM: the squared hinge over pairs of real-valued utilities, grades or 0/1 labels, in O(m log m) time."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of
from rerank.scorers.base import Floats, LinearRanker, RankingData, ScorerSolution
from rerank.scorers.ranksvm.newton import DesignMatrix, newton
from rerank.scorers.ranksvm.pairs import UtilityPairs

AVERAGES = ("queries", "pairs")
Trail = tuple[tuple[float, Floats], ...]  # pairs of alpha and weights, the latest first, all alpha different

KEPT = 3
# If logarithms of alpha differ by less than this, the solutions differ by no more than their tolerance.
NEAR = 1e-6


class RankSVM(LinearRanker):
    r"""Linear ranker that learns to score every pair of a list in the order of ``y``, by a margin of 1.

    With ``p = X w``, over the pairs ``y_i < y_j`` inside one list, it minimises

    .. math:: J(w) = \sum_{y_i < y_j} c_{ij} \max(0, 1 + p_i - p_j)^2 + \alpha \|w\|^2

    by truncated Newton steps.  The pair weights add up to 1.  A list with
    ``N_q = sum weight_i weight_j > 0``, one of R such lists, has ``c_ij = weight_i weight_j / (R N_q)`` with
    ``average="queries"``; ``average="pairs"`` has ``c_ij = weight_i weight_j / sum_q N_q``.  Lists without a pair do
    not count.  Time is O(m log r) an iteration for m rows and r different utilities, memory O(m log r).

    Parameters
    ----------
    alpha : float
        Strength of the regulariser, > 0; :mod:`rerank.scorers.conversions` has other packages' ``C``.
    loss : "squared_hinge"
        The only one.
    tol : float
        Stop once ``J(w) - min J <= tol * J(w)`` is proven, > 0.
    max_iter : int
        Newton steps at most.
    average : {"queries", "pairs"}
        Every list or every pair counts the same.
    warm_start : bool
        Start from the last solution, or from the last three extrapolated to this ``alpha``.

    Attributes
    ----------
    coef_ : float64 (d,)
    n_iter_ : int
        Newton steps.
    objective_ : float
        ``J(coef_)``.
    gap_ : float
        Proven bound on ``(J(coef_) - min J) / J(coef_)``.

    Notes
    -----
    The squared hinge over pairs is that of [Lee, Lin 2014], lists are averaged as in the last section of
    [Airola, Pahikkala, Salakoski 2011].  The weight of a pair is the product of the weights of its rows, so an
    integer weight means the same as a repeated row.

    Examples
    --------
    >>> import numpy as np
    >>> from rerank.scorers import RankSVM
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> ranker = RankSVM(alpha=0.01).fit(X, [1.5, 2.5, 7.0, 9.0])
    >>> np.argsort(ranker.decision_function(X)).tolist()
    [0, 1, 2, 3]
    """

    takes_grades: ClassVar[bool] = True

    def __init__(
        self,
        alpha: float = 1e-4,
        loss: str = "squared_hinge",
        tol: float = 1e-4,
        max_iter: int = 1000,
        average: str = "queries",
        warm_start: bool = False,
    ) -> None:
        self.alpha, self.loss, self.tol = alpha, loss, tol
        self.max_iter, self.average, self.warm_start = max_iter, average, warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss == "hinge":
            raise InputError(
                "RankSVM has no loss='hinge' any more; use 'squared_hinge', which needs fewer steps, or scikit-learn's "
                "LinearSVC(loss='hinge') on differences of rows."
            )
        one_of("loss", self.loss, ("squared_hinge",))
        one_of("average", self.average, AVERAGES)

    def _prepare(self, data: RankingData) -> tuple[DesignMatrix, UtilityPairs]:
        return DesignMatrix(data.X), UtilityPairs(data, self.average)

    def _solve(
        self, problem: tuple[DesignMatrix, UtilityPairs], alpha: float, start: ScorerSolution | None
    ) -> ScorerSolution:
        matrix, pairs = problem
        trail = () if start is None else start.state
        known = [matrix.compact(coef) for coef in starts(trail, alpha, matrix.d)]
        found = newton(matrix, pairs, alpha, known, self.tol, self.max_iter)
        return replace(found, state=longer(trail, alpha, found.coef))


def longer(trail: Trail, alpha: float, coef: Floats) -> Trail:
    """The trail with one more solution; beyond :data:`KEPT` the oldest is dropped."""
    return ((alpha, coef), *(known for known in trail if not _same(known[0], alpha)))[:KEPT]


def _same(alpha: float, other: float) -> bool:
    """Whether two ``alpha`` are too close to extrapolate from one to the other."""
    return abs(np.log(alpha) - np.log(other)) < NEAR


def starts(trail: Trail, alpha: float, d: int) -> list[Floats]:
    """The parabola in ``log alpha`` through the last three solutions, the line through the last two, the last one.
    Weights change smoothly with ``log alpha`` where few pairs become active or inactive, and a parabola is then 10 to
    100 times nearer than the last solution. Where many do it may be farther: the caller compares.
    """
    if not trail:
        return [np.zeros(d)]
    found = [trail[0][1]]
    if _same(trail[0][0], alpha):
        return found
    at, nodes = np.log(alpha), np.log([known for known, _ in trail])
    for n in range(2, len(trail) + 1):
        # Polynomials of Lagrange at ``log alpha``.
        far = np.where(np.eye(n, dtype=bool), 1.0, at - nodes[:n])
        apart = np.where(np.eye(n, dtype=bool), 1.0, nodes[:n, None] - nodes[:n])
        found.append((far / apart).prod(axis=1) @ np.array([coef for _, coef in trail[:n]]))
    return [start for start in found[::-1] if np.isfinite(start).all()]
