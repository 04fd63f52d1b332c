"""All calls of Ray but those of the engine: a cluster, actors on it, and arrays in its object store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import ray
from ray._private.state import available_resources_per_node

from rerank.errors import SolverError
from rerank.latent.engines.interface import Settings
from rerank.latent.engines.ray_messages import MOST, OutOfStepError, slices
from rerank.latent.log import Log

# Errors of a call if a worker, its machine or an object of it is lost.  The last one comes from a healthy worker whose
# block never arrived.
LOST = (
    ray.exceptions.RayActorError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    OutOfStepError,
)

# Seconds within which new actors have to answer: longer than a machine takes to start.
WAIT = 300.0

# Ray itself restarts no actor and repeats no call: a new process would have neither log nor vectors, and Ray would
# repeat the call that killed it.
_NO_RETRIES = {"max_restarts": 0, "max_task_retries": 0}


def connect(store_bytes: int, n_cores: int | None = None) -> bool:
    """Connect to a cluster; True if the caller has to shut the connection down.

    A cluster that this process is connected to, or that ``RAY_ADDRESS`` names, is used as it is. Otherwise one with
    ``n_cores`` cores and an object store of ``store_bytes`` is started.
    """
    if ray.is_initialized():
        return False
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
        return True
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address="local",
        num_cpus=n_cores,
        include_dashboard=False,
        object_store_memory=store_bytes,
        log_to_driver=False,
        logging_level="ERROR",
    )
    return True


def store_for(log: Log, n_factors: int, settings: Settings) -> int:
    """Bytes of the object store that training needs: item vectors three times, a shard's data and four messages."""
    vectors = 4 * n_factors
    shard = (vectors * log.n_users + 12 * log.n_records) // settings.n_shards
    return 4 * MOST + 3 * vectors * log.n_items + shard


def start(actor_class: type, n: int) -> list[Any]:
    """``n`` actors, spread over the machines; those of a machine have consecutive numbers.

    So a block goes to another machine only after all shards of this machine have worked on it.

    Raises
    ------
    SolverError
        The actors did not start within ``WAIT`` seconds.
    """
    share = share_for([float(free.get("CPU", 0.0)) for free in available_resources_per_node().values()], n)
    actors = [new_actor(actor_class, share) for _ in range(n)]
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
    """The largest share of a core, at most 1, such that ``n`` actors fit on machines with so many free ``cores``.

    The cores of an actor are on one machine, so parts left over on two machines cannot be added up for one actor.
    There may be more shards than cores. If no core is free the share is 0, with which an actor always finds a place.
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


def new_actor(actor_class: type, share: float = 0.0) -> Any:
    """An actor that reserves a share of a core; with share 0 it finds a place on any cluster."""
    return (
        ray.remote(actor_class).options(num_cpus=share, scheduling_strategy="SPREAD", **_NO_RETRIES).remote()
    )


def alive(actor: Any) -> bool:
    """Whether an actor answers; if not, it is ended."""
    try:
        ray.get(actor.node.remote())
    except ray.exceptions.RayActorError:
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


def send_log(actor: Any, index: int, settings: Settings, log: Log) -> None:
    """Give a shard its part of the log, by a call: Ray would never free the arguments of a constructor."""
    cuts = slices(log.indptr.size, 8), slices(log.items.size, 4)
    parts = put([*(log.indptr[some] for some in cuts[0]), *(log.items[some] for some in cuts[1])])
    ray.get(actor.load.remote(index, settings, log.n_items, len(cuts[0]), *parts))


def call(method: Any, n: int, *arguments: Any) -> list[Any]:
    """Call a method that returns ``n`` answers; a reference to each."""
    found = method.options(num_returns=n).remote(*arguments)
    return [found] if n == 1 else list(found)
