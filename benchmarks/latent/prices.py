"""Prices of a shard's work, in CPU seconds of one thread: visits at full size, scans, the xi-step.

Steps are timed on one sub-block of the Million Song log's shape, with vectors of all its users, and on fewer users.
All records that a shard has in a sub-block are a list that 200 competitors a visit are drawn from, so it matters how
long that is; the users' vectors are read in order, and matter little.  The xi-step is timed on a share of the users in
a world of p blocks: its arithmetic is the same wherever the others are.

A part of ``python -m benchmarks.latent --scaling``.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.latent.law import FACTORS, Points, Size
from benchmarks.latent.log import ITEMS, RECORDS, USERS
from rerank.latent.engines.interface import Factors, ItemBlock, Settings, ShardSums, SubEpoch
from rerank.latent.engines.shard import Shard
from rerank.latent.log import Log

SHARDS = (1, 2, 4, 8, 16, 32, 64)
TURNS = 2
MEAN = RECORDS // USERS  # records of a user
FULL = (USERS, USERS // 4, USERS // 16, USERS // 128)  # users of a shard
SCANNED = 1_000_000  # records
MANY = 16_384  # blocks, so that next to nothing is in one and all the time goes into looking for it


def zipf(n_items: int, draws: Any) -> Any:
    """Items of a law whose weights are about ``1 / (y + 10)^0.9``, for draws from 0 .. 1."""
    low, high = 10**0.1, (n_items + 10) ** 0.1
    return ((low + draws * (high - low)) ** 10 - 10).astype(np.int64).clip(0, n_items - 1)


def log_from(user: Any, item: Any, n_users: int, n_items: int) -> Log:
    """Of pairs, each taken once."""
    key = np.unique(user * n_items + item)
    indptr = np.searchsorted(key, np.arange(n_users + 1) * n_items)
    return Log(indptr.astype(np.int64), (key % n_items).astype(np.int32), n_items)


def part_of_log(share: float, n_items: int = ITEMS, seed: int = 0) -> Log:
    """Users with the records of the Million Song log's mean, of all items by a Zipf law."""
    rng = np.random.default_rng(seed)
    users, records = max(int(USERS * share), 64), max(int(RECORDS * share), 64)
    return log_from(rng.integers(users, size=records), zipf(n_items, rng.random(records)), users, n_items)


def settings_for(p: int, samples: int | None = None) -> Settings:
    """The defaults, for p shards."""
    return Settings(n_factors=FACTORS, n_shards=p, xi_samples=samples or Settings.xi_samples)


def factors(log: Log) -> Factors:
    """To start from."""
    U, V = vectors(log.n_users), vectors(log.n_items)
    return Factors(U, V, np.zeros(len(U), np.float32), np.zeros(len(V), np.float32))


def vectors(n: int) -> Any:
    """Small random ones."""
    found = np.random.default_rng(0).standard_normal((n, FACTORS), dtype=np.float32)
    found *= 0.1
    return found


class SubBlock:
    """One sub-block of ``ITEMS`` items, and ``each`` records of every user in it, in the mean."""

    def __init__(self, U: Any, each: float, passes: int) -> None:
        settings = replace(settings_for(1), n_passes=passes)
        items = settings.partition(ITEMS, FACTORS, 1)
        mine = np.sort(items.order[: items.edges[1]]).astype(np.int64)
        rng = np.random.default_rng(0)
        user = np.repeat(np.arange(len(U)), rng.binomial(MEAN, each / MEAN, len(U)))
        weight = np.cumsum(1.0 / (mine + 10) ** 0.9)
        drawn = np.searchsorted(weight, weight[-1] * rng.random(user.size)).clip(max=mine.size - 1)
        log = log_from(user, mine[drawn], len(U), ITEMS)
        self.records = log.n_records
        self.visits = int((-(-np.diff(log.indptr) // settings.visit_size)).sum())
        self.passes = passes
        self.shard = Shard(0, log, U, np.zeros(len(U), np.float32), settings)
        self.block = ItemBlock(1, 0, vectors(mine.size), np.zeros(mine.size, np.float32))
        self.shard.run(SubEpoch(1, 0), self.block, (0, 0))  # puts the records in order

    def seconds(self) -> float:
        """Of a pass."""
        return self.shard.run(SubEpoch(1, 0), self.block, (0, 1)).step_seconds / self.passes


def step_prices(full: tuple[int, ...] = FULL) -> tuple[float, Points]:
    """Seconds a record, and a visit by the records of a sub-block, for numbers of users; printed.

    The price of a record comes from two sub-blocks with about as many records, one with five times as many visits.
    """
    U = vectors(full[0])
    each = MEAN / settings_for(1).partition(ITEMS, FACTORS, 1).n_parts
    sparse = [SubBlock(U[:n], each, max(1, full[0] // n // 16)) for n in full]
    dense = SubBlock(U[: int(full[2] * each / 8)], 8.0, 4)
    every: list[list[float]] = [[] for _ in (*sparse, dense)]
    for _ in range(TURNS):
        for spent, one in zip(every, (*sparse, dense)):
            spent.append(one.seconds())
    *seconds, packed = (min(spent) for spent in every)  # other programs only ever add
    record = record_price(sparse[2], seconds[2], dense, packed)
    points = sorted((float(b.records), (s - record * b.records) / b.visits) for b, s in zip(sparse, seconds))
    print(f"\nMeasured: steps in one sub-block, U of {len(U)} x {FACTORS}; {record * 1e6:.2f} us a record and")
    for n, price in points:
        print(f"{price * 1e6:7.2f} us a visit where the sub-block has {n:8.0f} records", flush=True)
    return record, tuple(points)


def record_price(a: Any, of_a: float, b: Any, of_b: float) -> float:
    """Seconds a record, from two sub-blocks; none where the second one's visits are not the longer ones."""
    return max(0.0, (of_b / b.visits - of_a / a.visits) / (b.records / b.visits - a.records / a.visits))


def scan_prices(times: tuple[int, ...] = (1, 10, 100)) -> tuple[Points, Points]:
    """Seconds a record and block, and seconds an item that is dealt, by the items of the log; printed."""
    scans, deals = [], []
    print("\nMeasured: looking through a shard's records for those of a block, and dealing out the items")
    for n_items in (factor * ITEMS for factor in times):
        log = part_of_log(SCANNED / RECORDS, n_items)
        shard = Shard(0, log, vectors(log.n_users), np.zeros(log.n_users, np.float32), settings_for(MANY))
        spent = []
        for t in range(4):
            n = -(-n_items // MANY)
            block = ItemBlock(1, t, vectors(n), np.zeros(n, np.float32))
            spent.append(shard.xi_step(SubEpoch(1, t), block).xi_seconds)
        scan = statistics.median(spent[1:])
        scans.append((float(n_items), scan / log.n_records))
        deals.append((float(n_items), max(spent[0] - scan, 0.0) / n_items))
        print(
            f"{n_items:9d} items: {scans[-1][1] * 1e9:6.1f} ns a record and block, "
            f"{deals[-1][1] * 1e9:6.1f} ns an item dealt",
            flush=True,
        )
    return tuple(scans), tuple(deals)


def shard_epoch(log: Log, settings: Settings, steps: bool = True) -> ShardSums:
    """An epoch of one shard that has all users of the log, block by block; or of its xi-step alone."""
    f = factors(log)
    shard = Shard(0, log, f.U, f.GU, settings)
    items = settings.partition(log.n_items, FACTORS, 1)
    total = ShardSums()
    for t in range(settings.n_shards):
        mine = items.order[slice(*items.bounds(t))]
        block = ItemBlock(1, t, f.V[mine], f.GV[mine])
        total += shard.xi_step(SubEpoch(1, t), block)
        if steps:
            total += shard.run(SubEpoch(1, t), block)
    return total


def size_of(log: Log) -> Size:
    """Of a log."""
    return Size(log.n_users, log.n_items, log.n_records, np.diff(log.indptr))


def fitted(A: Any, seconds: Any) -> tuple[Any, float]:
    """Least squares of relative errors, coefficients not negative; and the largest relative error."""
    found, _ = nnls(A / seconds[:, None], np.ones(len(seconds)))
    return found, float(np.abs(A @ found / seconds - 1).max())
