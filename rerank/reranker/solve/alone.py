"""Solves a mathematical program without a search before it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.reranker.clock import Clock
from rerank.reranker.result import Solution
from rerank.reranker.solve.by_program import checked, restored, run, seconds_to_state, with_outcome
from rerank.reranker.solve.program import check_stated, normalised, shares_optimum, state
from rerank.reranker.solve.verified import verified
from rerank.reranker.task import Task

Floats = NDArray[np.float64]

START_SECONDS = 0.5
"""Most seconds of line search before the program."""


def alone(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    """Solve the plain program of ``task.formulation``, with a start from a short line search."""
    check_stated()
    name = task.formulation
    with clock.phase("start"):
        w, start_value = _improved(problem, task, clock, start)
    if (seconds := seconds_to_state(problem, name, clock.remaining)) > clock.remaining:
        return _not_built(problem, clock, name, seconds, normalised(w, problem.limits), start_value)
    with clock.phase("build"):
        stated = state(problem, name)
        x, violated = stated.point(w)
        # Weights that change nothing are feasible in every program, and so a value that is known.
        known = x if x is not None else stated.point(problem.unchanged)[0]
    unused = f"The start does not satisfy the {name} program ({violated}) and was not used."
    outcome = run(stated, task, clock, clock.share(1.0, reserve=0.3), known)
    with clock.phase("certificate"):
        best = verified(problem, w)
        other, remarks = restored(problem, stated, outcome, clock)
        if other is not None:
            best = max(best, other, key=lambda one: one.value)
            outcome = checked(stated, outcome, best.weights)
    solution = Solution(
        weights=best.weights, value=best.value, certificate=best.certificate, bound=math.inf, bound_source="ideal",
        start_value=start_value, formulation=name, model_size=stated.size,
        notes=remarks if x is not None else (unused, *remarks),
    )  # fmt: skip
    solution = with_outcome(solution, stated, outcome)
    if shares_optimum(name, task.statistic):
        bound = max(outcome.bound + stated.constant, best.value)
        return replace(solution, bound=bound, bound_source="solver", bound_solver=outcome.who)
    if outcome.holds == "optimal":
        return solution.noting(
            f"{outcome.solver} closed the {name} program at {solution.program_value:.9g}; that program asks more than "
            "the problem, so its bound is no bound on the value. presolve=True or formulation='mixed' gives one."
        )
    return solution


def _not_built(
    problem: Problem, clock: Clock, name: str, seconds: float, w: Floats, start_value: float
) -> Solution:
    """The start, where the program would be built for longer than the time allows."""
    needed = f"that takes up to {seconds:.0f} s" if math.isfinite(seconds) else "it is too large"
    note = (
        f"The {name} program was not built: {needed}, and {clock.remaining:.1f} s were left; raise time_limit, lower "
        "n_candidates, or use presolve=True."
    )
    with clock.phase("certificate"):
        best = verified(problem, w)
    return Solution(
        weights=best.weights, value=best.value, certificate=best.certificate, bound=math.inf, bound_source="ideal",
        start_value=start_value, formulation=name, notes=(note,),
    )  # fmt: skip


def _improved(
    problem: Problem, task: Task, clock: Clock, start: Floats | None
) -> tuple[Floats, float]:
    """Start weights after exact line search, and their value."""
    from rerank import search

    limit = min(START_SECONDS, clock.remaining * 0.1)
    w, value = search.line_search(problem, start=start, time_limit=limit, random_state=task.seed)
    return normalised(np.asarray(w, dtype=np.float64), problem.limits), float(value)
