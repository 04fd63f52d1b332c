"""The engine of one machine: a thread for each shard."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController

from rerank.latent.engines.interface import Factors, ItemBlock, Settings, ShardSums, SubEpoch, shards_of
from rerank.latent.engines.shard import Shard
from rerank.latent.log import Log


class LocalEngine:
    """Shards on ``n_jobs`` threads, one on each core without; the compiled steps release the interpreter lock.
    ``advice`` is for engines that may lose their workers.
    """

    def __init__(self, n_jobs: int | None = None, advice: str = "") -> None:
        self.n_jobs = n_jobs or os.cpu_count() or 1
        self._reports: dict[int, ShardSums] = {}
        self._blocks: list[ItemBlock] = []
        self._tasks: deque[tuple[int, Future[ShardSums]]] = deque()
        self._running = False

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Split the users into shards."""
        self._settings = settings
        self._users = shards_of(log.n_users, settings.n_shards, settings.seed)
        self._V, self._GV = start.V, start.GV
        parts = ((log.of(users), start.U[users], start.GU[users]) for users in self._users)
        self._shards = [Shard(q, *own, settings) for q, own in enumerate(parts)]
        self._blas = ThreadpoolController()  # searches for the libraries once
        self._start_threads()

    def xi_step(self, step: SubEpoch) -> None:
        """Renew ``xi`` in the current blocks."""
        self._on_all(step, Shard.xi_step)

    def sub_epoch(self, step: SubEpoch) -> None:
        """Visit the records in the current blocks."""
        self._on_all(step, Shard.run)

    def collect(self) -> tuple[Factors, tuple[ShardSums, ...]]:
        """Factors in their own order; after an interruption, once all shards have ended their step."""
        if self._running:
            # Ctrl-C may come after a task is submitted and before it is stored in _tasks, so wait for all threads.
            self._pool.shutdown()
            self._add_reports()
            self._start_threads()
            self._running = False
        self._gather()
        U = np.empty((sum(map(len, self._users)), self._V.shape[1]), dtype=np.float32)
        GU = np.empty(U.shape[0], dtype=np.float32)
        for users, shard in zip(self._users, self._shards):
            U[users], GU[users] = shard.U, shard.GU
        reports, self._reports = tuple(self._reports.values()), {}
        return Factors(U, self._V, GU, self._GV), reports

    def close(self) -> None:
        """End the threads, and free the shards."""
        self._pool.shutdown()
        self._shards = []
        self._blocks = []

    def _on_all(self, step: SubEpoch, work: Callable[[Shard, SubEpoch, ItemBlock], ShardSums]) -> None:
        if not self._blocks or self._blocks[0].epoch != step.epoch:
            self._gather()
            self._cut_blocks(step.epoch)
        p = len(self._shards)
        self._running = True
        with self._blas.limit(limits=1, user_api="blas"):
            for q, shard in enumerate(self._shards):
                block = self._blocks[(q + step.sub_epoch) % p]
                self._tasks.append((step.epoch, self._pool.submit(work, shard, step, block)))
            self._add_reports()
        self._running = False

    def _start_threads(self) -> None:
        self._pool = ThreadPoolExecutor(min(self.n_jobs, self._settings.n_shards))

    def _add_reports(self) -> None:
        """Wait for the tasks one after the other, and add up their reports."""
        while self._tasks:
            epoch, task = self._tasks[0]
            self._reports[epoch] = self._reports.get(epoch, ShardSums()) + task.result()
            self._tasks.popleft()

    def _cut_blocks(self, epoch: int) -> None:
        """Copy the item vectors into the blocks of a new epoch."""
        self._items = self._settings.partition(self._V.shape[0], self._V.shape[1], epoch)
        places = map(self._items.items_of, range(self._settings.n_shards))
        blocks = [ItemBlock(epoch, q, self._V[mine], self._GV[mine]) for q, mine in enumerate(places)]
        # The blocks hold all numbers now, so free the memory of the arrays.
        nothing = np.empty((0, 0), dtype=np.float32)
        self._blocks, self._V, self._GV = blocks, nothing, nothing

    def _gather(self) -> None:
        """Copy the blocks into new arrays: a caller may hold the old ones."""
        if not self._blocks:
            return
        n, d = self._items.order.size, self._blocks[0].V.shape[1]
        V, GV = np.empty((n, d), dtype=np.float32), np.empty(n, dtype=np.float32)
        for block in self._blocks:
            mine = self._items.items_of(block.index)
            V[mine], GV[mine] = block.V, block.GV
        self._V, self._GV, self._blocks = V, GV, []
