"""Compiled loop for the weighted Gram matrix of the columns of a CSR matrix."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def add_gram(indptr: Any, indices: Any, data: Any, weight: Any, H: Any) -> None:
    """``H += X' diag(weight) X``, the lower triangle only; the indices of each row are sorted."""
    for i in range(weight.size):
        if weight[i] == 0.0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            row = H[indices[a]]
            x = data[a] * weight[i]
            for b in range(indptr[i], a + 1):
                row[indices[b]] += x * data[b]


@njit(cache=True, nogil=True)
def add_products(indptr: Any, indices: Any, data: Any, weight: Any, v: Any, out: Any) -> None:
    """``out += X' diag(weight) X v``, each row read once."""
    for i in range(weight.size):
        if weight[i] == 0.0:
            continue
        s = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            s += data[a] * v[indices[a]]
        s *= weight[i]
        for a in range(indptr[i], indptr[i + 1]):
            out[indices[a]] += data[a] * s


@njit(cache=True, nogil=True)
def add_squares(indptr: Any, indices: Any, data: Any, weight: Any, out: Any) -> None:
    """``out_j += sum_i weight_i X_ij^2``."""
    for i in range(weight.size):
        for a in range(indptr[i], indptr[i + 1]):
            out[indices[a]] += weight[i] * data[a] * data[a]


@njit(cache=True, nogil=True)
def inner(indptr: Any, indices: Any, data: Any, first: int, room: Any, found: Any) -> None:
    """``found[i, j - first] = x_i.x_j`` of all rows i and those j from ``first`` on; ``room`` (d,) stays 0."""
    n = indptr.size - 1
    for j in range(first, n):
        for a in range(indptr[j], indptr[j + 1]):
            room[indices[a]] += data[a]
        for i in range(n):
            total = 0.0
            for a in range(indptr[i], indptr[i + 1]):
                total += data[a] * room[indices[a]]
            found[i, j - first] = total
        for a in range(indptr[j], indptr[j + 1]):
            room[indices[a]] = 0.0
