"""Products of a matrix with vectors in float64, whatever the precision of the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from rerank.scorers.data import Floats

BLOCK = 1 << 18  # entries of a float32 matrix that are converted at a time: 2 MB, which fit the cache


class Products:
    """``X w`` and ``X' g`` in float64 for any ``X``.  float32 is not copied as a whole but in blocks of rows."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.rows = max(1, BLOCK // max(1, X.shape[1]))
        self.narrow = X.dtype != np.float64
        if self.narrow and issparse(X):
            from rerank.scorers.linalg import csr  # compiled: loaded where it is needed

            self.csr, self.entries = csr, csr.entries_of(X)

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        if not self.narrow:
            return np.asarray(self.X @ w).ravel()
        if issparse(self.X):
            return np.asarray(self.csr.scores(self.entries, w))
        found = np.empty(self.X.shape[0])
        for a in range(0, found.size, self.rows):
            found[a : a + self.rows] = self.X[a : a + self.rows].astype(np.float64) @ w
        return found

    def back(self, g: Floats) -> Floats:
        """``X' g`` (d,)."""
        if not self.narrow:
            return np.asarray(self.X.T @ g).ravel()
        if issparse(self.X):
            return np.asarray(self.csr.back(self.entries, g, self.X.shape[1]))
        found = np.zeros(self.X.shape[1])
        for a in range(0, g.size, self.rows):
            found += g[a : a + self.rows] @ self.X[a : a + self.rows].astype(np.float64)
        return found
