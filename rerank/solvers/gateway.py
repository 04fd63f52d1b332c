"""Any solver on a model file: HiGHS in memory, the others by their own command or else through PuLP.

The objective and the violation of an outcome are recomputed from the values the solver returned, against the program
as our own reader understands the file. A claim that does not fit them is an error.
"""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError, SolverError, nearest
from rerank.io.atomic import writing
from rerank.solvers import highs
from rerank.solvers.answers import Answer, by_command, verified
from rerank.solvers.external import MODEL
from rerank.solvers.outcome import Holds, Options, Outcome
from rerank.solvers.registry import ONLY_PULP, SOLVERS, names
from rerank.solvers.through_pulp import by_pulp

if TYPE_CHECKING:
    from formulations.compile import Program

__all__ = ["available", "solve_file", "values"]


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
        A name of :func:`rerank.solvers.registry.names`, or one of PuLP's own names such as ``COIN_CMD``.
    time_limit : float, optional
        Seconds; takes the place of ``options.time_limit``.
    options : Options, optional
        HiGHS takes all of it; others the time limit, gaps, tolerance, seed, threads and node limit as far as they
        have them.
    solution : path, optional
        Where to write the solver's solution file. Replaced if there is a point, left alone if there is none.
    cancel : threading.Event, optional

    Returns
    -------
    Outcome
        ``x`` in the order of the program's columns; :func:`values` gives it by name.

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
        outcome, text = verified(name, program, answer, time.monotonic() - began), answer.text
    if solution is not None and outcome.x is not None:
        status = "Optimal" if outcome.holds is Holds.optimal else "Feasible"
        with writing(solution) as stream:
            stream.write(text or solution_text(program, outcome.x, status))
    return outcome


def values(program: Program, outcome: Outcome) -> dict[str, float]:
    """The outcome's point by the names of the program's columns; empty if it holds none."""
    return {} if outcome.x is None else dict(zip(program.columns, outcome.x.tolist(), strict=True))


def available() -> list[dict[str, Any]]:
    """Every solver of the registry, and PuLP: name, found, version, licence, how it is reached, how to install it.

    The versions are asked of the solvers themselves, which takes a second or two.
    """
    try:
        found: str | None = highs.version()
    except SolverError:
        found = None
    report = [_line("highs", found, "MIT", "highspy", "pip install highspy")]
    for name, solver in SOLVERS.items():
        command = solver.find()
        if command is None:
            report.append(_line_of_pulp(name, solver.licence))
        else:
            version = solver.version_in(_printed([*command, *solver.ask]))
            report.append(_line(name, version, solver.licence, command[-1], solver.install))
    pulp = _pulp()
    report.append(_line("pulp", pulp and str(pulp.__version__), "MIT", "pulp", "pip install pulp"))
    return report + [_line_of_pulp(name, "see its vendor") for name in ONLY_PULP]


def _line(name: str, version: str | None, licence: str, how: str, install: str) -> dict[str, Any]:
    return {
        "name": name, "found": version is not None, "version": version, "licence": licence,
        "how": "" if version is None else how, "install": install,
    }  # fmt: skip


def _line_of_pulp(name: str, licence: str) -> dict[str, Any]:
    interface = _interface(name)
    version = None if interface is None else "unknown"
    return _line(name, version, licence, f"PuLP's {interface}", _install(name))


def _printed(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _known(solver: str) -> str:
    """The name in our spelling, or in PuLP's."""
    asked = str(solver).strip().lower()
    if asked in names():
        return asked
    pulp = _pulp()
    for name in [] if pulp is None else pulp.listSolvers():
        if name.lower() == asked:
            return str(name)
    raise InputError(
        f"Unknown solver {solver!r}; did you mean {nearest(asked, names())!r}? Known: {', '.join(names())}, "
        "and PuLP's own names."
    )


def _install(name: str) -> str:
    if name in SOLVERS:
        return SOLVERS[name].install
    return f"install {name} so that PuLP finds {' or '.join(_interfaces(name))}"


def _answer(
    name: str, program: Program, options: Options, folder: Path, cancel: threading.Event | None
) -> Answer:
    """From the solver's own command if it is installed, else through PuLP."""
    solver = SOLVERS.get(name)
    command = None if solver is None else solver.find()
    if solver is not None and command is not None:
        return by_command(solver, command, program, options, folder, cancel)
    interface = _interface(name)
    if interface is None:
        raise SolverError(f"{name} is not installed. To install it: {_install(name)}.")
    return by_pulp(_pulp(), interface, program, options, folder)


def _pulp() -> Any:
    if importlib.util.find_spec("pulp") is None:
        return None
    import pulp

    return pulp


def _interfaces(name: str) -> Sequence[str]:
    """PuLP's interfaces to a solver; a name that is not in the registry is PuLP's own."""
    return SOLVERS[name].pulp if name in SOLVERS else ONLY_PULP.get(name, (name,))


def _interface(name: str) -> str | None:
    """The first of PuLP's interfaces to a solver that says it can run."""
    pulp = _pulp()
    for candidate in _interfaces(name):
        kind = getattr(pulp, candidate, None)
        try:
            if kind is not None and kind(msg=False).available():
                return candidate
        # A missing licence raises whatever its vendor chose; it only means that this interface cannot run.
        except Exception:
            continue
    return None
