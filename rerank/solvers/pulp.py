"""Solvers through PuLP 2.8 to 4: the only module that imports it."""

import importlib.util
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formulations.program import Program
from rerank.errors import SolverError
from rerank.solvers.commands import MODEL, ONLY_PULP, SOLVERS
from rerank.solvers.outcome import ACCEPTED, Options, Outcome, Stop, ending

LACKS = frozenset({"node_limit", "cutoff", "seed", "log", "start"})
"""Names of :data:`rerank.solvers.outcome.COMMON` that not all of PuLP's interfaces take; none is passed."""

WORDS = {  # the status of PuLP 4 -> the word of :data:`rerank.solvers.outcome.ENDINGS`; any other status is an error
    "Optimal": "optimal",
    "Infeasible": "infeasible",
    "Unbounded": "unbounded",
    "InfeasibleOrUnbounded": "unsure",
    "GapLimit": "gap",
    "TimeLimit": "time",
    "NodeLimit": "nodes",
    "Interrupted": "interrupt",
}


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


def by_pulp(interface: str, title: str, program: Program, options: Options, folder: Path) -> Outcome:
    """What an interface of PuLP claims of the model file in a folder, and its point."""
    from formulations.solutions import original_names

    pulp = module()
    try:
        variables, model = pulp.LpProblem.fromMPS(str(folder / MODEL))
        solver, lost = _constructed(getattr(pulp, interface), options)
        # Where interfaces to command-line solvers write their files.
        solver.tmpDir = str(folder)
        began = time.monotonic()
        report = model.solve(solver)
    except pulp.PulpError as error:
        raise SolverError(f"PuLP's {interface} failed: {error}") from error
    except Exception as error:
        # What an interface makes of an option that it does not know is whatever its vendor raises.
        if not options.raw:
            raise
        raise SolverError(f"PuLP's {interface} refuses an option: {error}.") from error
    objective, bound = None, math.inf
    if hasattr(report, "has_solution"):  # PuLP 4 returns statistics
        word, held = WORDS.get(str(report.status.name), ""), bool(report.has_solution)
        if held and report.objective is not None:
            objective = program.constant - report.objective
        if report.best_bound is not None and math.isfinite(report.best_bound):
            bound = program.constant - report.best_bound
    else:  # PuLP 2 and 3 a number that is "optimal" at a time limit, too; ``sol_status`` tells the two apart
        late = options.time_limit is not None and time.monotonic() - began >= options.time_limit
        held = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        meant = {
            "unbounded": pulp.LpStatusUnbounded in (report, model.sol_status),
            "infeasible": report == pulp.LpStatusInfeasible,
            "optimal": model.sol_status == pulp.LpSolutionOptimal,
            "time": late,
        }
        word = next((word for word, said in meant.items() if said), "")
    original = original_names(program)
    values = {original[key]: variable.value() for key, variable in variables.items()}
    x = None if None in values.values() else program.vector(values)
    # PuLP 3 says that nothing is held where Gurobi stops at its limit with a point; its values tell.
    if x is not None and not held and (word == "infeasible" or program.violation(x) > ACCEPTED):
        x = None
    stop, holds = ending(word)
    if stop is Stop.error and x is None:
        raise SolverError(f"PuLP's {interface} ended without an answer; solve the file with another solver.")
    version = f"PuLP {pulp.__version__}, {interface}"
    unused = ", ".join(sorted(lost & options.asked))
    claim = Outcome(stop, holds, x, objective, bound, log="", solver=title, version=version)
    return claim.noting(f"{interface} takes no {unused}." if unused else "")


def _constructed(kind: Any, options: Options) -> tuple[Any, set[str]]:
    """An interface with as many of the options as its constructor takes, and all raw ones; what it does not take."""
    lost: set[str] = set()
    wanted: dict[str, Any] = {"gapRel": options.mip_rel_gap, "threads": options.threads}
    if options.time_limit is not None:
        # PuLP hands a fraction on, and glpsol takes whole seconds only.
        wanted = {"timeLimit": math.ceil(options.time_limit), **wanted}
    while True:
        try:
            return kind(msg=False, **wanted, **options.raw), lost
        except TypeError:
            if not wanted:
                raise
            lost.add({"gapRel": "gap"}.get(name := wanted.popitem()[0], name))
