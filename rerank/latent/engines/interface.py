"""What trains a model, and what every engine promises.

An engine holds shards of users and passes blocks of items from shard to shard.  It answers four calls:

``prepare(log, start, settings)``
    Split the users into ``settings.n_shards`` shards; each keeps its users' vectors and records until the end.
``xi_step(step)``
    Every shard renews ``xi`` of its records in its current block.
``sub_epoch(step)``
    Every shard visits its records in its current block, ``settings.n_passes`` times.
``collect()``
    The current factors, users and items in their own order, and the reports of the shards since the last call.

A step is tagged (epoch, sub-epoch). Steps come in order, each with its ``sub_epoch``.  In sub-epoch t of p, the current
block of shard q is ``(q + t) mod p``; before the first step of an epoch the items get a new partition.  No two shards
ever share a row.

Engines give the same bits for the same seed and number of shards: all random numbers come from (seed, epoch, sub-epoch,
shard, sub-block) through ``blocks.seed_of``, all arithmetic is in ``shard.Shard``, and BLAS has one thread wherever a
shard works.  ``xi_step`` writes only ``xi``, so it may be repeated.  ``sub_epoch`` changes the vectors, so an engine
that may lose an answer has to remember the tag of the last completed step.  An epoch passes nothing but the factors to
the next.  So an engine that is prepared with what was collected after epoch e and goes on with epoch e + 1 gives the
bits of an engine that was never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.latent.engines.blocks import Partition, partition, parts_for
from rerank.latent.log import Log

Floats = NDArray[np.float32]


class Step(NamedTuple):
    """Where training is: epochs count from 1, sub-epochs from 0."""

    epoch: int
    sub_epoch: int


@dataclass(frozen=True)
class Settings:
    """The options of a run by the names of :class:`rerank.latent.LatentRoBiRank`; ``alpha`` and shards as they are."""

    n_factors: int = 32
    init_scale: float = 0.02
    n_shards: int = 1
    loss: str = "robirank"
    alpha: float = 0.1
    learning_rate: float = 0.3
    decay: float = 10.0
    optimizer: str = "adagrad"
    n_negatives: int = 200
    visit_size: int = 8
    popular: float = 0.7
    n_passes: int = 1
    xi: str = "auto"
    xi_samples: int = 2000
    block_bytes: int = 2**22
    seed: int = 0
    n_epochs: int = 40
    evaluate_every: int = 5
    patience: int = 3
    validation_k: int = 10
    checkpoint_every: int = 1
    verbose: int = 0

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, from 1."""
        return self.learning_rate / (1.0 + (epoch - 1) / self.decay)

    def partition(self, n_items: int, n_factors: int, epoch: int) -> Partition:
        """The blocks of an epoch; every shard and the driver compute the same."""
        parts = parts_for(n_items, self.n_shards, n_factors, self.block_bytes)
        return partition(n_items, self.n_shards, parts, self.seed, epoch)


@dataclass(frozen=True, eq=False)
class Factors:
    """Vectors of users ``U`` (n_users, d) and items ``V`` (n_items, d), and AdaGrad's sums of squares (n,); float32."""

    U: Floats
    V: Floats
    GU: Floats
    GV: Floats

    @classmethod
    def none(cls, n_factors: int) -> Factors:
        """Those of no users and no items."""
        rows, squares = np.empty((0, n_factors), np.float32), np.empty(0, np.float32)
        return cls(rows, rows, squares, squares)

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        # The minimum and maximum of numbers with a NaN are NaN, and they need no boolean array of the same length.
        ends = [end for M in (self.U, self.V, self.GU, self.GV) if M.size for end in (M.min(), M.max())]
        return bool(np.isfinite(ends).all())


@dataclass(frozen=True, eq=False)
class ItemBlock:
    """Item vectors that go from shard to shard: block ``index`` of its epoch, ``V`` (B, d) and ``GV`` (B,)."""

    epoch: int
    index: int
    V: Floats
    GV: Floats


@dataclass(eq=False)
class Report:
    """Sums over records or pairs; reports of shards and steps can be added.

    Attributes
    ----------
    pairs : int
        Pairs (y, y') used by the steps.
    finite : bool
        False once a user's vector was not finite before a visit. Vectors are not checked after their last visit.
    logs, records : float
        Sum of log2 A over the records of the xi-step, and their number.
    errors, n_errors : float
        Sum of squared relative errors of A over the records whose error was estimated, and their number.
    step_seconds, xi_seconds : float
        CPU time of the threads.
    """

    pairs: int = 0
    finite: bool = True
    logs: float = 0.0
    records: float = 0.0
    errors: float = 0.0
    n_errors: float = 0.0
    step_seconds: float = 0.0
    xi_seconds: float = 0.0

    def __add__(self, other: Report) -> Report:
        both = {name: getattr(self, name) + getattr(other, name) for name in vars(self) if name != "finite"}
        return Report(finite=self.finite and other.finite, **both)

    @property
    def loss(self) -> float:
        """Mean of log2 A: the objective without its penalty, for one record."""
        return self.logs / max(self.records, 1.0)

    @property
    def xi_error(self) -> float | None:
        """Root mean square of the relative standard error of A. On average 1/A is too large by the square of it.

        None if there was an xi-step but its error is unknown, because samples had only one other item.
        """
        if not self.n_errors:
            return None if self.records else 0.0
        return float(np.sqrt(self.errors / self.n_errors))


@dataclass(frozen=True, eq=False)
class Collected:
    """An answer of :meth:`Engine.collect`; ``reports`` are those of the epochs since the last call, in order."""

    factors: Factors
    reports: tuple[Report, ...] = ()

    @property
    def report(self) -> Report:
        """Their sum."""
        return sum(self.reports, Report())


class Engine(Protocol):
    """The four calls, as the module describes them, and the end."""

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Split the users into shards."""

    def xi_step(self, step: Step) -> None:
        """Renew ``xi`` in the current blocks."""

    def sub_epoch(self, step: Step) -> None:
        """Visit the records in the current blocks."""

    def collect(self) -> Collected:
        """Factors in their own order, and the reports since the last call."""

    def close(self) -> None:
        """Free what the engine holds."""
