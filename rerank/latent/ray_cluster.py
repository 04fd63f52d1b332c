"""Ray: the cluster that is there or one of our own, actors on it, and arrays on their way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import ray

from rerank.latent.engine import Settings
from rerank.latent.log import Log
from rerank.latent.ray_messages import MOST, slices
from rerank.latent.ray_shard import OutOfStepError, RayShard

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
    free = float(ray.available_resources().get("CPU", 0.0))
    # In ten-thousandths, as Ray counts; shards may be more than cores.
    share = int(min(1.0, free / n) * 10_000) / 10_000
    actors = [one(share) for _ in range(n)]
    homes = ray.get([actor.node.remote() for actor in actors])
    return [actors[k] for k in sorted(range(n), key=lambda k: homes[k])]


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
