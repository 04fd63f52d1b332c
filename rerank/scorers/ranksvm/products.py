"""Moments of sparse columns, fewer columns for the same minimum, and a turn of conjugate gradients, compiled.

Rows come as the entries of :mod:`rerank.scorers.linalg.sparse_products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def moments(entries: Any, weight: Any, d: int) -> Any:
    """``sum_i weight_i x_ij`` and ``sum_i weight_i x_ij ** 2`` (2, d)."""
    data, columns, start = entries
    found = np.zeros((2, d))
    for i in range(weight.size):
        for k in range(start[i], start[i + 1]):
            x = np.float64(data[k])
            found[0, columns[k]] += weight[i] * x
            found[1, columns[k]] += weight[i] * x * x
    return found


@njit(cache=True, nogil=True)
def rewritten(entries: Any, d: int) -> Any:
    """The entries with one column for all columns in which a row is alone; :mod:`rerank.scorers.ranksvm.rows` says why.

    Returns the new entries; the columns that are ``shared``, which come first; and for each entry that was ``alone``
    its column, the new one and its share of the norm.
    """
    data, columns, start = entries
    held = np.zeros(d, np.int64)
    for k in range(columns.size):
        held[columns[k]] += 1
    name, shared = np.empty(d, np.int64), np.empty(d, np.int64)
    size, lonely = 0, 0
    for j in range(d):
        name[j] = size
        if held[j] > 1:
            shared[size] = j
            size += 1
        elif held[j] == 1:
            lonely += 1
    shared, m = shared[:size].copy(), start.size - 1
    new_data = np.empty(columns.size - lonely + min(m, lonely), data.dtype)
    new_columns, new_start = np.empty(new_data.size, columns.dtype), np.zeros(m + 1, np.int64)
    alone, own, part = np.empty(lonely, np.int64), np.empty(lonely, np.int64), np.empty(lonely)
    at, found = 0, 0
    for i in range(m):
        square, before = 0.0, found
        for k in range(start[i], start[i + 1]):
            j, x = columns[k], np.float64(data[k])
            if held[j] > 1:
                new_data[at], new_columns[at] = data[k], name[j]
                at += 1
            elif x != 0.0:
                alone[found], own[found], part[found] = j, size, x
                square += x * x
                found += 1
        if found > before:
            norm = np.sqrt(square)
            new_data[at], new_columns[at] = norm, size
            for k in range(before, found):
                part[k] /= norm
            at += 1
            size += 1
        new_start[i + 1] = at
    fresh = new_data[:at].copy(), new_columns[:at].copy(), new_start
    return fresh, size, shared, alone[:found].copy(), own[:found].copy(), part[:found].copy()


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def turn(s: Any, r: Any, d: Any, h: Any, scale: Any, shift: float, rz: float) -> Any:
    """One turn of preconditioned conjugate gradients with ``h = (H - shift I) d``, in place.

    ``s`` is the solution so far, ``r`` what is left, ``d`` the direction, ``scale`` the inverse diagonal and ``rz`` the
    product of ``r`` with ``scale * r``.  Returns ``|r|^2`` and the new ``rz``.
    """
    curve = 0.0
    for j in range(d.size):
        h[j] += shift * d[j]
        curve += d[j] * h[j]
    step = rz / curve
    left, new = 0.0, 0.0
    for j in range(d.size):
        s[j] += step * d[j]
        x = r[j] - step * h[j]
        r[j] = x
        left += x * x
        new += x * x * scale[j]
    share = new / rz
    for j in range(d.size):
        d[j] = scale[j] * r[j] + share * d[j]
    return left, new
