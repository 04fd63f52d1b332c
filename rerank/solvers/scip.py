"""SCIP, by ``scip_process.py`` in a Python process of its own. Takes a start, time, gaps, tolerance, nodes and seed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from rerank.solvers.external import (
    MODEL,
    SOLUTION,
    START,
    Claim,
    Solver,
    first_match,
    last_count,
    last_number,
)
from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran

STATUSES = {
    "optimal": Stop.finished,
    "infeasible": Stop.finished,
    "unbounded": Stop.finished,
    "inforunbd": Stop.finished,
    "gaplimit": Stop.finished,
    "timelimit": Stop.time_limit,
    "nodelimit": Stop.node_limit,
    "userinterrupt": Stop.interrupted,
}
"""SCIP's word -> why it stopped; any other word is an error, unless we stopped it."""


def _find() -> list[str] | None:
    if importlib.util.find_spec("pyscipopt") is None:
        return None
    return [sys.executable, "-P", str(Path(__file__).with_name("scip_process.py"))]


def _arguments(options: Options) -> Sequence[str]:
    settings = {
        "limits/gap": options.mip_rel_gap,
        "limits/absgap": options.mip_abs_gap,
        "numerics/feastol": options.feasibility_tolerance,
        "randomization/randomseedshift": options.seed,
        "limits/time": options.time_limit,
        "limits/nodes": options.node_limit,
    }
    return [*(f"{key}={value!r}" for key, value in settings.items() if value is not None), MODEL, SOLUTION]


def _claim(ran: Ran, solution: str) -> Claim:
    status = first_match(r"(?m)^answer status (\S+)", ran.log)
    bound = last_number(r"(?m)^answer bound (\S+)", ran.log)
    # SCIP writes infinity as 1e20.
    if bound is not None and abs(bound) >= 1e20:
        bound = None
    return Claim(
        STATUSES.get(status, ran.stopped or Stop.error),
        optimal=status == "optimal",
        infeasible=status == "infeasible",
        unbounded=status == "unbounded",
        unsure=status == "inforunbd",
        objective=last_number(r"(?m)^answer objective (\S+)", ran.log),
        bound=bound,
        nodes=last_count(r"(?m)^answer nodes (\d+)", ran.log),
        start_accepted={"True": True, "False": False}.get(first_match(r"(?m)^answer start (\S+)", ran.log)),
    )


SOLVER = Solver(
    name="scip",
    title="SCIP",
    licence="Apache-2.0",
    install="pip install pyscipopt",
    find=_find,
    ask=(),
    version=r"(?m)^answer version (.+)$",
    arguments=_arguments,
    claim=_claim,
    starting=(f"start={START}",),
)
