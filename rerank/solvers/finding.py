"""Which solvers are on this machine, and how each is reached: in memory, by its own command, or through PuLP."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Sequence
from typing import Any

from rerank.errors import InputError, SolverError, nearest
from rerank.solvers import highs
from rerank.solvers.registry import ONLY_PULP, SOLVERS, names


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
    pulp = pulp_module()
    report.append(_line("pulp", pulp and str(pulp.__version__), "MIT", "pulp", "pip install pulp"))
    return report + [_line_of_pulp(name, "see its vendor") for name in ONLY_PULP]


def _line(name: str, version: str | None, licence: str, how: str, install: str) -> dict[str, Any]:
    return {
        "name": name, "found": version is not None, "version": version, "licence": licence,
        "how": "" if version is None else how, "install": install,
    }  # fmt: skip


def _line_of_pulp(name: str, licence: str) -> dict[str, Any]:
    interface = interface_of(name)
    return _line(name, interface and "unknown", licence, f"PuLP's {interface}", how_to_install(name))


def _printed(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def known(solver: str) -> str:
    """The name in our spelling, or in PuLP's.

    Raises
    ------
    InputError
        For any other name, with the nearest one.
    """
    asked = str(solver).strip().lower()
    if asked in names():
        return asked
    pulp = pulp_module()
    for name in [] if pulp is None else pulp.listSolvers():
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
    lacking = "" if pulp_module() is not None else ", and pip install pulp"
    return f"install {name} so that PuLP finds {' or '.join(_interfaces(name))}{lacking}"


def pulp_module() -> Any:
    """PuLP, or None where it is not installed."""
    if importlib.util.find_spec("pulp") is None:
        return None
    import pulp

    return pulp


def _interfaces(name: str) -> Sequence[str]:
    """PuLP's interfaces to a solver; a name that is not in the registry is PuLP's own."""
    return SOLVERS[name].pulp if name in SOLVERS else ONLY_PULP.get(name, (name,))


def interface_of(name: str) -> str | None:
    """The first of PuLP's interfaces to a solver that says it can run."""
    pulp = pulp_module()
    for candidate in _interfaces(name):
        kind = getattr(pulp, candidate, None)
        try:
            if kind is not None and kind(msg=False).available():
                return candidate
        # A missing licence raises whatever its vendor chose; it only means that this interface cannot run.
        except Exception:
            continue
    return None
