"""The actor: a shard of users that stays where it is, and answers to tagged calls.

A call names its step.  Answers of the step in hand are kept, so that a call that comes twice, because its answer was
lost or its sender interrupted, is done once.  A call for a step whose block is not in hand, because the call that was
to bring the block failed, is refused with :class:`OutOfStepError` and changes nothing.

Nothing here knows Ray but :meth:`RayShard.node`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rerank.latent.engines.blocks import Partition
from rerank.latent.engines.interface import Floats, ItemBlock, Report, Settings, Step
from rerank.latent.engines.ray_messages import Rows, in_hand, joined, moving, pieces_of, rows_of, shares
from rerank.latent.engines.shard import Shard, dealt
from rerank.latent.log import Log


class OutOfStepError(Exception):
    """A call came for a step whose block is not in hand."""


class RayShard:
    """Users that stay, as an actor; it is told everything by calls, so that it can be told again after it was lost."""

    def __init__(self) -> None:
        # For as long as the process lives: threads of BLAS change the bits.
        self._limits = threadpool_limits(1, "blas")

    def node(self) -> tuple[str, int]:
        """Where it lives: the node of the cluster and the process."""
        import ray

        return str(ray.get_runtime_context().get_node_id()), os.getpid()

    def load(self, index: int, settings: Settings, n_items: int, cut: int, *parts: Any) -> None:
        """Take the shard's part of the log: ``cut`` slices of ``indptr``, then those of ``items``."""
        self.index, self.settings = index, settings
        self.log = Log(joined(parts[:cut]), joined(parts[cut:]), n_items)

    def restore(self, *parts: Floats) -> None:
        """Take users' vectors (slices) and squares (last), and forget the steps taken so far."""
        self.shard = Shard(self.index, self.log, joined(parts[:-1]), parts[-1].copy(), self.settings)
        self.pieces = pieces_of(self.log.n_items, self.shard.U.shape[1], self.settings)
        self._rooms = [self._room(), self._room()]
        self._coming: tuple[Step, set[int]] | None = None
        self._partitions: dict[int, Partition] = {}
        self._dealt: tuple[int, Any] = (0, None)
        self._answers: dict[int, tuple[Rows, Report]] = {}
        self._step: Step | None = None

    def deal(self, epoch: int) -> Any:
        """Rows of the block in hand for each block of a new epoch, each in :func:`shares` messages.

        They are copies, kept until the first visit of the epoch: by then nobody can ask again.
        """
        if self._dealt[0] != epoch:
            if epoch <= self.block.epoch:
                raise OutOfStepError(
                    f"Epoch {epoch} is to be dealt, but the block in hand is of {self._step}."
                )
            self._dealt = epoch, self._deal(epoch)
        return self._dealt[1]

    def gather(self, step: Step, before: Step, *rows: Rows) -> None:
        """Take the block of a step of a new epoch, whose rows come from the blocks of all shards in step ``before``."""
        if step == self._step:
            return
        p, block = self.settings.n_shards, self._block(step)
        for q in range(p):
            old, new = self._items(before.epoch), self._items(step.epoch)
            _, to = moving(old, new, in_hand(q, before, p), block.index)
            given = rows[q * len(rows) // p : (q + 1) * len(rows) // p]
            block.V[to], block.GV[to] = (joined(parts) for parts in zip(*given))
        self._hold(step, block)

    def bring(self, step: Step, k: int, piece: Rows) -> None:
        """Copy piece ``k`` of the block of a step that is still to come, because it is going to be changed."""
        if step == self._step:
            return
        if self._coming is None or self._coming[0] != step:
            self._coming = step, set()
        block = self._block(step)
        rows = rows_of(self._items(step.epoch), block.index, self.pieces[k])
        block.V[rows], block.GV[rows] = piece
        self._coming[1].add(k)
        if len(self._coming[1]) == len(self.pieces):
            self._hold(step, block)

    def run(self, step: Step, k: int, renew: bool, last: Rows | None = None) -> tuple[Rows, Report]:
        """Visit the records in piece ``k`` of the step's block, and hand the piece on.

        The call for the first piece brings the last one, unless the block was gathered; with ``renew`` it renews ``xi``
        before.
        """
        if last is not None:
            self.bring(step, len(self.pieces) - 1, last)
        if step != self._step or (k and k - 1 not in self._answers):
            raise OutOfStepError(f"Piece {k} of {step} came, but the block in hand is of {self._step}.")
        self._dealt = (0, None)
        if k not in self._answers:
            self._answers[k] = self._run(step, k, renew)
        return self._answers[k]

    def users(self, *parts: slice) -> Any:
        """Users' vectors in slices, and the squares last."""
        return *(self.shard.U[some] for some in parts), self.shard.GU

    def hand(self) -> Any:
        """Number of the block in hand, and its pieces."""
        where = self._items(self.block.epoch), self.block.index
        return self.block.index, *(self._piece(rows_of(*where, piece)) for piece in self.pieces)

    def _deal(self, epoch: int) -> Any:
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
            found = dealt(self.log.n_items, self.shard.U.shape[1], self.settings, epoch)
            self._partitions = {e: p for e, p in self._partitions.items() if e == newest} | {epoch: found}
        return self._partitions[epoch]

    def _room(self) -> Rows:
        most = -(-self.log.n_items // self.settings.n_shards)
        return np.empty((most, self.shard.U.shape[1]), np.float32), np.empty(most, np.float32)

    def _block(self, step: Step) -> ItemBlock:
        """For the numbers of a block to come, beside the one in hand."""
        index = in_hand(self.index, step, self.settings.n_shards)
        low, high = self._items(step.epoch).bounds(index)
        V, GV = self._rooms[1]
        return ItemBlock(step.epoch, index, V[: high - low], GV[: high - low])

    def _hold(self, step: Step, block: ItemBlock) -> None:
        self._step, self.block, self._answers, self._coming = step, block, {}, None
        self._rooms.reverse()

    def _piece(self, rows: slice) -> Rows:
        return self.block.V[rows], self.block.GV[rows]
