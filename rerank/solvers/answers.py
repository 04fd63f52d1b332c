"""The answer of a solver other than HiGHS, and the outcome that its point supports."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rerank.errors import SolverError
from rerank.solvers.external import SOLUTION, START, Claim, Solver
from rerank.solvers.highs_answer import endless
from rerank.solvers.outcome import Holds, Options, Outcome, Point, Stop
from rerank.solvers.running import run_command

if TYPE_CHECKING:
    from formulations.compile import Program

ACCEPTED = 2e-5
"""Violation up to which another solver's point is accepted; GLPK's own tolerance is 1e-5."""

AGREE = 1e-5
"""Difference allowed between a claimed objective and the point's, relative to what the objective sums up; CBC prints
a point with 8 digits."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A claim, the values of all columns by name (None if there is no point), and where they come from."""

    claim: Claim
    values: dict[str, float] | None
    version: str
    log: str = ""
    text: str = ""


def by_command(
    solver: Solver,
    command: list[str],
    program: Program,
    options: Options,
    folder: Path,
    cancel: threading.Event | None,
) -> Answer:
    """Run a solver's command on the model (and the start) in a folder, and read what it has written there.

    Raises
    ------
    SolverError
        If it failed, or its solution file cannot be read.
    """
    from formulations.errors import FileFormatError
    from formulations.solutions import NoPointError, read_solution

    limit = options.time_limit
    # The solver keeps the limit itself; ours is a little later, for a solver that does not.
    fence = None if limit is None else limit + max(0.5, 0.02 * limit)
    starting = solver.starting if (folder / START).exists() else ()
    ran = run_command([*command, *starting, *solver.arguments(options)], folder, fence, cancel, options.log_file)
    written = folder / SOLUTION
    text = written.read_text(encoding="utf-8", errors="replace") if written.exists() else ""
    claim = solver.claim(ran, text)
    if ran.stopped is not None and claim.stop is not Stop.finished:
        claim = replace(claim, stop=ran.stopped)
    values: dict[str, float] | None = None
    try:
        values = read_solution(written, program) if text else None
    except NoPointError:
        pass
    except FileFormatError as error:
        # A solver that was killed while it wrote leaves half a file behind.
        if ran.stopped is None:
            raise SolverError(f"The solution file of {solver.name} cannot be read: {error}") from error
    if claim.stop is Stop.error and values is None:
        last = [line.strip() for line in ran.log.splitlines() if line.strip()][-3:]
        words = " / ".join(last)[:300] or "none"
        how = f"was killed by signal {-ran.code}" if ran.code < 0 else f"failed with exit code {ran.code}"
        how = how if ran.code else "ended without an answer"
        raise SolverError(f"{solver.name} {how}; its last words: {words}.")
    return Answer(claim, values, solver.version_in(ran.log), ran.log, text if values is not None else "")


def verified(
    title: str, program: Program, answer: Answer, seconds: float, known: Point | None = None
) -> Outcome:
    """The outcome, with objective and violation recomputed from the point, and the claim compared with a known point.

    Parameters
    ----------
    title : str
        The solver, for a sentence.
    program : Program
    answer : Answer
    seconds : float
    known : Point, optional
        A point that keeps every row. It is never lost, and a claim that denies it is refused.

    Raises
    ------
    SolverError
        If the point violates the program, or the claim does not fit the point.
    """
    claim = answer.claim
    point = None if answer.values is None else Point.of(program, program.vector(answer.values))
    outcome = Outcome(
        stop=claim.stop,
        holds=Holds.nothing,
        x=None,
        objective=None,
        bound=math.inf if claim.bound is None else program.constant - claim.bound,
        nodes=claim.nodes,
        seconds=seconds,
        start_accepted=claim.start_accepted,
        log=answer.log,
        solver=title,
        version=answer.version,
    )
    if claim.unbounded or claim.unsure:
        # Of an integer program solvers mean the relaxation, unless they hold a point.
        pointed = answer.values is not None or known is not None
        sure = pointed or (claim.unbounded and not program.integer.any())
        raise SolverError(endless(outcome.who, program, sure))
    if claim.infeasible:
        outcome = replace(
            outcome, bound=-math.inf, message=f"{outcome.who} says that the program has no feasible point."
        )
    if point is not None:
        outcome = _holding(outcome, program, claim, point)
    elif claim.optimal:
        raise SolverError(
            f"{outcome.who} says that it found the optimum and returns no point; its log may say why."
        )
    return (outcome if known is None else beside(outcome, known, program)).stated(program)


def _holding(outcome: Outcome, program: Program, claim: Claim, point: Point) -> Outcome:
    """The outcome with its point, or an error where the claim does not fit the point."""
    who, bound, objective = outcome.who, outcome.bound, point.objective
    allowed, closed = _allowed(point), AGREE * max(1.0, abs(objective))
    if not point.violation <= ACCEPTED:
        raise SolverError(
            f"The point of {who} violates the program by {point.violation:.3g}, and {ACCEPTED:g} is allowed: "
            "it solved another problem, or its tolerance is too loose."
        )
    if claim.objective is not None and abs(program.constant - claim.objective - objective) > allowed:
        raise SolverError(
            f"{who} claims the objective {program.own(program.constant - claim.objective):.9g} for a point whose "
            f"objective is {program.own(objective):.9g}: it solved another problem than the file states."
        )
    if claim.optimal and claim.bound is None:
        bound = objective
    if bound < objective - allowed:
        raise SolverError(
            f"{who} gives the bound {program.own(bound):.9g} and a better point, with {program.own(objective):.9g}."
        )
    return replace(
        outcome,
        holds=Holds.optimal if claim.optimal and bound - objective <= closed else Holds.feasible,
        x=point.x,
        objective=objective,
        bound=max(bound, objective),
        violation=point.violation,
        message=f"{who} ended in a state that is unknown here; its point is kept." if claim.stop is Stop.error else "",
    )


def beside(outcome: Outcome, known: Point, program: Program) -> Outcome:
    """The outcome with the better of its point and a known one; a claim that denies the known one is refused.

    Parameters
    ----------
    outcome : Outcome
        Of the program maximised.
    known : Point
        Of the same program, and feasible in it.
    program : Program
    """
    claimed = outcome.bound
    if outcome.objective is None or known.objective > outcome.objective:
        outcome = replace(
            outcome, x=known.x, objective=known.objective, violation=known.violation,
            bound=max(claimed, known.objective),
            holds=Holds.feasible if outcome.holds is Holds.nothing else outcome.holds,
        )  # fmt: skip
    if known.objective <= claimed + _allowed(known):
        return outcome
    said, than = "says that the program has no feasible point", "less" if program.minimises else "more"
    if math.isfinite(claimed):
        said = f"says that no point of the program has {than} than {program.own(claimed):.9g}"
    return replace(
        outcome, stop=Stop.contradicted, holds=Holds.feasible, bound=math.inf,
        message=f"{outcome.who} {said}, but one with {program.own(known.objective):.9g} is known: its claim is "
        "refused, and no bound is taken from it.",
    )  # fmt: skip


def _allowed(point: Point) -> float:
    return AGREE * max(1.0, point.size)
