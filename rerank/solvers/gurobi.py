"""Gurobi, by ``gurobi_process.py`` in a Python process of its own, or by ``gurobi_cl`` where gurobipy is missing.

Takes a start, time, gaps, tolerance, threads, nodes and seed. Both ways take the same arguments and print the same log.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from rerank.solvers.external import MODEL, SOLUTION, START, Claim, Solver, last_count, last_number, on_path
from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran


def _find() -> list[str] | None:
    if importlib.util.find_spec("gurobipy") is None:
        return on_path("gurobi_cl")()
    return [sys.executable, "-P", str(Path(__file__).with_name("gurobi_process.py"))]


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
    started = True if "Loaded user MIP start" in log else False if "User MIP start" in log else None
    if "nfeasible or unbounded" in log:
        return Claim(Stop.finished, unsure=True)
    for words in ("infeasible", "unbounded"):
        if f"Model is {words}" in log or f"{words.capitalize()} model" in log:
            return Claim(Stop.finished, infeasible=words == "infeasible", unbounded=words == "unbounded")
    if "Optimal solution found" in log or "Optimal objective" in log:
        return Claim(
            Stop.finished, optimal=True, objective=objective, bound=bound, nodes=nodes, start_accepted=started
        )
    for words, stop in (
        ("Time limit reached", Stop.time_limit),
        ("Node limit reached", Stop.node_limit),
        ("Solve interrupted", Stop.interrupted),
    ):
        if words in log:
            return Claim(stop, objective=objective, bound=bound, nodes=nodes, start_accepted=started)
    return Claim(ran.stopped or Stop.error, bound=bound, start_accepted=started)


SOLVER = Solver(
    name="gurobi",
    title="Gurobi",
    licence="commercial",
    install="pip install gurobipy (its licence covers small programs), or install Gurobi with gurobi_cl on the path",
    find=_find,
    ask=("--version",),
    version=r"[Vv]ersion (\d+\.\d+\.\d+)",
    arguments=_arguments,
    claim=_claim,
    starting=(f"InputFile={START}",),
)
