"""Solvers through PuLP 2.8 to 4: the only module that imports it."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import SolverError
from rerank.solvers.commands import MODEL, ONLY_PULP, SOLVERS
from rerank.solvers.outcome import ACCEPTED, Answer, Claim, Options, Stop

if TYPE_CHECKING:
    from formulations.compile import Program

ENDINGS = {
    "Optimal": (Stop.finished, "optimal"),
    "Infeasible": (Stop.finished, "infeasible"),
    "Unbounded": (Stop.finished, "unbounded"),
    "InfeasibleOrUnbounded": (Stop.finished, "unsure"),
    "GapLimit": (Stop.finished, ""),
    "TimeLimit": (Stop.time_limit, ""),
    "NodeLimit": (Stop.node_limit, ""),
    "Interrupted": (Stop.interrupted, ""),
}
"""The word of PuLP 4 -> why the solver stopped, and its claim; any other word is an error."""


def module() -> Any:
    """PuLP, or None where it is not installed."""
    if importlib.util.find_spec("pulp") is None:
        return None
    import pulp

    return pulp


def interfaces(name: str) -> Sequence[str]:
    """PuLP's interfaces to a solver; a name that is not in our lists is PuLP's own."""
    return SOLVERS[name].pulp if name in SOLVERS else ONLY_PULP.get(name, (name,))


def interface_of(name: str) -> str | None:
    """The first of PuLP's interfaces to a solver that says it can run."""
    pulp = module()
    for candidate in interfaces(name):
        kind = getattr(pulp, candidate, None)
        try:
            if kind is not None and kind(msg=False).available():
                return candidate
        # A missing licence raises whatever its vendor chose; it only means that this interface cannot run.
        except Exception:
            continue
    return None


def by_pulp(interface: str, program: Program, options: Options, folder: Path) -> Answer:
    """Solve the model file in a folder with an interface of PuLP.

    Raises
    ------
    SolverError
        For an error of PuLP's, or no answer.
    """
    from formulations.solutions import original_names

    pulp = module()
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
    claim, held = claim_of_4(report) if of_4 else _claim_of_3(pulp, report, model, late)
    original = original_names(program)
    values = {original[key]: variable.value() for key, variable in variables.items()}
    complete = all(value is not None for value in values.values())
    point = {key: float(value) for key, value in values.items()} if complete else None
    # PuLP 3 says that nothing is held where Gurobi stops at its limit with a point; its values tell.
    if point is not None and not held:
        held = claim.says != "infeasible" and program.violation(program.vector(point)) <= ACCEPTED
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


def claim_of_4(report: Any) -> tuple[Claim, bool]:
    """PuLP 4 returns statistics: why it stopped, and whether there is a point."""
    held, bound = bool(report.has_solution), report.best_bound
    bound = bound if bound is not None and math.isfinite(bound) else None
    ending = ENDINGS.get(str(report.status.name), (Stop.error, ""))
    return Claim(*ending, objective=report.objective if held else None, bound=bound), held


def _claim_of_3(pulp: Any, status: int, model: Any, late: bool) -> tuple[Claim, bool]:
    """PuLP 2 and 3 return a number that is "optimal" at a time limit too; ``sol_status`` tells the two apart."""
    held = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    for says, meant in (
        ("unbounded", pulp.LpStatusUnbounded in (status, model.sol_status)),
        ("infeasible", status == pulp.LpStatusInfeasible),
        ("optimal", model.sol_status == pulp.LpSolutionOptimal),
    ):
        if meant:
            return Claim(Stop.finished, says), held
    return Claim(Stop.time_limit if late else Stop.error), held
