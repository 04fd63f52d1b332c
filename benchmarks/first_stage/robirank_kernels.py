"""Speed of RoBiRank's sums over pairs: a plain compiled loop, products of factors, interpolation, and the choice.

A pair is a relevant row and any row of its list; interpolation does not visit every pair, so its rate is one of pairs
accounted for.

Printed by ``python -m benchmarks.first_stage.robirank --kernels``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.robirank.kernels import objective

# Rows of a list, share of relevant ones, and the speed-up over the plain loop that is asked of the choice.
SHAPES = ((50, 0.30, 6.0), (120, 0.30, 6.0), (1000, 0.10, 6.0), (1000, 0.45, 30.0), (10000, 0.05, 30.0))
WAYS = {"products": 1, "interpolation": 3, "choice": 0}
ROWS = 20_000  # of all lists of a shape together
ERROR = 1e-8  # largest error of the gradient, relative to its largest entry


@njit(nogil=True)
def plain(f: Any, start: Any, relevant: Any, a: Any, c: Any, g: Any) -> float:
    """The formulas as they stand: a logarithm and two powers of two a pair."""
    total = 0.0
    for j in range(g.size):
        g[j] = 0.0
    for x in range(relevant.size):
        for i in range(start[x], start[x] + relevant[x]):
            A = 0.0
            for j in range(start[x], start[x + 1]):
                A += a[j] * np.log2(1.0 + 2.0 ** (f[j] - f[i]))
            total += c[i] * np.log2(A)
            q = c[i] / (math.log(2.0) * A)
            for j in range(start[x], start[x + 1]):
                t = q * a[j] / (1.0 + 2.0 ** (f[i] - f[j]))
                g[j] += t
                g[i] -= t
    return total


def clock(task: Callable[[], Any], repeats: int = 9) -> float:
    """Median CPU seconds of this thread."""
    task()
    taken = []
    for _ in range(repeats):
        begun = time.thread_time()
        task()
        taken.append(time.thread_time() - begun)
    return float(np.median(taken))


def report() -> int:
    """Print the table; 1 if the choice misses a speed-up or the error."""
    print(f"{'rows':>6} {'share':>6} {'plain Mpair/s':>14}", end="")
    print("".join(f" {way + ' Mpair/s':>22} {'times':>7} {'error':>8}" for way in WAYS), "  goal")
    missed = 0
    for n, share, goal in SHAPES:
        row, kept = _row(n, share, goal)
        missed += not kept
        print(row, flush=True)
    return int(missed > 0)


def _row(n: int, share: float, goal: float) -> tuple[str, bool]:
    rng = np.random.default_rng(0)
    lists, k = max(1, ROWS // n), int(n * share)
    scores, worth = 2.0 * rng.standard_normal(n * lists), rng.uniform(0.1, 1.0, n * lists)
    given = (scores, np.arange(lists + 1) * n, np.full(lists, k), np.ones(n * lists), worth)
    right, slope = np.empty(n * lists), np.empty(n * lists)
    slow = clock(lambda: plain(*given, right))
    pairs = n * k * lists / 1e6
    text, kept = f"{n:>6} {share:>6.2f} {pairs / slow:>14.1f}", True
    for way in WAYS.values():
        quick = clock(lambda way=way: objective(*given, way, slope))  # type: ignore[misc]
        error = float(np.abs(slope - right).max() / np.abs(right).max())
        text += f" {pairs / quick:>22.0f} {slow / quick:>6.1f}x {error:>8.0e}"
        kept = kept and error <= ERROR
        reached = slow / quick
    kept = kept and reached >= goal
    return f"{text}   >= {goal:g}x {'met' if kept else 'MISSED'}", kept
