"""Which method solves a TopPush problem, what it hands on, and what is reported of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rerank.scorers.base import Solution
from rerank.scorers.toppush.cuts.hull import HullCertificate, certificate_of
from rerank.scorers.toppush.cuts.newton import Found, minimise
from rerank.scorers.toppush.multipliers.augmented import Augmented
from rerank.scorers.toppush.multipliers.dual import descend
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap
from rerank.scorers.toppush.threshold import MaxThreshold

Floats = NDArray[np.float64]

# With more lists than this, each of which has a cut at least, multipliers are quicker than cuts.
LISTS = 200
# Objectives that differ by no more than this share may be equal but for rounding.
LEVEL = 1e-12


@dataclass(frozen=True)
class Settings:
    """How to solve: the estimator's parameters of the same names."""

    solver: str
    tol: float
    max_iter: int
    stop: str


@dataclass(frozen=True, eq=False)
class State:
    """What the next solve can start from."""

    newton: Found | None = None
    dual: tuple[Floats, Floats] | None = None
    hull: HullCertificate | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """A solution, the dual point that proves its gap, and the certificate if zero weights are optimal."""

    solution: Solution
    a: Floats
    beta: Floats
    hull: HullCertificate | None


def solve(
    problem: TopPushProblem, alpha: float, settings: Settings, start: Solution | None, n_rows: int
) -> Answer:
    """Solve for one ``alpha``; ``n_rows`` is the number of rows of the data, ``start`` a solution of a near problem."""
    state = start.state if start is not None and isinstance(start.state, State) else State()
    if state.hull is not None and state.hull.weights.size == n_rows and settings.stop == "gap":
        hull = _certified(problem, alpha, settings, state.hull.weights[problem.negative_rows], n_rows)
        if hull is not None:
            return _nothing(problem, alpha, settings, hull, 1)
    if settings.solver == "accelerated":
        return _accelerated(problem, alpha, settings, state, n_rows)
    found = _optimum(problem, alpha, settings, state.newton)
    hull = _hull(problem, alpha, settings, found.w, found.beta, n_rows)
    if hull is not None:
        return _nothing(problem, alpha, settings, hull, found.n_iter)
    return _report(problem, alpha, settings, found.w, found.a, found.beta, found.n_iter, State(newton=found))


def _optimum(problem: TopPushProblem, alpha: float, settings: Settings, start: Found | None) -> Found:
    """By cuts for the largest score as threshold; by multipliers where too many cuts are active, and for means."""
    n, d = problem.negatives.shape
    steps = 0
    if start is not None and (start.w.size, start.beta.size) != (d, n):
        start = None
    crowded = problem.n_lists > LISTS or (start is not None and start.crowded)
    if isinstance(problem.threshold, MaxThreshold) and not crowded:
        start = minimise(problem, alpha, settings.tol, settings.max_iter, start)
        if not start.crowded or start.gap <= settings.tol:
            return start
        steps = start.n_iter
    if start is None:
        start = Found(
            np.zeros(d), np.zeros(0), np.zeros(n), np.inf, 0, csr_matrix((0, n)), np.zeros(0, np.bool_)
        )
    if steps >= settings.max_iter:
        return start
    beta = start.beta if start.beta.size else np.zeros(n)
    multipliers = Augmented(problem, alpha, start.w, beta)
    w, a, beta, gap, n_iter = multipliers.run(settings.tol, settings.max_iter - steps)
    return Found(w, a, beta, gap, steps + n_iter, start.vertices, start.active)


def _accelerated(
    problem: TopPushProblem, alpha: float, settings: Settings, state: State, n_rows: int
) -> Answer:
    found = descend(problem, alpha, settings.tol, settings.max_iter, settings.stop, state.dual)
    kept = State(dual=(found.a, found.beta))
    if settings.stop == "authors":
        return _report(
            problem, alpha, settings, found.w, found.a, found.beta, found.n_iter, kept, converged=found.met
        )
    if problem.primal(found.w, alpha) > 0.99 * problem.loss_at_zero:
        first = minimise(problem, alpha, settings.tol, 1, None)
        hull = _certified(problem, alpha, settings, first.beta, n_rows)
        if hull is not None:
            return _nothing(problem, alpha, settings, hull, found.n_iter)
    return _report(problem, alpha, settings, found.w, found.a, found.beta, found.n_iter, kept)


def _hull(
    problem: TopPushProblem, alpha: float, settings: Settings, w: Floats, beta: Floats, n_rows: int
) -> HullCertificate | None:
    """Look for the certificate, unless the objective is below that of zero weights, which proves there is none."""
    if problem.primal(w, alpha) < (1 - LEVEL) * problem.loss_at_zero:
        return None
    hull = _certified(problem, alpha, settings, beta, n_rows)
    if hull is None and w.any():
        # A start other than 0 comes near it only in the limit; the first step from 0 finds the multipliers exactly.
        beta = minimise(problem, alpha, settings.tol, 1, None).beta
        hull = _certified(problem, alpha, settings, beta, n_rows)
    return hull


def _certified(
    problem: TopPushProblem, alpha: float, settings: Settings, beta: Floats, n_rows: int
) -> HullCertificate | None:
    """The certificate of these multipliers, if there is one and it proves the gap at this alpha too."""
    hull = certificate_of(problem, n_rows, beta) if beta.size else None
    if hull is None:
        return None
    gap = relative_gap(problem.loss_at_zero, problem.dual(*_multipliers(problem, hull), alpha))
    return hull if gap <= settings.tol else None


def _multipliers(problem: TopPushProblem, hull: HullCertificate) -> tuple[Floats, Floats]:
    """The dual point at ``w = 0`` that a certificate is."""
    slope = float(problem.loss.slope(np.zeros(1))[0])
    a = np.full(problem.share.size, slope)
    return a, problem.feasible(a, slope * hull.weights[problem.negative_rows])


def _nothing(
    problem: TopPushProblem, alpha: float, settings: Settings, hull: HullCertificate, n_iter: int
) -> Answer:
    """Zero weights, and why."""
    w, (a, beta) = np.zeros(problem.positives.shape[1]), _multipliers(problem, hull)
    solved = _report(problem, alpha, settings, w, a, beta, n_iter, State(hull=hull))
    return Answer(solved.solution, a, beta, hull)


def _report(
    problem: TopPushProblem,
    alpha: float,
    settings: Settings,
    w: Floats,
    a: Floats,
    beta: Floats,
    n_iter: int,
    state: State,
    converged: bool | None = None,
) -> Answer:
    """Objective and gap computed anew from the rows."""
    if beta.size:
        beta = problem.feasible(a, beta)
    else:
        a, beta = np.zeros(problem.share.size), np.zeros(problem.negatives.shape[0])
    objective = problem.primal(w, alpha)
    gap = relative_gap(objective, problem.dual(a, beta, alpha))
    met = gap <= settings.tol * (1 + 1e-6) if converged is None else converged
    advice = (
        f"The relative gap is {gap:.1e}. Raise max_iter or tol, raise alpha, or standardise the features."
    )
    solution: Any = Solution(problem.full(w), objective, n_iter, bool(met), gap, state, advice)
    return Answer(solution, a, beta, None)
