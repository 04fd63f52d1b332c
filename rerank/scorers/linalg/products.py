"""Products with rows of either precision, float32 as exact as float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from rerank.scorers.data import Floats

BLOCK = 1 << 18  # entries of a float32 matrix that are widened at a time: 2 MB, which stays in the cache


class Products:
    """``X w`` and ``X' g`` in float64 for any ``X``, float32 never widened as a whole: an array goes block by block."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.rows = max(1, BLOCK // max(1, X.shape[1]))
        self.narrow = X.dtype != np.float64
        if self.narrow and issparse(X):
            from rerank.scorers.linalg import sparse_products

            self.sparse = sparse_products
            self.entries = sparse_products.entries_of(X)

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        if not self.narrow:
            return np.asarray(self.X @ w).ravel()
        if issparse(self.X):
            return np.asarray(self.sparse.scores(self.entries, w))
        found = np.empty(self.X.shape[0])
        for a in range(0, found.size, self.rows):
            found[a : a + self.rows] = self.X[a : a + self.rows].astype(np.float64) @ w
        return found

    def pull(self, g: Floats) -> Floats:
        """``X' g`` (d,)."""
        if not self.narrow:
            return np.asarray(self.X.T @ g).ravel()
        if issparse(self.X):
            return np.asarray(self.sparse.back(self.entries, g, self.X.shape[1]))
        found = np.zeros(self.X.shape[1])
        for a in range(0, g.size, self.rows):
            found += g[a : a + self.rows] @ self.X[a : a + self.rows].astype(np.float64)
        return found
