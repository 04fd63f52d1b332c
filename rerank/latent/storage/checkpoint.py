"""Checkpoints: where training is, in a folder, for a run that goes on after its process has died.

A checkpoint belongs to one run: the same log and validation part, the same options, seed and version of this package.
Anything else is refused before a single byte is written.  What may differ is how the run is carried out: engine,
threads, messages.  The folder is claimed when the run begins and written as models are, see
:mod:`rerank.latent.storage.files`, so that it holds one whole checkpoint at any time.  Whoever trains holds it, see
:mod:`rerank.latent.storage.lock`.
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
from rerank.latent.progress import Plan, Progress
from rerank.latent.storage import files
from rerank.latent.storage.plain import plain

VECTORS = tuple(f.name for f in fields(Factors))
KIND = files.Kind(
    "checkpoint.json", "checkpoint", 1, "fit(checkpoint=...) wrote", "delete the folder to begin anew",
    (*VECTORS, *(f"best_{name}" for name in VECTORS)),
)  # fmt: skip
NUMBERS = ("epoch", "best_epoch", "most", "waited", "seconds", "stopped", "looks")
LOGS = {"log": "another log", "validation": "another validation part"}


def identity(
    log: Log, validation: Log | None, settings: Settings, plan: Plan, init_scale: float, n_factors: int
) -> dict[str, Any]:
    """All that decides the bits of a run, by name; logs by their digest."""
    return {
        "version": __version__,
        "log": _digest(log),
        "validation": None if validation is None else _digest(validation),
        "n_factors": int(n_factors),
        "init_scale": float(init_scale),
        **asdict(settings),
        "n_epochs": int(plan.epochs),
        "evaluate_every": int(plan.every),
        "patience": int(plan.patience),
        "validation_k": int(plan.k),
    }


def _digest(log: Log) -> str:
    return f"{log.n_users} x {log.n_items} {files.digest_of(log.indptr, log.items)}"


def seed_in(folder: str | os.PathLike[str]) -> int | None:
    """The seed of the run that a folder belongs to, or None where there is none yet."""
    if not (Path(folder) / KIND.name).exists():
        return None
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
        Of its own; made where it does not exist.
    run : mapping
        What :func:`identity` says of the run.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = plain(dict(run))
        self._whole: set[str] = set()

    def resume(self, start: Factors) -> Progress | None:
        """Where the run came to, or None where it has not begun; claims the folder.

        Raises
        ------
        InputError
            The folder belongs to another run, to another version or to something else, is damaged, or cannot be
            written.  It is left as it was.
        """
        if not (self.folder / KIND.name).exists():
            self._whole = files.write(self.folder, {"run": self.run, "at": None}, {}, KIND)
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

    def keep(self, run: Progress) -> None:
        """Replace the checkpoint; one that cannot be written leaves the old one."""
        arrays = _named(run.factors, "")
        best = "start" if not run.looks else "newest"
        if run.looks and run.best is not run.factors:
            best = "own"
            arrays |= _named(run.best, "best_")
        at = {name: getattr(run, name) for name in NUMBERS}
        at |= {"best": best, "report": vars(run.report)}
        self._whole = files.write(
            self.folder, {"run": self.run, "at": plain(at)}, arrays, KIND, whole=self._whole
        )

    def _compare(self, other: Any) -> None:
        place = self.folder / KIND.name
        if not isinstance(other, dict) or other.keys() - self.run.keys():
            raise InputError(f"{place} is damaged or of another version; {KIND.remedy}.")
        for name, mine in self.run.items():
            if other.get(name) == mine:
                continue
            what = LOGS.get(name, f"{name}={other.get(name)!r}, not {mine!r}")
            raise InputError(
                f"{place} is of a run with {what}; give that again to go on with it, or another folder."
            )


def _named(factors: Factors, prefix: str) -> dict[str, Any]:
    return {prefix + name: getattr(factors, name) for name in VECTORS}


def _progress(at: Mapping[str, Any], arrays: Mapping[str, Any], start: Factors) -> Progress:
    def read(prefix: str) -> Factors:
        return Factors(**{name: arrays[prefix + name] for name in VECTORS})

    newest = read("")
    best = {"start": lambda: start, "newest": lambda: newest, "own": lambda: read("best_")}[at["best"]]()
    numbers = {name: at[name] for name in NUMBERS}
    return Progress(factors=newest, best=best, report=Report(**at["report"]), **numbers)
