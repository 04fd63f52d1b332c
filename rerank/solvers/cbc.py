"""CBC, by the program ``cbc``. Takes time, gaps, integer tolerance, threads, nodes and seed."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.solvers.external import MODEL, SOLUTION, Claim, Solver, last_count, last_number, on_path
from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran


def _arguments(options: Options) -> Sequence[str]:
    limit = (
        [] if options.time_limit is None else ["-seconds", f"{options.time_limit:g}", "-timeMode", "elapsed"]
    )
    gaps = ["-ratioGap", repr(options.mip_rel_gap), "-allowableGap", repr(options.mip_abs_gap)]
    tolerance = ["-integerTolerance", repr(options.feasibility_tolerance)]
    threads = [] if options.threads == 1 else ["-threads", str(options.threads)]
    nodes = [] if options.node_limit is None else ["-maxNodes", str(options.node_limit)]
    rest = ["-randomCbcSeed", str(options.seed), "-solve", "-solution", SOLUTION]
    return [MODEL, *limit, *gaps, *tolerance, *threads, *nodes, *rest]


def _claim(ran: Ran, solution: str) -> Claim:
    status = solution.split(" - objective value", 1)[0].strip()
    nodes = last_count(r"Enumerated nodes:\s+(\d+)", ran.log)
    if status.startswith("Optimal"):
        objective = last_number(r"Objective value:\s+(\S+)", ran.log)
        return Claim(Stop.finished, optimal=True, objective=objective, nodes=nodes)
    if "infeasible" in status.lower():
        return Claim(Stop.finished, infeasible=True, nodes=nodes)
    if status.startswith("Unbounded") or "Problem is unbounded" in ran.log:
        return Claim(Stop.finished, unbounded=True, nodes=nodes)
    bound = last_number(r"Lower bound:\s+(\S+)", ran.log)
    if status.startswith("Stopped on time"):
        return Claim(Stop.time_limit, bound=bound, nodes=nodes)
    if status.startswith("Stopped on"):
        return Claim(Stop.node_limit, bound=bound, nodes=nodes)
    return Claim(ran.stopped or Stop.error)


SOLVER = Solver(
    name="cbc",
    title="CBC",
    licence="EPL-2.0",
    install="apt-get install coinor-cbc (Debian, Ubuntu), or brew install cbc, or see github.com/coin-or/Cbc",
    find=on_path("cbc"),
    ask=("-exit",),
    version=r"Version:\s+(\S+)",
    arguments=_arguments,
    claim=_claim,
    pulp=("COIN_CMD", "PULP_CBC_CMD"),
)
