"""A model file solved through PuLP 2.8 to 4. The module is passed in: only the gateway imports it."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import SolverError
from rerank.solvers.answers import ACCEPTED, Answer
from rerank.solvers.external import MODEL, Claim
from rerank.solvers.outcome import Options, Stop

if TYPE_CHECKING:
    from formulations.compile import Program


PULP_4_FINISHED = ("Optimal", "Infeasible", "GapLimit", "Unbounded", "InfeasibleOrUnbounded")


def by_pulp(pulp: Any, interface: str, program: Program, options: Options, folder: Path) -> Answer:
    """Solve the model file in a folder with an interface of the module ``pulp``.

    Raises
    ------
    SolverError
        For an error of PuLP's, or no answer.
    """
    from formulations.solutions import original_names

    try:
        variables, model = pulp.LpProblem.fromMPS(str(folder / MODEL))
        solver = _constructed(getattr(pulp, interface), options)
        # Where interfaces to command-line solvers write their files.
        solver.tmpDir = str(folder)
        began = time.monotonic()
        report = model.solve(solver)
    except pulp.PulpError as error:
        raise SolverError(f"PuLP's {interface} failed: {error}") from error
    late = options.time_limit is not None and time.monotonic() - began >= options.time_limit
    of_4 = hasattr(report, "has_solution")
    claim, held = _claim_of_4(report) if of_4 else _claim_of_3(pulp, report, model, late)
    original = original_names(program)
    found = {original[key]: variable.value() for key, variable in variables.items()}
    complete = all(value is not None for value in found.values())
    point = {key: float(value) for key, value in found.items()} if complete else None
    # PuLP 3 says that nothing is held where Gurobi stops at its limit with a point; its values tell.
    if point is not None and not held:
        held = not claim.infeasible and program.violation(program.vector(point)) <= ACCEPTED
    point = point if held else None
    if claim.stop is Stop.error and point is None:
        raise SolverError(f"PuLP's {interface} ended without an answer; solve the file with another solver.")
    return Answer(claim, point, f"PuLP {pulp.__version__}, {interface}")


def _constructed(kind: Any, options: Options) -> Any:
    """An interface with as many of the options as its constructor takes."""
    wanted: dict[str, Any] = {"gapRel": options.mip_rel_gap, "threads": options.threads}
    if options.time_limit is not None:
        # PuLP hands a fraction on, and glpsol takes whole seconds only.
        wanted = {"timeLimit": math.ceil(options.time_limit), **wanted}
    while True:
        try:
            return kind(msg=False, **wanted)
        except TypeError:
            if not wanted:
                raise
            wanted.popitem()


def _claim_of_4(report: Any) -> tuple[Claim, bool]:
    """PuLP 4 returns statistics: why it stopped, and whether there is a point."""
    word, bound, held = str(report.status.name), report.best_bound, bool(report.has_solution)
    stops = {"TimeLimit": Stop.time_limit, "NodeLimit": Stop.node_limit, "Interrupted": Stop.interrupted}
    claim = Claim(
        Stop.finished if word in PULP_4_FINISHED else stops.get(word, Stop.error),
        optimal=word == "Optimal",
        infeasible=word == "Infeasible",
        unbounded=word == "Unbounded",
        unsure=word == "InfeasibleOrUnbounded",
        objective=report.objective if held else None,
        bound=bound if bound is not None and math.isfinite(bound) else None,
    )
    return claim, held


def _claim_of_3(pulp: Any, status: int, model: Any, late: bool) -> tuple[Claim, bool]:
    """PuLP 2 and 3 return a number that is "optimal" at a time limit too; ``sol_status`` tells the two apart."""
    proved = model.sol_status == pulp.LpSolutionOptimal
    infeasible = status == pulp.LpStatusInfeasible
    held = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    unbounded = pulp.LpStatusUnbounded in (status, model.sol_status)
    stop = Stop.finished if proved or infeasible or unbounded else Stop.time_limit if late else Stop.error
    return Claim(stop, optimal=proved, infeasible=infeasible, unbounded=unbounded), held
