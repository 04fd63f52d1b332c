"""Who works on what: users are split once, items in random equal blocks that are drawn anew each epoch.

Sub-block k of ``B_k`` items pairs an item y with the items y' of the same sub-block only.  A pair shares sub-block k
with probability ``B_k (B_k - 1) / (n (n - 1))``, whatever the pair, so that ``(n - 1)`` times the mean over the
others of the sub-block has the sum over all others as its expectation, whatever the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# What a draw is for; the last word of its seed, so that no two purposes share numbers.
USERS, ITEMS, START, STEPS, VALIDATION = range(5)


def seed_of(seed: int, *tag: int) -> int:
    """64 bits from the seed of the model and a tag such as (purpose, epoch, sub-epoch, shard)."""
    words = np.random.SeedSequence([seed, *tag]).generate_state(1, np.uint64)
    return int(words[0])


def shards_of(n_users: int, n_shards: int, seed: int) -> list[Ints]:
    """Users of each shard: random, of equal number but for one, in an order that is random too."""
    order = np.random.default_rng(seed_of(seed, USERS)).permutation(n_users)
    return np.array_split(order, n_shards)


@dataclass(frozen=True, eq=False)
class Partition:
    """The items of one epoch, dealt out.

    Attributes
    ----------
    order : int32 (n_items,)
        Items by position.
    place : int32 (n_items,)
        Position of each item.
    edges : int64 (n_blocks * n_parts + 1,)
        Sub-block k holds the positions ``edges[k] .. edges[k + 1]``; block q the sub-blocks ``q n_parts ..``.
    n_blocks, n_parts : int
        Blocks travel from shard to shard; their parts fit into the cache.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    edges: Ints
    n_blocks: int
    n_parts: int

    def bounds(self, block: int) -> tuple[int, int]:
        """First position of a block, and that of the next."""
        return int(self.edges[block * self.n_parts]), int(self.edges[(block + 1) * self.n_parts])

    def part_of(self) -> NDArray[np.int32]:
        """Sub-block of each item, int32 (n_items,)."""
        parts = np.arange(self.edges.size - 1, dtype=np.int32)
        return np.repeat(parts, np.diff(self.edges))[self.place]


def partition(n_items: int, n_blocks: int, n_parts: int, seed: int, epoch: int) -> Partition:
    """Deal out the items for an epoch."""
    order = np.random.default_rng(seed_of(seed, ITEMS, epoch)).permutation(n_items).astype(np.int32)
    place = np.empty(n_items, dtype=np.int32)
    place[order] = np.arange(n_items, dtype=np.int32)
    pieces = n_blocks * n_parts
    edges = np.arange(pieces + 1, dtype=np.int64) * n_items // pieces
    return Partition(order, place, edges, n_blocks, n_parts)


def parts_for(n_items: int, n_blocks: int, n_factors: int, block_bytes: int) -> int:
    """Sub-blocks of a block, so that the vectors of one take ``block_bytes`` at most and two items at least."""
    wanted = -(-n_items * n_factors * 4 // (n_blocks * block_bytes))
    return int(max(1, min(wanted, n_items // (2 * n_blocks))))
