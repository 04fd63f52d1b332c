"""What each further column is worth: the best weights of at most 1, 2, 3 ... columns, by the one fit."""

from dataclasses import replace

import numpy as np

from rerank.errors.stops import current, enough_memory, protected
from rerank.errors.telling import say
from rerank.io.options import whole
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.reranker.clock import Clock
from rerank.reranker.cross_fit import staged
from rerank.reranker.data import Arguments, Data, data_of
from rerank.reranker.describe import listed
from rerank.reranker.fit import concluded, half_bound
from rerank.reranker.options import RerankerOptions, copied
from rerank.reranker.ranker import Ranker
from rerank.reranker.selection.held_out import dealt
from rerank.reranker.solution import Solution
from rerank.reranker.solve.optimise import solve as best_weights
from rerank.reranker.task import Task, task_of
from rerank.reranker.training import Training, stated
from rerank.scorecard.frontier import OVER, Frontier, Step, nested
from rerank.scorecard.result import four, rounded_up

HALVES = (
    "A tied pair is one half in values and bounds. The weights of a size are the best with ties as lost, so that other "
    "columns may have more, up to the bound."
)

FITS_SHARE = 0.6  # share of the time for the fits on all rows; the rest is for the folds
POINTS_SHARE = 0.5
"""Share of the time of a fit, at most, for good weights without a proof, with which the search begins."""

WEIGHTS_SHARE = 0.5
"""Share of the rest for the search, where a tied pair is one half and the bound has a search of its own."""


def frontier_of(
    est: RerankerOptions, arguments: Arguments, k_max: int, folds: int | None, time_limit: float | None
) -> Frontier:
    """The frontier of an estimator's columns on rows; see :meth:`rerank.Reranker.frontier`."""
    clock, most = Clock(time_limit), whole("k_max", k_max, 1)
    options = replace(copied(est), solver="search", presolve=True, proof=False, checkpoint=None, time_limit=None)
    if options.radius is None:  # a first stage that is kept would rank by all columns
        options.first_stage = None
    data = data_of(arguments, options, Ranker())
    most = min(most, data.X.shape[1])
    held_out = dict[int, tuple[float, float | None, float]]()

    def found() -> list[Step]:
        steps = _fits(data, options, most, Clock(clock.share(FITS_SHARE if folds else 1.0)))
        if folds and not current().asked.is_set():
            held_out.update(_held_out(data, options, most, folds, clock))
        return steps

    with enough_memory():
        steps, interrupted = protected(found)
    if interrupted and steps[0].value is None:
        raise KeyboardInterrupt
    for place, step in enumerate(steps):
        if step.size in held_out:
            value, error, seconds = held_out[step.size]
            steps[place] = replace(step, held_out=value, error=error, seconds=step.seconds + seconds)
    statistic = task_of(options, data.X.shape[1]).statistic
    by, left = f"{folds} folds, each with its own columns" if held_out else "", data.rows.columns.left_out
    notes = [*data.notes]
    notes += [f"Left out, because they hold no numbers or miss some: {listed(left)}."] if left else []
    every = nested(steps)
    if statistic.ties == "average" and not all(step.proved for step in every):
        notes += [HALVES]
    return Frontier(statistic.name, "column", every, by, tuple(notes))


def _fits(data: Data, options: RerankerOptions, most: int, clock: Clock) -> list[Step]:
    """The fits on all rows, each begun with the weights of the one before."""
    steps, before = list[Step](), np.zeros(0)
    halves = task_of(options, data.X.shape[1]).statistic.ties == "average"
    first = staged(data, task_of(options, data.X.shape[1]), clock)

    def solve(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
        start = before if before.size == problem.n_features else start
        points = best_weights(problem, replace(task, node_limit=0), Clock(clock.share(POINTS_SHARE)), start)
        try:
            return best_weights(problem, task, Clock(clock.share(WEIGHTS_SHARE)) if halves else clock, points.weights)
        except KeyboardInterrupt:  # of a search that would begin after Ctrl-C
            return points

    for size in range(1, most + 1):
        if clock.remaining <= 0:
            steps.append(Step(size, why=OVER))
            continue
        own = Clock(clock.least(None, most + 1 - size))
        task, training = stated(data, task_of(replace(options, max_features=size), data.X.shape[1]), first)
        try:
            state = concluded(data, task, own, first, training, solve)
        except KeyboardInterrupt:
            steps.append(Step(size, why=OVER))
            continue
        found, problem = state.result, training.problem
        before, value, bound = found.weights, found.value, found.bound
        if halves:  # as the field counts ties
            value = bound = found.statistic
            if problem is not None:
                bound = max(value, _bound(problem, task, own, training, found))
        moved = before[1:] if problem is not None and problem.anchored else before
        names = tuple(data.feature_names[j] for j, weight in zip(training.features, moved) if weight)
        steps.append(Step(size, value, bound, False, names, None, own.spent))
        if options.verbose:
            said = f"{four(value)}, none above {rounded_up(bound)}, {own.spent:.2g} s"
            say(f"columns, at most {size}: {found.fitted_name} {said}")
    return steps


def _bound(problem: Problem, task: Task, clock: Clock, training: Training, found: Solution) -> float:
    """What no columns exceed with a tied pair as one half; the ideal where no time is left, and after Ctrl-C."""
    try:
        bound = half_bound(problem, task, clock, training, found)
    except KeyboardInterrupt:
        bound = None
    return problem.ideal + training.tied_tails if bound is None else bound


def _held_out(
    data: Data, options: RerankerOptions, most: int, folds: int, clock: Clock
) -> dict[int, tuple[float, float | None, float]]:
    """Held-out value, its standard error and seconds by size: columns and weights chosen anew without each fold."""
    trial, judge = dealt(options, data, folds, options.random_state, clock)
    every = range(len(judge.splits))
    found = dict[int, tuple[float, float | None, float]]()
    for size in range(1, most + 1):
        began = clock.spent
        try:
            ranked = trial.take({"max_features": size}, every, len(every) * (most + 1 - size))
        except KeyboardInterrupt:
            break
        if len(ranked) < len(every) or current().asked.is_set():
            break
        value = judge.lead(judge.rounds([(every, ranked)])).value
        found[size] = value, judge.error(ranked), clock.spent - began
    return found
