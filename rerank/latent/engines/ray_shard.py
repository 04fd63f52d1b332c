"""The Ray actor of a shard: it keeps its users and answers calls that name their step.

The answers of the current step are kept. So a call that comes twice, because its answer was lost or its sender was
interrupted, is carried out once.  If the call that was to bring a block failed, calls for its step are refused with
:class:`~rerank.latent.engines.ray_messages.OutOfStepError` and change nothing.

Only :meth:`RayShard.node` uses Ray.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rerank.latent.engines.blocks import Partition
from rerank.latent.engines.interface import Floats, ItemBlock, Report, Settings, Step
from rerank.latent.engines.ray_messages import (
    OutOfStepError,
    Rows,
    block_of,
    joined,
    moving,
    pieces_of,
    rows_of,
    shares,
)
from rerank.latent.engines.shard import Shard
from rerank.latent.log import Log


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
        self._buffers = [self._buffer(), self._buffer()]
        self._arriving: tuple[Step, set[int]] | None = None
        self._partitions: dict[int, Partition] = {}
        self._outgoing: tuple[int, Any] = (0, None)
        self._answers: dict[int, tuple[Rows, Report]] = {}
        self._step: Step | None = None

    def scatter(self, epoch: int) -> Any:
        """Rows of the current block for each block of a new epoch, each in :func:`shares` messages.

        They are copies, kept until the first visit of the epoch: after that nobody asks for them again.
        """
        if self._outgoing[0] != epoch:
            if epoch <= self.block.epoch:
                raise OutOfStepError(f"Epoch {epoch} is to begin, but the current block is of {self._step}.")
            self._outgoing = epoch, self._rows_for(epoch)
        return self._outgoing[1]

    def gather(self, step: Step, before: Step, *rows: Rows) -> None:
        """Store the block of the first step of an epoch, from the rows that all shards had in step ``before``."""
        if step == self._step:
            return
        p, block = self.settings.n_shards, self._next_block(step)
        for q in range(p):
            old, new = self._items(before.epoch), self._items(step.epoch)
            _, to = moving(old, new, block_of(q, before, p), block.index)
            given = rows[q * len(rows) // p : (q + 1) * len(rows) // p]
            block.V[to], block.GV[to] = (joined(parts) for parts in zip(*given))
        self._begin(step, block)

    def bring(self, step: Step, k: int, piece: Rows) -> None:
        """Copy piece ``k`` of the block of a coming step, because the step changes it in place."""
        if step == self._step:
            return
        if self._arriving is None or self._arriving[0] != step:
            self._arriving = step, set()
        block = self._next_block(step)
        rows = rows_of(self._items(step.epoch), block.index, self.pieces[k])
        block.V[rows], block.GV[rows] = piece
        self._arriving[1].add(k)
        if len(self._arriving[1]) == len(self.pieces):
            self._begin(step, block)

    def run(self, step: Step, k: int, renew: bool, last: Rows | None = None) -> tuple[Rows, Report]:
        """Visit the records in piece ``k`` of the step's block, and return the piece.

        The call for the first piece brings the last piece, unless the block was gathered. With ``renew`` it renews
        ``xi`` first.
        """
        if last is not None:
            self.bring(step, len(self.pieces) - 1, last)
        if step != self._step or (k and k - 1 not in self._answers):
            raise OutOfStepError(f"Piece {k} of {step} was called, but the current block is of {self._step}.")
        self._outgoing = (0, None)
        if k not in self._answers:
            self._answers[k] = self._run(step, k, renew)
        return self._answers[k]

    def users(self, *parts: slice) -> Any:
        """Users' vectors in slices, and AdaGrad's squares last."""
        return *(self.shard.U[some] for some in parts), self.shard.GU

    def current(self) -> Any:
        """Number of the current block, and its pieces."""
        where = self._items(self.block.epoch), self.block.index
        return self.block.index, *(self._piece(rows_of(*where, piece)) for piece in self.pieces)

    def _rows_for(self, epoch: int) -> Any:
        old, new = self._items(self.block.epoch), self._items(epoch)
        n_shards = self.settings.n_shards
        each = shares(self.log.n_items, self.shard.U.shape[1], n_shards)
        found: list[Rows] = []
        for target in range(n_shards):
            rows, _ = moving(old, new, self.block.index, target)
            found += [(self.block.V[some], self.block.GV[some]) for some in np.array_split(rows, each)]
        return tuple(found) if len(found) > 1 else found[0]

    def _run(self, step: Step, k: int, renew: bool) -> tuple[Rows, Report]:
        report = self.shard.xi_step(step, self.block) if renew and k == 0 else Report()
        report += self.shard.run(step, self.block, self.pieces[k])
        return self._piece(rows_of(self._items(step.epoch), self.block.index, self.pieces[k])), report

    def _items(self, epoch: int) -> Partition:
        if epoch not in self._partitions:
            newest = max(self._partitions, default=epoch)
            found = self.settings.partition(self.log.n_items, self.shard.U.shape[1], epoch)
            self._partitions = {e: p for e, p in self._partitions.items() if e == newest} | {epoch: found}
        return self._partitions[epoch]

    def _buffer(self) -> Rows:
        most = -(-self.log.n_items // self.settings.n_shards)
        return np.empty((most, self.shard.U.shape[1]), np.float32), np.empty(most, np.float32)

    def _next_block(self, step: Step) -> ItemBlock:
        """The coming block, in the buffer that the current one does not use."""
        index = block_of(self.index, step, self.settings.n_shards)
        low, high = self._items(step.epoch).bounds(index)
        V, GV = self._buffers[1]
        return ItemBlock(step.epoch, index, V[: high - low], GV[: high - low])

    def _begin(self, step: Step, block: ItemBlock) -> None:
        self._step, self.block, self._answers, self._arriving = step, block, {}, None
        self._buffers.reverse()

    def _piece(self, rows: slice) -> Rows:
        return self.block.V[rows], self.block.GV[rows]
