"""A fit from checked data to a fitted state: first stage, shortlist, solve, compare with the first stage, report."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import limited
from rerank.io.columns import index_note
from rerank.problem import Problem
from rerank.ranks.rationals import is_closed
from rerank.reranker.anchored import anchor_of
from rerank.reranker.clock import Clock
from rerank.reranker.cross_fit import Staged, staged
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.result import KEEPING, Result, Solution, status_of
from rerank.reranker.settings import Settings
from rerank.reranker.shown import message_of
from rerank.reranker.solve.margin import SMALLEST_DEFAULT, notes_on_exact_pairs, notes_on_near_rows
from rerank.reranker.solve.optimise import solve
from rerank.reranker.solve.program import automatic_epsilon
from rerank.reranker.solve.verified import verified
from rerank.reranker.state import FittedState
from rerank.reranker.training import Training, fitted_scores, prepare, start_weights, theorem_of
from rerank.reranker.words import corrections_in_words, kept_in_words

Floats = NDArray[np.float64]

LATE = "nothing was left for the search"
"""What the note says on a fit whose time was over before its search."""

NOTHING_SOLVED = "solver is 'none', which solves nothing; use solver='search' for the best weights."

FIRST_STAGE_SHARE = 0.4
"""Share of the time for a first stage of this package; others run to their end."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Data, parameters, first stage and problem; ``before`` and ``quoted_before`` are what its order is worth."""

    data: Data
    settings: Settings
    options: Mapping[str, Any]
    clock: Clock
    staged: Staged | None
    training: Training
    notes: tuple[str, ...] = ()

    @property
    def stage(self) -> FirstStage | None:
        """The first stage."""
        return None if self.staged is None else self.staged.stage

    @property
    def scores(self) -> Floats | None:
        """Its scores of the rows."""
        return None if self.staged is None else self.staged.scores

    @cached_property
    def before(self) -> float | None:
        """What is fitted, by its order."""
        return None if self.scores is None else self.data.evaluate(self.settings.statistic, self.scores)

    @cached_property
    def quoted_before(self) -> float | None:
        """What is quoted, by its order."""
        if self.scores is None or self.settings.quoted is self.settings.statistic:
            return self.before
        return self.data.evaluate(self.settings.quoted, self.scores)

    def but(self, **fields: Any) -> Fit:
        """The same with other notes or another margin; what the first stage's order is worth is kept."""
        made = replace(self, **fields)
        vars(made).update({name: vars(self)[name] for name in ("before", "quoted_before") if name in vars(self)})
        return made

    def result(self, solution: Solution, statistic: float, status: str, message: str) -> Result:
        """The result of a fit that ended in ``solution``."""
        training, settings = self.training, self.settings
        problem = training.problem
        kept = kept_in_words(settings, self.stage, self.data.rows.columns) if status in KEEPING else ()
        return Result.of(
            solution.noting(*self.notes, *kept),
            statistic=statistic, status=status, message=message,
            statistic_name=settings.quoted.name, fitted_name=settings.statistic.name, gain=settings.gain,
            C=settings.C, solver=settings.solver,
            epsilon=problem.epsilon if problem is not None else settings.epsilon or SMALLEST_DEFAULT,
            n_lists=training.n_lists, n_empty_lists=training.n_empty_lists, shortlist=training.info,
            seconds=self.clock.report(),
            first_stage_statistic=self.quoted_before, folds=0 if self.staged is None else self.staged.folds,
            grouped=self.data.groups is not None,
            left_out=self.data.rows.columns.left_out, theorem=theorem_of(problem),
        )  # fmt: skip

    def state(self, reranks: bool, result: Result) -> FittedState:
        """The fitted state with this ``result``."""
        problem, none = self.training.problem, np.empty(0)
        columns = self.data.rows.columns
        state = FittedState(
            options=self.options, settings=self.settings, columns=columns,
            prior_scores=self.scores if self.staged is not None and self.staged.folds else None,
            first_stage=self.stage, threshold=self.training.shortlist.threshold,
            reranks=reranks or self.stage is None,
            features=columns.chosen[self.training.features], weights=result.weights, result=result,
            training=self.training, scores=self.scores,
            low=none if problem is None else problem.low, high=none if problem is None else problem.high,
            weighted_lists=self.data.list_weight is not None, labels=self.data.labels,
        )  # fmt: skip
        return state.with_classes(self.data.rows, self.data.y, self.scores)


def fit(
    data: Data, settings: Settings, options: Mapping[str, Any], clock: Clock, sample_weight: Floats | None,
    given: Staged | None = None,
) -> FittedState:  # fmt: skip
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
    given : Staged, optional
        The first stage, where others share it.
    """
    with clock.phase("first_stage"):
        with limited(clock.share(FIRST_STAGE_SHARE)):
            found = staged(data, settings, sample_weight, clock) if given is None else given
        whole = found is None or settings.first_stage is None
        n_candidates = None if whole else settings.candidates(data.longest_list)
        settings = replace(settings, n_candidates=n_candidates)
        anchor = anchor_of(data.rows.columns, settings, None if found is None else found.stage)
        training = prepare(
            data, settings.statistic, None if found is None else found.scores, n_candidates, anchor,
            epsilon=settings.epsilon or SMALLEST_DEFAULT, C=settings.C, max_features=settings.max_features,
            signs=settings.signs,
        )  # fmt: skip
    this = Fit(data, settings, options, clock, found, training)
    this = this.but(notes=_notes(this))
    problem = training.problem
    if problem is None or training.nothing or _is_ideal(this.before, problem):
        return _nothing_to_do(this)
    if settings.epsilon is None and settings.solver not in ("search", "none"):
        problem = problem.with_epsilon(automatic_epsilon(problem))
        this = this.but(training=replace(training, problem=problem))
    this = this.but(notes=(*this.notes, *notes_on_near_rows(problem)))
    start = start_weights(problem, this.data, training, this.stage)
    if this.staged is not None and this.staged.stopped:
        start = (
            problem.unchanged if problem.anchored else None
        )  # nothing is corrected by scores of rows that were seen
    if settings.solver == "none" or (this.staged is not None and this.staged.stopped):
        solution = _unsolved(problem, start)
        if settings.solver == "none":
            solution = replace(solution, gave_up=not is_closed(solution.gap, solution.value)).noting(NOTHING_SOLVED)
        return _compared(this, problem, solution)
    return _compared(this, problem, solve(problem, settings, clock, start))


def _notes(this: Fit) -> tuple[str, ...]:
    """What has to be said of first stage, statistic and columns."""
    index = this.data.rows.columns.index
    notes = [*([index_note(index)] if index else []), *this.data.notes]
    notes += [] if this.staged is None else [*this.staged.stage.notes, *this.staged.notes]
    if this.clock.remaining <= 0:
        notes.append(
            f"The first stage and the shortlist took {this.clock.seconds['first_stage']:.2g} s, and this fit had "
            f"{this.clock.limit:.2g} s: {LATE}."
        )
    problem, statistic = this.training.problem, this.settings.statistic
    if statistic.remark and problem is not None and any(unit.positive.size > 1 for unit in problem.units):
        notes.append(statistic.remark)
    if this.settings.radius is not None and problem is not None and not problem.anchored:
        notes.append(
            "The first stage gives all rows the same score, so the weights are free and radius is not used."
        )
    return tuple(notes)


def _is_ideal(before: float | None, problem: Problem) -> bool:
    return before is not None and before >= problem.ideal - 1e-12 * max(1.0, abs(problem.ideal))


def _unsolved(problem: Problem, start: Floats | None) -> Solution:
    """The start weights unchanged, with the value of the ideal list as bound."""
    best = verified(problem, np.zeros(problem.n_features) if start is None else start)
    return Solution(
        weights=best.weights, value=best.value, certificate=best.certificate, start_value=best.value,
        bound=max(problem.ideal, best.value), bound_source="ideal",
    )  # fmt: skip


def _nothing_to_do(this: Fit) -> FittedState:
    """The result of a fit without a search: no order matters, or the first stage's order is already ideal."""
    data, statistic, problem = this.data, this.settings.statistic, this.training.problem
    found, quoted = this.before, this.quoted_before
    if found is None or quoted is None:
        equal = np.zeros(data.y.size)
        found, quoted = data.evaluate(statistic, equal), data.evaluate(this.settings.quoted, equal)
    status = this.training.nothing
    if not status or is_closed(data.best(statistic) - found, found):
        status = "already_ideal"
    message = message_of(status, statistic.name, needed=this.training.info.least_candidates)
    if status != "already_ideal":
        warnings.warn(message, stacklevel=5)  # the line that called fit
    elif problem is not None and problem.anchored and not is_closed((best := data.best(statistic)) - found, found):
        note = f"No correction within the radius gives a larger {statistic.name}; the ideal list has {best:.6g}."
        this = this.but(notes=(*this.notes, note))
    solution = Solution(
        weights=np.zeros(0) if problem is None else problem.unchanged,
        value=found, bound=found, bound_source="ideal",
    )  # fmt: skip
    result = this.result(solution, quoted, status, message)
    return this.state(False, result)


def _compared(this: Fit, problem: Problem, solution: Solution) -> FittedState:
    """The better of the fitted ranking and the first stage's, by what is fitted, on the training lists."""
    data, statistic, before = this.data, this.settings.statistic, this.before
    assert solution.certificate is not None
    with this.clock.phase("certificate"):
        scores = fitted_scores(data, this.training, this.scores, solution.weights)
        after = data.evaluate(statistic, scores)
    exact = float(solution.certificate.statistic)
    if not is_closed(abs(exact - after), exact):
        solution = solution.noting(
            f"Scores that differ by less than 1e-12 count as equal in a ranking: the statistic is {after:.9g}, and "
            f"{exact:.9g} in exact arithmetic."
        )
    kept = before is not None and before >= after and this.settings.solver != "none"
    solved = status_of(solution)
    if solved == "feasible" and not solution.gave_up:
        solution = solution.noting(*notes_on_exact_pairs(problem))
    message = message_of(
        solved,
        statistic.name,
        solution.gap,
        solution.bound_source,
        bound_solver=solution.bound_solver,
        gave_up=solution.gave_up,
    )
    if kept:
        message = f"{message_of('first_stage_kept', statistic.name)} {message}"
    if problem.anchored and not kept:
        names = [data.feature_names[j] for j in this.training.features]
        spread = problem.high - problem.low
        if words := corrections_in_words(names, solution.weights[1:], spread[1:]):
            solution = solution.noting(words)
    quoted = this.quoted_before
    if not kept:
        quoted = after if this.settings.quoted is statistic else data.evaluate(this.settings.quoted, scores)
    assert quoted is not None
    result = this.result(solution, quoted, "first_stage_kept" if kept else solved, message)
    return this.state(not kept, result)
