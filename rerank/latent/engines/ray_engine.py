"""The engine of many machines: an actor of Ray for each shard, and blocks that go from actor to actor.

The driver submits calls.  Vectors pass through it only where an epoch begins, and items get new blocks.  A call names
the pieces of its block by reference, so Ray fetches them while the shard still works on the call before.  Up to
``AHEAD`` steps are submitted before their answers are in, so that no shard waits for the driver.  The xi-step is
submitted together with its sub-epoch, which saves calls: an epoch of p shards has p^2 of each, and there is one driver.

If a worker is lost, all shards go back to the factors that the driver last had, those of the start or of the last
:meth:`RayEngine.collect`, and the steps since then are run again.  The random numbers of a step come from its tag, so
the model has the same bits.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import ray
from ray._private.state import available_resources_per_node
from ray.exceptions import RayActorError

from rerank.errors import SolverError
from rerank.errors.lost import lost
from rerank.latent.engines import ray_shard
from rerank.latent.engines.interface import Factors, Floats, Partition, Settings, ShardSums, SubEpoch, shards_of
from rerank.latent.engines.ray_shard import RayShard, block_of, pieces_of, rows_of, slices
from rerank.latent.log import Log

AHEAD = 2  # steps that are submitted before their answers are in
LOSSES = 5  # between two collections; after so many the run makes no progress

_Answer = TypeVar("_Answer")


class RayEngine:
    """Shards as actors of Ray, on a running cluster or on one that it starts, with ``n_jobs`` cores or all. ``advice``
    ends the sentence of the error if workers are lost again and again; ``n_lost`` counts the losses.
    """

    def __init__(self, n_jobs: int | None = None, advice: str = "") -> None:
        self.n_jobs = n_jobs
        self.advice = advice or "check the memory of the machines"
        self.n_lost = 0
        self._losses = 0
        self._actors: list[Any] = []
        self._started_here = False

    def prepare(self, log: Log, start: Factors, settings: Settings) -> None:
        """Start the actors and give each its users' part of the log."""
        self._log, self._settings, self._known = log, settings, start
        self._users = shards_of(log.n_users, settings.n_shards, settings.seed)
        self._pieces = pieces_of(log.n_items, start.V.shape[1], settings)
        self._steps: list[tuple[SubEpoch, bool]] = []
        self._pending: tuple[SubEpoch, bool] | None = None
        self._renew: SubEpoch | None = None
        self._reports: dict[int, ShardSums] = {}
        self._losses, self._restored = 0, False
        # The object store holds item vectors three times, a shard's data and four messages.
        vectors = 4 * start.V.shape[1]
        shard = (vectors * log.n_users + 12 * log.n_records) // settings.n_shards
        self._started_here = connect(4 * ray_shard.MOST + 3 * vectors * log.n_items + shard, self.n_jobs)
        try:
            self._retried(lambda: None)
        except BaseException:
            self.close()
            raise

    def xi_step(self, step: SubEpoch) -> None:
        """Renew ``xi`` in the current blocks, when the sub-epoch is submitted."""
        self._renew = step

    def sub_epoch(self, step: SubEpoch) -> None:
        """Visit the records in the current blocks."""
        self._retried(lambda: self._wait(AHEAD - 1))
        # Ctrl-C may come between the calls to two shards. Then the pending step is submitted again, and shards that
        # have run it give the same answer.
        self._pending = (step, step == self._renew)
        self._retried(self._submit_pending)

    def collect(self) -> tuple[Factors, tuple[ShardSums, ...]]:
        """Factors in their own order; after a loss the shards go back to them."""
        if not self._steps and not self._pending:
            return self._known, ()
        factors = self._retried(self._fetch)
        reports = tuple(self._reports.values())
        self._known, self._steps, self._reports, self._losses = factors, [], {}, 0
        return factors, reports

    def close(self) -> None:
        """End the actors, and Ray if it was started here."""
        quiet(False)
        for actor in self._actors:
            ray.kill(actor, no_restart=True)
        self._actors = []
        if self._started_here:
            ray.shutdown()
            self._started_here = False

    def _submit_pending(self) -> None:
        if self._pending:
            self._submit(*self._pending)
            self._steps.append(self._pending)
            self._pending = None

    def _wait(self, most: int) -> None:
        """Wait for answers until at most ``most`` steps are without them."""
        while len(self._unanswered) > most:
            epoch, reports = self._unanswered[0]
            for report in ray.get(reports):
                self._reports[epoch] = self._reports.get(epoch, ShardSums()) + report
            self._unanswered.popleft()

    def _retried(self, work: Callable[[], _Answer]) -> _Answer:
        """Do some work, and after a loss of workers restore them and do it again."""
        while True:
            try:
                if not self._restored:
                    self._restore()
                    for step, renew in self._steps:
                        self._wait(AHEAD - 1)
                        self._submit(step, renew)
                    self._restored = True
                return work()
            except LOST as error:
                self._lost(error)

    def _lost(self, error: Exception) -> None:
        self._restored = False
        quiet(True)
        self._losses += 1
        self.n_lost += 1
        why = type(error).__name__
        if self._losses >= LOSSES:
            said = f"Workers of Ray were lost {self._losses} times in a row ({why}); {self.advice}."
            raise SolverError(said) from error
        warnings.warn(
            f"A worker of Ray was lost ({why}); its shard is set up anew, and the epochs since the last evaluation or "
            "checkpoint are run again.",
            RuntimeWarning,
            stacklevel=2,
        )

    def _restore(self) -> None:
        """Set up missing shards, and give all shards the factors that the driver last had."""
        if not self._actors:
            self._actors = start_actors(self._settings.n_shards)
            self._without_log = set(range(self._settings.n_shards))
        for q, actor in enumerate(self._actors):
            if not alive(actor):
                self._actors[q] = new_actor()
                self._without_log.add(q)
        for q, users in enumerate(self._users):
            if q in self._without_log:
                # By a call: Ray would never free the arguments of a constructor.
                log = self._log.of(users)
                cuts = slices(log.indptr.size, 8), slices(log.items.size, 4)
                parts = put([*(log.indptr[some] for some in cuts[0]), *(log.items[some] for some in cuts[1])])
                ray.get(self._actors[q].load.remote(q, self._settings, log.n_items, len(cuts[0]), *parts))
                self._without_log.discard(q)
            U = self._known.U[users]
            parts = put([*(U[some] for some in slices(len(U), 4 * U.shape[1])), self._known.GU[users]])
            ray.get(self._actors[q].restore.remote(*parts))
        self._items: Partition | None = None
        self._epoch = 0
        self._blocks: dict[int, list[Any]] = {}
        self._unanswered: deque[tuple[int, list[Any]]] = deque()
        self._reports = {}

    def _submit(self, step: SubEpoch, renew: bool) -> None:
        p = len(self._actors)
        if self._epoch != step.epoch:
            self._new_blocks(step.epoch)
        blocks: dict[int, list[Any]] = {}
        reports: list[Any] = []
        for q, actor in enumerate(self._actors):
            b = block_of(q, step, p)
            run = actor.run.options(num_returns=2)
            # Each piece has a call of its own on both ways: Ray sends the arguments of a call once all of them exist,
            # and its answer once it has ended.
            *first, last = self._blocks[b]
            for k, piece in enumerate(first):
                actor.bring.remote(step, k, piece)
            runs = [run.remote(step, 0, renew, last)]
            runs += [run.remote(step, k, False) for k in range(1, len(self._pieces))]
            blocks[b] = [piece for piece, _ in runs]
            reports += [report for _, report in runs]
        self._blocks = blocks
        self._unanswered.append((step.epoch, reports))

    def _new_blocks(self, epoch: int) -> None:
        """Give each shard its first block of an epoch."""
        V, GV = (self._known.V, self._known.GV) if self._items is None else self._fetch_items(self._items)
        items = self._settings.partition(len(V), V.shape[1], epoch)
        self._blocks = {}
        for b in range(len(self._actors)):
            rows = [items.items_of(b)[rows_of(items, b, piece)] for piece in self._pieces]
            self._blocks[b] = put((V[some], GV[some]) for some in rows)
        self._items, self._epoch = items, epoch

    def _fetch_items(self, items: Partition) -> tuple[Floats, Floats]:
        """Vectors and AdaGrad's squares of all items, from the shards' current blocks."""
        V, GV = np.empty_like(self._known.V), np.empty_like(self._known.GV)
        answers = [call(actor.current, 1 + len(self._pieces)) for actor in self._actors]
        for answer in answers:
            block, *pieces = ray.get(answer)
            mine = items.items_of(block)
            for piece, rows in zip(self._pieces, pieces):
                some = mine[rows_of(items, block, piece)]
                V[some], GV[some] = rows
        return V, GV

    def _fetch(self) -> Factors:
        self._submit_pending()
        self._wait(0)
        assert self._items is not None
        V, GV = self._fetch_items(self._items)
        U, GU = np.empty_like(self._known.U), np.empty_like(self._known.GU)
        for users, actor in zip(self._users, self._actors):
            cuts = slices(len(users), 4 * U.shape[1])
            *parts, squares = ray.get(call(actor.users, len(cuts) + 1, *cuts))
            for cut, rows in zip(cuts, parts):
                U[users[cut]] = rows
            GU[users] = squares
        return Factors(U, V, GU, GV)


# Errors of a call if a worker, its machine or an object of it is lost.  The last one comes from a healthy worker whose
# block never arrived.
LOST: tuple[type[Exception], ...] = (*lost(), ray_shard.OutOfStepError)

WAIT = 300.0  # seconds within which new actors have to answer: longer than a machine takes to start


def connect(store_bytes: int, n_cores: int | None = None) -> bool:
    """Connect to a cluster; True if the caller has to shut the connection down. A cluster that this process is
    connected to, or that ``RAY_ADDRESS`` names, is used as it is. Otherwise one with ``n_cores`` cores and an object
    store of ``store_bytes`` is started.
    """
    if ray.is_initialized():
        return False
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
        return True
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    silent: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(address="local", num_cpus=n_cores, object_store_memory=store_bytes, **silent)
    return True


def start_actors(n: int) -> list[Any]:
    """``n`` actors, spread over the machines; those of a machine have consecutive numbers. So a block goes to another
    machine only after all shards of this machine have worked on it.
    """
    share = share_for([float(free.get("CPU", 0.0)) for free in available_resources_per_node().values()], n)
    actors = [new_actor(share) for _ in range(n)]
    try:
        homes = ray.get([actor.node.remote() for actor in actors], timeout=WAIT)
    except BaseException as error:
        for actor in actors:
            ray.kill(actor, no_restart=True)
        if isinstance(error, ray.exceptions.GetTimeoutError):
            raise SolverError(
                f"Ray did not start {n} workers of {share:g} cores within {WAIT:g} seconds; see in `ray status` what "
                "uses the cores, free some, or choose a smaller n_shards."
            ) from None
        raise
    return [actors[k] for k in sorted(range(n), key=lambda k: homes[k])]


def share_for(cores: Sequence[float], n: int) -> float:
    """The largest share of a core, at most 1, such that ``n`` actors fit on machines with so many free ``cores``. The
    cores of an actor are on one machine, so parts left over on two machines cannot be added up for one actor. There may
    be more shards than cores. If no core is free the share is 0, with which an actor always finds a place.
    """
    unit = 10_000  # as Ray counts
    units = [int(c * unit) for c in cores]
    low, high = 0, unit
    while low < high:
        middle = (low + high + 1) // 2
        if sum(c // middle for c in units) >= n:
            low = middle
        else:
            high = middle - 1
    return low / unit


def new_actor(share: float = 0.0) -> Any:
    """An actor that reserves a share of a core; with share 0 it finds a place on any cluster. Ray itself restarts none
    and repeats no call: a new process would have neither log nor vectors, and Ray would repeat what killed it.
    """
    never = {"max_restarts": 0, "max_task_retries": 0}
    return ray.remote(RayShard).options(num_cpus=share, scheduling_strategy="SPREAD", **never).remote()


def alive(actor: Any) -> bool:
    """Whether an actor answers; if not, it is ended."""
    try:
        ray.get(actor.node.remote())
    except RayActorError:
        ray.kill(actor, no_restart=True)
        return False
    return True


def quiet(on: bool) -> None:
    """Keep Ray from printing answers that nobody waits for any more; after a loss they are errors."""
    if on:
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "exact-rerank")
    elif os.environ.get("RAY_IGNORE_UNHANDLED_ERRORS") == "exact-rerank":
        del os.environ["RAY_IGNORE_UNHANDLED_ERRORS"]


def put(parts: Iterable[Any]) -> list[Any]:
    """Put arrays into the object store; the references to them."""
    return [ray.put(part) for part in parts]


def call(method: Any, n: int, *arguments: Any) -> list[Any]:
    """Call a method that returns ``n`` answers; a reference to each."""
    found = method.options(num_returns=n).remote(*arguments)
    return [found] if n == 1 else list(found)
