"""Which method solves a TopPush problem, what it hands on, and what is reported of its answer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rerank.scorers.base import Solution
from rerank.scorers.toppush.augmented import Augmented
from rerank.scorers.toppush.dual import descend
from rerank.scorers.toppush.hull import HullCertificate, certificate_of
from rerank.scorers.toppush.newton import Found, minimise
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap
from rerank.scorers.toppush.threshold import MaxThreshold

Floats = NDArray[np.float64]

# With more lists than this, each of which has a cut at least, multipliers are quicker than cuts.
LISTS = 200


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
        hull = certificate_of(problem, n_rows, state.hull.weights[problem.negative_rows])
        if hull is not None:
            return _nothing(problem, alpha, hull, 1)
    if settings.solver == "accelerated":
        return _accelerated(problem, alpha, settings, state, n_rows)
    found = _optimum(problem, alpha, settings, state.newton)
    hull = _hull(problem, alpha, found.w, found.beta, n_rows)
    if hull is not None:
        return _nothing(problem, alpha, hull, found.n_iter)
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
    beta = start.beta if start.beta.size else np.zeros(n)
    w, a, beta, gap, n_iter = Augmented(problem, alpha, start.w, beta).run(settings.tol, settings.max_iter)
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
        hull = certificate_of(problem, n_rows, first.beta) if first.beta.size else None
        if hull is not None:
            return _nothing(problem, alpha, hull, found.n_iter)
    return _report(problem, alpha, settings, found.w, found.a, found.beta, found.n_iter, kept)


def _hull(
    problem: TopPushProblem, alpha: float, w: Floats, beta: Floats, n_rows: int
) -> HullCertificate | None:
    """Look for the certificate if the objective is hardly below that of zero weights."""
    if problem.primal(w, alpha) < (1 - 1e-5) * problem.loss_at_zero or not beta.size:
        return None
    hull = certificate_of(problem, n_rows, beta)
    if hull is None and w.any():
        # A start other than 0 comes near it only in the limit; the first step from 0 finds the multipliers exactly.
        beta = minimise(problem, alpha, 1e-6, 1, None).beta
        hull = certificate_of(problem, n_rows, beta) if beta.size else None
    return hull


def _nothing(problem: TopPushProblem, alpha: float, hull: HullCertificate, n_iter: int) -> Answer:
    """Zero weights, and why."""
    warnings.warn(
        "The weights are 0, which is optimal for every alpha: the mean of the positives is a convex combination of "
        "negatives (certificate_). Other features may change that; threshold='topk' or 'quantile' asks for less, "
        "and solver='accelerated', stop='authors', tol=1e-4 returns the weights at which the authors stop.",
        UserWarning,
        stacklevel=6,
    )
    w = np.zeros(problem.positives.shape[1])
    slope = float(problem.loss.slope(np.zeros(1))[0])
    a, beta = np.full(problem.share.size, slope), slope * hull.weights[problem.negative_rows]
    solved = _report(
        problem, alpha, Settings("newton", 1e-6, 1, "gap"), w, a, beta, n_iter, State(hull=hull), True
    )
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
    if not beta.size:
        a, beta = np.zeros(problem.share.size), np.zeros(problem.negatives.shape[0])
    objective = problem.primal(w, alpha)
    gap = relative_gap(objective, problem.dual(a, beta, alpha))
    met = gap <= settings.tol * (1 + 1e-6) if converged is None else converged
    advice = (
        f"The relative gap is {gap:.1e}. Raise max_iter or tol, raise alpha, or standardise the features."
    )
    solution: Any = Solution(problem.full(w), objective, n_iter, bool(met), gap, state, advice)
    return Answer(solution, a, beta, None)
