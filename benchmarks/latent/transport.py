"""What the law has to know of transport: a call, a hop, a copy and the wire, between two nodes of Ray.

A part of ``python -m benchmarks.latent --scaling``.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.latent.ring import Ring, rates
from rerank.latent.engines.ray_shard import MOST


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
