"""The engine of one machine: a thread a shard, in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController

from rerank.latent.engines.blocks import shards_of
from rerank.latent.engines.interface import Collected, Factors, ItemBlock, Report, Settings, Step
from rerank.latent.engines.shard import Shard, dealt
from rerank.latent.log import Log


class LocalEngine:
    """Shards on threads; the kernels hold no lock of the interpreter.

    Parameters
    ----------
    n_jobs : int or None
        Threads; None for one a core.  Changes no bit of the result.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs or os.cpu_count() or 1
        self._reports: dict[int, Report] = {}
        self._blocks: list[ItemBlock] = []
        self._tasks: deque[tuple[int, Future[Report]]] = deque()
        self._at_work = False

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Cut users into shards."""
        self._settings = settings
        self._users = shards_of(log.n_users, settings.n_shards, settings.seed)
        self._V, self._GV = start.V, start.GV
        self._shards = [
            Shard(q, log.of(users), start.U[users], start.GU[users], settings)
            for q, users in enumerate(self._users)
        ]
        self._blas = ThreadpoolController()  # looks for the libraries once
        self._start()

    def xi_step(self, step: Step) -> None:
        """Renew ``xi`` for the blocks in hand."""
        self._everywhere(step, Shard.xi_step)

    def sub_epoch(self, step: Step) -> None:
        """Visit the records in the blocks in hand."""
        self._everywhere(step, Shard.run)

    def collect(self) -> Collected:
        """Factors in their own order; after an interruption, as soon as the shards are through."""
        if self._at_work:
            # Ctrl-C may come between the start of a task and its being noted, so that all threads are waited for.
            self._pool.shutdown()
            self._take_reports()
            self._start()
            self._at_work = False
        self._gather()
        U = np.empty((sum(map(len, self._users)), self._V.shape[1]), dtype=np.float32)
        GU = np.empty(U.shape[0], dtype=np.float32)
        for users, shard in zip(self._users, self._shards):
            U[users], GU[users] = shard.U, shard.GU
        reports, self._reports = tuple(self._reports.values()), {}
        return Collected(Factors(U, self._V, GU, self._GV), reports)

    def close(self) -> None:
        """End the threads, and free the shards."""
        self._pool.shutdown()
        self._shards = []
        self._blocks = []

    def _everywhere(self, step: Step, work: Callable[[Shard, Step, ItemBlock], Report]) -> None:
        if not self._blocks or self._blocks[0].epoch != step.epoch:
            self._gather()
            self._deal(step.epoch)
        p = len(self._shards)
        self._at_work = True
        with self._blas.limit(limits=1, user_api="blas"):
            for q, shard in enumerate(self._shards):
                block = self._blocks[(q + step.sub_epoch) % p]
                self._tasks.append((step.epoch, self._pool.submit(work, shard, step, block)))
            self._take_reports()
        self._at_work = False

    def _start(self) -> None:
        self._pool = ThreadPoolExecutor(min(self.n_jobs, self._settings.n_shards))

    def _take_reports(self) -> None:
        """Wait for the tasks in turn, and add up their reports."""
        while self._tasks:
            epoch, task = self._tasks[0]
            self._reports[epoch] = self._reports.get(epoch, Report()) + task.result()
            self._tasks.popleft()

    def _deal(self, epoch: int) -> None:
        self._items = dealt(self._V.shape[0], self._V.shape[1], self._settings, epoch)
        blocks = []
        for q in range(self._settings.n_shards):
            low, high = self._items.bounds(q)
            mine = self._items.order[low:high]
            blocks.append(ItemBlock(epoch, q, self._V[mine], self._GV[mine]))
        # While blocks are out, what they were cut from would only take room.
        nothing = np.empty((0, 0), dtype=np.float32)
        self._blocks, self._V, self._GV = blocks, nothing, nothing

    def _gather(self) -> None:
        """Bring the blocks home, to arrays of their own: those of before may have been given away."""
        if not self._blocks:
            return
        n, d = self._items.order.size, self._blocks[0].V.shape[1]
        V, GV = np.empty((n, d), dtype=np.float32), np.empty(n, dtype=np.float32)
        for block in self._blocks:
            low, high = self._items.bounds(block.index)
            mine = self._items.order[low:high]
            V[mine], GV[mine] = block.V, block.GV
        self._V, self._GV, self._blocks = V, GV, []
