"""Which shard works on which users and items: users are split once, items into random equal blocks in every epoch.

Sub-block k has ``B_k`` items and pairs an item y only with items y' of the same sub-block.  Any two items share
sub-block k with probability ``B_k (B_k - 1) / (n (n - 1))``.  So ``(n - 1)`` times the mean over the others of the
sub-block has the sum over all others as its expectation, whatever the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Purposes of random numbers. The purpose is part of the seed, so no two purposes share numbers.
USERS, ITEMS, START, STEPS, VALIDATION = range(5)


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
    """The items of one epoch, in blocks of sub-blocks.

    Attributes
    ----------
    order : int32 (n_items,)
        Items by position.
    place : int32 (n_items,)
        Position of each item.
    edges : int64 (n_blocks * n_parts + 1,)
        Sub-block k holds the positions ``edges[k] .. edges[k + 1] - 1``; block q begins with sub-block ``q n_parts``.
    n_blocks, n_parts : int
        Blocks, and sub-blocks of a block. Blocks go from shard to shard; a sub-block fits into the cache.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    edges: Ints
    n_blocks: int
    n_parts: int

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
