"""The small quadratic program of a cutting-plane method, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def descend(Q: Any, b: Any, x: Any, tol: float, max_iter: int) -> Any:
    """Minimise ``x.Qx / 2 - b.x`` over the simplex from ``x`` (n,), in place, to a gap of ``tol``; returns the gap.

    ``Q`` is the leading (n, n) part of what is given.

    Mass moves between two corners at a time: to the one of the least slope, from the one that promises most by the
    second-order rule of [Fan, Chen, Lin 2005].  ``x.g - min g``, with ``g = Qx - b``, bounds what is left to gain.
    """
    n = b.size
    g = -b
    for i in range(n):
        if x[i] > 0.0:
            for k in range(n):
                g[k] += x[i] * Q[i, k]
    gap = np.inf
    for _ in range(max_iter):
        i = int(np.argmin(g))
        gap = 0.0
        best, j = 0.0, -1
        for k in range(n):
            if x[k] > 0.0:
                rise = g[k] - g[i]
                gap += x[k] * rise
                curve = max(Q[i, i] + Q[k, k] - 2 * Q[i, k], 1e-300)
                gain = rise * min(rise / curve, x[k])
                if gain > best:
                    best, j = gain, k
        if gap <= tol or j < 0:
            break
        t = min((g[j] - g[i]) / max(Q[i, i] + Q[j, j] - 2 * Q[i, j], 1e-300), x[j])
        x[i] += t
        x[j] -= t
        for k in range(n):
            g[k] += t * (Q[i, k] - Q[j, k])
    return gap
