"""Small instances of every program with their proved optima, as portable files for any solver.

Each is a pair ``<name>.mps`` and ``<name>.json``.  The sidecar's ``data`` holds the instance itself and
``optimum``: the largest objective, offset included, proved by enumeration in rational arithmetic.  A solver that
minimises the file must find ``offset - optimum``.

The files are rewritten by ``python -m formulations.library --regenerate`` and by nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.compile import Program

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of the instances, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.mps"))


def path(name: str) -> Path:
    """The ``.mps`` file of an instance; its sidecar lies beside it.

    Raises
    ------
    KeyError
        For a name that is not in :func:`names`.
    """
    if name not in names():
        raise KeyError(f"The library has no instance {name!r}; it has {', '.join(names())}.")
    return FOLDER / f"{name}.mps"


def load(name: str) -> tuple[Program, dict[str, Any]]:
    """The program of an instance and the data of its sidecar: the instance, its ``optimum`` and how it was proved."""
    from formulations import mps

    return mps.read(path(name)), mps.read_sidecar(path(name))["data"]
