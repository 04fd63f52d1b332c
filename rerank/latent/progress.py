"""Where training is: what was seen at each look, the best factors so far, and how long to go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rerank.latent.engines.interface import Collected, Factors, Report


@dataclass(frozen=True)
class Look:
    """What was seen between two looks at the model.

    Attributes
    ----------
    epoch : int
    loss : float
        Mean of log2 A over the records, at their last xi-step; 0 for WARP, which has none.
    xi_error : float or None
        Relative standard error of A, root mean square; 0 where it is exact or not used (WARP), None where samples were
        too small to tell.
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
    xi_error: float | None
    precision: float | None
    pairs_per_second: float
    xi_share: float
    seconds: float

    def __str__(self) -> str:
        validated = "" if self.precision is None else f"  precision {self.precision:.4f}"
        error = "not known" if self.xi_error is None else f"{self.xi_error:.1%}"
        return (
            f"epoch {self.epoch:4d}  loss {self.loss:.4f}{validated}  {self.pairs_per_second / 1e6:.1f} M pairs/s  "
            f"xi {self.xi_share:.0%} of the time, error {error}  {self.seconds:.1f} s"
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
    save_every : int
        Epochs between checkpoints, where there are any.
    """

    epochs: int
    every: int = 5
    patience: int = 3
    k: int = 10
    verbose: int = 0
    save_every: int = 1


@dataclass(eq=False)
class Progress:
    """All that training has to know to go on.

    Attributes
    ----------
    factors, epoch
        The newest that were collected, and after which epoch.
    best, best_epoch
        Those to keep: the best by the validation, else those of the last look.
    looks : list of dict
        :class:`Look` by look.
    report : Report
        Of the epochs since the last look.
    most, waited
        Best precision, and looks since then.
    seconds : float
        Wall time spent.
    stopped : str
        "epochs", "validation", "interrupted" or "diverged"; empty while training goes on.
    """

    factors: Factors
    epoch: int
    best: Factors
    best_epoch: int
    looks: list[dict[str, Any]] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    most: float = -1.0
    waited: int = 0
    seconds: float = 0.0
    stopped: str = ""

    def take(self, found: Collected, epoch: int) -> None:
        """Note what the engine has collected after an epoch."""
        self.factors, self.epoch = found.factors, epoch
        for report in found.reports:
            self.report += report
        if not (self.report.finite and self.factors.finite):
            self.stopped = "diverged"

    def look(self, precision: float | None, patience: int) -> Look:
        """Compare the newest factors with the best, and end training after ``patience`` looks in vain."""
        r, self.report = self.report, Report()
        rate = r.pairs / max(r.step_seconds, 1e-9)
        share = r.xi_seconds / max(r.step_seconds + r.xi_seconds, 1e-9)
        seen = Look(self.epoch, r.loss, r.xi_error, precision, rate, share, self.seconds)
        self.looks.append(asdict(seen))
        if precision is None or precision > self.most:
            self.most, self.waited = precision or 0.0, 0
            self.best, self.best_epoch = self.factors, self.epoch
        else:
            self.waited += 1
            if self.waited >= patience:
                self.stopped = "validation"
        return seen
