"""Pairs per second of the steps, in random order and in blocks; one epoch end to end, and its memory.

The log is drawn, see :mod:`benchmarks.latent.log`; d = 100.  Seconds are CPU seconds of one thread.  Random order is
that of :mod:`benchmarks.latent.naive`, timed anew before each row of the table; the best of its times is what the
others are compared with.

Printed by ``python -m benchmarks.latent --rates``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.latent.log import drawn_log, read
from benchmarks.latent.memory import copying
from benchmarks.latent.naive import Naive
from rerank.latent.engines.interface import Factors, ItemBlock, Settings, ShardSums, SubEpoch, shards_of
from rerank.latent.engines.shard import Shard
from rerank.latent.log import Log, log_of

FACTORS = 100
SHARDS = 4  # as the model has by itself
NEGATIVES = 5
USUAL = Settings()
# Items y' of a visit, records of a visit, share of the items y' by popularity, bytes of a sub-block.
ROWS = (
    (NEGATIVES, 1, 0.0, 2**18),
    (NEGATIVES, 1, 0.0, 2**22),
    (NEGATIVES, USUAL.visit_size, 0.0, 2**22),
    (USUAL.n_negatives, USUAL.visit_size, USUAL.popular, 2**22),
    (USUAL.n_negatives, USUAL.visit_size, USUAL.popular, 2**24),
)


def factors(log: Any) -> Factors:
    """Small random vectors."""
    rng = np.random.default_rng(0)
    n, items = log.shape
    U, V = (rng.standard_normal((rows, FACTORS), dtype=np.float32) for rows in (n, items))
    U *= 0.1
    V *= 0.1
    return Factors(U, V, np.zeros(n, np.float32), np.zeros(items, np.float32))


def steps(log: Log, start: Factors, settings: Settings) -> ShardSums:
    """What the first shard does with the first block."""
    users = shards_of(log.n_users, settings.n_shards, settings.seed)[0]
    shard = Shard(0, log.of(users), start.U[users], start.GU[users], settings)
    items = settings.partition(log.n_items, FACTORS, 1)
    mine = items.order[slice(*items.bounds(0))]
    block = ItemBlock(1, 0, start.V[mine], start.GV[mine])
    shard.xi_step(SubEpoch(1, 0), block)
    return shard.run(SubEpoch(1, 0), block)


def table(log: Any) -> None:
    """Print pairs per second."""
    small = drawn_log(0.001)
    start = factors(log)
    naive = Naive(log, start, min(log.nnz, 1_000_000), NEGATIVES)
    found = []
    for m, size, popular, block in ROWS:
        settings = Settings(
            n_shards=SHARDS, n_negatives=m, visit_size=size, popular=popular, block_bytes=block, xi_samples=500
        )
        steps(log_of(small), factors(small), settings)  # compiles
        found.append((naive.rate(), steps(log_of(log), start, settings)))
    base = max(rate for rate, _ in found)
    print(f"random order, {NEGATIVES} items y' for each record: {base / 1e6:.2f} M pairs/s")
    # A row is read and written for each item y', and two for each record.
    print(f"  {base * 800 * (1 + 2 / NEGATIVES) / 1e9:.1f} GB/s of rows; a plain copy moves {copying() / 1e9:.1f} GB/s")
    print("in blocks:   items y' of a visit   records of a visit    block   M pairs/s   x random order")
    for (m, size, _, block), (_, report) in zip(ROWS, found):
        rate = report.pairs / report.step_seconds
        print(
            f"{m:32d} {'1' if size == 1 else f'up to {size}':>20} {block / 2**20:5.2f} MB {rate / 1e6:11.1f} "
            f"{rate / base:16.1f}"
        )


def report(scale: float) -> None:
    """Print the rates, and one epoch."""
    with tempfile.TemporaryDirectory() as folder:
        _run("benchmarks.latent.log", str(scale), folder)
        log = read(Path(folder))
        print(f"{log.shape[0]} users, {log.shape[1]} items, {log.nnz} records, d = {FACTORS}", flush=True)
        with threadpool_limits(1):
            table(log)
        sys.stdout.flush()
        _run("benchmarks.latent.epoch", folder)


def _run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)
