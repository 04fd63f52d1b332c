"""Which method solves a TopPush problem, and what is reported of its answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.scorers.base import Solution
from rerank.scorers.data import Floats
from rerank.scorers.toppush.answer import Answer, HullCertificate, certificate_of, no_answer
from rerank.scorers.toppush.cuts.newton import minimise
from rerank.scorers.toppush.multipliers.accelerated import descend
from rerank.scorers.toppush.multipliers.augmented import Augmented
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap
from rerank.scorers.toppush.threshold import MaxThreshold

# Each list has at least one active cut; with more lists than this multipliers are quicker than cuts.
LISTS = 200
# Objectives that differ by no more than this share may be equal but for rounding.
LEVEL = 1e-12
# The accelerated method only comes near zero weights: they are considered from this share of their objective on.
NEAR = 0.99


@dataclass(frozen=True)
class Settings:
    """How to solve: the estimator's parameters of the same names."""

    alpha: float
    solver: str
    tol: float
    max_iter: int
    stop: str


def solve(problem: TopPushProblem, settings: Settings, start: Solution | None) -> Solution:
    """Solve from a solution of a near problem, if there is one; the :class:`Answer` is in the solution's ``state``."""
    known = start.state if start is not None else None
    if known is not None and known.hull is not None:
        # Zero weights stay optimal at another alpha.
        if known.hull.weights.size == problem.n_rows and settings.stop == "gap":
            answer = _at_zero(problem, settings, known.hull.weights[problem.negative_rows])
            if answer is not None:
                return _report(problem, settings, replace(answer, n_iter=1))
        known = None
    if settings.solver == "accelerated":
        answer = descend(
            problem, settings.alpha, settings.tol, settings.max_iter, settings.stop,
            known if known is not None and known.vertices is None else None,
        )  # fmt: skip
    else:
        answer = _optimum(problem, settings, known)
    return _report(problem, settings, _zero_instead(problem, settings, answer) or answer)


def _optimum(problem: TopPushProblem, settings: Settings, start: Answer | None) -> Answer:
    """By cuts for the largest score as threshold; by multipliers for means and where many cuts are active."""
    alpha, tol = settings.alpha, settings.tol
    sizes = problem.positives.shape[1], problem.negatives.shape[0]
    if (
        start is None
        or start.vertices is None
        or (start.w.size, start.beta.size) != sizes
        or not start.beta.any()
    ):
        start = no_answer(problem)
    steps = 0
    if isinstance(problem.threshold, MaxThreshold) and problem.n_lists <= LISTS and not start.many_active:
        start = minimise(problem, alpha, tol, settings.max_iter, start)
        steps = start.n_iter
        if start.met or not start.many_active or steps >= settings.max_iter:
            return start
    found = Augmented(problem, alpha, start.w, start.beta).run(tol, settings.max_iter - steps)
    return replace(found, n_iter=steps + found.n_iter, vertices=start.vertices, active=start.active)


def _zero_instead(problem: TopPushProblem, settings: Settings, answer: Answer) -> Answer | None:
    """Zero weights if they are optimal, which an objective below theirs rules out."""
    accelerated = settings.solver == "accelerated"
    level = (NEAR if accelerated else 1 - LEVEL) * problem.loss_at_zero
    if settings.stop == "authors" or problem.primal(answer.w, settings.alpha) < level:
        return None
    zero = None if accelerated else _at_zero(problem, settings, answer.beta)
    if zero is None and (accelerated or answer.w.any()):
        # From another start the multipliers are right in the limit only; one step from 0 finds them exactly.
        first = minimise(problem, settings.alpha, settings.tol, 1, no_answer(problem))
        zero = _at_zero(problem, settings, first.beta)
    return None if zero is None else replace(zero, n_iter=answer.n_iter)


def _at_zero(problem: TopPushProblem, settings: Settings, beta: Floats) -> Answer | None:
    """Zero weights with these multipliers as certificate, if they are one and prove the gap at this alpha too."""
    hull = certificate_of(problem, beta)
    if hull is None:
        return None
    answer = _answer_of(problem, hull)
    dual = problem.dual(answer.a, problem.feasible(answer.a, answer.beta), settings.alpha)
    return answer if relative_gap(problem.loss_at_zero, dual) <= settings.tol else None


def _answer_of(problem: TopPushProblem, hull: HullCertificate) -> Answer:
    slope = float(problem.loss.slope(np.zeros(1))[0])
    (m, d) = problem.positives.shape
    return Answer(np.zeros(d), np.full(m, slope), slope * hull.weights[problem.negative_rows], hull=hull)


def _report(problem: TopPushProblem, settings: Settings, answer: Answer) -> Solution:
    """Objective and gap computed anew from the rows."""
    objective = problem.primal(answer.w, settings.alpha)
    dual = problem.dual(answer.a, problem.feasible(answer.a, answer.beta), settings.alpha)
    gap = relative_gap(objective, dual)
    met = answer.met if settings.stop == "authors" else gap <= settings.tol * (1 + 1e-6)
    advice = (
        f"The relative gap is {gap:.1e}. Raise max_iter or tol, raise alpha, or standardise the features."
    )
    return Solution(problem.full(answer.w), objective, answer.n_iter, bool(met), gap, answer, advice)
