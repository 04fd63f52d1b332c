"""The rows of a data set as a matrix with as few columns as give the same minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.csr import back, entries_of, scores
from rerank.scorers.data import Floats
from rerank.scorers.linalg import Products

WIDE = 16


class DesignMatrix:
    """Products of float64 vectors with ``X`` (n, d), or with fewer columns that give the same minimum.

    Columns in which only row i has an entry change the score of that row only.  The least ``|w|`` for such a change
    points along those entries, so one column that holds their norm replaces them.  Columns without an entry have
    weight 0.  Sparse matrices with fewer than :data:`WIDE` entries a column are rewritten like this.  ``size`` is the
    number of columns that are left; the vectors of all methods but :meth:`compact` and :meth:`expand` have that length.
    """

    def __init__(self, X: Any) -> None:
        self.d = self.size = X.shape[1]
        self.dense = isinstance(X, np.ndarray)
        self.shared: Any = None
        if self.dense:
            self.X, self.products = X, Products(X)
        else:
            self.entries = entries_of(X)
            if X.nnz < WIDE * self.d:
                self.entries, self.size, self.shared, self.alone, self.own, self.part = _merged_columns(
                    self.entries, self.d
                )

    def compact(self, coef: Floats) -> Floats:
        """The least weights with the same scores as ``coef`` (d,), in the columns that are kept."""
        if self.shared is None:
            return coef.copy()
        w = np.asarray(np.bincount(self.own, self.part * coef[self.alone], self.size), np.float64)
        w[: self.shared.size] = coef[self.shared]
        return w

    def expand(self, w: Floats) -> Floats:
        """Weights of all columns (d,) for ``w`` (size,)."""
        if self.shared is None:
            return w
        coef = np.zeros(self.d)
        coef[self.shared] = w[: self.shared.size]
        coef[self.alone] = self.part * w[self.own]
        return coef

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        if self.dense:
            return self.products.scores(w)
        return np.asarray(scores(self.entries, w))

    def back(self, r: Floats) -> Floats:
        """``X^T r`` (size,)."""
        if self.dense:
            return self.products.back(r)
        return np.asarray(back(self.entries, r, self.size))

    def variances(self, weight: Floats) -> Floats:
        """Variance of every column (size,), row i with ``weight_i >= 0``; their sum is positive."""
        share = weight / weight.sum()
        if self.dense:
            share = share.astype(self.X.dtype)
            mean, square = share @ self.X, np.einsum("i,ij,ij->j", share, self.X, self.X)
        else:
            mean, square = _moments(self.entries, share, self.size)
        return np.asarray(square - mean**2, np.float64).clip(min=0)


@njit(cache=True, nogil=True)
def _moments(entries: Any, weight: Any, d: int) -> Any:
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
def _merged_columns(entries: Any, d: int) -> Any:
    """The entries with one column for all columns in which a row is alone; :class:`DesignMatrix` says why.

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
