"""Ray: the cluster that is there or one of our own, actors on it, and arrays on their way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import ray
from ray._private.state import available_resources_per_node

from rerank.errors import SolverError
from rerank.latent.engines.interface import Settings
from rerank.latent.engines.ray_messages import MOST, slices
from rerank.latent.engines.ray_shard import OutOfStepError, RayShard
from rerank.latent.log import Log

# What a call may come back with when a worker, its machine, or something it held is gone.  The last one comes from a
# worker that is well, but whose block never arrived.
LOST = (
    ray.exceptions.RayActorError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    OutOfStepError,
)

# Seconds until actors have to answer first: longer than a machine takes to come up.
WAIT = 300.0

# Never restarted and never called again by Ray itself: a fresh process would have neither log nor vectors, and Ray
# would repeat the very call that killed it.
OURSELVES = {"max_restarts": 0, "max_task_retries": 0}


def connect(store_bytes: int, n_cores: int | None = None) -> bool:
    """Make sure of a cluster; True if it was started here, with so many cores, and is ours to end.

    A cluster that this process is connected to, or that ``RAY_ADDRESS`` names, is taken as it is.
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
    """Bytes of the object store that training needs: item vectors twice over, a shard's share, some messages."""
    vectors = 4 * n_factors
    shard = (vectors * log.n_users + 12 * log.n_records) // settings.n_shards
    return 4 * MOST + 3 * vectors * log.n_items + shard


def start(n: int) -> list[Any]:
    """Actors spread over the machines, those of a machine next to one another.

    So a block goes to another machine only after it has been in the hands of all shards of this one.
    """
    share = share_for([float(free.get("CPU", 0.0)) for free in available_resources_per_node().values()], n)
    actors = [one(share) for _ in range(n)]
    try:
        homes = ray.get([actor.node.remote() for actor in actors], timeout=WAIT)
    except BaseException as error:
        for actor in actors:
            ray.kill(actor, no_restart=True)
        if isinstance(error, ray.exceptions.GetTimeoutError):
            raise SolverError(
                f"Ray did not start {n} workers of {share:g} cores within {WAIT:g} seconds; see `ray status` for who "
                "holds the cores, free some, or ask for a smaller n_shards."
            ) from None
        raise
    return [actors[k] for k in sorted(range(n), key=lambda k: homes[k])]


def share_for(cores: Sequence[float], n: int) -> float:
    """The largest share of a core, 1 at most, of which the machines with so many free ``cores`` have room for ``n``.

    The cores of an actor are of one machine, so that what is left over on two of them is not enough for a third
    actor.  Shards may be more than cores; where no core is free at all the share is 0, which finds a place always.
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


def one(share: float = 0.0) -> Any:
    """An actor that asks for a share of a core; without one it finds a place on any cluster, however small."""
    return ray.remote(RayShard).options(num_cpus=share, scheduling_strategy="SPREAD", **OURSELVES).remote()


def alive(actor: Any) -> bool:
    """Whether an actor answers; it is ended if not."""
    try:
        ray.get(actor.node.remote())
    except ray.exceptions.RayActorError:
        ray.kill(actor, no_restart=True)
        return False
    return True


def quiet(on: bool) -> None:
    """Keep Ray from printing the answers that nobody asks for any more, which after a loss are errors."""
    if on:
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "exact-rerank")
    elif os.environ.get("RAY_IGNORE_UNHANDLED_ERRORS") == "exact-rerank":
        del os.environ["RAY_IGNORE_UNHANDLED_ERRORS"]


def put(parts: Iterable[Any]) -> list[Any]:
    """References to arrays in the object store."""
    return [ray.put(part) for part in parts]


def send_log(actor: Any, index: int, settings: Settings, log: Log) -> None:
    """Give a shard its part of the log, by a call: what a constructor was given would be held for good."""
    cuts = slices(log.indptr.size, 8), slices(log.items.size, 4)
    parts = put([*(log.indptr[some] for some in cuts[0]), *(log.items[some] for some in cuts[1])])
    ray.get(actor.load.remote(index, settings, log.n_items, len(cuts[0]), *parts))


def several(method: Any, n: int, *arguments: Any) -> list[Any]:
    """Call a method that has ``n`` answers: a reference to each."""
    found = method.options(num_returns=n).remote(*arguments)
    return [found] if n == 1 else list(found)
