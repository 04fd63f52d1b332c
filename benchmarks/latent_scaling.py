"""Engines on one and two cores, and what follows for more: measured first, then calculated, never in one table.

The log is a share (``--scale``) of the users of the Million Song log's shape, with all its items, so that blocks are as
large as those of the whole.  What a shard of p has to do is measured on one core, as one shard with those users in a
world of p blocks: the arithmetic is the same wherever the others are.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from benchmarks.latent_law import FACTORS, Constants, Size, million_songs
from benchmarks.latent_log import ITEMS, RECORDS, USERS
from benchmarks.latent_plan import picture, plan, tables
from benchmarks.latent_ring import Ring, rates
from rerank.latent import LatentRoBiRank
from rerank.latent.engine import Engine, Factors, ItemBlock, Report, Settings, Step
from rerank.latent.engine_local import LocalEngine
from rerank.latent.log import Log
from rerank.latent.options import settings_of
from rerank.latent.ray_messages import MOST
from rerank.latent.shard import Shard, dealt

SHARDS = (1, 2, 4, 8, 16, 32, 64)
FEW = 250  # items of a sample that is made for many blocks


def part_of_log(share: float, seed: int = 0) -> Log:
    """Users with the records of the Million Song log's mean, of all its items by a Zipf law."""
    rng = np.random.default_rng(seed)
    users, records = max(int(USERS * share), 64), max(int(RECORDS * share), 64)
    weight = 1.0 / np.arange(10, ITEMS + 10) ** 0.9
    user = rng.integers(users, size=records)
    item = np.searchsorted(np.cumsum(weight / weight.sum()), rng.random(records)).clip(max=ITEMS - 1)
    key = np.unique(user * ITEMS + item)
    indptr = np.searchsorted(key, np.arange(users + 1) * ITEMS)
    return Log(indptr.astype(np.int64), (key % ITEMS).astype(np.int32), ITEMS)


def settings_for(p: int, samples: int | None = None) -> Settings:
    """The defaults, for p shards."""
    model = LatentRoBiRank(FACTORS)
    return settings_of(model.set_params(xi_samples=samples or model.xi_samples), 0.1, p, 0)


def factors(log: Log) -> Factors:
    """To start from."""
    rng = np.random.default_rng(0)
    U = 0.1 * rng.standard_normal((log.n_users, FACTORS), dtype=np.float32)
    V = 0.1 * rng.standard_normal((log.n_items, FACTORS), dtype=np.float32)
    return Factors(U, V, np.zeros(len(U), np.float32), np.zeros(len(V), np.float32))


def epochs(engine: Engine, log: Log, p: int, n: int) -> list[float]:
    """Wall seconds of epochs after a first one, each with its collection."""
    seconds = []
    engine.prepare(log, factors(log), settings_for(p))
    try:
        for e in range(1, n + 2):
            began = time.perf_counter()
            for t in range(p):
                engine.xi_step(Step(e, t))
                engine.sub_epoch(Step(e, t))
            engine.collect()
            seconds.append(time.perf_counter() - began)
    finally:
        engine.close()
    return seconds[1:]


def shard_epoch(log: Log, settings: Settings) -> Report:
    """An epoch of one shard that has all users of the log, block by block."""
    f = factors(log)
    shard = Shard(0, log, f.U, f.GU, settings)
    items = dealt(log.n_items, FACTORS, settings, 1)
    total = Report()
    for t in range(settings.n_shards):
        mine = items.order[slice(*items.bounds(t))]
        block = ItemBlock(1, t, f.V[mine], f.GV[mine])
        total += shard.xi_step(Step(1, t), block)
        total += shard.run(Step(1, t), block)
    return total


def work(log: Log, samples: int) -> Any:
    """Rows of records, visits, pairs of user and block, seconds of the steps and of the xi-step; printed."""
    size, rows = size_of(log), []
    print(
        f"\nMeasured: CPU seconds of an epoch of one shard with these users; samples of {samples} items in the xi-step"
    )
    print("blocks   steps      xi     sum      visits   pairs of user and block", flush=True)
    for p in SHARDS:
        with threadpool_limits(1):
            r = shard_epoch(log, settings_for(p, samples))
        records, visits, pairs = size.work(p)
        rows.append([records, visits, pairs, r.step_seconds, r.xi_seconds])
        total = r.step_seconds + r.xi_seconds
        print(
            f"{p:6d} {r.step_seconds:7.2f} {r.xi_seconds:7.2f} {total:7.2f} {visits:11.0f} {pairs:25.0f}",
            flush=True,
        )
    return np.array(rows)


def fitted(A: Any, seconds: Any) -> tuple[Any, float]:
    """Least squares of relative errors, coefficients not negative; and the largest relative error."""
    found, _ = nnls(A / seconds[:, None], np.ones(len(seconds)))
    return found, float(np.abs(A @ found / seconds - 1).max())


def constants_of(rows: dict[int, Any]) -> dict[int, tuple[float, float, float]]:
    """Seconds a record, a visit and a pair, for each number of samples; the steps' are the same for all."""
    every = np.concatenate(list(rows.values()))
    (record, visit), off = fitted(every[:, :2], every[:, 3])
    print(
        f"\nfitted: steps {record * 1e6:.2f} us a record + {visit * 1e6:.2f} us a visit, {off:.0%} off at most"
    )
    found = {}
    for samples, some in rows.items():
        (own, pair), off = fitted(some[:, [0, 2]], some[:, 4])
        print(
            f"fitted: xi, {samples:4d} items, {own * 1e6:.2f} us a record + {pair * 1e6:.2f} us a pair, "
            f"{off:.0%} off at most",
            flush=True,
        )
        found[samples] = (float(record + own), float(visit), float(pair))
    return found


def size_of(log: Log) -> Size:
    """Of a log."""
    return Size(log.n_users, log.n_items, log.n_records, np.diff(log.indptr))


def walls(log: Log) -> dict[tuple[str, int], float]:
    """Wall seconds of an epoch with its collection, by engine and number of shards, each shard on a core.

    The load is printed with them: on cores that others use, too, they say little.
    """
    from rerank.latent.ray_engine import RayEngine

    print("\nMeasured: wall seconds of an epoch and its collection, a core a shard")
    found = {}
    for p in (1, 2):
        engines: dict[str, Engine] = {"local": LocalEngine(p), "ray": RayEngine(p)}
        for name, engine in engines.items():
            found[name, p] = statistics.median(epochs(engine, log, p, 3))
            busy = os.getloadavg()[0]
            print(f"{name:6} {p} shards  {found[name, p]:7.2f}   load of the machine {busy:4.1f}", flush=True)
    for name in ("local", "ray"):
        print(f"{name:6} two cores are {found[name, 1] / found[name, 2]:.2f} times as fast as one")
    return found


def small_costs(ray: Any) -> tuple[float, float]:
    """Seconds of the driver for a call, and of a sub-epoch without work: a hop of a block between two actors."""
    ring = Ring(ray, 2**18)
    ring.rotate(50)
    calls, hops = [], []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(200):
            ring.hand_on()
        calls.append((time.perf_counter() - began) / 400)
        ring.wait()
        began = time.perf_counter()
        ring.rotate(100)
        hops.append((time.perf_counter() - began) / 100)
    # Other programs of the machine only ever add to such small times.
    return min(calls), min(hops)


def copy_rate() -> float:
    """Bytes copied per second."""
    a, b = np.ones(MOST, np.uint8), np.zeros(MOST, np.uint8)
    seconds = []
    for _ in range(9):
        began = time.thread_time()
        b[:] = a
        seconds.append(time.thread_time() - began)
    return MOST / statistics.median(seconds)


def transport() -> tuple[float, float, float, float]:
    """Call, hop, copy and wire, printed."""
    found = rates(2, (MOST,), small_costs)
    call, hop = found.costs
    ours, tcp = found.ray[MOST] / 2 * 1e9, found.tcp[MOST] / 2 * 1e9
    copy = copy_rate()
    print("\nMeasured: transport between two nodes of Ray on this machine, a direction")
    print(f"driver, a call handed out   {call * 1e3:8.3f} ms")
    print(f"hop of a small block        {hop * 1e3:8.3f} ms")
    print(f"blocks of 64 MB             {ours / 1e9:8.3f} GB/s   (bare TCP {tcp / 1e9:.3f})")
    print(f"copy in memory              {copy / 1e9:8.3f} GB/s", flush=True)
    return call, hop, copy, ours


def report(share: float, path: str | None = None) -> None:
    """Print all of it."""
    log = part_of_log(share)
    print(
        f"{log.n_users} users, {log.n_items} items, {log.n_records} records, d = {FACTORS}, default options"
    )
    shard_epoch(part_of_log(0.0005), settings_for(2))
    fits = constants_of({samples: work(log, samples) for samples in (settings_for(1).xi_samples, FEW)})
    seconds = walls(log)
    rest = transport()
    size = million_songs(np.diff(log.indptr))
    constants = {samples: Constants(*fit, *rest) for samples, fit in fits.items()}
    for samples, k in constants.items():
        tables(size, k, samples)
    plan(size, constants[FEW], FEW)
    if path:
        picture(size, constants, seconds, path)
