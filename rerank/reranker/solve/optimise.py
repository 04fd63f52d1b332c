"""From a problem to verified weights and a bound.

There are three ways: the search in weight space alone; the search, and then a program that confirms its proof or goes
on where it stopped; a program alone.  In all of them the value is recomputed exactly from the weights, and a bound is
used only if it bounds the same problem.
"""

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations import mps
from formulations.errors import ModelTooLarge
from rerank import search
from rerank.errors import CertificateError, SolverError
from rerank.errors.stops import current, limited, protected
from rerank.errors.telling import Note
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.problem.quotas import unmet
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.solution import CLAIM, LATE, ON_WORD, Moment, Solution, history_of
from rerank.reranker.solve import program as programs
from rerank.reranker.solve import verified as exact
from rerank.reranker.solve.program import StatedProgram, safe_epsilon
from rerank.reranker.solve.verified import VerifiedWeights, meets, polished, summed, verified
from rerank.reranker.task import Task
from rerank.search.domain import allowed
from rerank.solvers.outcome import AGREE, Options, Outcome, Point, Progress, Stop, beside
from rerank.solvers.progress import claims, live, printed

SEARCH_SHARE, SEARCH_ALONE_SHARE = 0.7, 0.97
"""The search's share of the time before a program is tried, and where none is."""

A_LIST, A_ROW, A_NUMBER = 2e-4, 5e-6, 1e-6
"""Seconds to recompute a value exactly, for each list, each row and each number in it, on a slow machine."""

POLISH_SHARE = 0.5  # share of the time that is left for polishing what the search found
INTERRUPTED = "Stopped by Ctrl-C."


def solve(problem: Problem, task: Task, clock: Clock, start: Floats | None = None) -> Solution:
    """Best weights that can be found in the time, verified exactly, and a bound."""
    points_only = task.node_limit == 0 and task.presolve
    unstated_quotas = bool(problem.quotas) and task.formulation != "resolved_rank"
    small = problem.by_sum and task.margin is None and problem.epsilon < programs.least_epsilon(problem)
    if task.solver == "search" or not programs.has_program(problem) or points_only or unstated_quotas or small:
        solution, _ = _searched(problem, task, clock, start, SEARCH_ALONE_SHARE)
        if task.solver != "search" and not points_only:
            what = "quotas but resolved_rank" if unstated_quotas else "so small a margin (margin= sets a larger one)"
            what = what if programs.has_program(problem) else task.statistic.name
            solution = solution.noting(f"No program states {what}; the search had all of the time.")
    else:
        if task.margin is not None:
            safe_epsilon(problem, problem.epsilon)
        solution = (_search_then_program if task.presolve else solve_program)(problem, task, clock, start)
    solution = bounded_by_ideal(problem, solution).within_bound()
    value, bound = solution.value, solution.bound
    end = Moment(clock.spent, value, bound)
    return replace(solution, history=history_of([*solution.history, end], value, bound) if solution.history else ())


def check_bound(problem: Problem, value: float, bound: float, source: str) -> None:
    """Refuse a bound below a value that was recomputed exactly."""
    if not is_closed(value - bound, bound, summed(problem)):
        raise CertificateError(
            f"The {source} says that no value exceeds {bound:.12g}, but these weights are worth {value:.12g} when "
            "recomputed exactly; please report this."
        )


def bounded_by_ideal(problem: Problem, solution: Solution) -> Solution:
    """The solution with its bound, or the ideal lists' value where that is not larger."""
    check_bound(problem, solution.value, solution.bound, solution.bound_source)
    bound, source = max(solution.bound, solution.value), solution.bound_source
    if problem.ideal <= bound:
        bound, source = max(problem.ideal, solution.value), "ideal"
    who = solution.bound_solver if source in ON_WORD else None
    return replace(solution, bound=bound, bound_source=source, bound_solver=who)


def _search_then_program(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    name = programs.chosen_formulation("auto", task.statistic)
    allowed = 0.2 * clock.remaining
    # What a program takes exactly is asked where the search has not closed: it imports Pyomo.
    may_fit = not problem.quotas and least_seconds_to_state(problem, name, allowed) < allowed
    # A program goes on from weights whose value is known exactly.
    share = SEARCH_SHARE if may_fit else SEARCH_ALONE_SHARE
    solution, found = _searched(problem, replace(task, judged=False), clock, start, share)
    if found.interrupted:
        return solution
    try:
        if any(is_closed(bound - solution.value, solution.value) for bound in (solution.bound, problem.ideal)):
            return confirm(problem, task, clock, solution, found)
        if not may_fit or seconds_to_state(problem, name, allowed) >= allowed:
            why = programs.unstated() or f"The {name} program would be too large to help in the time"
            why = f"The {name} program states no quotas" if problem.quotas else why
            # With more time a program could be tried.
            return replace(solution, gave_up=False).noting(f"{why}, so the search had all of it.")
        return proceed(problem, task, clock, solution, name, found)
    except KeyboardInterrupt:
        return solution.noting(INTERRUPTED)


def _searched(
    problem: Problem, task: Task, clock: Clock, start: Floats | None, share: float
) -> tuple[Solution, search.SearchResult]:
    """What a search finds in a share of the time left, polished and verified."""
    to_verify = A_LIST * len(problem.lists) + A_ROW * problem.X.shape[0] + A_NUMBER * problem.X.size
    limit = clock.share(share, reserve=to_verify)
    points = task.node_limit == 0 and task.checkpoint is None
    with limited(limit):
        search.ready(problem, points, task.proof)  # what it says comes before the live line
    began = clock.spent
    course = [Moment(began, -math.inf, problem.ideal)]  # what is known before the first round
    kept = None if task.judged else lambda now: course.append(Moment(began + now.seconds, now.value, now.bound))
    with clock.phase("search"), _live_progress(task.verbose, claimed(problem, task), kept) as show:
        found = search.solve(
            problem,
            time_limit=limit,
            start=start,
            random_state=task.random_state,
            progress=show,
            n_jobs=task.n_jobs,
            proof=task.proof,
            node_limit=task.node_limit,
            checkpoint=task.checkpoint,
        )
    clock.idle = limit is not None and (not limit or not found.begun)
    clock.cut = limit is not None and (clock.idle or clock.seconds["search"] >= limit)
    # A live line is seen in terminals alone; a first stage as it is leaves nothing to search.
    if task.verbose > 1 or (task.verbose and not task.judged and task.radius != 0):
        end = Progress(clock.seconds["search"], found.value, found.bound, int(found.nodes))
        printed("search ends:", told=claims(claimed(problem, task)))(end)
    course.append(Moment(clock.spent, found.value, found.bound))
    w = np.asarray(found.weights, dtype=np.float64)
    if found.value == -math.inf:
        raise unmet(problem.quotas, proved=found.closed)
    if task.judged and not len(exact.won_pairs(problem, w)):  # nothing to polish
        return Solution(weights=w, value=found.value, bound=found.bound, bound_source="search", gave_up=True), found
    with clock.phase("certificate"):
        with limited(clock.share(POLISH_SHARE)):
            best, interrupted = protected(lambda: polished(problem, w))
    if not is_closed(found.value - best.value, found.value, summed(problem)):
        raise CertificateError(
            f"The search claims {found.value:.12g}, but its weights are worth {best.value:.12g} when recomputed "
            "exactly; please report this."
        )
    solution = Solution(
        **best.figures,
        bound=found.bound,
        bound_source="search",
        start_value=found.start_value,
        proof=found.proof,
        gave_up=found.gave_up,
        nodes=int(found.nodes),
        history=tuple(course),
    )
    limit, open_ = task.node_limit, not (found.closed or found.gave_up or found.interrupted)
    if limit is not None and open_ and solution.nodes >= limit and clock.remaining > 0:
        solution = replace(solution, gave_up=True).noting(
            f"The search ended at node_limit={limit}, before its time was over; raise node_limit, or leave it out, for "
            "a smaller bound."
        )
    why = found.note if found.begun else Note(found.note, LATE)
    notes = [note for note in (why, INTERRUPTED if found.interrupted or interrupted else "") if note]
    return solution.noting(*notes), found


def claimed(problem: Problem, task: Task) -> str:
    """What a search bounds, in a few words: the statistic, with the margin by which pairs count and the penalty."""
    price = f", less {problem.C:g} a feature" if problem.C else ""
    return f"{task.statistic.name} at margin {problem.epsilon:.3g}{price}"


@contextmanager
def _live_progress(
    verbose: int, name: str, kept: Callable[[Any], None] | None
) -> Iterator[Callable[[Any], None] | None]:
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


START_SECONDS = 0.5  # most seconds of line search before a program alone
CONFIRM_SECONDS, CONFIRM_SHARE = 3.0, 0.05
"""Most seconds, and largest share of the time left, for a program that confirms a proof."""

CLAIM_SECONDS = 0.5
"""Seconds for polishing a solver's weights if it left no time; without polishing its claim may not hold."""

A_RELEVANT_ROW, A_PAIR, A_DIFFERENCE = 1.7e-4, 4e-6, 2e-8
"""Seconds to look at a relevant row (once for each grade it reaches), at a pair of rows and at a column of a pair: a
program's size is estimated from them."""

NONZEROS_A_SECOND = 100_000  # non-zeros that are built, compiled and passed to the solver in a second; a low estimate


def least_seconds_to_state(problem: Problem, formulation: str, allowed: float) -> float:
    """Seconds that a program takes at least: each of its pairs has a row; infinite if its pairs alone take long."""
    reached = sum(unit.positive.size for unit in problem.units)
    each = A_DIFFERENCE * problem.n_features + (0.0 if formulation == "pos_top" else A_PAIR)  # which keeps no pair
    pairs = programs.counted_pairs(problem, formulation)
    if programs.unstated() or A_RELEVANT_ROW * reached + pairs * each > 0.25 * allowed:
        return math.inf
    return 0.0 if formulation == "pos_top" else programs.counted_pairs(problem, "pairwise") / NONZEROS_A_SECOND


def seconds_to_state(problem: Problem, formulation: str, allowed: float = math.inf) -> float:
    """Seconds to build and pass a program; infinite if it is refused, or its pairs alone take long."""
    if math.isinf(least_seconds_to_state(problem, formulation, allowed)):
        return math.inf
    try:
        return programs.estimated_size(problem, formulation) / NONZEROS_A_SECOND
    except ModelTooLarge:
        return math.inf


def solve_program(problem: Problem, task: Task, clock: Clock, start: Floats | None) -> Solution:
    """Solve the plain program of ``task.formulation``, with a start from a short line search."""
    programs.check_stated()
    name = task.formulation
    with clock.phase("start"):
        limit = min(START_SECONDS, clock.remaining * 0.1)
        w, value = search.line_search(problem, start=start, time_limit=limit, random_state=task.random_state)
    with clock.phase("certificate"):
        w = allowed(problem, programs.normalised(np.asarray(w, dtype=np.float64), problem.limits))
        best = verified(problem, w) if meets(problem, w) else None
    figures: dict[str, Any] = {"weights": w, "value": -math.inf} if best is None else best.figures
    history = () if best is None else (Moment(clock.spent, best.value, problem.ideal),)
    figures |= {"start_value": float(value), "formulation": name, "history": history}
    solution = Solution(**figures, bound=math.inf, bound_source="ideal")
    if (seconds := seconds_to_state(problem, name, clock.remaining)) > clock.remaining:
        clock.idle = True
        needed = f"that takes up to {seconds:.0f} s" if math.isfinite(seconds) else "it is too large"
        return solution.noting(
            f"The {name} program was not built: {needed}, and {clock.remaining:.1f} s were left; raise time_limit, "
            "lower n_candidates, or use presolve=True."
        )
    try:
        solution = proceed(problem, task, clock, solution, name)
    except KeyboardInterrupt:
        if best is None:
            raise
        solution = solution.noting(INTERRUPTED)
    if solution.certificate is None:
        raise unmet(problem.quotas, proved=False)
    return solution


def _built(
    problem: Problem, clock: Clock, solution: Solution, name: str, found: search.SearchResult | None
) -> tuple[Solution, StatedProgram, Floats | None, str | None]:
    """A program, in the box that a search left open but by sum, with the point of the weights or the row they break."""
    with clock.phase("build"):
        stated = programs.state(problem, name, box=None if found is None or problem.by_sum else found.box)
        return replace(solution, formulation=name, model_size=stated.size), stated, *stated.point(solution.weights)


def confirm(problem: Problem, task: Task, clock: Clock, solution: Solution, found: search.SearchResult) -> Solution:
    """Solve the program, if one was named or a solver has options, and compare its answer with that of the search."""
    name = task.formulation
    asked = task.given.formulation != "auto" or task.solver_options
    if not asked or task.radius == 0:  # where one point is allowed
        return solution
    if why := programs.unstated():
        return solution.noting(f"{why}, so no program confirms the proof.")
    budget = min(CONFIRM_SECONDS, clock.remaining * CONFIRM_SHARE)
    if seconds_to_state(problem, name, budget / 2) > budget / 2:
        return solution.noting(
            f"The proof stands by itself: a second opinion of the {name} program takes more than {budget:.1f} s, and "
            "none was asked for."
        )
    solution, stated, x, violated = _built(problem, clock, solution, name, found)
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


def _compared(problem: Problem, solution: Solution, stated: StatedProgram, outcome: Outcome) -> Solution:
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
        words = (
            f"{name} claims {claim:.9g} for weights that are worth {other.value:.9g} when recomputed exactly: its rows "
            "hold within its tolerance only, so it counts pairs that miss the margin. The proof is of exact numbers: "
            f"no allowed weights are worth more than {solution.bound:.9g}."
        )
        return solution.noting(Note(words, CLAIM))
    if claim < solution.value - apart:
        return solution.noting(
            f"{name} has {claim:.9g}, less than the proved {solution.value:.9g}: it asks more than the problem, so it "
            "confirms nothing."
        )
    if outcome.holds == "optimal":
        return solution.noting(f"{name} confirms {solution.value:.4g} as its optimum.")
    return solution.noting(f"{name} has {claim:.4g} too; it had no time for a second proof, and the first one stands.")


def proceed(
    problem: Problem, task: Task, clock: Clock, solution: Solution, name: str, found: search.SearchResult | None = None
) -> Solution:
    """Solve a program from known weights; after a search, which ``found`` them, with its cut-off and box."""
    solution, stated, x, violated = _built(problem, clock, solution, name, found)
    if x is None:
        # The polished weights may lie outside the box that holds all better points.
        # Without a box, weights that change nothing are feasible in every program.
        x, _ = stated.point(problem.unchanged if found is None else np.asarray(found.weights))
        if found is None:
            solution = solution.noting(f"The start does not satisfy the {name} program ({violated}) and was not used.")
    searched, gave_up, solution = solution.bound, solution.gave_up, replace(solution, gave_up=False)
    try:
        limit = clock.share(1.0, reserve=0.3)
        better = [] if found is None else [solution.value]
        asked = [float(value) for value in (task.solver_options.get("cutoff"),) if value is not None]
        began, course = clock.spent, list[Progress]()
        outcome = run(stated, task, clock, limit, x, max(better + asked, default=None), course.append)
        clock.cut = outcome.stop is Stop.time_limit
    except SolverError as error:
        if found is None:
            raise
        return solution.noting(f"The program brought nothing: {error}")
    # A program that ended by itself would not go on either, and none has a smaller bound than an exact one.
    ended = outcome.stop in (Stop.finished, Stop.node_limit) or (found is not None and found.exact)
    claim = _claimed(stated, outcome)
    if claim is not None and (found is None or not is_closed(claim - solution.value, claim, summed(problem))):
        with clock.phase("certificate"):
            (best, remarks), interrupted = protected(lambda: _restored(stated, outcome, claim, clock))
        solution = solution.noting(*[INTERRUPTED] * interrupted)
        if best.value > solution.value:
            solution = replace(solution, **best.figures)
        solution = solution.noting(*remarks)
    # An outcome that denies weights that were verified and are feasible in the program is refused.
    if (x := stated.point(solution.weights)[0]) is not None:
        outcome = beside(outcome, Point.of(stated.program, x), stated.program)
    of_value = 0.0 if programs.shares_optimum(name, task.statistic) else math.inf
    reports = [Moment(began + now.seconds, now.incumbent, now.bound + of_value) for now in course]
    solution = replace(solution, gave_up=gave_up and ended, history=(*solution.history, *reports))
    solution = _with_outcome(solution, stated, outcome)
    early = sorted(name for name in ("gap", "cutoff", "node_limit") if task.solver_options.get(name))
    if early and outcome.holds != "optimal" and outcome.stop in (Stop.finished, Stop.node_limit):
        why = f"solver_options hold {' and '.join(early)}, so {outcome.solver} ended before it had closed its gap."
        solution = replace(solution, gave_up=True).noting(why)
    if not programs.shares_optimum(name, task.statistic):
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
    stated: StatedProgram,
    task: Task,
    clock: Clock,
    limit: float | None,
    start: Floats | None,
    cutoff: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Solve the program with HiGHS in memory, or with another solver through a file."""
    from joblib import effective_n_jobs

    from rerank.solvers import gateway, highs

    more: dict[str, Any] = {"node_limit": task.node_limit, "verbose": task.verbose, "progress": progress}
    options = Options(time_limit=limit, threads=effective_n_jobs(task.n_jobs), seed=task.random_state % 2**31, **more)
    options = replace(options.chosen(task.solver_options), cutoff=cutoff)
    with clock.phase(task.solver):
        if task.solver == "highs":
            # HiGHS's callbacks do not survive a KeyboardInterrupt. Ctrl-C sets the event of the protected call alone.
            return protected(lambda: highs.solve(stated.program, options, start=start, cancel=current().asked))[0]
        with tempfile.TemporaryDirectory() as folder:
            path, _ = mps.write(stated.program, Path(folder) / "program.mps")
            return gateway.solve_file(path, task.solver, options=options, start=start, cancel=current().asked)


def _restored(
    stated: StatedProgram, outcome: Outcome, claim: float, clock: Clock
) -> tuple[VerifiedWeights, tuple[str, ...]]:
    """A solver's weights, polished and verified, and a remark if they reach its claim within its tolerance only."""
    problem, w = stated.problem, stated.weights(np.asarray(outcome.x))
    with limited(clock.remaining + CLAIM_SECONDS):
        try:
            return polished(problem, w, claim), ()
        except CertificateError:
            if not exact.within_tolerance(problem, w, claim):
                raise
        best = polished(problem, w)
    return best, (exact.within_tolerance_only(outcome.who, claim, best.value),)


def _claimed(stated: StatedProgram, outcome: Outcome) -> float | None:
    """Value that a solver claims for its point, without what it owes to binaries that are not quite whole."""
    if outcome.x is None or outcome.objective is None:
        return None
    p = stated.program
    missed = np.where(p.integer, outcome.x - np.rint(outcome.x), 0.0)
    return outcome.objective - float(p.cost @ missed)


def _with_outcome(solution: Solution, stated: StatedProgram, outcome: Outcome) -> Solution:
    """The solution with what the solver reports, in the unit of the value."""
    return replace(
        solution,
        program_value=None if outcome.objective is None else float(outcome.objective),
        program_bound=float(outcome.bound) if math.isfinite(outcome.bound) else None,
        start_accepted=outcome.start_accepted,
        nodes=solution.nodes + max(0, int(outcome.nodes)),
    ).noting(*remarks_of(outcome))


def remarks_of(outcome: Outcome) -> list[str]:
    """What a solver says of its end, and that Ctrl-C was it."""
    return [note for note in (outcome.message, INTERRUPTED if outcome.stop is Stop.interrupted else "") if note]
