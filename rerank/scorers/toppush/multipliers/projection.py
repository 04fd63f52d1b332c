"""Projection onto ``{ a, b >= 0 : sum a = sum b }`` in linear expected time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def shift(a: Any, b: Any) -> float:
    """The root of ``sum_i [a_i - g]_+ - sum_j [b_j + g]_+``, which falls in g; 0 if both sums vanish at 0.

    The breakpoints ``a_i`` and ``-b_j`` are halved around a pivot as in a selection; sums over those already decided
    are kept.  Li, Jin and Zhou, NIPS 2014, Algorithm 2, in which the printed sums lose the pivot.
    """
    m = a.size
    n = m + b.size
    u = np.empty(n)
    up = np.empty(n, np.bool_)
    for i in range(m):
        u[i] = a[i]
        up[i] = True
    for j in range(b.size):
        u[m + j] = -b[j]
        up[m + j] = False
    total = 0.0
    count = 0
    low = 0
    seed = 1
    while low < n:
        # Any pivot is correct; a pseudo-random one keeps sorted input from being the worst case.
        seed = (seed * 1103515245 + 12345) % 2147483648
        pivot = u[low + seed % (n - low)]
        s = total
        c = count
        for k in range(low, n):
            if (up[k] and u[k] > pivot) or (not up[k] and u[k] < pivot):
                s += u[k]
                c += 1
        below = s < c * pivot
        # The root is on one side of the pivot: what is decided there joins the sums, the rest stays.
        kept = low
        for k in range(low, n):
            stays = u[k] < pivot if below else u[k] > pivot
            if stays:
                v = u[k]
                w = up[k]
                u[k] = u[kept]
                up[k] = up[kept]
                u[kept] = v
                up[kept] = w
                kept += 1
            elif up[k] == below:
                total += u[k]
                count += 1
        n = kept
    return total / count if count else 0.0


def project(a: Any, b: Any, start_a: Any, start_b: Any) -> tuple[Any, Any]:
    """Project ``(a, b)`` list by list.

    Parameters
    ----------
    a, b : float64 array (m,), (n,)
    start_a, start_b : int64 array (G + 1,)
        Where each list begins in them.
    """
    new_a, new_b = np.empty_like(a), np.empty_like(b)
    for g in range(start_a.size - 1):
        i, j = slice(start_a[g], start_a[g + 1]), slice(start_b[g], start_b[g + 1])
        s = shift(a[i], b[j])
        new_a[i] = np.maximum(a[i] - s, 0)
        new_b[j] = np.maximum(b[j] + s, 0)
    return new_a, new_b
