"""RoBiRank: a bounded-growth surrogate of nDCG for linear scores."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import expi

from rerank.errors import InputError
from rerank.io.options import legacy, one_of, whole
from rerank.scorers.base import Floats, LinearRanker, RankingData, ScorerSolution
from rerank.scorers.linalg import Loss, minimise

TABLE = 1 << 16  # places of the discount that are summed one by one


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
        self.alpha, self.gains, self.n_init, self.tol = alpha, gains, n_init, tol
        self.max_iter, self.random_state, self.warm_start = max_iter, random_state, warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("gains", self.gains, ("exponential", "linear"))
        whole("n_init", self.n_init)

    def _prepare(self, data: RankingData) -> tuple[Any, Loss]:
        return data.X, loss_of(data, self.gains)

    def _solve(self, problem: tuple[Any, Loss], alpha: float, start: ScorerSolution | None) -> ScorerSolution:
        X, loss = problem
        rng = legacy(self.random_state)
        starts: list[Floats | None] = [None if start is None else start.coef]
        starts += [rng.standard_normal(X.shape[1]) for _ in range(self.n_init - 1)]
        found = [minimise(X, loss, alpha, w, tol=self.tol, max_iter=self.max_iter) for w in starts]
        self.objectives_: Floats = np.array([s.objective for s in found])
        return found[int(self.objectives_.argmin())]

    def __sklearn_tags__(self) -> Any:
        """Grades are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def loss_of(data: RankingData, gains: str) -> Loss:
    """The sum over lists as a function of the scores (n,), each list normalised by its ideal DCG. Rows without weight
    and lists without a gain are dropped; in each list rows with a gain come first.
    """
    from rerank.scorers.robirank.kernels import objective

    lowest = float(data.y[data.weight > 0].min())
    if lowest < 0:
        raise InputError(
            f"y holds {lowest:g}; the gains of RoBiRank need grades >= 0, so give y - y.min() or 0/1 labels."
        )
    rows = np.lexsort((-data.y, data.group))
    rows = rows[data.weight[rows] > 0]
    group, y, weight = data.group[rows], data.y[rows], data.weight[rows]
    if not ((group[1:] == group[:-1]) & (y[1:] < y[:-1])).any():
        raise InputError(
            "No list holds rows of different grades with a weight > 0; there is no pair to learn from, so check qid, "
            "y and sample_weight."
        )
    # Exponential gains are divided by 2^max(y), so that no grade overflows.
    v = y if gains == "linear" else np.exp2(y - float(y.max())) * -np.expm1(-y * np.log(2.0))
    start = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(start, append=group.size)
    above = np.cumsum(weight) - weight
    above -= np.repeat(above[start], sizes)
    ideal = np.add.reduceat(v * (discount_sum(above + weight) - discount_sum(above)), start)
    kept = np.repeat(ideal > 0, sizes)
    relevant = np.add.reduceat((v > 0).astype(np.int64), start)[ideal > 0]
    start = np.concatenate([[0], np.cumsum(sizes[ideal > 0])]).astype(np.int64)
    rows, weight = rows[kept], weight[kept]
    gain = weight * v[kept] / np.repeat(ideal, sizes)[kept]  # c_x a_i v_i

    def loss(scores: Floats) -> tuple[float, Floats]:
        slope, whole = np.empty(rows.size), np.zeros(data.y.size)
        value = objective(scores[rows], start, relevant, weight, gain, 0, slope)
        whole[rows] = slope
        return float(value), whole

    return loss


def discount_sum(places: Floats) -> Floats:
    """``sum_{p <= P} 1 / log2(p + 1)``, linear between whole numbers ``P``: the DCG of ``P`` rows of gain 1 at the top.
    Beyond a table the sum continues as its integral, ``ln 2 (li(P + 1) - li(K + 1))``, and half the change of the last
    term (Euler and Maclaurin), which is within 1e-6 there.
    """
    last = int(min(np.ceil(places.max(initial=1.0)) + 1, TABLE))
    table = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(1, last + 1) + 1.0))])
    found: Floats = np.interp(places, np.arange(last + 1), table)
    far = places > last
    if far.any():
        found[far] += np.log(2.0) * (expi(np.log(places[far] + 1)) - expi(np.log(last + 1.0)))
        found[far] += 0.5 * (1 / np.log2(places[far] + 1) - 1 / np.log2(last + 1.0))
    return found
