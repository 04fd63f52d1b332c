"""The answer of a solver other than HiGHS, and the outcome that its point supports."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rerank.errors import SolverError
from rerank.solvers.external import SOLUTION, Claim, Solver
from rerank.solvers.outcome import Holds, Options, Outcome, Stop
from rerank.solvers.running import run_command

if TYPE_CHECKING:
    from formulations.compile import Program

ACCEPTED = 2e-5
"""Violation up to which another solver's point is accepted; GLPK's own tolerance is 1e-5."""

AGREE = 1e-5
"""Relative difference allowed between a claimed objective and the point's; CBC prints a point with 8 digits."""


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
    """Run a solver's command on the model file in a folder, and read what it has written there.

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
    ran = run_command([*command, *solver.arguments(options)], folder, fence, cancel)
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
        raise SolverError(f"{solver.name} failed with exit code {ran.code}; its last words: {words}.")
    return Answer(claim, values, solver.version_in(ran.log), ran.log, text if values is not None else "")


def verified(name: str, program: Program, answer: Answer, seconds: float) -> Outcome:
    """The outcome, with objective and violation recomputed from the point.

    Raises
    ------
    SolverError
        If the point violates the program, or the claim does not fit the point.
    """
    claim = answer.claim
    bound = -math.inf if claim.infeasible else math.inf
    if claim.bound is not None:
        bound = program.constant - claim.bound
    outcome = Outcome(
        stop=claim.stop,
        holds=Holds.nothing,
        x=None,
        objective=None,
        bound=bound,
        nodes=claim.nodes,
        seconds=seconds,
        start_accepted=None,
        log=answer.log,
        solver=name,
        version=answer.version,
        message=f"{name} says that the program has no feasible point." if claim.infeasible else "",
    )
    if answer.values is None:
        if claim.optimal:
            raise SolverError(
                f"{name} says that it found the optimum and returns no point; its log may say why."
            )
        return outcome
    x = program.vector(answer.values)
    objective, violation = program.objective(x), program.violation(x)
    allowed = AGREE * max(1.0, abs(objective))
    who = f"{name} ({answer.version})"
    if not violation <= ACCEPTED:
        raise SolverError(
            f"The point of {who} violates the program by {violation:.3g}, and {ACCEPTED:g} is allowed: "
            "it solved another problem, or its tolerance is too loose."
        )
    if claim.objective is not None and abs(program.constant - claim.objective - objective) > allowed:
        raise SolverError(
            f"{who} claims the objective {program.constant - claim.objective:.9g} for a point whose objective is "
            f"{objective:.9g}: it solved another problem than the file states."
        )
    if claim.optimal and claim.bound is None:
        bound = objective
    if bound < objective - allowed:
        raise SolverError(f"{who} gives the bound {bound:.9g} and a point above it, with {objective:.9g}.")
    closed = claim.optimal and bound - objective <= allowed
    return replace(
        outcome,
        holds=Holds.optimal if closed else Holds.feasible,
        x=x,
        objective=objective,
        bound=max(bound, objective),
        violation=violation,
        message="",
    )
