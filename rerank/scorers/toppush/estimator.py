"""TopPush as a scikit-learn estimator: which method solves its problem, and what is reported of the answer."""

from dataclasses import replace

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of
from rerank.scorers.base import Floats, LinearRanker, RankingData, ScorerSolution
from rerank.scorers.toppush.accelerated import descend
from rerank.scorers.toppush.answer import HullCertificate, PrimalDual, certificate_of
from rerank.scorers.toppush.multipliers import Augmented
from rerank.scorers.toppush.problem import LOSSES, TopPushProblem, check_threshold, problem_of, relative_gap

MAX_ITER = {"newton": 500, "accelerated": 10_000}
# Zero weights are considered from this share of their objective on: the accelerated method only comes near them.
NEAR = {"newton": 1 - 1e-12, "accelerated": 0.99}
LESS = (
    "threshold='topk' or 'quantile' asks for less, and solver='accelerated', stop='authors', tol=1e-4 returns the "
    "weights at which the authors stop"
)


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
        Newton steps between changes of the multipliers, for every loss and threshold; or the paper's projected gradient
        method, for the squared hinge and ``threshold="max"``, which takes many hundred times longer to the same gap.
    tol : float
        Relative duality gap at which a fit is done, or see ``stop``.
    max_iter : int, optional
        500 Newton steps, or 10,000 accelerated ones.
    threshold : "max", "topk" or "quantile"
        ``t_g`` is the largest score of a negative, the mean of the k largest, or of the share k of them (rounded up).
    k : float, optional
        10 for "topk", 0.05 for "quantile".  A negative of weight v counts v times, so "topk" counts in units of
        weight; "quantile" rounds up in units of the smallest weight of the list.
    stop : "gap", "paper" or "authors"
        For ``solver="accelerated"`` two rules whose weights are no optimum, for comparison; their ``tol`` is 1e-4.
        "paper", step 16 of Algorithm 1: g changed by at most ``tol``.  "authors", their program: g changed by at most
        ``tol`` of itself after ten iterations, or a step no longer than 1e-6.
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
        self.alpha, self.loss, self.solver, self.tol = alpha, loss, solver, tol
        self.max_iter, self.threshold, self.k, self.stop = max_iter, threshold, k, stop
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("loss", self.loss, LOSSES)
        one_of("solver", self.solver, MAX_ITER)
        one_of("stop", self.stop, ("gap", "paper", "authors"))
        check_threshold(self.threshold, self.k)
        if self.solver == "newton" and self.stop != "gap":
            raise InputError(f"stop={self.stop!r} is a rule of solver='accelerated'; choose that solver or stop='gap'.")
        if self.solver == "accelerated" and (self.loss != "squared_hinge" or self.threshold != "max"):
            raise InputError(
                f"solver='accelerated' takes loss='squared_hinge' and threshold='max', not {self.loss!r} and "
                f"{self.threshold!r}; choose solver='newton'."
            )

    def _prepare(self, data: RankingData) -> TopPushProblem:
        return problem_of(data, LOSSES[self.loss], self.threshold, self.k)

    def _solve(self, problem: TopPushProblem, alpha: float, start: ScorerSolution | None) -> ScorerSolution:
        data = problem.data
        answer = self._answer(problem, alpha, None if start is None else start.state)
        hull = answer.hull
        self.degenerate_: bool = hull is not None
        self.certificate_: HullCertificate | None = hull and replace(hull, weights=data.as_given(hull.weights))
        beta, dual = problem.feasible(answer.a, answer.beta), np.zeros(data.y.size)
        dual[problem.positive_rows], dual[problem.negative_rows] = problem.share * answer.a, -beta
        self.dual_coef_: Floats = data.as_given(dual)
        # Objective and gap are computed anew from the rows.
        objective = problem.primal(answer.w, alpha)
        gap = relative_gap(objective, problem.dual(answer.a, beta, alpha))
        met = answer.met if self.stop != "gap" else gap <= self.tol * (1 + 1e-6)
        advice = f"The relative gap is {gap:.1e}. Raise max_iter or tol, raise alpha, or standardise the features."
        return ScorerSolution(problem.full(answer.w), objective, answer.n_iter, bool(met), gap, answer, advice=advice)

    def _answer(self, problem: TopPushProblem, alpha: float, start: PrimalDual | None) -> PrimalDual:
        """The optimum from a near one where there is any, or zero weights with the proof that they are optimal."""
        (m, d), n = problem.positives.shape, problem.negatives.shape[0]
        zero = PrimalDual(np.zeros(d), np.zeros(m), np.zeros(n))
        if start is not None and start.hull is not None:
            # Zero weights stay optimal at another alpha.
            if start.hull.weights.size == problem.data.y.size and self.stop == "gap":
                still = self._at_zero(problem, alpha, start.hull.weights[problem.negative_rows])
                if still is not None:
                    return replace(still, n_iter=1)
            start = None
        if start is None or (start.w.size, start.a.size, start.beta.size) != (d, m, n):
            start = zero
        max_iter = MAX_ITER[self.solver] if self.max_iter is None else int(self.max_iter)
        if self.solver == "accelerated":
            found = descend(problem, alpha, self.tol, max_iter, self.stop, start)
        else:
            found = Augmented(problem, alpha, start).run(self.tol, max_iter)
        if self.stop != "gap" or problem.primal(found.w, alpha) < NEAR[self.solver] * problem.loss_at_zero:
            return found
        proved = self._at_zero(problem, alpha, found.beta)
        if proved is None and (self.solver == "accelerated" or found.w.any()):
            # Multipliers on the way from zero weights are nearer to a certificate than those from elsewhere.
            near = Augmented(problem, alpha, zero).run(self.tol, MAX_ITER["newton"])
            proved = self._at_zero(problem, alpha, near.beta)
        return found if proved is None else replace(proved, n_iter=found.n_iter)

    def _at_zero(self, problem: TopPushProblem, alpha: float, beta: Floats) -> PrimalDual | None:
        """Zero weights with these multipliers as certificate, if they are one and prove the gap at this alpha too."""
        hull = certificate_of(problem, beta)
        if hull is None:
            return None
        m, d = problem.positives.shape
        a = np.full(m, float(problem.loss.slope(0.0)))
        found = PrimalDual(np.zeros(d), a, a[0] * hull.weights[problem.negative_rows], hull=hull)
        dual = problem.dual(a, problem.feasible(a, found.beta), alpha)
        return found if relative_gap(problem.loss_at_zero, dual) <= self.tol else None

    def _remarks(self, found: ScorerSolution) -> list[tuple[str, type[Warning]]]:
        text = (
            "The weights are 0, which is optimal for every alpha: no weights lift the positives above the "
            f"negatives on average (certificate_). Other features may change that; "
            f"{'a larger k asks for less' if self.threshold != 'max' else LESS}."
        )
        return [*([(text, UserWarning)] if self.degenerate_ else []), *super()._remarks(found)]
