"""Any solver, through the file: HiGHS, CBC, SCIP, GLPK and Gurobi by their own readers, others through PuLP.

Whatever the solver claims, the outcome's objective and violation are recomputed from the values it returned, against
the program as our own reader understands the file; a claim that does not fit them is an error.
"""

from __future__ import annotations

import difflib
import importlib.util
import math
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError, SolverError
from rerank.io.atomic import writing
from rerank.solvers import highs
from rerank.solvers.answers import Answer, by_command, judged
from rerank.solvers.outcome import Holds, Options, Outcome, Stop
from rerank.solvers.routes import MODEL, ROUTES, Claim

if TYPE_CHECKING:
    from formulations.compile import Program

PULP_NAMES: dict[str, tuple[str, ...]] = {
    "cbc": ("COIN_CMD", "PULP_CBC_CMD"),
    "gurobi": ("GUROBI", "GUROBI_CMD"),
    "cplex": ("CPLEX_PY", "CPLEX_CMD"),
    "xpress": ("XPRESS_PY", "XPRESS"),
    "copt": ("COPT", "COPT_CMD"),
    "mosek": ("MOSEK",),
    "mipcl": ("MIPCL_CMD",),
    "choco": ("CHOCO_CMD",),
}
"""Our name -> PuLP's interfaces to that solver, in the order of trial."""


def solve_file(
    path: str | PathLike[str],
    solver: str = "highs",
    time_limit: float | None = None,
    *,
    options: Options | None = None,
    solution: str | PathLike[str] | None = None,
    cancel: threading.Event | None = None,
) -> Outcome:
    """Solve a model file with the solver named.

    Parameters
    ----------
    path : path
        An ``.mps`` file, with its sidecar if it is one of ours. Solvers are given a portable rewriting of it, which
        for our own files is the file itself.
    solver : str
        ``highs``, ``cbc``, ``scip``, ``glpk``, ``gurobi``, ``cplex``, ``xpress``, ``copt``, ``mosek`` ..., or one of
        PuLP's own names such as ``COIN_CMD``.
    time_limit : float, optional
        Seconds; takes the place of ``options.time_limit``.
    options : Options, optional
        HiGHS takes all of it; others the time limit, gaps, seed, threads and node limit as far as they have them.
    solution : path, optional
        Where to put the solver's solution file; replaced if there is a point, left alone if there is none.
    cancel : threading.Event, optional

    Returns
    -------
    Outcome
        ``x`` in the order of the program's columns; :func:`values` gives it by name.

    Raises
    ------
    InputError
        For a solver nobody knows, with the nearest name.
    SolverError
        For a solver that is not installed, saying how to install it; that cannot read the file; or whose answer does
        not fit the file.
    FileFormatError
        For a file that cannot be read.
    """
    from formulations import mps
    from formulations.solutions import solution_text

    name = _known(solver)
    asked = Options() if options is None else options
    if time_limit is not None:
        asked = replace(asked, time_limit=time_limit)
    program = mps.read(path)
    text = ""
    if name == "highs":
        outcome = highs.solve(program, asked, cancel=cancel)
    else:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="rerank-") as folder:
            mps.write(program, Path(folder) / MODEL)
            answer = _answer(name, program, asked, Path(folder), cancel)
        outcome, text = judged(name, program, answer, time.monotonic() - began), answer.text
    if solution is not None and outcome.x is not None:
        status = "Optimal" if outcome.holds is Holds.optimal else "Feasible"
        with writing(solution) as stream:
            stream.write(text or solution_text(program, outcome.x, status))
    return outcome


def values(program: Program, outcome: Outcome) -> dict[str, float]:
    """The outcome's point by the names of the program's columns; empty if it holds none."""
    return {} if outcome.x is None else dict(zip(program.columns, outcome.x.tolist(), strict=True))


def available() -> list[dict[str, Any]]:
    """Every solver known here: name, whether it was found, version, licence, how it is reached, how to install it.

    The versions are asked of the solvers themselves, which takes a second or two.
    """
    try:
        found: str | None = highs.version()
    except SolverError:
        found = None
    pulp = _pulp()
    report = [_line("highs", found, "MIT", "highspy", "pip install highspy")]
    for name, route in ROUTES.items():
        command = route.find()
        if command is not None:
            report.append(
                _line(
                    name,
                    route.version_in(_print(command, route.ask)),
                    route.licence,
                    command[-1],
                    route.install,
                )
            )
        else:
            report.append(_through_pulp(name, route.licence, route.install))
    report.append(_line("pulp", pulp and str(pulp.__version__), "MIT", "pulp", "pip install pulp"))
    for name, classes in PULP_NAMES.items():
        if name not in ROUTES:
            report.append(
                _through_pulp(
                    name, "see its vendor", f"install {name} so that PuLP finds {' or '.join(classes)}"
                )
            )
    return report


def _line(name: str, version: str | None, licence: str, how: str, install: str) -> dict[str, Any]:
    found = version is not None
    return {
        "name": name,
        "found": found,
        "version": version,
        "licence": licence,
        "how": how if found else "",
        "install": install,
    }


def _through_pulp(name: str, licence: str, install: str) -> dict[str, Any]:
    inside = _interface(name)
    return _line(name, None if inside is None else "unknown", licence, f"PuLP's {inside}", install)


def _print(command: Sequence[str], ask: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [*command, *ask],
            capture_output=True,
            text=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _known(solver: str) -> str:
    """The name in our spelling, or in PuLP's."""
    asked = str(solver).strip().lower()
    names = ["highs", *ROUTES, *(name for name in PULP_NAMES if name not in ROUTES)]
    if asked in names:
        return asked
    pulp = _pulp()
    for name in [] if pulp is None else pulp.listSolvers():
        if name.lower() == asked:
            return str(name)
    near = difflib.get_close_matches(asked, names, n=1, cutoff=0.0)[0]
    raise InputError(
        f"Unknown solver {solver!r}; did you mean {near!r}? Known: {', '.join(names)}, and PuLP's own names."
    )


def _answer(
    name: str, program: Program, options: Options, folder: Path, cancel: threading.Event | None
) -> Answer:
    """Of the solver's own command if there is one, else through PuLP."""
    route = ROUTES.get(name)
    command = None if route is None else route.find()
    if route is not None and command is not None:
        return by_command(route, command, program, options, folder, cancel)
    inside = _interface(name)
    if inside is None:
        advice = (
            route.install
            if route is not None
            else f"install it so that PuLP finds {' or '.join(_interfaces(name))}"
        )
        raise SolverError(f"{name} is not installed. To install it: {advice}.")
    return _by_pulp(inside, program, options, folder)


# -- PuLP 3 and 4 -----------------------------------------------------------------------------------------------------


def _pulp() -> Any:
    if importlib.util.find_spec("pulp") is None:
        return None
    import pulp

    return pulp


def _interfaces(name: str) -> tuple[str, ...]:
    return PULP_NAMES.get(name, (name,))


def _interface(name: str) -> str | None:
    """The first of PuLP's interfaces to a solver that says it can run."""
    pulp = _pulp()
    for candidate in _interfaces(name):
        kind = getattr(pulp, candidate, None)
        try:
            if kind is not None and kind(msg=False).available():
                return candidate
        # A missing licence shows as any exception of the vendor's; it means no more than "not this one".
        except Exception:
            continue
    return None


def _by_pulp(name: str, program: Program, options: Options, folder: Path) -> Answer:
    from formulations.solutions import original_names

    pulp = _pulp()
    try:
        variables, model = pulp.LpProblem.fromMPS(str(folder / MODEL))
        interface = _constructed(getattr(pulp, name), options)
        # Command-line solvers get their files there.
        interface.tmpDir = str(folder)
        report = model.solve(interface)
    except pulp.PulpError as error:
        raise SolverError(f"PuLP's {name} failed: {error}") from error
    claim, held = _pulp_4(report) if hasattr(report, "has_solution") else _pulp_3(pulp, report, model)
    original = original_names(program)
    found = {original[key]: variable.value() for key, variable in variables.items()}
    if any(value is None for value in found.values()):
        held = False
    return Answer(
        claim,
        {key: float(v) for key, v in found.items()} if held else None,
        f"PuLP {pulp.__version__}, {name}",
    )


def _constructed(kind: Any, options: Options) -> Any:
    """An interface with as many of the options as its constructor takes."""
    wanted: dict[str, Any] = {
        "timeLimit": options.time_limit,
        "gapRel": options.mip_rel_gap,
        "threads": options.threads,
    }
    wanted = {key: value for key, value in wanted.items() if value is not None}
    while True:
        try:
            return kind(msg=False, **wanted)
        except TypeError:
            if not wanted:
                raise
            wanted.popitem()


def _pulp_4(report: Any) -> tuple[Claim, bool]:
    """PuLP 4 returns statistics: why it stopped, and whether there is a point."""
    word, bound, held = str(report.status.name), report.best_bound, bool(report.has_solution)
    stops = {"TimeLimit": Stop.time_limit, "NodeLimit": Stop.node_limit, "Interrupted": Stop.interrupted}
    claim = Claim(
        Stop.finished if word in ("Optimal", "Infeasible", "GapLimit") else stops.get(word, Stop.error),
        optimal=word == "Optimal",
        infeasible=word == "Infeasible",
        objective=report.objective if held else None,
        bound=bound if bound is not None and math.isfinite(bound) else None,
    )
    return claim, held


def _pulp_3(pulp: Any, status: int, model: Any) -> tuple[Claim, bool]:
    """PuLP 3 returns a number that calls a time limit with a point optimal too; ``sol_status`` tells them apart."""
    proved = model.sol_status == pulp.LpSolutionOptimal
    infeasible = status == pulp.LpStatusInfeasible
    held = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    stop = Stop.finished if proved or infeasible else Stop.time_limit
    return Claim(stop, optimal=proved, infeasible=infeasible), held
