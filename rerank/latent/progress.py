"""The state of training: its history, and the best factors so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rerank.latent.engines.interface import Collected, Factors, Report


@dataclass(frozen=True)
class HistoryEntry:
    """What an evaluation during training found, over the epochs since the one before.

    Attributes
    ----------
    epoch : int
    loss : float
        Mean of log2 A over the records, at their last xi-step; 0 for WARP, which has none.
    xi_error : float or None
        Relative standard error of A, root mean square. 0 if A is exact or not used (WARP), None if the samples were too
        small to estimate it.
    precision : float or None
        Precision@``validation_k`` on the validation part.
    pairs_per_second : float
        Pairs (y, y') for each second of a thread in the steps.
    xi_share : float
        Share of the xi-step in the threads' time.
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


@dataclass(eq=False)
class Progress:
    """All that is needed to go on with training.

    Attributes
    ----------
    factors, epoch
        The newest collected factors, and their epoch.
    best, best_epoch
        The factors to keep: the best on the validation part, else those of the last evaluation.
    history : list of dict
        A :class:`HistoryEntry` for each evaluation.
    report : Report
        Of the epochs since the last evaluation.
    best_precision, waited
        The best precision, and the number of evaluations since then.
    seconds : float
        Wall time spent.
    stopped : str
        "epochs", "validation", "interrupted" or "diverged"; empty while training goes on.
    """

    factors: Factors
    epoch: int
    best: Factors
    best_epoch: int
    history: list[dict[str, Any]] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    best_precision: float = -1.0
    waited: int = 0
    seconds: float = 0.0
    stopped: str = ""

    def update(self, found: Collected, epoch: int) -> None:
        """Store what the engine collected after an epoch."""
        self.factors, self.epoch = found.factors, epoch
        for report in found.reports:
            self.report += report
        if not (self.report.finite and self.factors.finite):
            self.stopped = "diverged"

    def evaluated(self, precision: float | None, patience: int) -> HistoryEntry:
        """Compare the newest factors with the best; after ``patience`` evaluations without a better one, stop."""
        r, self.report = self.report, Report()
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
