"""RoBiRank: a bounded-growth surrogate of nDCG for linear scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rerank.io.options import legacy, one_of, whole
from rerank.scorers.base import LinearRanker, Solution
from rerank.scorers.data import Floats, RankingData
from rerank.scorers.linalg.lbfgs import Loss, minimise
from rerank.scorers.robirank.gains import GainLists, gain_lists


class RoBiRank(LinearRanker):
    r"""Linear scores that minimise the robust binary ranking loss [YunRamanVishwanathan2014, eq. 11].

    With ``s(t) = log2(1 + 2^-t)``, the objective over lists x, rows i and their competitors j of the same list is::

        alpha/2 |w|^2 + sum_x c_x sum_i a_i v_i log2(A_i),    A_i = sum_j a_j s(w.x_i - w.x_j),

    where ``v`` is the gain of a grade, ``a`` the weight of a row and ``1/c_x`` the largest DCG the list allows.  The
    row itself, ``s(0) = 1``, is the 1 of the paper's ``log2(1 + sum over the others)``.  The logarithm limits the
    loss of a relevant row far down the list, so the top counts more.  It also makes the objective non-convex;
    ``n_init`` and ``objectives_`` show whether that matters.

    Parameters
    ----------
    alpha : float, default 1.0
        Strength of the penalty. The loss is a sum over lists, so ``alpha`` grows with their number.
    gains : {"exponential", "linear"}, default "exponential"
        ``v = 2^y - 1`` or ``v = y``.
    n_init : int, default 1
        Starts: zero (or the last solution, with ``warm_start``), then normal weights; the best end is kept.
    tol : float, default 1e-6
        Largest entry of the gradient, relative to that at zero.
    max_iter : int, default 1000
        Iterations of L-BFGS from each start.
    random_state : int, RandomState, Generator or None
        Of the starts beyond the first.
    warm_start : bool, default False

    Attributes
    ----------
    coef_ : float64 (d,)
    objective_ : float
        ``c_x`` cancels the unit of the gains: gains that are all twice as large give the same value.
    objectives_ : float64 (n_init,)
        Where each start ended.
    n_iter_ : int
        Of the start that was kept.

    Notes
    -----
    Integer weights equal repeated rows: ``m`` copies of a row compete with one another, each with ``s(0) = 1``, and
    the ideal DCG has ``m`` places for them.  Rows of weight 0 are as good as removed.  Grades are >= 0; lists without
    a gain are left out.

    A value and its gradient cost one pass over the pairs of relevant rows and rows of their list, without storing
    any; in long lists the sums over competitors are interpolated to about 1e-11 instead, at a cost that grows with the
    number of rows.
    """

    takes_grades: ClassVar[bool] = True

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gains: str = "exponential",
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.gains = gains
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("gains", self.gains, ("exponential", "linear"))
        whole("n_init", self.n_init)

    def _solve(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        loss = loss_of(gain_lists(data, self.gains), data.y.size)
        d = data.X.shape[1]
        rng = legacy(self.random_state)
        starts: list[Floats | None] = [None if start is None else start.coef]
        starts += [rng.standard_normal(d) for _ in range(self.n_init - 1)]
        found = [
            minimise(data.X, loss, alpha, w, tol=self.tol, max_iter=self.max_iter, convex=False)
            for w in starts
        ]
        self.objectives_: Floats = np.array([s.objective for s in found])
        return found[int(self.objectives_.argmin())]

    def __sklearn_tags__(self) -> Any:
        """Grades are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def loss_of(lists: GainLists, n: int) -> Loss:
    """The sum over ``lists`` as a function of the scores (n,)."""
    from rerank.scorers.robirank.kernels import objective

    def loss(scores: Floats) -> tuple[float, Floats]:
        slope = np.empty(lists.rows.size)
        value = objective(scores[lists.rows], lists.start, lists.relevant, lists.weight, lists.gain, 0, slope)
        whole = np.zeros(n)
        whole[lists.rows] = slope
        return float(value), whole

    return loss
