"""What trains a model, and what every engine promises.

An engine holds shards of users and passes blocks of items from shard to shard.  ``prepare`` splits the users into
``settings.n_shards`` shards, which keep their users' vectors and records to the end, ``xi_step`` renews ``xi`` of every
shard's records in its current block, ``sub_epoch`` visits these ``settings.n_passes`` times, ``collect`` returns the
factors, users and items in their own order, with the reports of the epochs since the last call, and ``close`` ends it.

A step is tagged (epoch, sub-epoch). Steps come in order, each with its ``sub_epoch``.  In sub-epoch t of p, the current
block of shard q is ``(q + t) mod p``; before the first step of an epoch the items get a new partition.  No two shards
ever share a row.

Engines give the same bits for the same seed and number of shards: all random numbers come from (seed, epoch, sub-epoch,
shard, sub-block) through :func:`seed_of`, all arithmetic is in ``shard.Shard``, and BLAS has one thread wherever a
shard works.  ``xi_step`` writes only ``xi``, so it may be repeated.  ``sub_epoch`` changes the vectors, so an engine
that may lose an answer has to remember the tag of the last completed step.  An epoch passes nothing but the factors to
the next.  So an engine that is prepared with what was collected after epoch e and goes on with epoch e + 1 gives the
bits of an engine that was never stopped.

Users are split once, items into random equal blocks in every epoch.  Sub-block k has ``B_k`` items and pairs an item y
only with items y' of the same sub-block.  Any two items share sub-block k with probability
``B_k (B_k - 1) / (n (n - 1))``.  So ``(n - 1)`` times the mean over the others of the sub-block has the sum over all
others as its expectation, whatever the sizes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Purposes of random numbers. The purpose is part of the seed, so no two purposes share numbers.
USERS, ITEMS, START, STEPS, VALIDATION, CHOICE = range(6)


def seed_of(seed: int, *tag: int) -> int:
    """64 bits from the seed of the model and a tag such as (purpose, epoch, sub-epoch, shard)."""
    words = np.random.SeedSequence([seed, *tag]).generate_state(1, np.uint64)
    return int(words[0])


def shards_of(n_users: int, n_shards: int, seed: int) -> list[Ints]:
    """The users of each shard, in random order; the sizes differ by at most one."""
    order = np.random.default_rng(seed_of(seed, USERS)).permutation(n_users)
    return np.array_split(order, n_shards)


@dataclass(frozen=True, eq=False)
class Partition:
    """The items of one epoch, in blocks of sub-blocks: blocks go from shard to shard; a sub-block fits into the cache.
    Sub-block k holds the positions ``edges[k] .. edges[k + 1] - 1``; block q begins with sub-block ``q n_parts``.
    """

    order: NDArray[np.int32]  # items by position (n_items,)
    place: NDArray[np.int32]  # position of each item (n_items,)
    edges: Ints  # (n_blocks * n_parts + 1,)
    n_blocks: int
    n_parts: int  # sub-blocks of a block

    def bounds(self, block: int) -> tuple[int, int]:
        """First position of a block, and that of the next."""
        return int(self.edges[block * self.n_parts]), int(self.edges[(block + 1) * self.n_parts])

    def items_of(self, block: int) -> NDArray[np.int32]:
        """Items of a block, by position."""
        return self.order[slice(*self.bounds(block))]

    def part_of(self) -> NDArray[np.int32]:
        """Sub-block of each item, int32 (n_items,)."""
        parts = np.arange(self.edges.size - 1, dtype=np.int32)
        return np.repeat(parts, np.diff(self.edges))[self.place]


def partition(n_items: int, n_blocks: int, n_parts: int, seed: int, epoch: int) -> Partition:
    """A random partition of the items for an epoch."""
    order = np.random.default_rng(seed_of(seed, ITEMS, epoch)).permutation(n_items).astype(np.int32)
    place = np.empty(n_items, dtype=np.int32)
    place[order] = np.arange(n_items, dtype=np.int32)
    pieces = n_blocks * n_parts
    edges = np.arange(pieces + 1, dtype=np.int64) * n_items // pieces
    return Partition(order, place, edges, n_blocks, n_parts)


def parts_for(n_items: int, n_blocks: int, n_factors: int, block_bytes: int) -> int:
    """Sub-blocks of a block, so that the vectors of one take at most ``block_bytes``, but at least two items each."""
    wanted = -(-n_items * n_factors * 4 // (n_blocks * block_bytes))
    return int(max(1, min(wanted, n_items // (2 * n_blocks))))


Floats = NDArray[np.float32]


class SubEpoch(NamedTuple):
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
    def none(cls, n_factors: int) -> "Factors":
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
class ShardSums:
    """Sums over records or pairs; reports of shards and steps can be added."""

    pairs: int = 0  # (y, y') that the steps used
    finite: bool = True  # False once a user's vector was not finite before a visit, but the last one
    logs: float = 0.0  # sum of log2 A over the records of the xi-step
    records: float = 0.0  # their number
    errors: float = 0.0  # sum of squared relative errors of A, where they were estimated
    n_errors: float = 0.0  # their number
    step_seconds: float = 0.0  # CPU time of the threads
    xi_seconds: float = 0.0

    def __add__(self, other: "ShardSums") -> "ShardSums":
        both = {name: getattr(self, name) + getattr(other, name) for name in vars(self) if name != "finite"}
        return ShardSums(finite=self.finite and other.finite, **both)

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
