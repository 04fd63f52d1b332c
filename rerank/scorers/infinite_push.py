"""The Infinite Push, solved as TopPush."""

from __future__ import annotations

from rerank.scorers.toppush.estimator import TopPush


class InfinitePush(TopPush):
    r"""Minimise what the worst negative costs all positives together.

    .. math:: \frac{\alpha}{2} |w|^2 + \max_j \frac{1}{\sum_i v_i} \sum_i v_i\, l(w \cdot x_j - w \cdot x_i)

    over the negatives j and the positives i of one list, v the sample weights.  As l does not decrease, each term of
    the sum is largest for the negative of largest score, one and the same for all i, so maximum and sum change
    places and the objective is that of :class:`~rerank.scorers.TopPush` (its equation (4)): m + n dual variables do
    for m n.  With lists, the maxima of the lists are added up, each over its own negatives.

    Parameters
    ----------
    alpha : float
        Regularisation.
    loss : "squared_hinge", "logistic" or "exponential"
        ``l(z)`` = ``max(0, 1 + z)^2``, ``log(1 + e^z)`` or ``e^z``.
    tol : float
        Relative duality gap at which a fit is done.
    max_iter : int, optional
        500 Newton steps.
    warm_start : bool
        Start a fit from the one before.

    Attributes
    ----------
    coef_, objective_, gap_, dual_coef_, degenerate_, certificate_, n_iter_
        As in :class:`~rerank.scorers.TopPush`.

    References
    ----------
    S. Agarwal, "The Infinite Push: a new support vector ranking algorithm that directly optimizes accuracy at the
    absolute top of the list", SDM 2011 (there with the hinge loss).  N. Li, R. Jin and Z.-H. Zhou, NIPS 2014.
    """

    solver = "newton"
    threshold = "max"
    k = None
    stop = "gap"

    def __init__(
        self,
        alpha: float = 1.0,
        loss: str = "squared_hinge",
        tol: float = 1e-6,
        max_iter: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _instead(self) -> str:
        return "TopPush with threshold='topk' or 'quantile' asks for less"
