"""Solves mathematical programs: alone, or after a search to confirm its proof or to go on where it stopped.

HiGHS takes the program's arrays, any other solver its file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError, SolverError
from rerank.errors.stops import current, limited, protected
from rerank.problem import Problem
from rerank.problem.quotas import unmet
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.solution import Moment, Solution
from rerank.reranker.solve.program import (
    Stated,
    check_stated,
    counted_pairs,
    estimated_size,
    normalised,
    shares_optimum,
    state,
    unstated,
)
from rerank.reranker.solve.verified import Verified, meets, polished, summed, verified, within_tolerance
from rerank.reranker.task import Task
from rerank.search.domain import allowed
from rerank.solvers.outcome import AGREE, Options, Outcome, Point, Progress, Stop, beside

if TYPE_CHECKING:
    from rerank.search import SearchResult

Floats = NDArray[np.float64]

START_SECONDS = 0.5
"""Most seconds of line search before a program alone."""

CONFIRM_SECONDS, CONFIRM_SHARE = 3.0, 0.05
"""Most seconds, and largest share of the time left, for a program that confirms a proof."""

CLAIM_SECONDS = 0.5
"""Seconds for polishing a solver's weights if it left no time; without polishing its claim may not hold."""

A_RELEVANT_ROW, A_PAIR, A_DIFFERENCE = 1.7e-4, 4e-6, 2e-8
"""Seconds to look at a relevant row (once for each grade it reaches), at a pair of rows and at a column of a pair: a
program's size is estimated from them."""

NONZEROS_A_SECOND = 60_000
"""Non-zeros that are built, compiled and passed to the solver in a second; a low estimate."""


def seconds_to_state(problem: Problem, formulation: str, allowed: float = math.inf) -> float:
    """Seconds to build a program and pass it to the solver; infinite for one that is refused.

    Infinite also if to look at its pairs would take more than a quarter of the seconds that are ``allowed``; to build
    it takes several times as long, unless the limits of the weights decide nearly all of them.
    """
    from formulations.errors import ModelTooLarge

    reached = sum(unit.positive.size for unit in problem.units)
    each = A_DIFFERENCE * problem.n_features + (0.0 if formulation == "pos_top" else A_PAIR)  # which keeps no pair
    pairs = counted_pairs(problem, formulation) * each
    if unstated() or A_RELEVANT_ROW * reached + pairs > 0.25 * allowed:
        return math.inf
    try:
        return estimated_size(problem, formulation) / NONZEROS_A_SECOND
    except ModelTooLarge:
        return math.inf


def alone(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    """Solve the plain program of ``task.formulation``, with a start from a short line search."""
    from rerank import search

    check_stated()
    name = task.formulation
    with clock.phase("start"):
        limit = min(START_SECONDS, clock.remaining * 0.1)
        w, value = search.line_search(problem, start=start, time_limit=limit, random_state=task.seed)
    with clock.phase("certificate"):
        w = allowed(problem, normalised(np.asarray(w, dtype=np.float64), problem.limits))
        best = verified(problem, w) if meets(problem, w) else None
    solution = Solution(
        weights=w,
        value=-math.inf if best is None else best.value,
        bound=math.inf,
        bound_source="ideal",
        certificate=None if best is None else best.certificate,
        start_value=float(value),
        formulation=name,
        history=() if best is None else (Moment(clock.spent, best.value, problem.ideal),),
    )
    if (seconds := seconds_to_state(problem, name, clock.remaining)) > clock.remaining:
        needed = f"that takes up to {seconds:.0f} s" if math.isfinite(seconds) else "it is too large"
        return solution.noting(
            f"The {name} program was not built: {needed}, and {clock.remaining:.1f} s were left; raise time_limit, "
            "lower n_candidates, or use presolve=True."
        )
    solution = proceed(problem, task, clock, solution, name)
    if solution.certificate is None:
        raise unmet(problem.quotas, proved=False)
    return solution


def box_of(problem: Problem, found: SearchResult | None) -> tuple[Floats, Floats] | None:
    """The box of weights that a search left open, for a program; None where that measures weights by their sum."""
    return None if found is None or problem.by_sum else found.box


def confirm(problem: Problem, task: Task, clock: Clock, solution: Solution, found: SearchResult) -> Solution:
    """Solve the chosen program and compare its answer with that of the search."""
    name = task.formulation
    if task.radius == 0:  # one point is allowed, which needs no second opinion
        return solution
    if why := unstated():
        return solution.noting(f"{why}, so no program confirms the proof.")
    budget = min(CONFIRM_SECONDS, clock.remaining * CONFIRM_SHARE)
    if seconds_to_state(problem, name, budget / 2) > budget / 2:
        return solution.noting(
            f"The proof stands by itself: a second opinion of the {name} program takes more than {budget:.1f} s, and "
            "none was asked for."
        )
    with clock.phase("build"):
        stated = state(problem, name, box=box_of(problem, found))
        x, violated = stated.point(solution.weights)
    solution = replace(solution, formulation=name, model_size=stated.size)
    if x is None:
        return solution.noting(
            f"The {name} program does not admit the proved weights (it asks more than the problem: {violated}), so it "
            "cannot confirm them."
        )
    try:
        outcome = run(stated, task, clock, budget, x)
    except SolverError as error:
        return solution.noting(f"The proof stands without a second opinion: {error}")
    return _compared(problem, _with_outcome(solution, stated, outcome), stated, outcome)


def _compared(problem: Problem, solution: Solution, stated: Stated, outcome: Outcome) -> Solution:
    """The proved solution, with a note on what the solver reports for the same problem."""
    if outcome.x is None:
        return solution.noting(f"{outcome.solver} held no solution when it stopped, so it confirms nothing.")
    if outcome.stop is Stop.contradicted:
        return solution
    other = verified(problem, stated.weights(outcome.x))
    if not is_closed(other.value - solution.bound, solution.bound, summed(problem)):
        raise CertificateError(
            f"{outcome.solver} holds weights worth {other.value:.12g}, above the bound {solution.bound:.12g} of the "
            "search; please report this."
        )
    name, claim = f"{outcome.solver} on the {stated.formulation} program", _claimed(stated, outcome)
    if claim is None:
        return solution
    apart = AGREE * max(1.0, abs(solution.value), abs(claim))
    if claim > solution.value + apart:
        return solution.noting(
            f"{name} claims {claim:.9g} for weights that are worth {other.value:.9g} when recomputed exactly: its rows "
            "hold within its tolerance only, so it counts pairs that miss the margin. The proof is of exact numbers: "
            f"no allowed weights are worth more than {solution.bound:.9g}."
        )
    if claim < solution.value - apart:
        return solution.noting(
            f"{name} has {claim:.9g}, less than the proved {solution.value:.9g}: it asks more than the problem, so it "
            "confirms nothing."
        )
    if outcome.holds == "optimal":
        return solution.noting(f"{name} confirms {solution.value:.4g} as its optimum.")
    return solution.noting(f"{name} has {claim:.4g} too; it had no time for a second proof, and the first one stands.")


def proceed(
    problem: Problem, task: Task, clock: Clock, solution: Solution, name: str, found: SearchResult | None = None
) -> Solution:
    """Solve a program from known weights, for better ones and a bound.

    After a search, which ``found`` them, it goes on with its cut-off and box; its optimum has to be the problem's.
    """
    with clock.phase("build"):
        stated = state(problem, name, box=box_of(problem, found))
        x, violated = stated.point(solution.weights)
        if x is None:
            # The polished weights may lie outside the box that holds all better points.
            # Without a box, weights that change nothing are feasible in every program.
            x, _ = stated.point(problem.unchanged if found is None else np.asarray(found.weights))
            if found is None:
                unused = f"The start does not satisfy the {name} program ({violated}) and was not used."
                solution = solution.noting(unused)
    searched, gave_up = solution.bound, solution.gave_up
    solution = replace(solution, formulation=name, model_size=stated.size, gave_up=False)
    try:
        limit = clock.share(1.0, reserve=0.3)
        better = [] if found is None else [solution.value]
        asked = [float(value) for value in (task.solver_options.get("cutoff"),) if value is not None]
        began, course = clock.spent, list[Progress]()
        outcome = run(stated, task, clock, limit, x, max(better + asked, default=None), course.append)
    except SolverError as error:
        if found is None:
            raise
        return solution.noting(f"The program brought nothing: {error}")
    # A program that ended by itself would not go on either, and none has a smaller bound than an exact one.
    ended = outcome.stop in (Stop.finished, Stop.node_limit) or (found is not None and found.exact)
    claim = _claimed(stated, outcome)
    if claim is not None and (found is None or not is_closed(claim - solution.value, claim, summed(problem))):
        with clock.phase("certificate"):
            best, remarks = _restored(problem, stated, outcome, claim, clock)
        if best.value > solution.value:
            solution = replace(solution, weights=best.weights, value=best.value, certificate=best.certificate)
        solution = solution.noting(*remarks)
    # An outcome that denies weights that were verified and are feasible in the program is refused.
    if (x := stated.point(solution.weights)[0]) is not None:
        outcome = beside(outcome, Point.of(stated.program, x), stated.program)
    of_value = 0.0 if shares_optimum(name, task.statistic) else math.inf
    reports = [Moment(began + now.seconds, now.incumbent, now.bound + of_value) for now in course]
    solution = replace(solution, gave_up=gave_up and ended, history=(*solution.history, *reports))
    solution = _with_outcome(solution, stated, outcome)
    early = sorted(name for name in ("gap", "cutoff", "node_limit") if task.solver_options.get(name))
    if early and outcome.holds != "optimal" and outcome.stop in (Stop.finished, Stop.node_limit):
        why = f"solver_options hold {' and '.join(early)}, so {outcome.solver} ended before it had closed its gap."
        solution = replace(solution, gave_up=True).noting(why)
    if not shares_optimum(name, task.statistic):
        if outcome.holds != "optimal":
            return solution
        return solution.noting(
            f"{outcome.solver} closed the {name} program at {solution.program_value:.9g}; that program asks more than "
            "the problem, so its bound is no bound on the value. presolve=True or formulation='mixed' gives one."
        )
    # Outside the box of the search nothing beats the start, so the program's bound, or the value, bounds everything.
    bound = max(outcome.bound, solution.value)
    by_solver = replace(solution, bound=bound, bound_source="solver", bound_solver=outcome.who)
    if found is None:
        return by_solver
    if is_closed(searched - bound, searched, summed(problem)):
        return solution
    return by_solver.noting(
        f"The search had proved {searched:.9g} as a bound; the smaller one is on the word of {outcome.who}."
    )


def run(
    stated: Stated,
    task: Task,
    clock: Clock,
    limit: float | None,
    start: Floats | None,
    cutoff: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Solve the program with HiGHS in memory, or with another solver through a file."""
    import tempfile
    from pathlib import Path

    from joblib import effective_n_jobs

    from formulations import mps
    from rerank.solvers import gateway, highs

    options = Options(
        time_limit=limit,
        threads=effective_n_jobs(task.n_jobs),
        node_limit=task.node_limit,
        seed=task.seed % 2**31,
        verbose=task.verbose,
        progress=progress,
    ).chosen(task.solver_options)
    options = replace(options, cutoff=cutoff)
    given: dict[str, Any] = {"start": start, "cancel": current().asked}
    with clock.phase(task.solver):
        if task.solver == "highs":
            # HiGHS's callbacks do not survive a KeyboardInterrupt.
            return protected(lambda: highs.solve(stated.program, options, **given))[0]
        with tempfile.TemporaryDirectory() as folder:
            path, _ = mps.write(stated.program, Path(folder) / "program.mps")
            return gateway.solve_file(path, task.solver, options=options, **given)


def _restored(
    problem: Problem, stated: Stated, outcome: Outcome, claim: float, clock: Clock
) -> tuple[Verified, tuple[str, ...]]:
    """A solver's weights, polished and verified, and a remark if they reach its claim within its tolerance only.

    Raises
    ------
    CertificateError
        If they do not reach it even then.
    """
    w = stated.weights(np.asarray(outcome.x))
    with limited(clock.remaining + CLAIM_SECONDS):
        try:
            return polished(problem, w, claim), ()
        except CertificateError:
            if not within_tolerance(problem, w, claim):
                raise
        best = polished(problem, w)
    return best, (
        f"{outcome.who} claims {claim:.9g} for weights whose value is {best.value:.9g}: they win some pairs by the "
        "margin only within the solver's tolerance.",
    )


def _claimed(stated: Stated, outcome: Outcome) -> float | None:
    """Value that a solver claims for its point, without what it owes to binaries that are not quite whole."""
    if outcome.x is None or outcome.objective is None:
        return None
    p = stated.program
    missed = np.where(p.integer, outcome.x - np.rint(outcome.x), 0.0)
    return outcome.objective - float(p.cost @ missed)


def _with_outcome(solution: Solution, stated: Stated, outcome: Outcome) -> Solution:
    """The solution with what the solver reports, in the unit of the value."""
    return replace(
        solution,
        program_value=None if outcome.objective is None else float(outcome.objective),
        program_bound=float(outcome.bound) if math.isfinite(outcome.bound) else None,
        start_accepted=outcome.start_accepted,
        nodes=solution.nodes + max(0, int(outcome.nodes)),
    ).noting(*([outcome.message] if outcome.message else []))
