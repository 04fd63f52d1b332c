"""The engine of many machines: an actor a shard on Ray, blocks handed on from actor to actor.

The driver hands out calls and never touches a vector on its way.  A call names the pieces of its block by reference,
so Ray fetches them while the shard is busy with the call before; up to ``AHEAD`` calls are under way, so that nobody
waits for the driver.

When a worker is lost, all shards go back to where the driver last had all factors, at the start or at the last
:meth:`RayEngine.collect`, and the calls since then are made again.  Steps have their random numbers from their tags, so
the model is the same to the bit.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import ray

from rerank.errors import SolverError
from rerank.latent import ray_cluster as cluster
from rerank.latent.blocks import Partition, shards_of
from rerank.latent.engine import Collected, Factors, Report, Settings, Step
from rerank.latent.log import Log
from rerank.latent.ray_messages import cut_users, in_hand, pieces_of, rows_of, shares, slices
from rerank.latent.shard import dealt

AHEAD = 4  # calls whose answers are not waited for: two steps
LOSSES = 5  # between two collections; with more of them a run does not come forward

Answer = TypeVar("Answer")
Call = Callable[[Step], None]


class RayEngine:
    """Shards as actors of Ray, on the cluster that is there or on one of its own.

    Parameters
    ----------
    n_jobs : int or None
        Cores of a cluster that is started here; None for all.  Changes no bit of the result.
    advice : str
        What to do when workers are lost time and again; ends the sentence of the error that says so.

    Attributes
    ----------
    n_lost : int
        Times that workers were lost and training went on.
    """

    def __init__(self, n_jobs: int | None = None, advice: str = "") -> None:
        self.n_jobs = n_jobs
        self.advice = advice or "look into the memory of the machines"
        self.n_lost = 0
        self._actors: list[Any] = []
        self._ours = False

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Start the actors and give each its users' part of the log."""
        self._log, self._settings, self._point = log, settings, start
        self._users = shards_of(log.n_users, settings.n_shards, settings.seed)
        self._pieces = pieces_of(log.n_items, start.V.shape[1], settings)
        self._calls: list[tuple[Call, Step]] = []
        self._cut_short: tuple[Call, Step] | None = None
        self._reports: dict[int, Report] = {}
        self._losses, self._restored = 0, False
        self._ours = cluster.connect(cluster.store_for(log, start.V.shape[1], settings), self.n_jobs)
        try:
            self._survive(lambda: None)
        except BaseException:
            self.close()
            raise

    def xi_step(self, step: Step) -> None:
        """Renew ``xi`` for the blocks in hand."""
        self._do(self._xi_step, step)

    def sub_epoch(self, step: Step) -> None:
        """Visit the records in the blocks in hand."""
        self._do(self._sub_epoch, step)

    def collect(self) -> Collected:
        """Factors in their own order; from now on the point to which shards go back."""
        if not self._calls and not self._cut_short:
            return Collected(self._point)
        factors = self._survive(self._fetch)
        reports = tuple(self._reports.values())
        self._point, self._calls, self._reports, self._losses = factors, [], {}, 0
        return Collected(factors, reports)

    def close(self) -> None:
        """End the actors, and Ray where it was started here."""
        for actor in self._actors:
            ray.kill(actor, no_restart=True)
        self._actors = []
        if self._ours:
            ray.shutdown()
            self._ours = False

    def _do(self, call: Call, step: Step) -> None:
        self._survive(lambda: self._wait(AHEAD - 1))
        # Ctrl-C may come between the calls to two shards: then what is in hand is handed out again, and the shards
        # that have had it give the same answer.
        self._cut_short = (call, step)
        self._survive(self._finish)

    def _finish(self) -> None:
        if self._cut_short:
            call, step = self._cut_short
            call(step)
            self._calls.append((call, step))
            self._cut_short = None

    def _wait(self, most: int) -> None:
        """Take answers until at most some calls are under way."""
        while len(self._acks) > most:
            epoch, reports = self._acks[0]
            for report in ray.get(reports):
                self._reports[epoch] = self._reports.get(epoch, Report()) + report
            self._acks.popleft()

    def _survive(self, work: Callable[[], Answer]) -> Answer:
        while True:
            try:
                if not self._restored:
                    self._restore()
                    for call, step in self._calls:
                        self._wait(AHEAD - 1)
                        call(step)
                    self._restored = True
                return work()
            except cluster.LOST as error:
                self._lost(error)

    def _lost(self, error: Exception) -> None:
        self._restored = False
        self._losses += 1
        self.n_lost += 1
        why = type(error).__name__
        if self._losses > LOSSES:
            raise SolverError(
                f"Workers of Ray were lost {self._losses} times in a row ({why}); {self.advice}."
            ) from error
        warnings.warn(
            f"A worker of Ray was lost ({why}); its shard is set up anew, and the epochs since the last look or "
            "checkpoint are run again.",
            RuntimeWarning,
            stacklevel=2,
        )

    def _restore(self) -> None:
        """Set up shards that are missing, and all to the point where the factors are known."""
        if not self._actors:
            self._actors = cluster.start(self._settings.n_shards)
            self._without_log = set(range(self._settings.n_shards))
        for q, actor in enumerate(self._actors):
            if not cluster.alive(actor):
                self._actors[q] = cluster.one()
                self._without_log.add(q)
        for q, users in enumerate(self._users):
            if q in self._without_log:
                cluster.send_log(self._actors[q], q, self._settings, self._log.of(users))
                self._without_log.discard(q)
            ray.get(self._actors[q].restore.remote(*cluster.put(cut_users(self._point, users))))
        self._step: Step | None = None
        self._blocks: dict[int, list[Any]] = {}
        self._acks: deque[tuple[int, list[Any]]] = deque()
        self._reports = {}

    def _xi_step(self, step: Step) -> None:
        self._give(step)
        self._acks.append((step.epoch, [actor.xi_step.remote(step) for actor in self._actors]))

    def _sub_epoch(self, step: Step) -> None:
        self._give(step)
        blocks: dict[int, list[Any]] = {}
        reports: list[Any] = []
        for q, actor in enumerate(self._actors):
            runs = [cluster.several(actor.run, 2, step, k) for k in range(len(self._pieces))]
            blocks[in_hand(q, step, len(self._actors))] = [piece for piece, _ in runs]
            reports += [report for _, report in runs]
        self._blocks = blocks
        self._acks.append((step.epoch, reports))

    def _give(self, step: Step) -> None:
        """Put the blocks of a step into the shards' hands."""
        if step == self._step:
            return
        if self._step is None:
            self._items = self._dealt(step.epoch)
            self._blocks = {b: self._from_home(b) for b in range(len(self._actors))}
        if self._step and step.epoch != self._step.epoch:
            self._deal(step, self._step)
        else:
            for q, actor in enumerate(self._actors):
                actor.take.remote(step, *self._blocks[in_hand(q, step, len(self._actors))])
        self._step = step

    def _dealt(self, epoch: int) -> Partition:
        return dealt(self._log.n_items, self._point.V.shape[1], self._settings, epoch)

    def _from_home(self, block: int) -> list[Any]:
        """References to the pieces of a block, from the driver's own factors."""
        low, high = self._items.bounds(block)
        mine = self._items.order[low:high]
        rows = [mine[rows_of(self._items, block, piece)] for piece in self._pieces]
        return cluster.put((self._point.V[some], self._point.GV[some]) for some in rows)

    def _deal(self, step: Step, before: Step) -> None:
        """Items are dealt out anew from shard to shard; nothing comes home for it."""
        p = len(self._actors)
        each = shares(self._log.n_items, self._point.V.shape[1], p)
        rows = [cluster.several(actor.deal, p * each, step.epoch) for actor in self._actors]
        for q, actor in enumerate(self._actors):
            b = in_hand(q, step, p)
            mine = [ref for given in rows for ref in given[b * each : (b + 1) * each]]
            actor.gather.remote(step, before, *mine)
        self._items, self._blocks = self._dealt(step.epoch), {}

    def _fetch(self) -> Factors:
        self._finish()
        self._wait(0)
        p = self._point
        found = Factors(*(np.empty_like(part) for part in (p.U, p.V, p.GU, p.GV)))
        hands = [cluster.several(actor.hand, 1 + len(self._pieces)) for actor in self._actors]
        for hand in hands:
            block, *pieces = ray.get(hand)
            low, high = self._items.bounds(block)
            mine = self._items.order[low:high]
            for piece, (V, GV) in zip(self._pieces, pieces):
                some = mine[rows_of(self._items, block, piece)]
                found.V[some], found.GV[some] = V, GV
        for users, actor in zip(self._users, self._actors):
            cuts = slices(len(users), 4 * p.U.shape[1])
            *U, GU = ray.get(cluster.several(actor.users, len(cuts) + 1, *cuts))
            for cut, rows in zip(cuts, U):
                found.U[users[cut]] = rows
            found.GU[users] = GU
        return found
