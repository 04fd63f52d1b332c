"""The one fit: first stage, shortlist, weights by a solver that is an argument, comparison with the first stage.

A search, a program, start weights left as they are, or the weights of a file that is verified: each is a function from
the problem to a :class:`~rerank.reranker.solution.Solution`, and all else is the same for them.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rerank.errors.stops import limited
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.problem.quotas import groups_of, unmet
from rerank.ranks.evaluator import Ties
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.columns import Columns
from rerank.reranker.constraints import broken_quota, first_stage_keeps, idle, worst_count
from rerank.reranker.cross_fit import Staged, staged
from rerank.reranker.data import Data
from rerank.reranker.describe import Result, amount_of, corrections_in_words
from rerank.reranker.first_stage import FirstStage, is_own_name, too_many
from rerank.reranker.solution import KEEPING, Solution, status_of
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

UNUSED = "decides nothing"  # what the note says on a first stage whose score is not used
LATE = "nothing was left for the search"  # what the note says on a fit whose time was over before its search
BOXES, MORE_BOXES = 5e9, 4
"""Boxes for a bound with a tied pair as one half: so many divided by the pairs, and so many times those of the fit."""

NOTHING_SOLVED = "solver is 'none', which solves nothing; use solver='search' for the best weights."

FIRST_STAGE_SHARE = 0.4  # share of the time for a first stage of this package; others run to their end


ROUNDING = 1e-12  # relative difference that sums of the same doubles may have on two machines: a smaller lead is none


def fit(data: Data, task: Task, clock: Clock, first: Staged | None = None) -> FittedState:
    """Fit on checked data; with a first stage that others share it is not fitted again."""
    with clock.phase("first_stage"):
        with limited(clock.share(FIRST_STAGE_SHARE)):
            first = staged(data, task, clock) if first is None else first
        task, training = stated(data, task, first)
    return concluded(data, task, clock, first, training)


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
    problem, statistic, searched = training.problem, task.statistic, solve is None and task.solver != "none"
    scores, stage = (None, None) if first is None else (first.scores, first.stage)
    ties = ties or task.quoted.ties
    before = None if scores is None else data.evaluate(statistic, scores, "pessimistic")
    quoted_before = None if scores is None else _quoted(data, task, scores, before, ties)
    notes = _notes(data, task, clock, first, training)
    if scores is not None and quoted_before is not None and ties == "pessimistic" and not task.judged:
        even = data.evaluate(task.quoted, scores, "average")
        if even - quoted_before > 1e-6 * max(1.0, abs(even)):
            notes += [
                f"The first stage gives equal scores to rows that count, here as lost: it has {quoted_before:.4g} so, "
                f"and {even:.4g} on average over the orders of these rows. Held-out rows are compared by that average."
            ]
    columns = data.rows.columns
    breaks = broken_by_first_stage(problem, task, stage, columns)
    over = too_many(stage, task.max_features, columns) if task.radius is None else None
    quotas, lists = groups_of(task.quotas, data.kinds), training.counted
    missed = broken_quota(quotas, lists, np.zeros(data.y.size) if scores is None else scores)
    may_stay = breaks is None and over is None  # the first stage may be the answer
    settled = problem is None or bool(training.nothing)
    if problem is not None and before is not None and may_stay:
        settled |= before >= problem.ideal - ROUNDING * max(1.0, abs(problem.ideal))
    if settled and missed is not None:
        if problem is None or training.nothing == "nothing_to_find":
            raise unmet(quotas, proved=problem is None)
        settled = False
    if problem is None or settled:
        equal = np.zeros(data.y.size)
        value = data.evaluate(statistic, equal, "pessimistic") if before is None else before
        quoted = _quoted(data, task, equal, value, ties) if quoted_before is None else quoted_before
        best = data.evaluate(statistic, data.gains)
        ideal = is_closed(best - value, value)
        status = "already_ideal" if ideal or not training.nothing else training.nothing
        if status == "already_ideal" and problem is not None and problem.anchored and not ideal:
            notes += [
                f"No correction within the radius gives a larger {amount_of(statistic.name)}; the ideal list has "
                f"{best:.6g}."
            ]
        if task.constraints and (problem is None or breaks is not None):
            notes += ["Nothing can be reordered, so no weights are fitted, and the constraints are not applied."]
        weights = np.zeros(0) if problem is None else problem.unchanged
        solution = Solution(weights=weights, value=value, bound=value, bound_source="ideal")
    else:
        by_program = task.solver not in ("search", "none", "file")
        if problem.by_sum:  # where a search goes first, it keeps smaller margins than programs do
            by_program = task.solver == "none" or (by_program and not task.presolve)
        if task.epsilon is None and by_program:
            problem = problem.with_epsilon(safe_epsilon(problem))
            training = replace(training, problem=problem)
        notes += notes_on_near_rows(problem)
        start = start_weights(problem, data, training, stage, task.solver_options.get("start"))
        if first is not None and first.stopped:  # nothing is corrected by scores of rows that were seen
            start, solve = problem.unchanged if problem.anchored else None, unsolved
        elif solve is None:
            fixed = task.judged and task.radius == 0
            solve = unsolved if task.solver == "none" or fixed else best_weights
        solution = solve(problem, task, clock, start)
        assert solution.certificate is not None or task.judged
        with clock.phase("certificate"):
            fitted = fitted_scores(data, training, scores, solution.weights)
            after = data.evaluate(statistic, fitted, "pessimistic")
            exact = after if solution.certificate is None else float(solution.certificate.statistic)
        if not is_closed(abs(exact - after), exact):
            notes += [
                f"Scores that differ by less than 1e-12 count as equal in a ranking: the statistic is {after:.9g}, and "
                f"{exact:.9g} in exact arithmetic."
            ]
        status = status_of(solution)
        if status == "optimal" and ties == "average" and searched and not task.judged:
            solution = replace(solution, statistic_bound=half_bound(problem, task, clock, training, solution))
        if status == "feasible" and not solution.gave_up:
            notes += notes_on_exact_pairs(problem)
        quoted = _quoted(data, task, fitted, after, ties)
        if ties == "pessimistic" or quoted_before is None:
            ahead = after if before is None else after - before
        else:  # nothing is fitted but what is quoted, with other ties
            before, ahead = quoted_before, quoted - quoted_before
        if missed is not None and scores is not None:
            notes += [
                f"The first stage alone does not meet the quota '{missed}' ({worst_count(missed, lists, scores)} of "
                f"{missed.name}), so it is not kept."
            ]
        where = "" if len(lists) == 1 else " in the list where that is closest"
        notes += [f"Quota '{one}': there are {worst_count(one, lists, fitted)}{where}." for one in quotas]
        led = ahead <= ROUNDING * abs(after) and task.solver not in ("none", "file")
        if led and may_stay and missed is None and quoted_before is not None:
            status, quoted = "first_stage_kept", quoted_before
        else:
            if led and breaks is not None:
                notes += [
                    f"The first stage has {before:.6g} and is not kept, because it does not satisfy the constraint "
                    f"{breaks!r}."
                ]
            if led and over is not None:
                notes += [
                    f"The first stage has {before:.4g} by {over} columns and is not kept: max_features is "
                    f"{task.max_features}."
                ]
            notes += _unused(data, task, stage, training)
            if problem.anchored:
                names = [data.feature_names[j] for j in training.features]
                words = corrections_in_words(names, solution.weights[1:], (problem.high - problem.low)[1:])
                notes += [words] if words else []
    kept, none = status in KEEPING, np.empty(0)
    result = Result.of(
        solution.noting(*notes),
        statistic=quoted,
        status=status,
        ties=ties,
        statistic_name=task.quoted.name,
        fitted_name=statistic.name,
        **{name: getattr(task, name) for name in ("gain", "C", "solver")},
        epsilon=problem.epsilon if problem is not None else task.epsilon or SMALLEST_DEFAULT,
        **{name: getattr(training, name) for name in ("n_lists", "n_empty_lists")},
        shortlist=training.info,
        seconds=clock.report(),
        first_stage_statistic=quoted_before,
        folds=0 if first is None else first.folds,
        grouped=data.groups is not None,
        left_out=columns.left_out,
        theorem="" if task.judged else theorem_of(problem),
    )
    if status.startswith("nothing"):
        warnings.warn(result.message, stacklevel=5)  # the line that called Reranker.fit
    state = FittedState(
        task=task,
        columns=columns,
        prior_scores=scores if first is not None and first.folds else None,
        first_stage=stage,
        threshold=training.shortlist.threshold,
        reranks=not kept or stage is None,
        features=columns.chosen[training.features],
        weights=result.weights,
        result=result,
        training=training,
        scores=scores,
        low=none if problem is None else problem.low,
        high=none if problem is None else problem.high,
        weighted_lists=data.list_weight is not None,
        labels=data.labels,
        binary=bool(np.isin(data.gains, (0.0, 1.0)).all()),
    )
    return state if task.judged else state.with_classes(data.rows, data.y, scores)


def _unused(data: Data, task: Task, stage: FirstStage | None, training: Training) -> list[str]:
    """A sentence where new weights order whole lists and are none of the given first stage's score."""
    if stage is None or is_own_name(stage.name) or task.radius is not None or training.info.n_head < data.y.size:
        return []
    if stage.weights_of(data.rows.columns) is not None:
        return []  # its weights are among those that were compared
    whole = "the list is reordered whole" if data.qid is None else "all lists are reordered whole"
    fixed = task.normalise is not None or task.formulation == "resolved_rank"
    return [
        f"{'The given score' if stage.is_given else f'The score of the first stage {stage.name}'} {UNUSED} here, "
        f"because {whole} by the columns alone; give {'' if fixed else 'radius, such as 0.3, to correct it, or '}"
        f"n_candidates below {data.longest_list:,} to keep its order below the first rows."
    ]


def broken_by_first_stage(
    problem: Problem | None, task: Task, stage: FirstStage | None, columns: Columns
) -> str | None:
    """The constraint that a first stage does not satisfy, so that it may not be kept; None if it satisfies all."""
    if problem is None or stage is None or not (task.constraints or task.normalise):
        return None
    coef = stage.coef if columns.transformer is None else None
    return first_stage_keeps(problem, task.constraints, columns.names, coef)


def unsolved(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    """The start weights unchanged, with the value of the ideal list as bound."""
    w = allowed(problem, problem.unchanged if start is None or not start.any() else start)
    if problem.quotas and not meets(problem, w):
        w = problem.unchanged
        if not meets(problem, w):
            raise unmet(problem.quotas, proved=False)
    if task.judged:
        return Solution(weights=w, value=-math.inf, bound=problem.ideal, bound_source="ideal", gave_up=True)
    best = verified(problem, w)
    bound = max(problem.ideal, best.value)
    solution = Solution(**best.figures, start_value=best.value, bound=bound, bound_source="ideal")
    if task.solver != "none":
        return solution
    return replace(solution, gave_up=not is_closed(solution.gap, solution.value)).noting(NOTHING_SOLVED)


def half_bound(problem: Problem, task: Task, clock: Clock, training: Training, solution: Solution) -> float | None:
    """A bound on the statistic with a tied pair as one half, by a search of its own; None where there is no time."""
    if clock.remaining <= 0:
        return None
    start = solution.weights if solution.weights.any() else None
    boxes = int(BOXES / max(sum(len(unit.positive) * len(unit.negative) for unit in problem.units), 1))
    given = clock.share(1.0), start, task.n_jobs, task.seed, boxes + MORE_BOXES * solution.nodes
    with clock.phase("search"):
        return statistic_bound(problem, *given, ties="average") + training.tied_tails


def _quoted(data: Data, task: Task, scores: Floats, value: float | None, ties: Ties) -> float:
    """The user's own statistic of an order; ``value`` is the fitted one, which mostly is the same."""
    same = task.quoted is task.statistic and ties == "pessimistic"
    return value if same and value is not None else data.evaluate(task.quoted, scores, ties)


def _notes(data: Data, task: Task, clock: Clock, first: Staged | None, training: Training) -> list[str]:
    """What has to be said of first stage, statistic and columns."""
    problem, statistic = training.problem, task.statistic
    notes = [*data.notes, *(() if first is None else (*first.stage.notes, *first.notes))]
    notes += [] if (squares := data.rows.columns.squares) is None else [squares.told()]
    if clock.remaining <= 0:
        notes += [
            f"The first stage and the shortlist took {clock.seconds['first_stage']:.2g} s, and this fit had "
            f"{clock.limit:.2g} s: {LATE}."
        ]
    if problem is not None and task.constraints:
        notes += idle(task.constraints, training.features, data.feature_names, problem.anchored)
    if problem is not None and problem.anchored and problem.rows and first is not None and first.stage.coef is None:
        notes += [
            "The constraints are about the corrections: the first stage is no weighted sum of the columns, and they do "
            "not apply to it."
        ]
    if statistic.remark and problem is not None and any(unit.positive.size > 1 for unit in problem.units):
        notes += [statistic.remark]
    if task.radius is not None and problem is not None and not problem.anchored:
        notes += ["The first stage gives all rows the same score, so the weights are free and radius is not used."]
    return notes
