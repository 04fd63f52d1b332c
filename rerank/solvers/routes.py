"""Ways to other solvers through the file: where they are found, how they are called, how their answers are read."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rerank.solvers.external import Ran
from rerank.solvers.outcome import Options, Stop

MODEL = "model.mps"
SOLUTION = "answer.sol"

Command = list[str]


@dataclass(frozen=True)
class Claim:
    """What a solver says, in the file's minimise sense.

    Attributes
    ----------
    stop : Stop
    optimal, infeasible : bool
        Whether it says that its point is optimal, or that there is none.
    objective, bound : float, optional
        As printed.
    nodes : int
        -1 if it does not say.
    """

    stop: Stop
    optimal: bool = False
    infeasible: bool = False
    objective: float | None = None
    bound: float | None = None
    nodes: int = -1


@dataclass(frozen=True)
class Route:
    """One solver outside this process.

    Attributes
    ----------
    name, licence : str
    install : str
        What to run when it is missing.
    find : callable
        The words with which its command begins, or None.
    ask : sequence of str
        Arguments that make it print its version.
    version : str
        Regular expression of the version, in that print and in every log.
    arguments : callable
        The rest of the command; reads :data:`MODEL` and writes :data:`SOLUTION` in the working directory.
    claim : callable
        From the run and the text of the solution file (empty if there is none).
    """

    name: str
    licence: str
    install: str
    find: Callable[[], Command | None]
    ask: Sequence[str]
    version: str
    arguments: Callable[[Options], Sequence[str]]
    claim: Callable[[Ran, str], Claim]

    def version_in(self, text: str) -> str:
        """The version a text names, or ``unknown``."""
        return _first(self.version, text)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else "unknown"


def _last_figure(pattern: str, text: str) -> float | None:
    found = re.findall(pattern, text)
    try:
        value = float(found[-1]) if found else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _count(pattern: str, text: str) -> int:
    value = _last_figure(pattern, text)
    return -1 if value is None else int(value)


# -- CBC --------------------------------------------------------------------------------------------------------------


def _find_cbc() -> Command | None:
    path = shutil.which("cbc")
    return [path] if path else None


def _cbc_arguments(options: Options) -> Sequence[str]:
    limit = (
        [] if options.time_limit is None else ["-seconds", f"{options.time_limit:g}", "-timeMode", "elapsed"]
    )
    gaps = ["-ratioGap", repr(options.mip_rel_gap), "-allowableGap", repr(options.mip_abs_gap)]
    tolerance = ["-integerTolerance", repr(options.feasibility_tolerance)]
    threads = [] if options.threads == 1 else ["-threads", str(options.threads)]
    nodes = [] if options.node_limit is None else ["-maxNodes", str(options.node_limit)]
    rest = ["-randomCbcSeed", str(options.seed), "-solve", "-solution", SOLUTION]
    return [MODEL, *limit, *gaps, *tolerance, *threads, *nodes, *rest]


def _cbc_claim(ran: Ran, solution: str) -> Claim:
    status = solution.split(" - objective value", 1)[0].strip()
    nodes = _count(r"Enumerated nodes:\s+(\d+)", ran.log)
    if status.startswith("Optimal"):
        objective = _last_figure(r"Objective value:\s+(\S+)", ran.log)
        return Claim(Stop.finished, optimal=True, objective=objective, nodes=nodes)
    if "infeasible" in status.lower():
        return Claim(Stop.finished, infeasible=True, nodes=nodes)
    bound = _last_figure(r"Lower bound:\s+(\S+)", ran.log)
    if status.startswith("Stopped on time"):
        return Claim(Stop.time_limit, bound=bound, nodes=nodes)
    if status.startswith("Stopped on"):
        return Claim(Stop.node_limit, bound=bound, nodes=nodes)
    return Claim(ran.stopped or Stop.error)


# -- GLPK -------------------------------------------------------------------------------------------------------------


def _find_glpk() -> Command | None:
    path = shutil.which("glpsol")
    return [path] if path else None


def _glpk_arguments(options: Options) -> Sequence[str]:
    limit = [] if options.time_limit is None else ["--tmlim", str(math.ceil(options.time_limit))]
    gap = ["--mipgap", repr(options.mip_rel_gap)]
    return ["--freemps", MODEL, *limit, *gap, "--seed", str(options.seed), "-w", SOLUTION]


def _glpk_claim(ran: Ran, solution: str) -> Claim:
    words = _first(r"(?m)^s (?:mip|bas) \d+ \d+ (.*)$", solution).split()
    bound = _last_figure(r"(?m)^\+\s*\d+: \S+\s+.*>=\s+(-?\d\S*)", ran.log)
    objective = _last_figure(r"(?m)^s (?:mip|bas) \d+ \d+ .*?(\S+)$", solution)
    if words[:1] == ["o"] or words[:2] == ["f", "f"]:
        return Claim(Stop.finished, optimal=True, objective=objective)
    if "TIME LIMIT EXCEEDED" in ran.log:
        return Claim(Stop.time_limit, bound=bound)
    if words[:1] == ["n"] or re.search(r"PROBLEM HAS NO (\w+ )*FEASIBLE SOLUTION", ran.log):
        return Claim(Stop.finished, infeasible=True)
    return Claim(ran.stopped or Stop.error, bound=bound)


# -- SCIP -------------------------------------------------------------------------------------------------------------


def _find_scip() -> Command | None:
    if importlib.util.find_spec("pyscipopt") is None:
        return None
    return [sys.executable, "-P", str(Path(__file__).with_name("scip_process.py"))]


def _scip_arguments(options: Options) -> Sequence[str]:
    settings = {
        "limits/gap": options.mip_rel_gap,
        "limits/absgap": options.mip_abs_gap,
        "numerics/feastol": options.feasibility_tolerance,
        "randomization/randomseedshift": options.seed,
    }
    if options.time_limit is not None:
        settings["limits/time"] = options.time_limit
    if options.node_limit is not None:
        settings["limits/nodes"] = options.node_limit
    return [MODEL, SOLUTION, *(f"{key}={value!r}" for key, value in settings.items())]


def _scip_claim(ran: Ran, solution: str) -> Claim:
    status = _first(r"(?m)^answer status (\S+)", ran.log)
    bound = _last_figure(r"(?m)^answer bound (\S+)", ran.log)
    objective = _last_figure(r"(?m)^answer objective (\S+)", ran.log)
    if bound is not None and abs(bound) >= 1e20:
        bound = None
    stops = {"timelimit": Stop.time_limit, "userinterrupt": Stop.interrupted, "nodelimit": Stop.node_limit}
    finished = status in ("optimal", "infeasible", "gaplimit")
    return Claim(
        Stop.finished if finished else stops.get(status, ran.stopped or Stop.error),
        optimal=status == "optimal",
        infeasible=status == "infeasible",
        objective=objective,
        bound=bound,
        nodes=_count(r"(?m)^answer nodes (\d+)", ran.log),
    )


# -- Gurobi -----------------------------------------------------------------------------------------------------------


def _find_gurobi() -> Command | None:
    path = shutil.which("gurobi_cl")
    return [path] if path else None


def _gurobi_arguments(options: Options) -> Sequence[str]:
    settings = {
        "ResultFile": SOLUTION,
        "MIPGap": options.mip_rel_gap,
        "MIPGapAbs": options.mip_abs_gap,
        "IntFeasTol": max(1e-9, options.feasibility_tolerance),
        "FeasibilityTol": max(1e-9, options.feasibility_tolerance),
        "Threads": options.threads,
        "Seed": options.seed,
        "TimeLimit": options.time_limit,
        "NodeLimit": options.node_limit,
    }
    return [*(f"{key}={value}" for key, value in settings.items() if value is not None), MODEL]


def _gurobi_claim(ran: Ran, solution: str) -> Claim:
    log = ran.log
    bound = _last_figure(r"best bound (-?\d\S*?),", log)
    nodes = _count(r"Explored (\d+) nodes", log)
    objective = _last_figure(r"Best objective (-?\d\S*?),", log)
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


ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        Route(
            "cbc",
            "EPL-2.0",
            "apt-get install coinor-cbc (Debian, Ubuntu), or brew install cbc, or see github.com/coin-or/Cbc",
            _find_cbc,
            ("-exit",),
            r"Version:\s+(\S+)",
            _cbc_arguments,
            _cbc_claim,
        ),
        Route(
            "scip",
            "Apache-2.0",
            "pip install pyscipopt",
            _find_scip,
            (),
            r"(?m)^answer version (.+)$",
            _scip_arguments,
            _scip_claim,
        ),
        Route(
            "glpk",
            "GPL-3.0",
            "apt-get install glpk-utils (Debian, Ubuntu), or brew install glpk",
            _find_glpk,
            ("--version",),
            r"GLPSOL.* (\d+\.\d+)",
            _glpk_arguments,
            _glpk_claim,
        ),
        Route(
            "gurobi",
            "commercial",
            "install Gurobi with a licence so that gurobi_cl is on the path, or pip install gurobipy for PuLP",
            _find_gurobi,
            ("--version",),
            r"[Vv]ersion (\d+\.\d+\.\d+)",
            _gurobi_arguments,
            _gurobi_claim,
        ),
    )
}
