"""Gurobi, by the program ``gurobi_cl``. Takes time, gaps, tolerance, threads, nodes and seed."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.solvers.external import MODEL, SOLUTION, Claim, Solver, last_count, last_number, on_path
from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran


def _arguments(options: Options) -> Sequence[str]:
    # Gurobi takes no tolerance below 1e-9.
    tolerance = max(1e-9, options.feasibility_tolerance)
    settings = {
        "ResultFile": SOLUTION,
        "MIPGap": options.mip_rel_gap,
        "MIPGapAbs": options.mip_abs_gap,
        "IntFeasTol": tolerance,
        "FeasibilityTol": tolerance,
        "Threads": options.threads,
        "Seed": options.seed,
        "TimeLimit": options.time_limit,
        "NodeLimit": options.node_limit,
    }
    return [*(f"{key}={value}" for key, value in settings.items() if value is not None), MODEL]


def _claim(ran: Ran, solution: str) -> Claim:
    log = ran.log
    bound = last_number(r"best bound (-?\d\S*?),", log)
    nodes = last_count(r"Explored (\d+) nodes", log)
    objective = last_number(r"Best objective (-?\d\S*?),", log)
    if "Model is infeasible" in log:
        return Claim(Stop.finished, infeasible=True)
    if "Optimal solution found" in log or "Optimal objective" in log:
        return Claim(Stop.finished, optimal=True, objective=objective, bound=bound, nodes=nodes)
    for words, stop in (
        ("Time limit reached", Stop.time_limit),
        ("Node limit reached", Stop.node_limit),
        ("Solve interrupted", Stop.interrupted),
    ):
        if words in log:
            return Claim(stop, objective=objective, bound=bound, nodes=nodes)
    return Claim(ran.stopped or Stop.error, bound=bound)


SOLVER = Solver(
    name="gurobi",
    licence="commercial",
    install="install Gurobi with a licence so that gurobi_cl is on the path, or pip install gurobipy for PuLP",
    find=on_path("gurobi_cl"),
    ask=("--version",),
    version=r"[Vv]ersion (\d+\.\d+\.\d+)",
    arguments=_arguments,
    claim=_claim,
    pulp=("GUROBI", "GUROBI_CMD"),
)
