"""The Ray actor of a shard: it keeps its users and answers calls that name their step.

The answers of the current step are kept. So a call that comes twice, because its answer was lost or its sender was
interrupted, is carried out once.  If the call that was to bring a block failed, calls for its step are refused with
:class:`OutOfStepError` and change nothing.

Vectors are cut into messages of at most 64 MB.  A block is sent in pieces of whole sub-blocks, each as soon as it has
been visited, so most of a block is sent while the shard still works on the rest.

Only :meth:`RayShard.node` uses Ray.
"""

import itertools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rerank.latent.engines.interface import Floats, ItemBlock, Partition, Settings, ShardSums, SubEpoch, parts_for
from rerank.latent.engines.shard import Shard
from rerank.latent.log import Log

MOST = 2**26  # bytes of a message
_PIECES = 4  # of a block with as many sub-blocks: then work hides all of the transfer but a fourth

Rows = tuple[Floats, Floats]  # V (n, d) and GV (n,)


class OutOfStepError(Exception):
    """A call came for a step whose block the shard does not have."""


def block_of(shard: int, step: SubEpoch, n_shards: int) -> int:
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


class RayShard:
    """A shard of users as an actor. All it knows comes by calls, so a new actor can be given the same after a loss."""

    def __init__(self) -> None:
        # For the life of the process: more BLAS threads would change the bits.
        self._limits = threadpool_limits(1, "blas")

    def node(self) -> tuple[str, int]:
        """The node of the cluster and the process where the actor lives."""
        import ray

        return str(ray.get_runtime_context().get_node_id()), os.getpid()

    def load(self, index: int, settings: Settings, n_items: int, cut: int, *parts: Any) -> None:
        """Store the shard's part of the log: ``cut`` slices of ``indptr``, then those of ``items``."""
        self.index, self.settings = index, settings
        self.log = Log(joined(parts[:cut]), joined(parts[cut:]), n_items)

    def restore(self, *parts: Floats) -> None:
        """Store users' vectors (slices) and AdaGrad's squares (last), and forget all steps so far."""
        self.shard = Shard(self.index, self.log, joined(parts[:-1]), parts[-1].copy(), self.settings)
        self.pieces = pieces_of(self.log.n_items, self.shard.U.shape[1], self.settings)
        most, d = -(-self.log.n_items // self.settings.n_shards), self.shard.U.shape[1]
        self._buffers = [(np.empty((most, d), np.float32), np.empty(most, np.float32)) for _ in range(2)]
        self._arriving: tuple[SubEpoch, set[int]] | None = None
        self._partition: tuple[int, Partition] | None = None
        self._answers: dict[int, tuple[Rows, ShardSums]] = {}
        self._step: SubEpoch | None = None

    def bring(self, step: SubEpoch, k: int, piece: Rows) -> None:
        """Copy piece ``k`` of the block of a coming step, because the step changes it in place."""
        if step == self._step:
            return
        if self._arriving is None or self._arriving[0] != step:
            self._arriving = step, set()
        index = block_of(self.index, step, self.settings.n_shards)
        items, (V, GV) = self._items(step.epoch), self._buffers[1]  # which the current block does not use
        low, high = items.bounds(index)
        block = ItemBlock(step.epoch, index, V[: high - low], GV[: high - low])
        rows = rows_of(items, index, self.pieces[k])
        block.V[rows], block.GV[rows] = piece
        self._arriving[1].add(k)
        if len(self._arriving[1]) == len(self.pieces):
            self._step, self.block, self._answers, self._arriving = step, block, {}, None
            self._buffers.reverse()

    def run(self, step: SubEpoch, k: int, renew: bool, last: Rows | None = None) -> tuple[Rows, ShardSums]:
        """Visit the records in piece ``k`` of the step's block, and return the piece. The call for the first piece
        brings the last piece. With ``renew`` it renews ``xi`` first.
        """
        if last is not None:
            self.bring(step, len(self.pieces) - 1, last)
        if step != self._step or (k and k - 1 not in self._answers):
            raise OutOfStepError(f"Piece {k} of {step} was called, but the current block is of {self._step}.")
        if k not in self._answers:
            report = self.shard.xi_step(step, self.block) if renew and k == 0 else ShardSums()
            report += self.shard.run(step, self.block, self.pieces[k])
            self._answers[k] = self._piece(k), report
        return self._answers[k]

    def users(self, *parts: slice) -> Any:
        """Users' vectors in slices, and AdaGrad's squares last."""
        return *(self.shard.U[some] for some in parts), self.shard.GU

    def current(self) -> Any:
        """Number of the current block, and its pieces."""
        return self.block.index, *map(self._piece, range(len(self.pieces)))

    def _items(self, epoch: int) -> Partition:
        if self._partition is None or self._partition[0] != epoch:
            n, d = self.log.n_items, self.shard.U.shape[1]
            self._partition = epoch, self.settings.partition(n, d, epoch)
        return self._partition[1]

    def _piece(self, k: int) -> Rows:
        rows = rows_of(self._items(self.block.epoch), self.block.index, self.pieces[k])
        return self.block.V[rows], self.block.GV[rows]
