"""A shard of users: their vectors and records, and the arithmetic of a step."""

import time

import numpy as np

from rerank.latent.engines.interface import STEPS, Floats, ItemBlock, Settings, ShardSums, SubEpoch, seed_of
from rerank.latent.kernels import visits
from rerank.latent.kernels.steps import robirank, warp
from rerank.latent.kernels.xi import renew
from rerank.latent.log import Log


class Shard:
    """The users of a shard, who stay in it, and the steps on item blocks that are passed to it. ``log`` has their
    records in the order of the rows of ``U`` (n, d), which is changed in place, as is ``GU`` (n,).
    """

    def __init__(self, index: int, log: Log, U: Floats, GU: Floats, settings: Settings) -> None:
        self.index, self.log, self.U, self.GU, self.settings = index, log, U, GU, settings
        self.at, self.finite = (0, 0), True

    def _arrange(self, epoch: int, block: int) -> None:
        """Sort the records of a block into the order of an epoch, and set ``xi`` to its first value."""
        if (epoch, block) == self.at:
            return
        log = self.log
        if epoch != self.at[0]:
            self.items = self.settings.partition(log.n_items, self.U.shape[1], epoch)
            self.part_of = self.items.part_of()
        n_parts = self.items.n_parts
        low = block * n_parts
        self.ends = np.zeros(n_parts + 1, dtype=np.int64)
        visits.count(log.items, self.part_of, low, self.ends)
        self.who = np.empty(self.ends[-1], dtype=np.int32)
        self.where = np.empty(self.ends[-1], dtype=np.int32)
        self.xi = np.full(self.ends[-1], 1.0 / log.n_items, dtype=np.float32)
        records = log.indptr, log.items, self.part_of, self.items.place
        first = self.items.edges[low : low + n_parts]
        visits.arrange(*records, low, first, self.ends[:-1].copy(), self.who, self.where)
        self.at = (epoch, block)

    def xi_step(self, step: SubEpoch, block: ItemBlock) -> ShardSums:
        """Renew ``xi`` of the records in the block."""
        began = time.thread_time()
        self._arrange(step.epoch, block.index)
        if self.settings.loss != "robirank" or not self.finite:
            return ShardSums(finite=self.finite)
        parts = block.index * self.items.n_parts, (block.index + 1) * self.items.n_parts
        where = self.part_of, self.items.place, self.items.bounds(block.index)[0], *parts
        cursor = np.zeros(self.items.edges.size - 1, dtype=np.int64)
        cursor[slice(*parts)] = self.ends[:-1]
        users = np.flatnonzero(np.bincount(self.who))
        samples = None if self.settings.xi == "exact" else self.settings.xi_samples
        records = self.log.indptr, self.log.items, *where
        sums = renew(self.U, block.V, users, records, self.log.n_items - 1, samples, cursor, self.xi)
        found = dict(zip(("logs", "errors", "records", "n_errors"), sums.tolist()))
        return ShardSums(**found, xi_seconds=time.thread_time() - began)

    def run(self, step: SubEpoch, block: ItemBlock, parts: tuple[int, int] | None = None) -> ShardSums:
        """Visit the records in the block, sub-block by sub-block; changes ``U``, ``block.V`` and the squares. With
        ``parts = (first, end)`` only these sub-blocks, counted from the first of the block. Several calls give the same
        bits as one.
        """
        began = time.thread_time()
        self._arrange(step.epoch, block.index)
        total = ShardSums()
        low, n_parts = self.items.bounds(block.index)[0], self.items.n_parts
        for part in range(*(parts or (0, n_parts))):
            rng = np.random.default_rng(seed_of(self.settings.seed, STEPS, *step, self.index, part))
            k = block.index * n_parts + part
            rows = slice(self.items.edges[k] - low, self.items.edges[k + 1] - low)
            for _ in range(self.settings.n_passes):
                pairs = self._visit(part, block.V[rows], block.GV[rows], rng, step.epoch)
                self.finite = self.finite and pairs >= 0
                total += ShardSums(pairs=max(pairs, 0), finite=self.finite)
        total.step_seconds = time.thread_time() - began
        return total

    def _visit(self, part: int, V: Floats, GV: Floats, rng: np.random.Generator, epoch: int) -> int:
        """One pass over the records of a sub-block."""
        records = slice(self.ends[part], self.ends[part + 1])
        if records.start == records.stop:
            return 0
        s = self.settings
        step = warp if s.loss == "warp" else robirank
        who = self.who[records]
        visited = who, self.where[records], self.xi[records], visits.visit_starts(who, s.visit_size, rng)
        rates = np.float32(s.rate(epoch)), np.float32(s.alpha), s.optimizer == "adagrad"
        drawn = s.visit_size, s.n_negatives, s.popular, np.uint64(rng.integers(2**63))
        return int(step(visited, self.U, self.GU, V, GV, self.log.n_items, rates, drawn))
