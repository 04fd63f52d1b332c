"""The one fit: first stage, shortlist, weights by a solver that is an argument, comparison with the first stage.

A search, a program, start weights left as they are, or the weights of a file that is verified: each is a function from
the problem to a :class:`~rerank.reranker.solution.Solution`, and all else is the same for them.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rerank.certificate.certificate import value_of
from rerank.errors import CertificateError, InfeasibleError, InputError
from rerank.errors.stops import limited, protected
from rerank.errors.telling import Note, of_kind
from rerank.problem import Problem, Quota
from rerank.problem.lists import Floats
from rerank.problem.quotas import groups_of, unmet
from rerank.problem.scaling import per_unit
from rerank.ranks.evaluator import Ties
from rerank.ranks.rationals import is_closed, value_down
from rerank.reranker.blend import of_members
from rerank.reranker.clock import Clock
from rerank.reranker.columns import Columns
from rerank.reranker.constraints import broken_quota, first_stage_keeps, idle, worst_count
from rerank.reranker.cross_fit import Staged, staged
from rerank.reranker.data import Data
from rerank.reranker.describe import amount_of, corrections_in_words
from rerank.reranker.first_stage import FirstStage, is_own_name, too_many
from rerank.reranker.options import may_correct
from rerank.reranker.result import Result
from rerank.reranker.solution import CORRECTIONS, KEEPING, LATE, UNREADY, UNUSED, Solution, status_of
from rerank.reranker.solve.optimise import INTERRUPTED
from rerank.reranker.solve.optimise import solve as best_weights
from rerank.reranker.solve.program import SMALLEST_DEFAULT, notes_on_exact_pairs, notes_on_near_rows, safe_epsilon
from rerank.reranker.solve.verified import meets, verified
from rerank.reranker.state import FittedState
from rerank.reranker.task import Task
from rerank.reranker.training import Training, fitted_scores, start_weights, stated, theorem_of
from rerank.search import statistic_bound
from rerank.search.domain import allowed

Solve = Callable[[Problem, Task, Clock, Floats | None], Solution]
"""From a problem and weights to start from to weights with their exact value and a bound."""

BOXES, MORE_BOXES = 5e9, 4
"""Boxes for a bound with a tied pair as one half: so many divided by the pairs, and so many times those of the fit."""

NOTHING_SOLVED = "solver is 'none', which solves nothing; use solver='search' for the best weights."

FIRST_POINTS = "The start does not meet the quotas, so these weights are of the first points of a search."
NO_POINT = "The weights here meet none and have no value; what the fit states can be exported and solved."

FIRST_STAGE_SHARE = 0.4  # share of the time for a first stage of this package; others run to their end


ROUNDING = 1e-12  # relative difference that sums of the same doubles may have on two machines: a smaller lead is none


def fit(data: Data, task: Task, clock: Clock, first: Staged | None = None) -> FittedState:
    """Fit on checked data; with a first stage that others share it is not fitted again."""
    with clock.phase("first_stage"):
        with limited(clock.share(FIRST_STAGE_SHARE)):
            first = staged(data, task, clock) if first is None else first
        if task.members and first is not None:
            data = of_members(data, first.stage, first.members)
        task, training = stated(data, task, first)
    return concluded(data, task, clock, first, training)


@dataclass(frozen=True, eq=False)
class Stated:
    """A stated problem beside what it was made of, and how equal scores count in the statistic."""

    data: Data
    task: Task
    clock: Clock
    first: Staged | None
    training: Training
    ties: Ties

    @property
    def problem(self) -> Problem:
        """The problem, where there is one."""
        assert self.training.problem is not None
        return self.training.problem

    @property
    def stage(self) -> FirstStage | None:
        """The first stage, if there is one."""
        return None if self.first is None else self.first.stage

    def keeps(self, ahead: float, slack: float) -> bool:
        """Whether the first stage's order is the answer, if it may be, where weights are ``ahead`` of it by so much.
        Those of a solver have to lead, the start left as it is must not be worse, and those of a file are asked for.
        """
        return ahead < -slack if self.task.solver == "none" else ahead <= slack and self.task.solver != "file"

    def quoted(self, scores: Floats, value: float | None) -> float:
        """The user's own statistic of an order; ``value`` is the fitted one, which mostly is the same."""
        same = self.task.quoted is self.task.statistic and self.ties == "pessimistic"
        return value if same and value is not None else self.data.evaluate(self.task.quoted, scores, self.ties)


@dataclass(frozen=True, eq=False)
class Standing:
    """What the first stage's order is worth beside the weights to come, and why it may not be the answer."""

    scores: Floats | None = None
    value: float | None = None  # of what is fitted, ties as lost
    quoted: float | None = None  # of the user's own statistic
    breaks: str | None = None  # the constraint that it does not satisfy
    over: int | None = None  # columns by which it ranks, more than are allowed
    missed: Quota | None = None  # the quota that it does not meet

    @property
    def is_allowed(self) -> bool:
        """Whether constraints and ``max_features`` allow it. Quotas are looked at apart: they may be of an order."""
        return self.breaks is None and self.over is None

    @property
    def may_stay(self) -> bool:
        """Whether it may be the answer."""
        return self.quoted is not None and self.is_allowed and self.missed is None


@dataclass(frozen=True, eq=False)
class Answer:
    """The better of first stage and weights, what the user's own statistic is of it, and what is to be said."""

    solution: Solution
    status: str
    quoted: float
    notes: tuple[str, ...] = ()


def concluded(
    data: Data,
    task: Task,
    clock: Clock,
    first: Staged | None,
    training: Training,
    solve: Solve | None = None,
    ties: Ties | None = None,
) -> FittedState:
    """The state of a stated problem: the better of first stage and weights, which ``solve`` finds, or ``task.solver``.
    Equal scores count in the statistic as it says, or by ``ties``; a value counts them against the row.
    """
    stated = Stated(data, task, clock, first, training, ties or task.quoted.ties)
    standing, notes = _standing(stated), [*_notes(stated)]
    notes += _notes_on_ties(stated, standing)
    answered = partial(_first_stage_alone, stated, standing)
    if not _settled(stated, standing):
        problem = stated.problem
        units = per_unit(np.full(problem.low.size, problem.high[0] - problem.low[0]), problem.low, problem.high)
        if not (problem.directions_count or np.isfinite(units).all()):
            columns, narrow = data.rows.columns, np.flatnonzero(~np.isfinite(units)) - int(problem.anchored)
            raise _no_scores([columns.names[j] for j in columns.chosen[training.features][narrow]])
        stated = _with_safe_margin(stated)
        notes += notes_on_near_rows(stated.problem)
        searched, solution = solve is None and task.solver != "none", _solved(stated, solve)
        answered = partial(_weighed, stated, standing, solution, searched)

    def ended() -> FittedState:
        answer = answered()
        return _state(stated, standing, answer, [*notes, *answer.notes])

    if solve is not None or task.judged:  # nothing would be lost
        return ended()
    state, interrupted = protected(ended)
    if not interrupted or INTERRUPTED in state.result.notes:
        return state
    return replace(state, result=state.result.noting(INTERRUPTED))


def _standing(stated: Stated) -> Standing:
    data, task, first = stated.data, stated.task, stated.first
    quotas, lists = groups_of(task.quota, data.kinds), stated.training.counted
    if first is None:
        return Standing(missed=broken_quota(quotas, lists, np.zeros(data.y.size)))
    value, columns = data.evaluate(task.statistic, first.scores, "pessimistic"), data.rows.columns
    return Standing(
        scores=first.scores,
        value=value,
        quoted=stated.quoted(first.scores, value),
        breaks=broken_by_first_stage(stated.training.problem, task, first.stage, columns),
        over=too_many(first.stage, task.max_features, columns) if task.radius is None else None,
        missed=broken_quota(quotas, lists, first.scores),
    )


def _settled(stated: Stated, standing: Standing) -> bool:
    """Whether no weights can give a better order than the first stage's, or than none."""
    problem, nothing = stated.training.problem, stated.training.nothing
    settled = problem is None or bool(nothing)
    if problem is not None and standing.value is not None and standing.is_allowed:
        settled |= standing.value >= problem.ideal - ROUNDING * max(1.0, abs(problem.ideal))
    if settled and standing.missed is not None and (problem is None or nothing == "nothing_to_find"):
        raise unmet(groups_of(stated.task.quota, stated.data.kinds), proved=problem is None)
    return settled and standing.missed is None


def _first_stage_alone(stated: Stated, standing: Standing) -> Answer:
    """Nothing is fitted: the first stage's order, or that of the table."""
    data, statistic, training = stated.data, stated.task.statistic, stated.training
    problem, equal, notes = training.problem, np.zeros(data.y.size), list[str]()
    value = data.evaluate(statistic, equal, "pessimistic") if standing.value is None else standing.value
    quoted = stated.quoted(equal, value) if standing.quoted is None else standing.quoted
    best = data.evaluate(statistic, data.gains)
    ideal = is_closed(best - value, value)
    status = "already_ideal" if ideal or not training.nothing else training.nothing
    if status == "already_ideal" and problem is not None and problem.anchored and not ideal:
        larger = f"a larger {amount_of(statistic.name)}; the ideal list has {best:.6g}."
        notes += [f"No correction within the radius gives {larger}"]
    if stated.task.constraints and (problem is None or standing.breaks is not None):
        notes += ["Nothing can be reordered, so no weights are fitted, and the constraints are not applied."]
    weights = np.zeros(0) if problem is None else problem.unchanged
    figures: dict[str, Any] = {"weights": weights, "value": value}
    if problem is not None and problem.anchored:  # the first stage's score is a point of the problem, with its margin
        figures = verified(problem, weights).figures
    elif problem is not None and status == "already_ideal":
        figures["value"] = _worth_as_weights(stated, value)
    bound = value = figures["value"]
    if problem is not None and (problem.anchored or status == "already_ideal"):
        bound = value if is_closed(problem.ideal - value, value) else problem.ideal
    solution = Solution(**figures, bound=bound, bound_source="ideal")
    return Answer(solution, status, quoted, tuple(notes))


def _worth_as_weights(stated: Stated, value: float) -> float:
    """What a first stage is worth as weights of the problem, with margin and penalty, where its score is such a point;
    else the ``value`` of its order.
    """
    problem, stage, data, training = stated.problem, stated.stage, stated.data, stated.training
    coef = None if stage is None else stage.weights_of(data.rows.columns)
    if coef is None or stated.first is None or stated.first.folds:
        return value
    w = start_weights(problem, data, training, stage)
    if w is None or not w.any() or not np.array_equal(np.sign(w), np.sign(coef[training.features])):
        return value  # signs or a limit of features leave a part of it
    with suppress(CertificateError):  # rounding can break a rule that it satisfies
        value = value_down(value_of(problem, allowed(problem, w)))
    return value


def _with_safe_margin(stated: Stated) -> Stated:
    """The problem with the smallest margin of what solves it first: a search keeps smaller ones than programs do."""
    task, problem = stated.task, stated.problem
    by_program = task.solver not in ("search", "none", "file")
    if problem.by_sum:
        by_program = task.solver == "none" or (by_program and not task.presolve)
    if task.margin is None and by_program:
        problem = problem.with_epsilon(safe_epsilon(problem))
    return replace(stated, training=replace(stated.training, problem=problem))


def _weighed(stated: Stated, standing: Standing, solution: Solution, searched: bool) -> Answer:
    """Weights by a solver, and the first stage where they do not lead it."""
    task, problem, clock, data = stated.task, stated.problem, stated.clock, stated.data
    with clock.phase("certificate"):
        scores = fitted_scores(data, stated.training, standing.scores, solution.weights)
        after = data.evaluate(task.statistic, scores, "pessimistic")
    notes, status = _notes_on_rounding(solution, after), status_of(solution)
    if status == "optimal" and stated.ties == "average" and searched and not task.judged:
        bound = half_bound(problem, task, clock, stated.training, solution)
        solution = replace(solution, statistic_bound=bound)
    if status == "feasible" and solution.nodes and not solution.gave_up:  # boxes were divided, and some are left
        notes += notes_on_exact_pairs(problem)
    quoted, before = stated.quoted(scores, after), standing.value
    if stated.ties == "pessimistic" or standing.quoted is None:
        ahead = after if before is None else after - before
    else:  # nothing is fitted but what is quoted, with other ties
        before, ahead = standing.quoted, quoted - standing.quoted
    notes += _notes_on_quotas(stated, standing, scores)
    led = stated.keeps(ahead, ROUNDING * abs(after))
    if led and standing.may_stay and standing.quoted is not None:
        return Answer(solution, "first_stage_kept", standing.quoted, tuple(notes))
    notes += _why_not_kept(task, standing, before) if led else []
    notes += [*_unused(stated), *_corrections(stated, solution)]
    return Answer(solution, status, quoted, tuple(notes))


def _solved(stated: Stated, solve: Solve | None) -> Solution:
    """The solution by ``solve``, or by the task's solver."""
    task, problem, first = stated.task, stated.problem, stated.first
    start = start_weights(problem, stated.data, stated.training, stated.stage, task.solver_options.get("start"))
    if first is not None and first.stopped:  # nothing is corrected by scores of rows that were seen
        start, solve = problem.unchanged if problem.anchored else None, unsolved
    elif solve is None:
        solve = unsolved if task.solver == "none" or (task.judged and task.radius == 0) else best_weights
    solution = solve(problem, task, stated.clock, start)
    assert solution.certificate is not None or task.judged or task.solver == "none"
    return solution


def _state(stated: Stated, standing: Standing, answer: Answer, notes: list[str]) -> FittedState:
    """All that is known after a fit, as one record."""
    data, task, first, training = stated.data, stated.task, stated.first, stated.training
    problem, columns, none = training.problem, data.rows.columns, np.empty(0)
    result = Result.of(
        answer.solution.noting(*notes),
        statistic=answer.quoted,
        status=answer.status,
        ties=stated.ties,
        statistic_name=task.quoted.name,
        fitted_name=task.statistic.name,
        gain=task.gain,
        C=task.C,
        solver=task.solver,
        epsilon=problem.epsilon if problem is not None else task.margin or SMALLEST_DEFAULT,
        n_lists=training.n_lists,
        n_empty_lists=training.n_empty_lists,
        shortlist=training.info,
        seconds=stated.clock.report(),
        first_stage_statistic=standing.quoted,
        folds=0 if first is None else first.folds,
        grouped=data.groups is not None,
        left_out=columns.left_out,
        theorem="" if task.judged else theorem_of(problem),
    )
    state = FittedState(
        task=task,
        columns=columns,
        prior_scores=standing.scores if first is not None and first.folds else None,
        member_scores=data.X if task.members and first is not None and not first.stage.estimator.is_given else None,
        first_stage=stated.stage,
        threshold=training.shortlist.threshold,
        reranks=answer.status not in KEEPING or stated.stage is None,
        features=columns.chosen[training.features],
        weights=result.weights,
        result=result,
        training=training,
        scores=standing.scores,
        low=none if problem is None else problem.low,
        high=none if problem is None else problem.high,
        weighted_lists=data.list_weight is not None,
        labels=data.labels,
        binary=bool(np.isin(data.gains, (0.0, 1.0)).all()),
    )
    if task.judged:
        return state
    with np.errstate(over="ignore", invalid="ignore"):
        scores = state.single_scores(data.rows, standing.scores)
    if not np.isfinite(scores).all():
        raise _no_scores(state.problem_columns)
    return state.with_classes(data.rows, data.y, standing.scores)


def _no_scores(names: Sequence[str]) -> InputError:
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return InputError(
        f"The weights of {shown} give scores that are no finite numbers, because a column is too narrow or too large "
        "beside the others; multiply it by a constant."
    )


def unsearched(result: Result) -> bool:
    """Whether the time of a fit was over before its search."""
    return any(of_kind(result.notes, kind) for kind in (LATE, UNREADY))


def broken_by_first_stage(
    problem: Problem | None, task: Task, stage: FirstStage | None, columns: Columns
) -> str | None:
    """The constraint that a first stage does not satisfy, so that it may not be kept; None if it satisfies all."""
    if problem is None or stage is None or not (task.constraints or task.normalise):
        return None
    return first_stage_keeps(problem, task.constraints, columns.names, stage.coef_in(columns))


def unsolved(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    """The start weights unchanged, with the value of the ideal list as bound."""
    w, told = allowed(problem, problem.unchanged if start is None or not start.any() else start), [NOTHING_SOLVED]
    unvalued = partial(Solution, value=-math.inf, bound=problem.ideal, bound_source="ideal", gave_up=True)
    if problem.quotas and not meets(problem, w):
        w = problem.unchanged
        if not meets(problem, w):
            # The first weights that a search finds, so that the program that states the quotas can be had.
            points = replace(task, solver="search", presolve=True, node_limit=0, checkpoint=None, proof=False)
            try:
                w = best_weights(problem, points, clock, start).weights
            except InfeasibleError as error:
                if task.solver != "none":
                    raise
                return unvalued(weights=w).noting(f"{error} {NO_POINT}")
            told += [FIRST_POINTS]
    if task.judged:
        return unvalued(weights=w)
    best = verified(problem, w)
    bound = max(problem.ideal, best.value)
    solution = Solution(**best.figures, start_value=best.value, bound=bound, bound_source="ideal")
    if task.solver != "none":
        return solution
    return replace(solution, gave_up=not is_closed(solution.gap, solution.value)).noting(*told)


def half_bound(problem: Problem, task: Task, clock: Clock, training: Training, solution: Solution) -> float | None:
    """A bound on the statistic with a tied pair as one half, by a search of its own; None where there is no time."""
    if clock.remaining <= 0 or INTERRUPTED in solution.notes:
        return None
    start = solution.weights if solution.weights.any() else None
    boxes = int(BOXES / max(sum(len(unit.positive) * len(unit.negative) for unit in problem.units), 1))
    given = clock.share(1.0), start, task.n_jobs, task.random_state, boxes + MORE_BOXES * solution.nodes
    with clock.phase("search"):
        return statistic_bound(problem, *given, ties="average") + training.tied_tails


def _notes(stated: Stated) -> list[str]:
    """What has to be said of first stage, statistic and columns."""
    data, task, clock, first = stated.data, stated.task, stated.clock, stated.first
    problem, statistic = stated.training.problem, task.statistic
    notes = [*data.notes, *(() if first is None else (*first.stage.notes, *first.notes))]
    columns = data.rows.columns
    notes += [] if columns.squares is None else [columns.squares.told()]
    notes += [] if columns.encoded is None else [columns.encoded.told(columns.inputs)]
    if clock.remaining <= 0:
        notes += [
            Note(
                f"The first stage and the shortlist took {clock.seconds['first_stage']:.2g} s, and this fit had "
                f"{clock.limit:.2g} s: nothing was left for the search.",
                LATE,
            )
        ]
    if problem is None:
        return notes
    if task.constraints:
        notes += idle(task.constraints, stated.training.features, data.feature_names, problem.anchored)
    if problem.anchored and problem.rows and first is not None and first.stage.coef_in(data.rows.columns) is None:
        notes += [
            "The constraints are about the corrections: the first stage is no weighted sum of the columns, and they do "
            "not apply to it."
        ]
    if statistic.remark and any(unit.positive.size > 1 for unit in problem.units):
        notes += [statistic.remark]
    if task.radius is not None and not problem.anchored:
        notes += ["The first stage gives all rows the same score, so the weights are free and radius is not used."]
    return notes


def _notes_on_ties(stated: Stated, standing: Standing) -> list[str]:
    """What equal scores of the first stage cost, where they count against the rows."""
    if standing.scores is None or standing.quoted is None or stated.ties != "pessimistic" or stated.task.judged:
        return []
    even = stated.data.evaluate(stated.task.quoted, standing.scores, "average")
    if even - standing.quoted <= 1e-6 * max(1.0, abs(even)):
        return []
    return [
        f"The first stage gives equal scores to rows that count, here as lost: it has {standing.quoted:.4g} so, "
        f"and {even:.4g} on average over the orders of these rows. Held-out rows are compared by that average."
    ]


def _notes_on_rounding(solution: Solution, after: float) -> list[str]:
    """What scores in floats have beside exact ones."""
    exact = after if solution.certificate is None else float(solution.certificate.statistic)
    if is_closed(abs(exact - after), exact):
        return []
    return [
        f"Scores that differ by less than 1e-12 count as equal in a ranking: the statistic is {after:.9g}, and "
        f"{exact:.9g} in exact arithmetic."
    ]


def _notes_on_quotas(stated: Stated, standing: Standing, scores: Floats) -> list[str]:
    """What quotas count in the order of the weights, and in the first stage's where that breaks one."""
    lists, missed, notes = stated.training.counted, standing.missed, list[str]()
    if missed is not None and standing.scores is not None:
        notes += [
            f"The first stage alone does not meet the quota '{missed}' "
            f"({worst_count(missed, lists, standing.scores)} of {missed.name}), so it is not kept."
        ]
    where = "" if len(lists) == 1 else " in the list where that is closest"
    quotas = groups_of(stated.task.quota, stated.data.kinds)
    return [*notes, *(f"Quota '{quota}': there are {worst_count(quota, lists, scores)}{where}." for quota in quotas)]


def _why_not_kept(task: Task, standing: Standing, before: float | None) -> list[str]:
    """Why weights are taken that do not lead the first stage."""
    notes = []
    if standing.breaks is not None:
        notes += [
            f"The first stage has {before:.6g} and is not kept, because it does not satisfy the constraint "
            f"{standing.breaks!r}."
        ]
    if standing.over is not None:
        notes += [
            f"The first stage has {before:.4g} by {standing.over} columns and is not kept: max_features is "
            f"{task.max_features}."
        ]
    return notes


def _corrections(stated: Stated, solution: Solution) -> list[str]:
    """The corrections in words, where there is a score that is corrected."""
    problem, names = stated.problem, stated.data.feature_names
    if not problem.anchored:
        return []
    corrected = [names[j] for j in stated.training.features]
    words = corrections_in_words(corrected, solution.weights[1:], (problem.high - problem.low)[1:])
    return [Note(words, CORRECTIONS)] if words else []


def _unused(stated: Stated) -> list[str]:
    """A sentence where new weights order whole lists and are none of the given first stage's score."""
    data, task, stage = stated.data, stated.task, stated.stage
    if stage is None or is_own_name(stage.name) or task.radius is not None:
        return []
    if stated.training.info.n_head < data.y.size or stage.weights_of(data.rows.columns) is not None:
        return []  # its weights are among those that were compared
    whole = "the list is reordered whole" if data.qid is None else "all lists are reordered whole"
    given = "The given score" if stage.is_given else f"The score of the first stage {stage.name}"
    correct = "radius, such as 0.3, to correct it, or " if may_correct(task) else ""
    return [
        Note(
            f"{given} decides nothing here, because {whole} by the columns alone; give {correct}n_candidates below "
            f"{data.longest_list:,} to keep its order below the first rows.",
            UNUSED,
        )
    ]
