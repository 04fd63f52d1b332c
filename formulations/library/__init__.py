"""Small instances of every program with their proved optima, as portable files for any solver.

Each is a pair ``<name>.mps`` and ``<name>.json``. The sidecar's ``data`` holds the instance itself and
``optimum``: the largest objective, its constant included, proved by enumeration in rational arithmetic. A solver that
minimises the file must find the sidecar's ``offset`` less ``optimum``. The source tree's ``python -m benchmarks.library
--regenerate`` writes the files.
"""

from pathlib import Path
from typing import Any

from formulations import mps
from formulations.program import Program

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of the instances, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.mps"))


def path(name: str) -> Path:
    """The ``.mps`` file of an instance; its sidecar lies beside it. KeyError for a name not in :func:`names`."""
    if name not in names():
        raise KeyError(f"The library has no instance {name!r}; it has {', '.join(names())}.")
    return FOLDER / f"{name}.mps"


def load(name: str) -> tuple[Program, dict[str, Any]]:
    """The program of an instance and the data of its sidecar: the instance, its ``optimum`` and how it was proved."""
    return mps.read(path(name)), mps.read_sidecar(path(name))["data"]
