"""The loop around an engine: epochs, validation, progress, and stopping without losing anything."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from sklearn.exceptions import ConvergenceWarning

from rerank.errors import SolverError
from rerank.latent.engine import Engine, Factors, Report, Settings, Step
from rerank.latent.evaluation import evaluate
from rerank.latent.log import Log


@dataclass(frozen=True)
class Look:
    """What was seen between two looks at the model.

    Attributes
    ----------
    epoch : int
    loss : float
        Mean of log2 A over the records, at their last xi-step; NaN for WARP, which has none.
    xi_error : float
        Relative standard error of A, root mean square; 0 where it is exact.
    precision : float or None
        On the validation part, at the validation's k.
    pairs_per_second : float
        Pairs (y, y') for a second of a thread in the steps.
    xi_share : float
        Of the threads' time in the xi-step.
    seconds : float
        Wall time since training began.
    """

    epoch: int
    loss: float
    xi_error: float
    precision: float | None
    pairs_per_second: float
    xi_share: float
    seconds: float

    def __str__(self) -> str:
        validated = "" if self.precision is None else f"  precision {self.precision:.4f}"
        return (
            f"epoch {self.epoch:4d}  loss {self.loss:.4f}{validated}  {self.pairs_per_second / 1e6:.1f} M pairs/s  "
            f"xi {self.xi_share:.0%} of the time, error {self.xi_error:.1%}  {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Plan:
    """How long to train.

    Attributes
    ----------
    epochs : int
        At most.
    every : int
        Epochs between looks.
    patience : int
        Looks without a better precision before training ends; needs a validation part.
    k : int
        Of the precision.
    verbose : int
        A line on standard error at each look.
    """

    epochs: int
    every: int = 5
    patience: int = 3
    k: int = 10
    verbose: int = 0


@dataclass(eq=False)
class Outcome:
    """What training leaves: the best factors by the validation, else the last ones.

    ``stopped`` is "epochs", "validation", "interrupted" or "diverged".
    """

    factors: Factors
    epoch: int
    looks: list[dict[str, float | None]] = field(default_factory=list)
    stopped: str = "epochs"


def train(
    engine: Engine,
    log: Log,
    start: Factors,
    settings: Settings,
    plan: Plan,
    first: int,
    validation: Log | None,
) -> Outcome:
    """Run epochs ``first``, ``first + 1``, ...; Ctrl-C ends them and keeps what was found."""
    began = time.monotonic()
    best = Outcome(start, first - 1)
    last_epoch = first + plan.epochs - 1
    most, waited, epoch = -1.0, 0, first - 1
    engine.prepare(log, start, settings)
    try:
        for epoch in range(first, last_epoch + 1):
            for t in range(settings.n_shards):
                engine.xi_step(Step(epoch, t))
                engine.sub_epoch(Step(epoch, t))
            if (epoch - first + 1) % plan.every and epoch != last_epoch:
                continue
            found = engine.collect()
            if not found.report.finite:
                best.stopped = "diverged"
                break
            look = _look(
                epoch,
                found.report,
                time.monotonic() - began,
                _precision(found.factors, log, validation, plan.k),
            )
            best.looks.append(asdict(look))
            if plan.verbose:
                print(look, file=sys.stderr, flush=True)
            if look.precision is None or look.precision > most:
                most, waited = look.precision or 0.0, 0
                best.factors, best.epoch = found.factors, epoch
            else:
                waited += 1
                if waited >= plan.patience:
                    best.stopped = "validation"
                    break
    except KeyboardInterrupt:
        best.stopped = "interrupted"
        _keep_interrupted(engine, best, epoch, validation)
    finally:
        engine.close()
    return best


def _keep_interrupted(engine: Engine, best: Outcome, epoch: int, validation: Log | None) -> None:
    """Without a validation, or before its first look, the newest factors are the best there are."""
    if validation is None or not best.looks:
        found = engine.collect()
        if found.report.finite:
            best.factors, best.epoch = found.factors, epoch


def _look(epoch: int, report: Report, seconds: float, precision: float | None) -> Look:
    spent = report.step_seconds + report.xi_seconds
    return Look(
        epoch,
        report.loss,
        report.xi_error,
        precision,
        report.pairs / max(report.step_seconds, 1e-9),
        report.xi_seconds / max(spent, 1e-9),
        seconds,
    )


def _precision(factors: Factors, log: Log, validation: Log | None, k: int) -> float | None:
    if validation is None:
        return None
    scores: Callable[..., object] = lambda users: factors.U[users] @ factors.V.T  # noqa: E731
    return evaluate(scores, validation, min(k, log.n_items), log).means()["precision"]


def complain(found: Outcome, advice: str) -> None:
    """Say that training diverged, if so: an error where there is nothing to keep, else a warning."""
    if found.stopped != "diverged":
        return
    if found.epoch == 0:
        raise SolverError(f"Vectors grew beyond all bounds before the first look: {advice}")
    warnings.warn(
        f"Vectors grew beyond all bounds; those of epoch {found.epoch} are kept: {advice}",
        ConvergenceWarning,
        stacklevel=5,
    )
