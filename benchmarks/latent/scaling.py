"""Engines on one and two cores, and what follows for more: measured first, then calculated, never in one table.

The log is a share (``--scale``) of the users of the Million Song log's shape, with all its items, so that blocks are as
large as those of the whole; :mod:`benchmarks.latent.prices` has the prices that do not come from it.

Printed by ``python -m benchmarks.latent --scaling``.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.latent.law import FACTORS, Constants, Points, Size, epoch, million_songs, scanning, steps
from benchmarks.latent.plan import picture, plan, tables
from benchmarks.latent.prices import (
    SHARDS,
    factors,
    fitted,
    part_of_log,
    scan_prices,
    settings_for,
    shard_epoch,
    size_of,
    step_prices,
)
from benchmarks.latent.transport import transport
from rerank.latent.engines.interface import ShardSums, SubEpoch
from rerank.latent.engines.local import LocalEngine
from rerank.latent.log import Log

FEW = 250  # items of a sample that is made for many blocks
OF_FIT = 4  # shards of a log of this size by default


def epochs(engine: Any, log: Log, p: int, n: int) -> tuple[float, float]:
    """Wall and CPU seconds of the shards, medians of epochs after a first one, each with its collection."""
    wall, cpu = [], []
    engine.prepare(log, factors(log), settings_for(p))
    try:
        for e in range(1, n + 2):
            began = time.perf_counter()
            for t in range(p):
                engine.xi_step(SubEpoch(e, t))
                engine.sub_epoch(SubEpoch(e, t))
            report = sum(engine.collect()[1], ShardSums())
            wall.append(time.perf_counter() - began)
            cpu.append(report.step_seconds + report.xi_seconds)
    finally:
        engine.close()
    return statistics.median(wall[1:]), statistics.median(cpu[1:])


def work(log: Log) -> dict[int, Any]:
    """CPU seconds of the xi-step by the number of blocks in the world, for each number of samples; printed.

    One shard with these users; its steps stand beside, for the growth of their number where sub-blocks get smaller.
    """
    size, many = size_of(log), settings_for(1).xi_samples
    found: dict[int, Any] = {many: {}, FEW: {}}
    print("\nMeasured: CPU seconds of an epoch of one shard with these users")
    print(
        f"blocks   steps   xi, {many} a sample   xi, {FEW} a sample      visits   pairs of user and block", flush=True
    )
    for p in SHARDS:
        one, few = shard_epoch(log, settings_for(p)), shard_epoch(log, settings_for(p, FEW), steps=False)
        found[many][p], found[FEW][p] = one.xi_seconds, few.xi_seconds
        _, visits, pairs = size.work(p)
        print(
            f"{p:6d} {one.step_seconds:7.2f} {one.xi_seconds:19.2f} {few.xi_seconds:18.2f} {visits:11.0f} "
            f"{pairs:25.0f}",
            flush=True,
        )
    return found


def xi_prices(log: Log, found: dict[int, float], scan: float, samples: int) -> tuple[float, float]:
    """Seconds a record and a pair of user and block of the xi-step, which are left when scans are paid for."""
    size = size_of(log)
    A = np.array([size.work(p)[[0, 2]] for p in found])
    seconds = np.array([spent - p * log.n_records * scan for p, spent in found.items()])
    (record, pair), off = fitted(A, seconds.clip(min=1e-6))
    print(
        f"fitted: xi, {samples:4d} items, {record * 1e6:.2f} us a record + {pair * 1e6:.2f} us a pair, "
        f"{off:.0%} off at most",
        flush=True,
    )
    return record, pair


def prices(log: Log) -> dict[int, tuple[float, Points, float, Points, Points]]:
    """A record, visits, a pair, scans and deals, for each number of samples."""
    record, visit = step_prices()
    scan, deal = scan_prices()
    found = {}
    for samples, spent in work(log).items():
        own, pair = xi_prices(log, spent, scan[0][1], samples)
        found[samples] = (record + own, visit, pair, scan, deal)
    return found


def walls(log: Log) -> dict[tuple[str, int], float]:
    """Wall seconds of an epoch with its collection, by engine and number of shards, each shard on a core.

    The load is printed with them: on cores that others use, too, they say little.  CPU seconds say what the cores take
    from one another: that two shards have little more work than one is in the tables before.
    """
    from rerank.latent.engines.ray_engine import RayEngine

    print("\nMeasured: wall seconds of an epoch and its collection, CPU seconds of its shards, a core a shard")
    found, spent = {}, {}
    for p in (1, 2):
        engines: dict[str, Any] = {"local": LocalEngine(p), "ray": RayEngine(p)}
        for name, engine in engines.items():
            found[name, p], spent[name, p] = epochs(engine, log, p, 3)
            busy = os.getloadavg()[0]
            print(
                f"{name:6} {p} shards  {found[name, p]:7.2f} wall {spent[name, p]:7.2f} CPU   "
                f"load of the machine {busy:4.1f}",
                flush=True,
            )
    for name in ("local", "ray"):
        faster, dearer = found[name, 1] / found[name, 2], spent[name, 2] / spent[name, 1]
        print(f"{name:6} two cores are {faster:.2f} times as fast as one, for {dearer:.2f} times the CPU seconds")
    return found


def whole(size: Size, k: Constants) -> None:
    """CPU seconds that an epoch of ``fit`` should take: to be held against that of ``--rates --scale 1``."""
    p = OF_FIT
    every, moves, scans = (p * epoch(size, k, 1, p).compute, steps(size, k, p), p * scanning(size, k, p))
    print(
        f"\nCalculated: an epoch of the whole log on {p} shards, as fit has: {every:.0f} CPU s of a core by itself; "
        f"steps {moves:.0f}, scans {scans:.1f}"
    )


def report(share: float, path: str | None = None) -> None:
    """Print all of it."""
    log = part_of_log(share)
    print(f"{log.n_users} users, {log.n_items} items, {log.n_records} records, d = {FACTORS}, default options")
    shard_epoch(part_of_log(0.0005), settings_for(2))
    with threadpool_limits(1):
        found = prices(log)
    seconds = walls(log)
    rest = transport()
    size = million_songs(np.diff(log.indptr))
    constants = {samples: Constants(*price, *rest) for samples, price in found.items()}
    whole(size, constants[max(constants)])
    for samples, k in constants.items():
        tables(size, k, samples)
    plan(size, constants[FEW], FEW)
    if path:
        picture(size, constants, seconds, path)
