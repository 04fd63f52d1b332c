"""The loop that anybody would write: records in random order, each with items y' of its own.

It is written to be as fast as such a loop can be.  Records are laid out in their random order beforehand, so that
reading them costs nothing.  ``U_x`` and ``V_y`` are read once for all m items y' of a record and moved once, which was
never slower than moving them m times.  All sums are taken while a row is in hand, squares of gradients come from two
numbers a row, and every loop over a row is vectorised.  What is left is the time that memory takes to find rows.

A part of ``python -m benchmarks.latent --rates``.
"""

from __future__ import annotations

import time
from copy import deepcopy
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.engines.interface import Factors
from rerank.latent.kernels.primitives import FAST, draw

ZERO, ONE, TWO, TINY = (np.float32(x) for x in (0.0, 1.0, 2.0, 1e-12))


@njit(nogil=True, fastmath=FAST)
def naive(who: Any, items: Any, xi: Any, U: Any, V: Any, GU: Any, GV: Any, rate: Any, m: int, seed: Any) -> int:
    """Steps down ``xi sum_j log2(1 + 2^(f_j - f))`` record by record, AdaGrad by rows; the number of pairs.

    ``xi`` (n,) is the weight of a record, all constants included; ``m`` items y' are drawn evenly for each.
    """
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    part = ONE / np.float32(d)
    g = np.empty(d, dtype=np.float32)
    for r in range(who.size):
        u, v = U[who[r]], V[items[r]]
        f = square = ZERO
        for k in range(d):
            f += u[k] * v[k]
            square += u[k] * u[k]
            g[k] = ZERO
        square *= part
        force = ZERO
        for _ in range(m):
            z = draw(state, V.shape[0])
            w = V[z]
            t = f
            for k in range(d):
                t -= u[k] * w[k]
            a = xi[r] / (ONE + TWO**t)
            force += a
            GV[z] += a * a * square
            b = rate * a / np.sqrt(GV[z] + TINY)
            for k in range(d):
                g[k] -= a * w[k]
                w[k] -= b * u[k]
        GV[items[r]] += force * force * square
        b = rate * force / np.sqrt(GV[items[r]] + TINY)
        length = ZERO
        for k in range(d):
            g[k] += force * v[k]
            length += g[k] * g[k]
        GU[who[r]] += length * part
        a = rate / np.sqrt(GU[who[r]] + TINY)
        for k in range(d):
            v[k] += b * u[k]
            u[k] += a * g[k]
    return who.size * m


class Naive:
    """Some records of a log in random order, and the pairs per second on them.

    Parameters
    ----------
    log : CSR matrix
    start : Factors
        Copied.
    n, m : int
        Records, and items y' of each.
    """

    def __init__(self, log: Any, start: Factors, n: int, m: int) -> None:
        rng = np.random.default_rng(1)
        taken = rng.integers(log.nnz, size=n)
        self.who = (np.searchsorted(log.indptr, taken, side="right") - 1).astype(np.int32)
        self.items = log.indices[taken].astype(np.int32)
        self.xi = np.full(n, 0.01, dtype=np.float32)
        self.factors = deepcopy(start)
        self.m = m
        self._run(slice(0, 10))

    def rate(self) -> float:
        """Pairs per CPU second."""
        began = time.thread_time()
        pairs = self._run(slice(None))
        return pairs / (time.thread_time() - began)

    def _run(self, some: slice) -> int:
        f = self.factors
        args = (self.who[some], self.items[some], self.xi[some], f.U, f.V, f.GU, f.GV)
        return int(naive(*args, np.float32(0.1), self.m, np.uint64(1)))
