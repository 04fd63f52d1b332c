"""How vectors are cut into messages of at most 64 MB between machines.

A block is sent in pieces of whole sub-blocks, each as soon as it has been visited, so most of a block is sent while the
shard still works on the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.latent.engines.blocks import Partition, parts_for
from rerank.latent.engines.interface import Factors, Floats, Settings, Step

MOST = 2**26  # bytes of a message
_PIECES = 4  # of a block with as many sub-blocks: then work hides all of the transfer but a fourth

Rows = tuple[Floats, Floats]  # V (n, d) and GV (n,)


class OutOfStepError(Exception):
    """A call came for a step whose block the shard does not have."""


def block_of(shard: int, step: Step, n_shards: int) -> int:
    """The block that a shard works on in a step."""
    return (shard + step.sub_epoch) % n_shards


def pieces_of(n_items: int, n_factors: int, settings: Settings) -> list[tuple[int, int]]:
    """First sub-block of each piece of a block, and the one behind its last; counted from the first of the block."""
    parts = parts_for(n_items, settings.n_shards, n_factors, settings.block_bytes)
    part_bytes = 4 * n_factors * -(-n_items // (parts * settings.n_shards))
    fit = max(1, MOST // part_bytes)
    count = max(min(_PIECES, parts), -(-parts // fit))
    edges = [k * parts // count for k in range(count + 1)]
    return list(itertools.pairwise(edges))


def rows_of(items: Partition, block: int, piece: tuple[int, int]) -> slice:
    """The rows of a block that are in a piece."""
    first = block * items.n_parts
    low, high = items.edges[first + piece[0]], items.edges[first + piece[1]]
    return slice(int(low - items.edges[first]), int(high - items.edges[first]))


def slices(n_rows: int, row_bytes: int) -> list[slice]:
    """Rows cut into messages; at least one."""
    most = max(1, MOST // row_bytes)
    return [slice(low, min(low + most, n_rows)) for low in range(0, max(n_rows, 1), most)]


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Slices as one new array; what comes out of an object store is read-only."""
    return np.concatenate(parts) if len(parts) > 1 else parts[0].copy()


def cut_users(factors: Factors, users: NDArray[np.int64]) -> list[Floats]:
    """``U`` of some users in messages, and ``GU`` in the last."""
    U = factors.U[users]
    return [*(U[some] for some in slices(len(U), 4 * U.shape[1])), factors.GU[users]]
