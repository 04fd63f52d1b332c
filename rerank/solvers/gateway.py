"""Any solver on a model file: HiGHS in memory, the others by their own command or else through PuLP.

The objective and the violation of an outcome are recomputed from the values the solver returned, against the program
as our own reader understands the file. A claim that does not fit them is an error.
"""

import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.program import Program
from rerank.errors import InputError, SolverError, nearest
from rerank.io.atomic import writing
from rerank.solvers import highs, pulp
from rerank.solvers.commands import MODEL, ONLY_PULP, SOLVERS, START, by_command, installed_version, names
from rerank.solvers.outcome import ACCEPTED, Floats, Holds, Options, Outcome, Point, Stop, described, verified

__all__ = ["available", "known", "solve_file", "values"]


def solve_file(
    path: str | PathLike[str],
    solver: str = "highs",
    time_limit: float | None = None,
    *,
    options: Options | None = None,
    start: ArrayLike | str | PathLike[str] | None = None,
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
        A name of :func:`rerank.solvers.commands.names`, or one of PuLP's own names such as ``COIN_CMD``.
    time_limit : float, optional
        Seconds for the whole call; takes the place of ``options.time_limit``.
    options : Options, optional
        HiGHS takes all of it, others what they have: the message names what of ``options.asked`` they have not. Raw
        options are those of the solver's command; where it is reached through PuLP, arguments of PuLP's interface.
    start : array (n,) or path, optional
        A full point in the order of the program's columns, or a solution file, or one of the weights alone, which HiGHS
        completes. One that keeps every row within the tolerance is never lost, and a claim that denies it is refused;
        HiGHS, SCIP and Gurobi start from it.
    solution : path, optional
        Where to write the solver's solution file. Replaced if there is a point, left alone if there is none.
    cancel : threading.Event, optional

    Returns
    -------
    Outcome
        ``x`` in the order of the program's columns; :func:`values` gives it by name. ``objective`` and ``bound`` are
        in the unit of the file: its own sense, with the constant that it states on the right side of the objective
        row, or that its sidecar keeps. For a file of :meth:`rerank.Reranker.export_mps` that is the objective of the
        program; ``rerank solve`` prints the statistic, which may differ by a constant. Its ``stop`` is
        ``contradicted``, and its bound infinite, if the solver denies the start.

    Raises
    ------
    InputError
        For an unknown solver, with the nearest name.
    SolverError
        For a solver that is not installed, saying how to install it; that cannot read the file; or whose answer does
        not fit the file.
    FileFormatError
        For a file that cannot be read.
    """
    from formulations import mps
    from formulations.solutions import parse_solution, solution_text

    began = time.monotonic()
    name = known(solver)
    asked = Options() if options is None else options
    if time_limit is not None:
        asked = replace(asked, time_limit=time_limit)
    program = mps.read(path)
    if isinstance(start, str | PathLike):
        given = parse_solution(start, program, weights_alone=True).values
        start = program.vector(given) if len(given) == len(program.columns) else completed(program, given)
    point = None if start is None else Point.of(program, start)
    if asked.time_limit is not None:
        asked = replace(asked, time_limit=max(0.0, asked.time_limit - (time.monotonic() - began)))
    if name == "highs":
        outcome, text = highs.solve(program, asked, None if point is None else point.x, cancel), ""
    else:
        outcome, text = _outside(name, program, asked, point, cancel)
    if solution is not None and outcome.x is not None:
        status = "Optimal" if outcome.holds is Holds.optimal else "Feasible"
        # The file of another that maximises, or has a constant, was rewritten, and the solver's text is of that.
        foreign = not mps.sidecar_path(path).exists()
        if not text or (foreign and (program.constant or not program.minimises)):
            text = solution_text(program, outcome.x, status, outcome.objective if foreign else None)
        with writing(solution) as stream:
            stream.write(text)
    return outcome


def completed(program: Program, fixed: Mapping[str, float]) -> Floats:
    """The best point of a program with these values of some of its columns; InputError if the program admits none."""
    x = program.vector(fixed)
    there = np.array([name in fixed for name in program.columns])
    sides = ((program.lower, x), (program.upper, x))
    best = highs.solve(program.with_bounds(*(np.where(there, held, side) for side, held in sides)))
    if best.x is None or not program.violation(best.x) <= ACCEPTED:
        raise InputError(
            f"No point of {described(program)} has {', '.join(f'{name} = {v:.6g}' for name, v in fixed.items())}; give "
            "weights within its bounds and rows."
        )
    return best.x


def _outside(
    name: str, program: Program, options: Options, start: Point | None, cancel: threading.Event | None
) -> tuple[Outcome, str]:
    """The outcome of a solver other than HiGHS, and its own solution file; "" where there is none for the outcome."""
    from formulations import mps
    from formulations.solutions import original_names

    began = time.monotonic()
    if options.cutoff is not None:
        options = replace(options, cutoff=program.own(options.cutoff))  # of the program maximised
    used = start if start is not None and start.violation <= options.feasibility_tolerance else None
    # GLPK takes no integer column with a bound that is no whole number.
    low = np.where(program.integer, np.ceil(program.lower), program.lower)
    high = np.where(program.integer, np.floor(program.upper), program.upper)
    rounded = program.with_bounds(low, high) if (low <= high).all() else program
    solver = SOLVERS.get(name)
    with tempfile.TemporaryDirectory(prefix="rerank-") as folder:
        place = Path(folder)
        mps.write(rounded, place / MODEL)
        if solver is not None and (command := solver.find()) is not None:
            lacks = solver.lacks
            if used is not None:
                lines = (f"{alias} {value!r}\n" for alias, value in zip(original_names(program), used.x.tolist()))
                (place / START).write_text("".join(lines), encoding="ascii")
            claim, text = by_command(name, command, program, options, place, cancel)
        elif (interface := pulp.interface_of(name)) is not None:
            title, lacks = name if solver is None else solver.title, pulp.LACKS
            claim, text = pulp.by_pulp(interface, title, program, options, place), ""
        else:
            raise SolverError(f"{name} is not installed. To install it: {how_to_install(name)}.")
    cutoff = None if "cutoff" in lacks else options.cutoff
    outcome = verified(program, replace(claim, seconds=time.monotonic() - began), used, cutoff)
    if unused := sorted(options.asked & lacks):
        outcome = outcome.noting(f"{outcome.who} has no option for {', '.join(unused)}, and was not given any.")
    if options.raw and outcome.stop is Stop.finished and outcome.x is None:
        outcome = outcome.noting("It had options of its own, which may keep points out.")
    if start is not None and used is None:
        remark = f"The start violates the program by {start.violation:.3g} and was not used."
        outcome = replace(outcome.noting(remark), start_accepted=False)
    return outcome, "" if used is not None and outcome.x is used.x else text


def values(program: Program, outcome: Outcome) -> dict[str, float]:
    """The outcome's point by the names of the program's columns; empty if it holds none."""
    return {} if outcome.x is None else dict(zip(program.columns, outcome.x.tolist(), strict=True))


def available() -> list[dict[str, Any]]:
    """Every solver, and PuLP: name, found, version, licence, how it is reached, how to install it. The versions are
    asked of the solvers themselves, which takes a second or two.
    """
    report: list[dict[str, Any]] = []

    def add(name: str, version: str | None, licence: str, how: str, install: str) -> None:
        found = version is not None
        how = how if found else ""
        report.append(dict(name=name, found=found, version=version, licence=licence, how=how, install=install))

    def add_of_pulp(name: str, licence: str) -> None:
        interface = pulp.interface_of(name)
        add(name, interface and "unknown", licence, f"PuLP's {interface}", how_to_install(name))

    try:
        version: str | None = highs.version()
    except SolverError:
        version = None
    add("highs", version, "MIT", "highspy", "pip install highspy")
    for name, solver in SOLVERS.items():
        if (command := solver.find()) is None:
            add_of_pulp(name, solver.licence)
        else:
            add(name, installed_version(solver, command), solver.licence, command[-1], solver.install)
    module = pulp.module()
    add("pulp", module and str(module.__version__), "MIT", "pulp", "pip install pulp")
    for name in ONLY_PULP:
        add_of_pulp(name, "see its vendor")
    return report


def known(solver: str) -> str:
    """The name in our spelling, or in PuLP's; InputError for any other, with the nearest one."""
    asked = str(solver).strip().lower()
    if asked in names():
        return asked
    module = pulp.module()
    for name in [] if module is None else module.listSolvers():
        if name.lower() == asked:
            return str(name)
    raise InputError(
        f"Unknown solver {solver!r}; did you mean {nearest(asked, names())!r}? Known: {', '.join(names())}, "
        "and PuLP's own names."
    )


def how_to_install(name: str) -> str:
    """What to do where a solver is missing."""
    if name in SOLVERS:
        return SOLVERS[name].install
    lacking = "" if pulp.module() is not None else ", and pip install pulp"
    return f"install {name} so that PuLP finds {' or '.join(pulp.interfaces(name))}{lacking}"
