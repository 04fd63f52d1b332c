"""TopPush and the Infinite Push, which is the same problem, as scikit-learn estimators."""

from __future__ import annotations

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of
from rerank.scorers.base import LinearRanker, Solution
from rerank.scorers.data import Floats, RankingData
from rerank.scorers.toppush.answer import Answer, HullCertificate
from rerank.scorers.toppush.losses import LOSSES
from rerank.scorers.toppush.prepare import problem_of
from rerank.scorers.toppush.problem import TopPushProblem
from rerank.scorers.toppush.solve import Settings, solve
from rerank.scorers.toppush.threshold import check_threshold

MAX_ITER = {"newton": 500, "accelerated": 10_000}


class TopPush(LinearRanker):
    r"""Rank positives above the highest negative.

    Minimises, over the lists g that hold both kinds and their positives i,

    .. math:: P(w) = \frac{\alpha}{2} |w|^2
              + \frac{1}{\sum_i v_i} \sum_i v_i\, l\bigl(t_{g(i)}(w) - w \cdot x_i\bigr),
              \qquad t_g(w) = \max_{j \in g} w \cdot x_j

    where j runs over the negatives and v are sample weights.  Lists without a positive or without a negative, and
    rows of weight 0, are left out.  A weight of a negative other than 0 does not move a maximum.

    Parameters
    ----------
    alpha : float
        Regularisation, the paper's lambda.
    loss : "squared_hinge", "logistic" or "exponential"
        ``l(z)`` = ``max(0, 1 + z)^2``, ``log(1 + e^z)`` or ``e^z``.
    solver : "newton" or "accelerated"
        Newton steps, for every loss and threshold; or the paper's projected gradient method, for the squared hinge and
        ``threshold="max"``, which takes many thousand times longer to the same gap.
    tol : float
        Relative duality gap at which a fit is done, or see ``stop``.
    max_iter : int, optional
        500 Newton steps, of cuts and multipliers together, or 10,000 accelerated ones.
    threshold : "max", "topk" or "quantile"
        ``t_g`` is the largest score of a negative, the mean of the k largest, or of the share k of them (rounded up).
    k : float, optional
        10 for "topk", 0.05 for "quantile".  A negative of weight v counts v times, so "topk" counts in units of
        weight; "quantile" rounds up in units of the smallest weight of the list.
    stop : "gap" or "authors"
        "authors", for ``solver="accelerated"``, stops as the authors' program does: ``g / m`` changed by at most
        ``tol`` of itself (they take 1e-4) after ten iterations, or a step no longer than 1e-6.  Such weights are not
        an optimum and are reproduced for comparison.
    warm_start : bool
        Start a fit from the one before.

    Attributes
    ----------
    coef_ : array (d,)
    objective_ : float
        ``P(coef_)``, computed anew from the rows.
    gap_ : float
        At least ``(objective_ - optimum) / optimum``.
    dual_coef_ : array (n,)
        The dual point that proves the gap: ``c_i a_i`` of the positives, ``-beta_j`` of the negatives.
    degenerate_ : bool
        Zero weights are optimal whatever ``alpha`` is.
    certificate_ : HullCertificate or None
        Why, if so: weights of the negatives whose mean is the mean of the positives (with lists, the sum of the lists'
        means is that of all).
    n_iter_ : int

    References
    ----------
    N. Li, R. Jin and Z.-H. Zhou, "Top rank optimization in linear time", NIPS 2014, equation (6).
    """

    def __init__(
        self,
        alpha: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int | None = None,
        threshold: str = "max",
        k: float | None = None,
        stop: str = "gap",
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.threshold = threshold
        self.k = k
        self.stop = stop
        self.warm_start = warm_start

    _prepared: tuple[RankingData, TopPushProblem] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("loss", self.loss, LOSSES)
        one_of("solver", self.solver, MAX_ITER)
        one_of("stop", self.stop, ("gap", "authors"))
        check_threshold(self.threshold, self.k)
        if self.solver == "newton" and self.stop == "authors":
            raise InputError(
                "stop='authors' is the rule of solver='accelerated'; choose that solver or stop='gap'."
            )
        if self.solver == "accelerated" and (self.loss != "squared_hinge" or self.threshold != "max"):
            raise InputError(
                f"solver='accelerated' takes loss='squared_hinge' and threshold='max', not {self.loss!r} and "
                f"{self.threshold!r}; choose solver='newton'."
            )

    def _problem(self, data: RankingData) -> TopPushProblem:
        """The problem of these rows, made once for all alphas of a path."""
        held = self._prepared
        if held is None or held[0] is not data:
            held = (data, problem_of(data, LOSSES[self.loss], self.threshold, self.k))
            self._prepared = held
        return held[1]

    def _release(self) -> None:
        self._prepared = None

    def _solve(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        problem = self._problem(data)
        max_iter = MAX_ITER[self.solver] if self.max_iter is None else int(self.max_iter)
        found = solve(problem, Settings(alpha, self.solver, float(self.tol), max_iter, self.stop), start)
        answer: Answer = found.state
        self.degenerate_: bool = answer.hull is not None
        self.certificate_: HullCertificate | None = answer.hull
        self.dual_coef_: Floats = np.zeros(data.y.size)
        self.dual_coef_[problem.positive_rows] = problem.share * answer.a
        self.dual_coef_[problem.negative_rows] = -problem.feasible(answer.a, answer.beta)
        return found

    def _remarks(self, found: Solution) -> list[tuple[str, type[Warning]]]:
        text = (
            "The weights are 0, which is optimal for every alpha: no weights lift the positives above the "
            f"negatives on average (certificate_). Other features may change that; {self._instead()}."
        )
        return [*([(text, UserWarning)] if self.degenerate_ else []), *super()._remarks(found)]

    def _instead(self) -> str:
        """Advice: a problem that zero weights do not solve."""
        if self.threshold != "max":
            return "a larger k asks for less"
        return (
            "threshold='topk' or 'quantile' asks for less, and solver='accelerated', stop='authors', tol=1e-4 "
            "returns the weights at which the authors stop"
        )


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
