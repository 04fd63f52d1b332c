"""A fit from checked data to a result: first stage, shortlist, solve, compare with the first stage, report."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.reranker.clock import Clock
from rerank.reranker.first_stage import FirstStage, affine, fit_first_stage
from rerank.reranker.plan import Plan, Solved
from rerank.reranker.result import Result, message_of, status_of
from rerank.reranker.settings import Settings
from rerank.reranker.shortlist import snap, stack
from rerank.reranker.solve.margin import SMALLEST_DEFAULT
from rerank.reranker.solve.optimise import solve
from rerank.reranker.solve.program import automatic_epsilon, normalised
from rerank.reranker.solve.verified import judge
from rerank.reranker.training import Data, Training, prepare

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit leaves behind."""

    first_stage: FirstStage | None
    training: Training
    weights: Floats
    reranks: bool
    result: Result


def fit(data: Data, settings: Settings, estimator: Any, clock: Clock, sample_weight: Floats | None) -> Fit:
    """Fit on checked data.

    Parameters
    ----------
    data : Data
    settings : Settings
    estimator : Reranker
        For the parameters that need no check.
    clock : Clock
    sample_weight : float64 array (n,) or None
        For the first stage.
    """
    with clock.phase("first_stage"):
        stage = fit_first_stage(
            estimator.first_stage, data.X, data.y, data.qid, sample_weight, random_state=settings.seed
        )
        scores = None if stage is None else stage.scores(data.X)
        training = prepare(
            data, settings.statistic, scores, None if stage is None else settings.n_candidates,
            epsilon=settings.epsilon or SMALLEST_DEFAULT, C=settings.C, max_features=settings.max_features,
            signs=settings.signs,
        )  # fmt: skip
    before = None if scores is None else data.evaluate(settings.statistic, scores)
    problem = training.problem
    if problem is None or training.nothing or _is_ideal(before, problem):
        return _nothing_to_do(data, settings, stage, training, before, clock)
    if settings.epsilon is None and settings.solver not in ("search", "none"):
        problem = replace(problem, epsilon=automatic_epsilon(problem))
        training = replace(training, problem=problem)
    start = start_weights(problem, training, stage)
    if settings.solver == "none":
        solved = _unsolved(problem, start)
    else:
        plan = Plan(
            settings.statistic,
            settings.formulation,
            settings.solver,
            settings.presolve,
            settings.n_jobs,
            settings.seed,
            proof=bool(estimator.proof),
            verbose=int(estimator.verbose),
        )
        solved = solve(problem, plan, clock, start)
    return _compared(data, settings, stage, training, before, solved, clock, scores)


def _is_ideal(before: float | None, problem: Problem) -> bool:
    return before is not None and before >= problem.ideal - 1e-12 * max(1.0, abs(problem.ideal))


def start_weights(problem: Problem, training: Training, stage: FirstStage | None) -> Floats | None:
    """The first stage's weights in scaled space, cut to signs and support limit; None where it is not affine."""
    if stage is None or stage.coef is None:
        return None
    w = stage.coef[training.features] * (problem.high - problem.low)
    w = np.where(problem.signs > 0, np.maximum(w, 0), np.where(problem.signs < 0, np.minimum(w, 0), w))
    if problem.max_features is not None:
        w[np.argsort(-np.abs(w), kind="stable")[problem.max_features :]] = 0.0
    return normalised(w)


def _unsolved(problem: Problem, start: Floats | None) -> Solved:
    """The start as it is, bounded by the ideal list only."""
    w = np.zeros(problem.n_features) if start is None else start
    judged = judge(problem, w)
    return Solved(judged, max(problem.ideal, judged.value), "ideal", start_value=judged.value)


def head_scores(table: Floats, low: Floats, high: Floats, w: Floats) -> Floats:
    """Scores of rows of the used features: scaled as :class:`rerank.problem.Problem` does, weighed, snapped."""
    scaled = (table / 2 - low / 2) / (high / 2 - low / 2)
    return snap(affine(scaled, w))


def fitted_scores(data: Data, training: Training, scores: Floats | None, w: Floats) -> Floats:
    """Score of every training row: head above tail in each list."""
    problem = training.problem
    assert problem is not None
    head = head_scores(data.X[:, training.features], problem.low, problem.high, w)
    if scores is None:
        return head
    is_head = np.zeros(scores.size, dtype=bool)
    is_head[training.shortlist.rows] = True
    above = scores[~is_head]
    return stack(scores, head, is_head, float(above.max()) if above.size else -math.inf, w.size)


def _nothing_to_do(
    data: Data,
    settings: Settings,
    stage: FirstStage | None,
    training: Training,
    before: float | None,
    clock: Clock,
) -> Fit:
    """No order of the shortlist is better than another, or the first stage's is the best: a result, not an error."""
    status = training.nothing or "already_ideal"
    w = np.zeros(0 if training.problem is None else training.problem.n_features)
    statistic = before if before is not None else data.evaluate(settings.statistic, np.zeros(data.y.size))
    result = Result(
        statistic=statistic, value=statistic, bound=statistic, bound_source="ideal", status=status,
        message=message_of(status, 0.0, "ideal", settings.statistic.name), weights=w,
        **_common(settings, training, before, clock),
    )  # fmt: skip
    return Fit(stage, training, w, False, result)


def _compared(
    data: Data, settings: Settings, stage: FirstStage | None, training: Training, before: float | None, solved: Solved,
    clock: Clock, scores: Floats | None,
) -> Fit:  # fmt: skip
    """The fitted ranking against the first stage's, on the training lists."""
    w, certificate = solved.judged.weights, solved.judged.certificate
    with clock.phase("certificate"):
        after = data.evaluate(settings.statistic, fitted_scores(data, training, scores, w))
    exact = float(certificate.statistic)
    if abs(exact - after) > 1e-9 * max(1.0, abs(exact)):
        solved = solved.noting(
            f"Scores that differ by less than 1e-12 count as equal in a ranking: the statistic is {after:.9g}, and "
            f"{exact:.9g} in exact arithmetic."
        )
    kept = before is not None and before >= after and settings.solver != "none"
    status = "first_stage_kept" if kept else status_of(solved.judged.value, solved.bound, solved.bound_source)
    message = message_of(status, solved.gap, solved.bound_source, settings.statistic.name)
    if kept:
        inner = status_of(solved.judged.value, solved.bound, solved.bound_source)
        message += " " + message_of(inner, solved.gap, solved.bound_source, settings.statistic.name)
    result = Result(
        statistic=before if kept and before is not None else after,
        value=solved.judged.value, bound=solved.bound, bound_source=solved.bound_source,
        status=status, message=message, weights=w,
        program_value=solved.program_value, program_bound=solved.program_bound, certificate=certificate,
        model_size=solved.model_size, start_value=solved.start_value, start_accepted=solved.start_accepted,
        formulation=solved.formulation, nodes=solved.nodes, proof=solved.proof, notes=solved.notes,
        **_common(settings, training, before, clock),
    )  # fmt: skip
    return Fit(stage, training, w, not kept, result)


def _common(settings: Settings, training: Training, before: float | None, clock: Clock) -> dict[str, Any]:
    problem = training.problem
    return {
        "statistic_name": settings.statistic.name,
        "gain": settings.gain,
        "epsilon": problem.epsilon if problem is not None else settings.epsilon or SMALLEST_DEFAULT,
        "C": settings.C,
        "n_lists": training.n_lists,
        "n_empty_lists": training.n_empty_lists,
        "shortlist": training.info,
        "seconds": {**clock.seconds, "total": clock.elapsed},
        "first_stage_statistic": before,
        "solver": settings.solver,
        "theorem": theorem(training),
    }


def theorem(training: Training) -> str:
    """Whether Subrank and ResolvedRank provably have the same optimum on the shortlist, in a sentence."""
    if training.problem is None:
        return ""
    from rerank.ranks.theorem import theorem_applies

    problem = training.problem
    lists = np.zeros(problem.X.shape[0], dtype=np.intp)
    for number, item in enumerate(problem.lists):
        lists[item.rows] = number + 1
    return str(theorem_applies(problem.X, problem.C, problem.max_features, qid=lists))
