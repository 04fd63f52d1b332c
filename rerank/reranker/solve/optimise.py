"""From a problem to verified weights and a bound.

There are three ways: the search in weight space alone; the search, and then a program that confirms its proof or goes
on where it stopped; a program alone.  In all of them the value is recomputed exactly from the weights, and a bound is
used only if it bounds the same problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError
from rerank.errors.stops import limited
from rerank.problem import Problem
from rerank.problem.quotas import unmet
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.solution import ON_WORD, Moment, Solution, history_of
from rerank.reranker.solve.by_program import alone, confirm, proceed, seconds_to_state
from rerank.reranker.solve.margin import safe_epsilon
from rerank.reranker.solve.program import chosen_formulation, has_program, unstated
from rerank.reranker.solve.verified import polished, summed, won_pairs
from rerank.reranker.task import Task
from rerank.solvers.outcome import Progress
from rerank.solvers.progress import claims, live, printed

if TYPE_CHECKING:
    from rerank.search import SearchResult

Floats = NDArray[np.float64]

SEARCH_SHARE, SEARCH_ALONE_SHARE = 0.7, 0.97
"""The search's share of the time before a program is tried, and where none is."""

A_LIST, A_ROW, A_NUMBER = 2e-4, 5e-6, 1e-6
"""Seconds to recompute a value exactly, for each list, each row and each number in it, on a slow machine."""

POLISH_SHARE = 0.5
"""Share of the time that is left for polishing what the search found."""

INTERRUPTED = "Stopped by Ctrl-C."


def solve(problem: Problem, task: Task, clock: Clock, start: Floats | None = None) -> Solution:
    """Best weights that can be found in the time, verified exactly, and a bound.

    Raises
    ------
    CertificateError
        If a claim of the search or of a solver fails the exact check.
    """
    points_only = task.node_limit == 0 and task.presolve
    unstated_quotas = bool(problem.quotas) and task.formulation != "resolved_rank"
    if task.solver == "search" or not has_program(problem) or points_only or unstated_quotas:
        solution, _ = _searched(problem, task, clock, start, SEARCH_ALONE_SHARE)
        if task.solver != "search" and not points_only:
            what = task.statistic.name if not has_program(problem) else "quotas but resolved_rank"
            solution = solution.noting(f"No program states {what}; the search had all of the time.")
    else:
        if task.epsilon is not None:
            safe_epsilon(problem, problem.epsilon)
        way = _search_then_program if task.presolve else alone
        solution = way(problem, task, clock, start)
    solution = bounded_by_ideal(problem, solution).within_bound()
    value, bound = solution.value, solution.bound
    end = Moment(clock.spent, value, bound)
    return replace(solution, history=history_of([*solution.history, end], value, bound) if solution.history else ())


def bounded_by_ideal(problem: Problem, solution: Solution) -> Solution:
    """The solution with its bound, or the ideal lists' value where that is not larger."""
    if not is_closed(solution.value - solution.bound, solution.bound, summed(problem)):
        raise CertificateError(
            f"The {solution.bound_source} says that no value exceeds {solution.bound:.12g}, but these weights are "
            f"worth {solution.value:.12g} when recomputed exactly; please report this."
        )
    bound, source = max(solution.bound, solution.value), solution.bound_source
    if problem.ideal <= bound:
        bound, source = max(problem.ideal, solution.value), "ideal"
    return replace(
        solution, bound=bound, bound_source=source, bound_solver=solution.bound_solver if source in ON_WORD else None
    )


def _search_then_program(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    name = chosen_formulation("auto", task.statistic)
    allowed = 0.2 * clock.remaining
    fits = not problem.quotas and seconds_to_state(problem, name, allowed) < allowed
    # A program goes on from weights whose value is known exactly.
    share = SEARCH_SHARE if fits else SEARCH_ALONE_SHARE
    solution, found = _searched(problem, replace(task, judged=False), clock, start, share)
    if found.interrupted:
        return solution
    try:
        if any(is_closed(bound - solution.value, solution.value) for bound in (solution.bound, problem.ideal)):
            return confirm(problem, task, clock, solution, found)
        if not fits:
            why = unstated() or f"The {name} program would be too large to help in the time"
            why = f"The {name} program states no quotas" if problem.quotas else why
            # With more time a program could be tried.
            return replace(solution, gave_up=False).noting(f"{why}, so the search had all of it.")
        return proceed(problem, task, clock, solution, name, found)
    except KeyboardInterrupt:
        return solution.noting(INTERRUPTED)


def _searched(
    problem: Problem, task: Task, clock: Clock, start: Floats | None, share: float
) -> tuple[Solution, SearchResult]:
    """What a search finds in a share of the time left, polished and verified."""
    from rerank import search

    to_verify = A_LIST * len(problem.lists) + A_ROW * problem.X.shape[0] + A_NUMBER * problem.X.size
    limit = clock.share(share, reserve=to_verify)
    points = task.node_limit == 0 and task.checkpoint is None
    search.ready(problem, points, task.proof)  # what it says comes before the live line
    began = clock.spent
    course = [Moment(began, -math.inf, problem.ideal)]  # what is known before the first round
    kept = None if task.judged else lambda now: course.append(Moment(began + now.seconds, now.value, now.bound))
    with clock.phase("search"), _shown(task.verbose, claimed(problem, task), kept) as show:
        found = search.solve(
            problem,
            time_limit=limit,
            start=start,
            n_jobs=task.n_jobs,
            random_state=task.seed,
            proof=task.proof,
            progress=show,
            node_limit=task.node_limit,
            checkpoint=task.checkpoint,
        )
    clock.cut = limit is not None and clock.seconds["search"] >= limit
    if task.verbose > 1:
        end = Progress(clock.seconds["search"], found.value, found.bound, int(found.nodes))
        printed("search ends:", told=claims(claimed(problem, task)))(end)
    course.append(Moment(clock.spent, found.value, found.bound))
    w = np.asarray(found.weights, dtype=np.float64)
    if found.value == -math.inf:
        raise unmet(problem.quotas, proved=found.closed)
    if task.judged and not len(won_pairs(problem, w, problem.epsilon * float(problem.norm(w)))):  # nothing to polish
        return Solution(weights=w, value=found.value, bound=found.bound, bound_source="search", gave_up=True), found
    with clock.phase("certificate"):
        with limited(clock.share(POLISH_SHARE)):
            best = polished(problem, w)
    if not is_closed(found.value - best.value, found.value, summed(problem)):
        raise CertificateError(
            f"The search claims {found.value:.12g}, but its weights are worth {best.value:.12g} when recomputed "
            "exactly; please report this."
        )
    solution = Solution(
        weights=best.weights,
        value=best.value,
        certificate=best.certificate,
        bound=found.bound,
        bound_source="search",
        start_value=found.start_value,
        nodes=int(found.nodes),
        proof=found.proof,
        gave_up=found.gave_up,
        history=tuple(course),
    )
    limit, open_ = task.node_limit, not (found.closed or found.gave_up or found.interrupted)
    if limit is not None and open_ and solution.nodes >= limit and clock.remaining > 0:
        solution = replace(solution, gave_up=True).noting(
            f"The search ended at node_limit={limit}, before its time was over; raise node_limit, or leave it out, for "
            "a smaller bound."
        )
    notes = [note for note in (found.note, INTERRUPTED if found.interrupted else "") if note]
    return solution.noting(*notes), found


def claimed(problem: Problem, task: Task) -> str:
    """What a search bounds, in a few words: the statistic, with the margin by which pairs count and the penalty."""
    price = f", less {problem.C:g} a feature" if problem.C else ""
    return f"{task.statistic.name} at margin {problem.epsilon:.3g}{price}"


@contextmanager
def _shown(verbose: int, name: str, kept: Callable[[Any], None] | None) -> Iterator[Callable[[Any], None] | None]:
    """What shows the progress of a search: a live line, or printed lines from ``verbose=2`` on; it is ``kept``, too."""
    told = claims(name)
    with (
        live("search:", told=told)
        if verbose == 1
        else nullcontext(printed("search:", told=told) if verbose > 1 else None) as line
    ):

        def show(now: Any) -> None:
            if line is not None:
                line(Progress(now.seconds, now.value, now.bound, now.boxes))
            if kept is not None:
                kept(now)

        yield show if line is not None or kept is not None else None
