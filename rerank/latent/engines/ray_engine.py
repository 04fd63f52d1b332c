"""The engine of many machines: an actor a shard on Ray, blocks handed on from actor to actor.

The driver hands out calls and never touches a vector on its way.  A call names the pieces of its block by reference,
so Ray fetches them while the shard is busy with the call before; up to ``AHEAD`` steps are under way, so that nobody
waits for the driver.  The xi-step is handed out with its sub-epoch: an epoch of p shards has p^2 of them, and there is
one driver.

When a worker is lost, all shards go back to where the driver last had all factors, at the start or at the last
:meth:`RayEngine.collect`, and the steps since then are made again.  Steps have their random numbers from their tags, so
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
from rerank.latent.engines import ray_cluster as cluster
from rerank.latent.engines.blocks import Partition, shards_of
from rerank.latent.engines.interface import Collected, Factors, Floats, Report, Settings, Step
from rerank.latent.engines.ray_messages import cut_users, in_hand, pieces_of, rows_of, shares, slices
from rerank.latent.engines.shard import dealt
from rerank.latent.log import Log

AHEAD = 2  # steps whose answers are not waited for
WORTH = 100 * 2**10  # bytes below which Ray sends a message by way of the driver anyway
LOSSES = 5  # between two collections; with so many a run does not come forward

Answer = TypeVar("Answer")


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
        self._losses = 0
        self._actors: list[Any] = []
        self._ours = False

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Start the actors and give each its users' part of the log."""
        self._log, self._settings, self._point = log, settings, start
        self._users = shards_of(log.n_users, settings.n_shards, settings.seed)
        self._pieces = pieces_of(log.n_items, start.V.shape[1], settings)
        self._steps: list[tuple[Step, bool]] = []
        self._cut_short: tuple[Step, bool] | None = None
        self._renew: Step | None = None
        self._reports: dict[int, Report] = {}
        self._losses, self._restored = 0, False
        self._ours = cluster.connect(cluster.store_for(log, start.V.shape[1], settings), self.n_jobs)
        try:
            self._survive(lambda: None)
        except BaseException:
            self.close()
            raise

    def xi_step(self, step: Step) -> None:
        """Renew ``xi`` for the blocks in hand, as soon as the sub-epoch is handed out."""
        self._renew = step

    def sub_epoch(self, step: Step) -> None:
        """Visit the records in the blocks in hand."""
        self._survive(lambda: self._wait(AHEAD - 1))
        # Ctrl-C may come between the calls to two shards: then what is in hand is handed out again, and the shards
        # that have had it give the same answer.
        self._cut_short = (step, step == self._renew)
        self._survive(self._finish)

    def collect(self) -> Collected:
        """Factors in their own order; from now on the point to which shards go back."""
        if not self._steps and not self._cut_short:
            return Collected(self._point)
        factors = self._survive(self._fetch)
        reports = tuple(self._reports.values())
        self._point, self._steps, self._reports, self._losses = factors, [], {}, 0
        return Collected(factors, reports)

    def close(self) -> None:
        """End the actors, and Ray where it was started here."""
        cluster.quiet(False)
        for actor in self._actors:
            ray.kill(actor, no_restart=True)
        self._actors = []
        if self._ours:
            ray.shutdown()
            self._ours = False

    def _finish(self) -> None:
        if self._cut_short:
            self._hand_out(*self._cut_short)
            self._steps.append(self._cut_short)
            self._cut_short = None

    def _wait(self, most: int) -> None:
        """Take answers until at most some steps are under way."""
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
                    for step, renew in self._steps:
                        self._wait(AHEAD - 1)
                        self._hand_out(step, renew)
                    self._restored = True
                return work()
            except cluster.LOST as error:
                self._lost(error)

    def _lost(self, error: Exception) -> None:
        self._restored = False
        cluster.quiet(True)
        self._losses += 1
        self.n_lost += 1
        why = type(error).__name__
        if self._losses >= LOSSES:
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
        self._dealt_for = 0
        self._blocks: dict[int, list[Any]] = {}
        self._acks: deque[tuple[int, list[Any]]] = deque()
        self._reports = {}

    def _hand_out(self, step: Step, renew: bool) -> None:
        p = len(self._actors)
        if self._dealt_for != step.epoch:
            self._deal(step)
        blocks: dict[int, list[Any]] = {}
        reports: list[Any] = []
        for q, actor in enumerate(self._actors):
            b = in_hand(q, step, p)
            run = actor.run.options(num_returns=2)
            # A call of its own for every piece, to and fro: Ray sends what a call needs once all of that is there, and
            # what a call answers once it has ended.
            *first, last = self._blocks.get(b, [None])
            for k, piece in enumerate(first):
                actor.bring.remote(step, k, piece)
            runs = [run.remote(step, 0, renew, last)]
            runs += [run.remote(step, k, False) for k in range(1, len(self._pieces))]
            blocks[b] = [piece for piece, _ in runs]
            reports += [report for _, report in runs]
        self._blocks, self._step = blocks, step
        self._acks.append((step.epoch, reports))

    def _deal(self, step: Step) -> None:
        """Deal out the items anew."""
        p, (n, d) = len(self._actors), self._point.V.shape
        items = dealt(n, d, self._settings, step.epoch)
        if self._step and 4 * d * n > p**2 * WORTH:
            self._exchange(step, self._step)
            self._blocks = {}
        else:
            V, GV = self._items_home() if self._step else (self._point.V, self._point.GV)
            self._blocks = {b: self._from_home(items, b, V, GV) for b in range(p)}
        self._items, self._dealt_for = items, step.epoch

    def _exchange(self, step: Step, before: Step) -> None:
        """Rows go from shard to shard, p^2 messages, and nothing comes home for it."""
        p, (n, d) = len(self._actors), self._point.V.shape
        each = shares(n, d, p)
        rows = [cluster.several(actor.deal, p * each, step.epoch) for actor in self._actors]
        for q, actor in enumerate(self._actors):
            b = in_hand(q, step, p)
            mine = [ref for given in rows for ref in given[b * each : (b + 1) * each]]
            actor.gather.remote(step, before, *mine)

    def _from_home(self, items: Partition, block: int, V: Floats, GV: Floats) -> list[Any]:
        """References to the pieces of a block, from the driver's own vectors."""
        low, high = items.bounds(block)
        mine = items.order[low:high]
        rows = [mine[rows_of(items, block, piece)] for piece in self._pieces]
        return cluster.put((V[some], GV[some]) for some in rows)

    def _items_home(self) -> tuple[Floats, Floats]:
        """Vectors and squares of all items, from whoever has them in hand."""
        V, GV = np.empty_like(self._point.V), np.empty_like(self._point.GV)
        hands = [cluster.several(actor.hand, 1 + len(self._pieces)) for actor in self._actors]
        for hand in hands:
            block, *pieces = ray.get(hand)
            low, high = self._items.bounds(block)
            mine = self._items.order[low:high]
            for piece, rows in zip(self._pieces, pieces):
                some = mine[rows_of(self._items, block, piece)]
                V[some], GV[some] = rows
        return V, GV

    def _fetch(self) -> Factors:
        self._finish()
        self._wait(0)
        V, GV = self._items_home()
        U, GU = np.empty_like(self._point.U), np.empty_like(self._point.GU)
        for users, actor in zip(self._users, self._actors):
            cuts = slices(len(users), 4 * U.shape[1])
            *parts, squares = ray.get(cluster.several(actor.users, len(cuts) + 1, *cuts))
            for cut, rows in zip(cuts, parts):
                U[users[cut]] = rows
            GU[users] = squares
        return Factors(U, V, GU, GV)
