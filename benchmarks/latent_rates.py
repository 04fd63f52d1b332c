"""Pairs per second of the steps, in random order and in blocks; one epoch end to end, and its memory.

The log is drawn: the Million Song log's users, items and records [BertinMahieuxEllisWhitmanLamere2011], each times
``scale``, with items by a Zipf law; d = 100.  Seconds are CPU seconds of one thread.  In random order every record has
5 items y' of its own; in blocks the records of a visit share theirs.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from threadpoolctl import threadpool_limits

from rerank.latent.engine import Collected, Factors, Settings, Step
from rerank.latent.engine_local import LocalEngine
from rerank.latent.log import log_of
from rerank.latent.rows import FAST, draw

USERS, ITEMS, RECORDS, FACTORS = 1_129_318, 386_133, 49_824_519, 100


@njit(nogil=True, fastmath=FAST)
def naive(
    who: Any, items: Any, xi: Any, U: Any, V: Any, GU: Any, GV: Any, rate: Any, n: int, m: int, seed: Any
) -> int:
    """Records drawn at random, a pair after the other, as the algorithm is written down; AdaGrad by rows."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    for _ in range(n):
        r = draw(state, who.size)
        u, y = U[who[r]], V[items[r]]
        for _ in range(m):
            z = draw(state, V.shape[0])
            other = V[z]
            t = np.float32(0.0)
            square = np.float32(0.0)
            difference = np.float32(0.0)
            for k in range(d):
                t += u[k] * (y[k] - other[k])
                square += u[k] * u[k]
                difference += (y[k] - other[k]) * (y[k] - other[k])
            g = xi[r] / (np.float32(1.0) + np.float32(2.0) ** t)
            GU[who[r]] += g * g * difference / d
            GV[items[r]] += g * g * square / d
            GV[z] += g * g * square / d
            a = rate * g / np.sqrt(GU[who[r]] + np.float32(1e-12))
            b = rate * g / np.sqrt(GV[items[r]] + np.float32(1e-12))
            c = rate * g / np.sqrt(GV[z] + np.float32(1e-12))
            for k in range(d):
                old = u[k]
                u[k] += a * (y[k] - other[k])
                y[k] += b * old
                other[k] -= c * old
    return n * m


def drawn_log(scale: float, seed: int = 0) -> Any:
    """A log of that share of the shape, without repeated records."""
    rng = np.random.default_rng(seed)
    users, items, records = (max(int(n * scale), 50) for n in (USERS, ITEMS, RECORDS))
    weight = 1.0 / np.arange(10, items + 10) ** 0.9
    row = rng.integers(users, size=records, dtype=np.int32)
    col = np.searchsorted(np.cumsum(weight / weight.sum()), rng.random(records, dtype=np.float32)).astype(
        np.int32
    )
    log = sp.csr_matrix(
        (np.ones(records, np.float32), (row, np.minimum(col, items - 1))), shape=(users, items)
    )
    log.data[:] = 1.0
    return log


def factors(log: Any) -> Factors:
    rng = np.random.default_rng(0)
    U = 0.1 * rng.standard_normal((log.shape[0], FACTORS), dtype=np.float32)
    V = 0.1 * rng.standard_normal((log.shape[1], FACTORS), dtype=np.float32)
    return Factors(
        U.astype(np.float32), V.astype(np.float32), np.zeros(len(U), np.float32), np.zeros(len(V), np.float32)
    )


def naive_rate(log: Any, start: Factors, records: int) -> float:
    """Pairs per CPU second in random order."""
    who = np.repeat(np.arange(log.shape[0], dtype=np.int32), np.diff(log.indptr))
    xi = np.ones(log.nnz, np.float32)
    f = start.copy()
    rates = []
    for n in (10, records, records):
        began = time.thread_time()
        pairs = naive(who, log.indices, xi, f.U, f.V, f.GU, f.GV, np.float32(0.1), n, 5, np.uint64(n))
        rates.append(pairs / (time.thread_time() - began))
    return max(rates[1:])


def epoch(log: Any, start: Factors, settings: Settings, epochs: int = 1) -> tuple[Collected, float]:
    """Epochs after a first one that compiles where the log is small; answers and wall seconds of an epoch."""
    engine = LocalEngine()
    engine.prepare(log_of(log), start, settings)
    began = time.perf_counter()
    for e in range(1, epochs + 1):
        for t in range(settings.n_shards):
            engine.xi_step(Step(e, t))
            engine.sub_epoch(Step(e, t))
    seconds = (time.perf_counter() - began) / epochs
    found = engine.collect()
    engine.close()
    return found, seconds


def report(scale: float) -> None:
    """Print the rates."""
    small = drawn_log(0.001)
    epoch(small, factors(small), Settings(), 1)
    log = drawn_log(scale)
    start = factors(log)
    print(f"{log.shape[0]} users, {log.shape[1]} items, {log.nnz} records, d = {FACTORS}")
    with threadpool_limits(1):
        rate = naive_rate(log, start, min(log.nnz, 2_000_000))
        print(f"random order, 5 items y' a record       {rate / 1e6:6.2f} M pairs/s", flush=True)
        for block, size, m in ((2**20, 8, 5), (2**22, 8, 5), (2**22, 8, 50)):
            settings = Settings(n_shards=2, block_bytes=block, visit_size=size, n_negatives=m, xi_samples=500)
            found, seconds = epoch(log, start, settings)
            r = found.report
            fast = r.pairs / r.step_seconds
            print(
                f"blocks of {block / 2**20:4.0f} MB, {m:3d} items y' a visit {fast / 1e6:8.2f} M pairs/s "
                f"({fast / rate:5.2f} x)  steps {r.step_seconds:6.1f} s  xi {r.xi_seconds:6.1f} s  "
                f"xi error {r.xi_error:.1%}  wall {seconds:6.1f} s",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"memory of the process at its largest: {peak:.2f} GB, with the log, its drawing and the compiler")
