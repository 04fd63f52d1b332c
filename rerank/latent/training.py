"""Training around an engine: epochs, evaluations, checkpoints, and an end that loses nothing.

A checkpoint is the state of training in a folder, so that a run can go on after its process has died.  It belongs to
one run, with the same log and validation part, options, seed and version of this package.  A different run is refused
before anything is written.  Only engine, threads and verbosity may differ.  The folder is reserved when the run begins,
is written as models are (:mod:`rerank.latent.storage`), and is locked while a process trains.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rerank import __version__
from rerank.errors import InputError, SolverError
from rerank.errors.telling import say
from rerank.io.bounded import plain
from rerank.latent import storage
from rerank.latent.engines.interface import Factors, Settings, ShardSums, SubEpoch
from rerank.latent.evaluation import evaluate
from rerank.latent.log import Log


@dataclass(frozen=True)
class HistoryEntry:
    """What an evaluation during training found, over the epochs since the one before."""

    epoch: int
    loss: float  # mean of log2 A over the records, at their last xi-step; 0 for WARP, which has none
    # Relative standard error of A, root mean square: 0 if A is exact or not used (WARP), None if the samples were too
    # small to estimate it.
    xi_error: float | None
    precision: float | None  # precision@validation_k on the validation part
    pairs_per_second: float  # pairs (y, y') for each second of a thread in the steps
    xi_share: float  # share of the xi-step in the threads' time
    seconds: float  # wall time since training began

    def __str__(self) -> str:
        validated = "" if self.precision is None else f"  precision {self.precision:.4f}"
        error = "not known" if self.xi_error is None else f"{self.xi_error:.1%}"
        return (
            f"epoch {self.epoch:4d}  loss {self.loss:.4f}{validated}  {self.pairs_per_second / 1e6:.1f} M pairs/s  "
            f"xi {self.xi_share:.0%} of the time, error {error}  {self.seconds:.1f} s"
        )


@dataclass(eq=False)
class TrainingState:
    """All that is needed to go on with training."""

    factors: Factors  # the newest ones that were collected
    epoch: int  # theirs
    best: Factors  # to keep: the best on the validation part, else those of the last evaluation
    best_epoch: int
    history: list[dict[str, Any]] = field(default_factory=list)  # a HistoryEntry for each evaluation
    report: ShardSums = field(default_factory=ShardSums)  # of the epochs since the last evaluation
    best_precision: float = -1.0
    waited: int = 0  # evaluations since then
    seconds: float = 0.0  # wall time spent
    stopped: str = ""  # "epochs", "validation", "interrupted" or "diverged"; empty while training goes on

    def update(self, collected: tuple[Factors, Iterable[ShardSums]], epoch: int) -> None:
        """Store what the engine collected after an epoch."""
        self.epoch, (self.factors, reports) = epoch, collected
        self.report = sum(reports, self.report)
        if not (self.report.finite and self.factors.finite):
            self.stopped = "diverged"

    def evaluated(self, precision: float | None, patience: int) -> HistoryEntry:
        """Compare the newest factors with the best; after ``patience`` evaluations without a better one, stop."""
        r, self.report = self.report, ShardSums()
        rate = r.pairs / max(r.step_seconds, 1e-9)
        share = r.xi_seconds / max(r.step_seconds + r.xi_seconds, 1e-9)
        entry = HistoryEntry(self.epoch, r.loss, r.xi_error, precision, rate, share, self.seconds)
        self.history.append(asdict(entry))
        if precision is None or precision > self.best_precision:
            self.best_precision, self.waited = precision or 0.0, 0
            self.best, self.best_epoch = self.factors, self.epoch
        else:
            self.waited += 1
            if self.waited >= patience:
                self.stopped = "validation"
        return entry


def train(
    engine: Any,
    log: Log,
    start: Factors,
    settings: Settings,
    first: int,
    validation: Log | None,
    checkpoint: "RunFolder | None" = None,
) -> TrainingState:
    """Run epochs ``first``, ``first + 1``, ...; Ctrl-C ends them and keeps what was found. If ``checkpoint`` holds an
    earlier run, training goes on from there and ends with the same bits.
    """
    run = checkpoint.resume(start) if checkpoint else None
    run = run or TrainingState(start, first - 1, start, first - 1)
    del start  # Frees a sixth of the memory as soon as there are better factors.
    if run.stopped:
        return run
    began = time.monotonic() - run.seconds
    epoch = run.epoch
    engine.prepare(log, run.factors, settings)
    try:
        while not run.stopped:
            evaluating = saving = False
            while not (evaluating or saving):
                epoch += 1
                for t in range(settings.n_shards):
                    engine.xi_step(SubEpoch(epoch, t))
                    engine.sub_epoch(SubEpoch(epoch, t))
                done = epoch - first + 1
                evaluating = done % settings.evaluate_every == 0 or done >= settings.n_epochs
                saving = checkpoint is not None and done % settings.checkpoint_every == 0
            run.factors = run.best  # Frees the memory of the older factors before new ones are collected.
            run.update(engine.collect(), epoch)
            run.seconds = time.monotonic() - began
            if evaluating and not run.stopped:
                precision = _precision(run.factors, log, validation, settings.validation_k)
                entry = run.evaluated(precision, settings.patience)
                if settings.verbose:
                    say(str(entry))
                if done >= settings.n_epochs and not run.stopped:
                    run.stopped = "epochs"
            if checkpoint and run.stopped != "diverged":
                checkpoint.save(run)
    except KeyboardInterrupt:
        run.stopped = "interrupted"
        if validation is None or not run.history:  # nothing was compared yet: the newest factors are the best
            run.update(engine.collect(), epoch)
            if run.stopped != "diverged":
                run.best, run.best_epoch = run.factors, epoch
    finally:
        engine.close()
    return run


def _precision(factors: Factors, log: Log, validation: Log | None, k: int) -> float | None:
    if validation is None:
        return None
    scores: Callable[..., object] = lambda users: factors.U[users] @ factors.V.T  # noqa: E731
    # One thread, as in a shard. With more, the last bits of a score, and so the epoch at which training stops, would
    # depend on the machine.
    with threadpool_limits(1, "blas"):
        return evaluate(scores, validation, min(k, log.n_items), log).means()["precision"]


def report_divergence(run: TrainingState, settings: Settings) -> None:
    """If training diverged, raise an error if there is nothing to keep, else warn."""
    if run.stopped != "diverged":
        return
    advice = f"learning_rate={settings.learning_rate} is too large for {settings.optimizer!r}; lower it."
    if run.best_epoch == 0:
        raise SolverError(f"Vectors grew beyond all bounds before the first evaluation: {advice}")
    warnings.warn(
        f"Vectors grew beyond all bounds; those of epoch {run.best_epoch} are kept: {advice}",
        ConvergenceWarning,
        stacklevel=4,
    )


_VECTORS = tuple(f.name for f in fields(Factors))
_ARRAYS = (*_VECTORS, *(f"best_{name}" for name in _VECTORS))
_REMEDY = "delete the folder to begin anew"
KIND = storage.FolderKind("checkpoint.json", "checkpoint", 2, "fit(checkpoint=...) wrote", _REMEDY, _ARRAYS)
_STATE = tuple(f.name for f in fields(TrainingState) if f.name not in ("factors", "best", "report"))
_LOGS = {"log": "another log", "validation": "another validation part"}


def identity(log: Log, validation: Log | None, settings: Settings) -> dict[str, Any]:
    """Everything that decides the bits of a run, by name; logs by their digest."""
    deciding = {name: value for name, value in asdict(settings).items() if name not in ("checkpoint_every", "verbose")}
    data = {"log": _digest(log), "validation": None if validation is None else _digest(validation)}
    return {"version": __version__, **data, **deciding}


def _digest(log: Log) -> str:
    return f"{log.n_users} x {log.n_items} {storage.digest_of(log.indptr, log.items)}"


def seed_in(folder: str | os.PathLike[str], otherwise: int) -> int:
    """The seed of the run whose checkpoint a folder holds, or ``otherwise`` if it holds none."""
    if not (Path(folder) / KIND.name).exists():
        return otherwise
    try:
        return int(storage.read_fields(folder, KIND)["run"]["seed"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{Path(folder) / KIND.name} is damaged; {KIND.remedy}.") from None


class RunFolder:
    """The checkpoint of a run, known by its :func:`identity`, in a folder for it alone; made unless it exists."""

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = plain(run)
        self._written: set[str] = set()

    def resume(self, start: Factors) -> TrainingState | None:
        """The state of an earlier process of the run, or None if there is none; reserves the folder. A folder that
        belongs to another run, to another version or to something else is left as it was.
        """
        if not (self.folder / KIND.name).exists():
            self._written = storage.write(self.folder, {"run": self.run, "at": None}, {}, KIND)
            return None
        place, other = self.folder / KIND.name, storage.read_fields(self.folder, KIND).get("run")
        if not isinstance(other, dict) or other.keys() - self.run.keys():
            raise InputError(f"{place} is damaged or of another version; {KIND.remedy}.")
        for name, mine in self.run.items():
            if other.get(name) != mine:
                what = _LOGS.get(name, f"{name}={other.get(name)!r}, not {mine!r}")
                raise InputError(
                    f"{place} is of a run with {what}; give that again to go on with it, or another folder."
                )
        found, arrays = storage.read(self.folder, KIND)
        if (at := found["at"]) is None:
            return None
        try:
            newest = Factors(**{name: arrays[name] for name in _VECTORS})
            best = {"start": start, "newest": newest}.get(at["best"])
            if best is None:
                best = Factors(**{name: arrays[f"best_{name}"] for name in _VECTORS})
            state = {name: at[name] for name in _STATE}
            return TrainingState(factors=newest, best=best, report=ShardSums(**at["report"]), **state)
        except (KeyError, TypeError):
            raise InputError(f"{place} is damaged; {KIND.remedy}.") from None

    def save(self, run: TrainingState) -> None:
        """Replace the checkpoint; if that fails the old one stays."""
        arrays = dict(vars(run.factors))
        best = "start" if not run.history else "newest"
        if run.history and run.best is not run.factors:
            best = "own"
            arrays |= {f"best_{name}": array for name, array in vars(run.best).items()}
        at = {name: getattr(run, name) for name in _STATE} | {"best": best, "report": asdict(run.report)}
        body = {"run": self.run, "at": plain(at)}
        self._written = storage.write(self.folder, body, arrays, KIND, self._written)
