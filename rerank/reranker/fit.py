"""A fit from checked data to a fitted state: first stage, shortlist, solve, compare with the first stage, report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.stops import limited
from rerank.problem import Problem
from rerank.problem.scaling import snapped_scores
from rerank.ranks.rationals import is_closed
from rerank.ranks.theorem import theorem_applies
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage, fit_first_stage
from rerank.reranker.result import Result, Solution, message_of, status_of
from rerank.reranker.settings import Settings
from rerank.reranker.solve.margin import SMALLEST_DEFAULT
from rerank.reranker.solve.optimise import solve
from rerank.reranker.solve.program import automatic_epsilon, normalised
from rerank.reranker.solve.verified import verified
from rerank.reranker.state import FittedState, joined
from rerank.reranker.training import Training, prepare

Floats = NDArray[np.float64]

FIRST_STAGE_SHARE = 0.4
"""Share of the time for a first stage of this package; others run to their end."""


@dataclass(frozen=True, eq=False)
class _Staged:
    """Data, checked parameters, and the result of the first stage."""

    data: Data
    settings: Settings
    options: Mapping[str, Any]
    clock: Clock
    stage: FirstStage | None
    scores: Floats | None
    training: Training
    late: str = ""

    @cached_property
    def before(self) -> float | None:
        """The statistic of the first stage's order."""
        return None if self.scores is None else self.data.evaluate(self.settings.statistic, self.scores)

    def result(self, solution: Solution, statistic: float, status: str, message: str) -> Result:
        """The result of a fit that ended in ``solution``."""
        training, settings = self.training, self.settings
        problem = training.problem
        return Result.of(
            solution.noting(self.late) if self.late else solution,
            statistic=statistic, status=status, message=message,
            statistic_name=settings.statistic.name, gain=settings.gain, C=settings.C, solver=settings.solver,
            epsilon=problem.epsilon if problem is not None else settings.epsilon or SMALLEST_DEFAULT,
            n_lists=training.n_lists, n_empty_lists=training.n_empty_lists, shortlist=training.info,
            seconds=self.clock.report(),
            first_stage_statistic=self.before, theorem=_theorem(problem),
        )  # fmt: skip

    def state(self, reranks: bool, result: Result) -> FittedState:
        """The fitted state with this ``result``."""
        problem, none = self.training.problem, np.empty(0)
        return FittedState(
            options=self.options, settings=self.settings, feature_names=self.data.feature_names,
            first_stage=self.stage, threshold=self.training.shortlist.threshold,
            reranks=reranks or self.stage is None,
            features=self.training.features, weights=result.weights, result=result, training=self.training,
            low=none if problem is None else problem.low, high=none if problem is None else problem.high,
            weighted_lists=self.data.list_weight is not None, labels=self.data.labels,
        )  # fmt: skip


def fit(
    data: Data, settings: Settings, options: Mapping[str, Any], clock: Clock, sample_weight: Floats | None
) -> FittedState:
    """Fit on checked data.

    Parameters
    ----------
    data : Data
    settings : Settings
    options : mapping
        The estimator's parameters as given; the state keeps them.
    clock : Clock
    sample_weight : float64 array (n,) or None
        For the first stage.
    """
    with clock.phase("first_stage"):
        with limited(clock.share(FIRST_STAGE_SHARE)):
            stage = fit_first_stage(
                settings.first_stage, data.X, data.y, data.qid, sample_weight, random_state=settings.seed
            )
        scores = None if stage is None else stage.scores(data.X)
        n_candidates = None if stage is None else settings.candidates(data.longest_list)
        settings = replace(settings, n_candidates=n_candidates)
        training = prepare(
            data, settings.statistic, scores, n_candidates,
            epsilon=settings.epsilon or SMALLEST_DEFAULT, C=settings.C, max_features=settings.max_features,
            signs=settings.signs,
        )  # fmt: skip
    staged = _Staged(data, settings, options, clock, stage, scores, training, _late(clock))
    problem, before = training.problem, staged.before
    if problem is None or training.nothing or _is_ideal(before, problem):
        return _nothing_to_do(staged)
    if settings.epsilon is None and settings.solver not in ("search", "none"):
        problem = replace(problem, epsilon=automatic_epsilon(problem))
        staged = replace(staged, training=replace(training, problem=problem))
    start = start_weights(problem, training, stage)
    if settings.solver == "none":
        return _compared(staged, problem, _unsolved(problem, start))
    return _compared(staged, problem, solve(problem, settings, clock, start))


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a MemoryError of the block into an :class:`InputError` with advice."""
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"There is not enough memory for this fit ({str(error) or 'of an unknown size'}); lower n_candidates or "
            "n_jobs, or give fewer rows or features."
        ) from error


def _late(clock: Clock) -> str:
    """A note if the first stage used up the time, or ``""``."""
    if clock.remaining > 0:
        return ""
    return (
        f"The first stage and the shortlist took {clock.seconds['first_stage']:.1f} s, which is all of the time_limit "
        "or more: nothing was left for the search."
    )


def _is_ideal(before: float | None, problem: Problem) -> bool:
    return before is not None and before >= problem.ideal - 1e-12 * max(1.0, abs(problem.ideal))


def start_weights(problem: Problem, training: Training, stage: FirstStage | None) -> Floats | None:
    """The first stage's weights in scaled space, cut to signs and support limit; None if it is not affine."""
    if stage is None or stage.coef is None:
        return None
    w = stage.coef[training.features] * (problem.high - problem.low)
    w = np.where(problem.signs > 0, np.maximum(w, 0), np.where(problem.signs < 0, np.minimum(w, 0), w))
    if problem.max_features is not None:
        w[np.argsort(-np.abs(w), kind="stable")[problem.max_features :]] = 0.0
    return normalised(w)


def _unsolved(problem: Problem, start: Floats | None) -> Solution:
    """The start weights unchanged, with the value of the ideal list as bound."""
    best = verified(problem, np.zeros(problem.n_features) if start is None else start)
    return Solution(
        weights=best.weights, value=best.value, certificate=best.certificate, start_value=best.value,
        bound=max(problem.ideal, best.value), bound_source="ideal",
    )  # fmt: skip


def fitted_scores(data: Data, training: Training, scores: Floats | None, w: Floats) -> Floats:
    """Score of every training row: head above tail in each list."""
    problem = training.problem
    assert problem is not None
    head = snapped_scores(data.X[:, training.features], problem.low, problem.high, w)
    if scores is None:
        return head
    is_head = np.zeros(scores.size, dtype=bool)
    is_head[training.shortlist.rows] = True
    return joined(scores, head, is_head, w.size)


def _nothing_to_do(staged: _Staged) -> FittedState:
    """The result of a fit without a search: no order matters, or the first stage's order is already ideal."""
    data, statistic, problem = staged.data, staged.settings.statistic, staged.training.problem
    before = staged.before
    found = before if before is not None else data.evaluate(statistic, np.zeros(data.y.size))
    status = staged.training.nothing
    if not status or is_closed(data.evaluate(statistic, data.gains) - found, found):
        status = "already_ideal"
    message = message_of(status, statistic.name, needed=staged.training.info.least_candidates)
    if status != "already_ideal":
        warnings.warn(message, stacklevel=5)
    solution = Solution(
        weights=np.zeros(0 if problem is None else problem.n_features),
        value=found, bound=found, bound_source="ideal",
    )  # fmt: skip
    result = staged.result(solution, found, status, message)
    return staged.state(False, result)


def _compared(staged: _Staged, problem: Problem, solution: Solution) -> FittedState:
    """The better of the fitted ranking and the first stage's, on the training lists."""
    data, statistic, before = staged.data, staged.settings.statistic, staged.before
    assert solution.certificate is not None
    with staged.clock.phase("certificate"):
        scores = fitted_scores(data, staged.training, staged.scores, solution.weights)
        after = data.evaluate(statistic, scores)
    exact = float(solution.certificate.statistic)
    if not is_closed(abs(exact - after), exact):
        solution = solution.noting(
            f"Scores that differ by less than 1e-12 count as equal in a ranking: the statistic is {after:.9g}, and "
            f"{exact:.9g} in exact arithmetic."
        )
    kept = before is not None and before >= after and staged.settings.solver != "none"
    solved = status_of(solution)
    message = message_of(
        solved, statistic.name, solution.gap, solution.bound_source, bound_solver=solution.bound_solver
    )
    if kept:
        message = f"{message_of('first_stage_kept', statistic.name)} {message}"
    result = staged.result(
        solution,
        before if kept and before is not None else after,
        "first_stage_kept" if kept else solved,
        message,
    )
    return staged.state(not kept, result)


def _theorem(problem: Problem | None) -> str:
    """A sentence: whether Subrank and ResolvedRank provably have the same optimum on the shortlist."""
    if problem is None:
        return ""
    lists = np.zeros(problem.X.shape[0], dtype=np.intp)
    for number, item in enumerate(problem.lists):
        lists[item.rows] = number + 1
    return str(theorem_applies(problem.X, problem.C, problem.max_features, qid=lists))
