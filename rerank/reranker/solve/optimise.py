"""Search, program, solver, polish and certificate joined: from a problem to judged weights and a bound.

Three ways lead there.  The search in weight space alone; the search first and a program after it (which confirms
what the search proved, or goes on where it stopped); a program alone.  Whatever is claimed on the way, the value is
recomputed exactly from the weights, and a bound is taken over only from where it bounds the same problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError, NoSolutionError, SolverError
from rerank.problem import Problem
from rerank.reranker.clock import Clock
from rerank.reranker.plan import Plan, Solved
from rerank.reranker.result import CLOSED, is_closed
from rerank.reranker.solve.handover import run, with_outcome
from rerank.reranker.solve.program import (
    Stated,
    check_margin,
    estimated_size,
    normalised,
    shares_optimum,
    state,
)
from rerank.reranker.solve.verified import judge, polished
from rerank.solvers.outcome import Outcome, Progress
from rerank.solvers.progress import live

if TYPE_CHECKING:
    from rerank.search import SearchResult

Floats = NDArray[np.float64]

SEARCH_SHARE = 0.7
"""Share of the time the search gets when a program may follow."""

START_SECONDS = 0.5
"""Most seconds of line search before a program alone."""

CONFIRM_SECONDS, CONFIRM_SHARE = 3.0, 0.05
"""A program gets at most so many seconds, and so much of the time left, to confirm what is already proved."""

NONZEROS_A_SECOND = 60_000
"""How many non-zeros are built, compiled and handed over in a second, on the safe side."""


def solve(problem: Problem, plan: Plan, clock: Clock, start: Floats | None = None) -> Solved:
    """Best weights that can be found in the time, judged exactly, and a bound.

    Parameters
    ----------
    problem : Problem
    plan : Plan
    clock : Clock
    start : float64 array (d,), optional
        Weights to start from.

    Raises
    ------
    CertificateError
        Where a claim, of the search or of a solver, does not survive an exact check.
    NoSolutionError
        Where a solver stops without a solution and there is no other.
    """
    if plan.solver == "search":
        solved, _ = _searched(problem, plan, clock, start, clock.share(0.97))
    else:
        check_margin(problem)
        if plan.presolve:
            solved = _search_then_program(problem, plan, clock, start)
        else:
            solved = _program_alone(problem, plan, clock, start)
    return _bounded_by_ideal(problem, solved)


def _bounded_by_ideal(problem: Problem, solved: Solved) -> Solved:
    if solved.judged.value > solved.bound + CLOSED * max(1.0, abs(solved.bound)):
        raise CertificateError(
            f"The {solved.bound_source} says that no value exceeds {solved.bound:.12g}, but these weights are worth "
            f"{solved.judged.value:.12g} when recomputed exactly; please report this."
        )
    bound, source = max(solved.bound, solved.judged.value), solved.bound_source
    if problem.ideal <= bound:
        bound, source = max(problem.ideal, solved.judged.value), "ideal"
    return replace(solved, bound=bound, bound_source=source)


# -- the search -----------------------------------------------------------------------------------------------------


def _searched(
    problem: Problem, plan: Plan, clock: Clock, start: Floats | None, limit: float | None
) -> tuple[Solved, SearchResult]:
    from rerank import search

    clock.excuse("compile", search.ready())
    with clock.phase("search"), live("search") if plan.verbose == 1 else nullcontext() as line:
        found = search.solve(
            problem,
            time_limit=limit,
            start=start,
            n_jobs=plan.n_jobs,
            random_state=plan.random_state,
            proof=plan.proof,
            progress=None if line is None else _shown(line),
        )
    with clock.phase("certificate"):
        best = polished(problem, np.asarray(found.weights, dtype=np.float64))
    if best.value < found.value - CLOSED * max(1.0, abs(found.value)):
        raise CertificateError(
            f"The search claims {found.value:.12g}, but its weights are worth {best.value:.12g} when recomputed "
            "exactly; please report this."
        )
    solved = Solved(
        best, found.bound, "search", start_value=found.start_value, nodes=int(found.nodes), proof=found.proof
    )
    return (solved.noting("Stopped by Ctrl-C.") if found.interrupted else solved), found


def _shown(line: Callable[[Progress], bool | None]) -> Callable[[Any], None]:
    """The live line of a solver, fed with the progress of a search."""

    def show(now: Any) -> None:
        line(Progress(now.seconds, now.value, now.bound, now.boxes))

    return show


# -- search, then program -------------------------------------------------------------------------------------------


def _search_then_program(problem: Problem, plan: Plan, clock: Clock, start: Floats | None) -> Solved:
    follow = "mixed"
    fits = _seconds_to_state(problem, follow) < 0.2 * clock.remaining
    solved, found = _searched(problem, plan, clock, start, clock.share(SEARCH_SHARE if fits else 0.97))
    value = solved.judged.value
    if found.interrupted:
        return solved
    if is_closed(solved.gap, value) or is_closed(problem.ideal - value, value):
        return _confirm(problem, plan, clock, solved, found)
    if not fits:
        return solved.noting(
            "The mixed program would be too large to help in the time, so the search had all of it."
        )
    return _continue(problem, plan, clock, solved, found)


def _seconds_to_state(problem: Problem, formulation: str) -> float:
    from formulations.errors import ModelTooLarge

    try:
        return estimated_size(problem, formulation) / NONZEROS_A_SECOND
    except ModelTooLarge:
        return math.inf


def _confirm(problem: Problem, plan: Plan, clock: Clock, solved: Solved, found: SearchResult) -> Solved:
    """Ask the chosen program whether it says the same as the search."""
    name = plan.formulation
    budget = min(CONFIRM_SECONDS, clock.remaining * CONFIRM_SHARE)
    if _seconds_to_state(problem, name) > budget / 2:
        return solved.noting(
            f"The {name} program is too large to confirm the proof in {budget:.1f} s; it was left out."
        )
    with clock.phase("build"):
        stated = state(problem, name, box=found.box)
        x, violated = stated.point(solved.judged.weights)
    solved = replace(solved, formulation=name, model_size=stated.size)
    if x is None:
        return solved.noting(
            f"The {name} program does not admit the proved weights (it asks more than the problem: {violated}), so it "
            "cannot confirm them."
        )
    try:
        outcome = run(stated, plan, clock, budget, x)
    except SolverError as error:
        return solved.noting(f"The proof stands without a second opinion: {error}")
    return _judge_confirmation(problem, solved, stated, outcome)


def _judge_confirmation(problem: Problem, solved: Solved, stated: Stated, outcome: Outcome) -> Solved:
    solved = with_outcome(solved, stated, outcome)
    if outcome.x is None:
        return solved.noting(f"{outcome.solver} held no solution when it stopped, so it confirms nothing.")
    other = judge(problem, stated.weights(outcome.x))
    if other.value > solved.bound + CLOSED:
        raise CertificateError(
            f"{outcome.solver} holds weights worth {other.value:.12g}, above the bound {solved.bound:.12g} of the "
            "search; please report this."
        )
    name = f"{outcome.solver} on the {stated.formulation} program"
    if outcome.holds == "optimal":
        return solved.noting(f"{name} confirms {solved.program_value:.9g} as its optimum.")
    return solved.noting(
        f"{name} holds {solved.program_value:.9g} and bounds it by {solved.program_bound or math.inf:.9g} in the "
        "seconds it had, which does not contradict the proof."
    )


def _continue(problem: Problem, plan: Plan, clock: Clock, solved: Solved, found: SearchResult) -> Solved:
    """The mixed program where the search stopped short: its start, its cut-off, its box."""
    with clock.phase("build"):
        stated = state(problem, "mixed", box=found.box)
        # Polishing may have left the box that the search says holds all better points.
        starts = (stated.point(w)[0] for w in (solved.judged.weights, np.asarray(found.weights)))
        x = next((point for point in starts if point is not None), None)
    before = solved
    solved = replace(solved, formulation="mixed", model_size=stated.size)
    try:
        outcome = run(stated, plan, clock, clock.share(1.0, reserve=0.3), x, cutoff=solved.judged.value)
    except SolverError as error:
        return solved.noting(f"The program brought nothing: {error}")
    solved = with_outcome(solved, stated, outcome)
    if outcome.x is not None and solved.program_value is not None:
        claim = solved.program_value
        if claim > solved.judged.value + CLOSED:
            with clock.phase("certificate"):
                solved = replace(solved, judged=polished(problem, stated.weights(outcome.x), claim))
    # Outside the box of the search nothing beats the start, so the program's bound, or the value, bounds everything.
    program_bound = max(outcome.bound + stated.constant, solved.judged.value)
    if program_bound < before.bound - CLOSED * max(1.0, abs(before.bound)):
        return replace(solved, bound=program_bound, bound_source="solver").noting(
            f"The search had proved {before.bound:.9g} as a bound; the smaller one is {outcome.solver}'s."
        )
    return solved


# -- a program alone ------------------------------------------------------------------------------------------------


def _program_alone(problem: Problem, plan: Plan, clock: Clock, start: Floats | None) -> Solved:
    name = plan.formulation
    with clock.phase("start"):
        w, start_value = _improved(problem, plan, clock, start)
    with clock.phase("build"):
        stated = state(problem, name)
        x, violated = stated.point(w)
    notes = (
        []
        if x is not None
        else [f"The start does not satisfy the {name} program ({violated}) and was not used."]
    )
    outcome = run(stated, plan, clock, clock.share(1.0, reserve=0.3), x)
    with clock.phase("certificate"):
        best = judge(problem, w)
        if outcome.x is not None and outcome.objective is not None:
            claim = outcome.objective + stated.constant
            best = max(best, polished(problem, stated.weights(outcome.x), claim), key=lambda one: one.value)
        elif x is None and not w.any():
            raise NoSolutionError(
                f"{outcome.solver} stopped ({outcome.stop}) without a solution; raise time_limit, or use "
                "presolve=True."
            )
    solved = Solved(
        best, math.inf, "ideal", start_value, formulation=name, model_size=stated.size, notes=tuple(notes)
    )
    solved = with_outcome(solved, stated, outcome)
    if shares_optimum(name, plan.statistic):
        return replace(solved, bound=max(outcome.bound + stated.constant, best.value), bound_source="solver")
    if outcome.holds == "optimal":
        solved = solved.noting(
            f"{outcome.solver} closed the {name} program at {solved.program_value:.9g}; that program asks more than "
            "the problem, so its bound is no bound on the value. presolve=True or formulation='mixed' gives one."
        )
    return solved


def _improved(problem: Problem, plan: Plan, clock: Clock, start: Floats | None) -> tuple[Floats, float]:
    """Start weights after exact line search, and their value."""
    from rerank import search

    clock.excuse("compile", search.ready())
    limit = min(START_SECONDS, clock.remaining * 0.1)
    w, value = search.line_search(problem, start=start, time_limit=limit, random_state=plan.random_state)
    return normalised(np.asarray(w, dtype=np.float64)), float(value)
