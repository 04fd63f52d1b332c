"""GLPK, by the program ``glpsol``. Takes time (whole seconds), the relative gap and the seed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rerank.solvers.external import MODEL, SOLUTION, Claim, Solver, first_match, last_number, on_path
from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran


def _arguments(options: Options) -> Sequence[str]:
    limit = [] if options.time_limit is None else ["--tmlim", str(math.ceil(options.time_limit))]
    gap = ["--mipgap", repr(options.mip_rel_gap)]
    return ["--freemps", MODEL, *limit, *gap, "--seed", str(options.seed), "-w", SOLUTION]


def _claim(ran: Ran, solution: str) -> Claim:
    words = first_match(r"(?m)^s (?:mip|bas) \d+ \d+ (.*)$", solution).split()
    bound = last_number(r"(?m)^\+\s*\d+: \S+\s+.*>=\s+(-?\d\S*)", ran.log)
    objective = last_number(r"(?m)^s (?:mip|bas) \d+ \d+ .*?(\S+)$", solution)
    if words[:1] == ["o"] or words[:2] == ["f", "f"]:
        return Claim(Stop.finished, optimal=True, objective=objective)
    if "TIME LIMIT EXCEEDED" in ran.log:
        return Claim(Stop.time_limit, bound=bound)
    if re.search(r"HAS UNBOUNDED (PRIMAL )?SOLUTION", ran.log):
        return Claim(Stop.finished, unbounded=True)
    if "HAS NO DUAL FEASIBLE SOLUTION" in ran.log:
        return Claim(Stop.finished, unsure=True)
    if words[:1] == ["n"] or re.search(r"PROBLEM HAS NO (\w+ )*FEASIBLE SOLUTION", ran.log):
        return Claim(Stop.finished, infeasible=True)
    return Claim(ran.stopped or Stop.error, bound=bound)


SOLVER = Solver(
    name="glpk",
    title="GLPK",
    licence="GPL-3.0",
    install="apt-get install glpk-utils (Debian, Ubuntu), or brew install glpk",
    find=on_path("glpsol"),
    ask=("--version",),
    version=r"GLPSOL.* (\d+\.\d+)",
    arguments=_arguments,
    claim=_claim,
)
