"""What trains a model, and what every engine promises.

An engine holds shards of users and passes blocks of items round among them.  It answers four calls:

``prepare(log, start, settings)``
    Cut the users into ``settings.n_shards`` shards; each keeps its users' vectors and records until the end.
``xi_step(step)``
    Every shard renews ``xi`` of its records in the block in hand.
``sub_epoch(step)``
    Every shard visits its records in the block in hand, ``settings.n_passes`` times.
``collect()``
    The factors as they are, users and items in their own order, and what the shards reported since the last call.

A step is tagged (epoch, sub-epoch); steps come in order, each with its ``sub_epoch``.  In sub-epoch t of p, shard q has
block ``(q + t) mod p`` in hand; where the epoch is a new one, the items are dealt out anew before anything else.
No two shards ever share a row.  All randomness comes from (seed, epoch, sub-epoch, shard, sub-block) through
``blocks.seed_of``, all arithmetic is in ``shard.Shard``, and BLAS has one
thread
wherever a shard works, so that engines give the same bits for the same seed and number of shards.  ``xi_step`` writes
``xi`` and nothing else, so it may be repeated; ``sub_epoch`` moves the vectors, so an engine that may lose an answer
has to keep the tag of what was done last.  Nothing but the factors goes over from an epoch to the next, so an engine
that is prepared with what was collected after epoch e and goes on with epoch e + 1 gives the bits of one that was
never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.latent.log import Log

Floats = NDArray[np.float32]


class Step(NamedTuple):
    """Where training is: epochs from 1, sub-epochs from 0."""

    epoch: int
    sub_epoch: int


@dataclass(frozen=True)
class Settings:
    """All that a shard has to know; the options of the same names of :class:`rerank.latent.LatentRoBiRank`."""

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

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, from 1."""
        return self.learning_rate / (1.0 + (epoch - 1) / self.decay)


@dataclass(frozen=True, eq=False)
class Factors:
    """Vectors of users ``U`` (n_users, d) and items ``V`` (n_items, d), and the squares of AdaGrad (n,); float32."""

    U: Floats
    V: Floats
    GU: Floats
    GV: Floats

    def copy(self) -> Factors:
        """The same numbers in memory of their own."""
        return Factors(self.U.copy(), self.V.copy(), self.GU.copy(), self.GV.copy())

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        # NaN is the least and the largest of whatever it is among; no array of as many truths is made.
        ends = [end for M in (self.U, self.V, self.GU, self.GV) if M.size for end in (M.min(), M.max())]
        return bool(np.isfinite(ends).all())


@dataclass(frozen=True, eq=False)
class ItemBlock:
    """Items that travel: number ``index`` of its epoch, ``V`` (B, d) and ``GV`` (B,) by position."""

    epoch: int
    index: int
    V: Floats
    GV: Floats


@dataclass(eq=False)
class Report:
    """Sums over records or pairs, which add up over shards and steps.

    Attributes
    ----------
    pairs : int
        Pairs (y, y') used by the steps.
    finite : bool
        False as soon as a visit found its user's vector not to be; where the last visits went, only the factors tell.
    logs, records : float
        Sum of log2 A over the records of the xi-step, and their number.
    errors, looked : float
        Sum of squared relative errors of A over ``looked`` records, of which the error is known.
    step_seconds, xi_seconds : float
        Of the threads' own time.
    """

    pairs: int = 0
    finite: bool = True
    logs: float = 0.0
    records: float = 0.0
    errors: float = 0.0
    looked: float = 0.0
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
        """Root mean square of the relative standard error of A; 1/A is too large by its square, in the mean.

        None where there was an xi-step and its error is not known: samples of a single other item have none.
        """
        if not self.looked:
            return None if self.records else 0.0
        return float(np.sqrt(self.errors / self.looked))


@dataclass(frozen=True, eq=False)
class Collected:
    """An answer of :meth:`Engine.collect`; ``reports`` are the epochs' since the last one, in order."""

    factors: Factors
    reports: tuple[Report, ...] = ()

    @property
    def report(self) -> Report:
        """Their sum."""
        return sum(self.reports, Report())


class Engine(Protocol):
    """The four calls, as the module describes them."""

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Cut the users into shards."""

    def xi_step(self, step: Step) -> None:
        """Renew ``xi`` for the blocks in hand."""

    def sub_epoch(self, step: Step) -> None:
        """Visit the records in the blocks in hand."""

    def collect(self) -> Collected:
        """Factors in their own order, and the epochs' reports since the last call."""

    def close(self) -> None:
        """Free what the engine holds."""
