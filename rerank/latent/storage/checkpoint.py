"""Checkpoints: the state of training in a folder, so that a run can go on after its process has died.

A checkpoint belongs to one run, with the same log and validation part, options, seed and version of this package.  A
different run is refused before anything is written.  Only engine, threads and verbosity may differ.  The folder is
reserved when the run begins, is written as models are (:mod:`rerank.latent.storage.files`), and is locked while a
process trains (:mod:`rerank.latent.storage.lock`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rerank import __version__
from rerank.errors import InputError
from rerank.latent.engines.interface import Factors, Report, Settings
from rerank.latent.log import Log
from rerank.latent.progress import Progress
from rerank.latent.storage import files

_VECTORS = tuple(f.name for f in fields(Factors))
KIND = files.Kind(
    "checkpoint.json", "checkpoint", 1, "fit(checkpoint=...) wrote", "delete the folder to begin anew",
    (*_VECTORS, *(f"best_{name}" for name in _VECTORS)),
)  # fmt: skip
# Names in the file, and those of the attributes of Progress and of Report where they differ.
_PROGRESS = {
    "epoch": "epoch", "best_epoch": "best_epoch", "most": "best_precision", "waited": "waited", "seconds": "seconds",
    "stopped": "stopped", "looks": "history",
}  # fmt: skip
_REPORT = {"looked" if f.name == "n_errors" else f.name: f.name for f in fields(Report)}
_LOGS = {"log": "another log", "validation": "another validation part"}


def identity(log: Log, validation: Log | None, settings: Settings) -> dict[str, Any]:
    """Everything that decides the bits of a run, by name; logs by their digest."""
    deciding = {name: value for name, value in asdict(settings).items() if name not in ("checkpoint_every", "verbose")}
    data = {"log": _digest(log), "validation": None if validation is None else _digest(validation)}
    return {"version": __version__, **data, **deciding}


def _digest(log: Log) -> str:
    return f"{log.n_users} x {log.n_items} {files.digest_of(log.indptr, log.items)}"


def seed_in(folder: str | os.PathLike[str], otherwise: int) -> int:
    """The seed of the run whose checkpoint a folder holds, or ``otherwise`` if it holds none."""
    if not (Path(folder) / KIND.name).exists():
        return otherwise
    try:
        return int(files.read_fields(folder, KIND)["run"]["seed"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{Path(folder) / KIND.name} is damaged; {KIND.remedy}.") from None


class Checkpoint:
    """The checkpoint of a run in a folder.

    Parameters
    ----------
    folder : path
        For this run alone; made unless it exists.
    run : mapping
        The :func:`identity` of the run.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = files.plain(run)
        self._written: set[str] = set()

    def resume(self, start: Factors) -> Progress | None:
        """The state of an earlier process of the run, or None if there is none; reserves the folder.

        Raises
        ------
        InputError
            The folder belongs to another run, to another version or to something else, is damaged, or cannot be
            written.  It is left as it was.
        """
        if not (self.folder / KIND.name).exists():
            self._written = files.write(self.folder, {"run": self.run, "at": None}, {}, KIND)
            return None
        self._compare(files.read_fields(self.folder, KIND).get("run"))
        found, arrays = files.read(self.folder, KIND)
        if found["at"] is None:
            return None
        try:
            run = _progress(found["at"], arrays, start)
        except (KeyError, TypeError):
            raise InputError(f"{self.folder / KIND.name} is damaged; {KIND.remedy}.") from None
        return run

    def save(self, run: Progress) -> None:
        """Replace the checkpoint; if that fails the old one stays."""
        arrays = _named(run.factors, "")
        best = "start" if not run.history else "newest"
        if run.history and run.best is not run.factors:
            best = "own"
            arrays |= _named(run.best, "best_")
        at = {name: getattr(run, attribute) for name, attribute in _PROGRESS.items()}
        at["best"] = best
        at["report"] = {name: getattr(run.report, attribute) for name, attribute in _REPORT.items()}
        self._written = files.write(
            self.folder, {"run": self.run, "at": files.plain(at)}, arrays, KIND, self._written
        )

    def _compare(self, other: Any) -> None:
        place = self.folder / KIND.name
        if not isinstance(other, dict) or other.keys() - self.run.keys():
            raise InputError(f"{place} is damaged or of another version; {KIND.remedy}.")
        for name, mine in self.run.items():
            if other.get(name) == mine:
                continue
            what = _LOGS.get(name, f"{name}={other.get(name)!r}, not {mine!r}")
            raise InputError(
                f"{place} is of a run with {what}; give that again to go on with it, or another folder."
            )


def _named(factors: Factors, prefix: str) -> dict[str, Any]:
    return {prefix + name: getattr(factors, name) for name in _VECTORS}


def _progress(at: Mapping[str, Any], arrays: Mapping[str, Any], start: Factors) -> Progress:
    def read(prefix: str) -> Factors:
        return Factors(**{name: arrays[prefix + name] for name in _VECTORS})

    newest = read("")
    best = {"start": lambda: start, "newest": lambda: newest, "own": lambda: read("best_")}[at["best"]]()
    report = Report(**{attribute: at["report"][name] for name, attribute in _REPORT.items()})
    numbers = {attribute: at[name] for name, attribute in _PROGRESS.items()}
    return Progress(factors=newest, best=best, report=report, **numbers)
