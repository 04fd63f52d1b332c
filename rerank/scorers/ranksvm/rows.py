"""Products with the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.scorers.data import Floats
from rerank.scorers.linalg.products import Products
from rerank.scorers.linalg.sparse_products import back, entries_of, scores
from rerank.scorers.ranksvm.products import moments, rewritten

WIDE = 16


class Rows:
    """Products with ``X`` (n, d), and with as few columns as give the same minimum; vectors are float64.

    A loss sees the columns in which only row i has an entry through their share of one score, so the least ``|w|``
    for that share points along those entries: one column with their norm stands for them.  Columns without an entry
    have weight 0.  Sparse rows with fewer than :data:`WIDE` entries a column are rewritten so; ``size`` is the number
    of columns of the others' products and vectors.
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
                self.entries, self.size, self.shared, self.alone, self.own, self.part = rewritten(
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
            return self.products.pull(r)
        return np.asarray(back(self.entries, r, self.size))

    def variances(self, weight: Floats) -> Floats:
        """Variance of every column (size,), row i with ``weight_i >= 0``; their sum is positive."""
        share = weight / weight.sum()
        if self.dense:
            share = share.astype(self.X.dtype)
            mean, square = share @ self.X, np.einsum("i,ij,ij->j", share, self.X, self.X)
        else:
            mean, square = moments(self.entries, share, self.size)
        return np.asarray(square - mean**2, np.float64).clip(min=0)
