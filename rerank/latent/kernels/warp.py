"""Stochastic steps of the objective of Weston et al. [YunRamanVishwanathan2014, eq. 17], with WARP's sampling.

For a record (x, y), items y' are drawn from the others of the sub-block until one comes within a margin,
``f_xy' > f_xy - 1``.  After ``N`` draws the rank of y is estimated as ``(n - 1) / N``, and the step follows the
gradient of

    Phi(floor((n - 1) / N)) (1 - f_xy + f_xy') + alpha/2 (|U_x|^2 + |V_y|^2 + |V_y'|^2),

``Phi(k) = 1 + 1/2 + ... + 1/k``.

After ``m`` draws without such an item the record is skipped [WestonBengioUsunier2011, alg. 1].  The margin of 1 is not
in eq. 17, whose indicator has no gradient.  The rank is estimated from few draws, so these steps are a heuristic: they
are the gradient of no objective.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.kernels.primitives import FAST, ONE, ZERO, dot, draw, shrink_and_add, step_length


@njit(cache=True, nogil=True)
def harmonic(k: int) -> float:
    """Harmonic number; for k >= 32 the asymptotic series [Euler], whose error is below 1e-9."""
    if k < 32:
        total = 0.0
        for i in range(1, k + 1):
            total += 1.0 / i
        return total
    return math.log(k) + 0.5772156649015329 + 1.0 / (2.0 * k) - 1.0 / (12.0 * k * k)


@njit(cache=True, nogil=True, fastmath=FAST)
def warp(
    who: Any, where: Any, xi: Any, starts: Any, U: Any, GU: Any, V: Any, GV: Any,
    n: int, rate: Any, alpha: Any, adaptive: bool, size: int, m: int, popular: float, seed: Any,
) -> int:  # fmt: skip
    """Visit the records as :func:`~rerank.latent.kernels.steps.robirank` does; ``xi`` and ``popular`` are not used."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    g = np.empty(d, dtype=np.float32)
    pairs = 0
    for s in range(starts.size):
        low = starts[s]
        x = who[low]
        u = U[x]
        i = low
        while i < min(low + size, who.size) and who[i] == x:
            y = where[i]
            i += 1
            square = dot(u, u)
            if not square < np.float32(1e30):
                return -1
            z, tries = _violator(u, V, y, m, state)
            pairs += tries
            if z < 0:
                continue
            force = np.float32(harmonic(max((n - 1) // tries, 1)))
            for k in range(d):
                g[k] = alpha * u[k] + force * (V[z, k] - V[y, k])
            r = step_length(rate, adaptive, force * force * square / np.float32(d), GV, y)
            shrink_and_add(max(ONE - r * alpha, ZERO), r * force, u, V[y])
            r = step_length(rate, adaptive, force * force * square / np.float32(d), GV, z)
            shrink_and_add(max(ONE - r * alpha, ZERO), -r * force, u, V[z])
            r = step_length(rate, adaptive, dot(g, g) / np.float32(d), GU, x)
            shrink_and_add(ONE, -r, g, u)
    return pairs


@njit(cache=True, nogil=True, fastmath=FAST)
def _violator(u: Any, V: Any, y: int, m: int, state: Any) -> Any:
    """An item within the margin, and the number of draws; item -1 if ``m`` draws found none."""
    mine = dot(u, V[y]) - ONE
    for tries in range(1, m + 1):
        z = draw(state, V.shape[0] - 1)
        z += z >= y  # never y itself
        if dot(u, V[z]) > mine:
            return z, tries
    return -1, m
