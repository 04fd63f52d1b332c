"""Products with the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.sparsefuncs import mean_variance_axis

from rerank.scorers.data import Floats


class Rows:
    """Products in the precision of ``X`` (n, d), with vectors in float64.

    Columns of a sparse ``X`` that hold nothing have weight 0 in any minimum, so the products and the vectors of a
    solver leave them out where they are many: ``size`` is the number of columns kept.
    """

    def __init__(self, X: Any) -> None:
        self.d = X.shape[1]
        self.used: Any = slice(None)
        if not isinstance(X, np.ndarray):
            some = np.zeros(self.d, bool)
            some[X.indices] = True
            if 2 * some.sum() < self.d:
                self.used = np.flatnonzero(some)
                renamed = (np.cumsum(some) - 1).astype(X.indices.dtype)[X.indices]
                X = csr_matrix((X.data, renamed, X.indptr), shape=(X.shape[0], self.used.size))
        self.X, self.transposed, self.size = X, X.T, X.shape[1]

    def compact(self, coef: Floats) -> Floats:
        """A copy of the entries of ``coef`` (d,) that are kept."""
        return np.array(coef[self.used])

    def expand(self, w: Floats) -> Floats:
        """``w`` (size,) with zeros where columns are left out, (d,)."""
        coef = np.zeros(self.d)
        coef[self.used] = w
        return coef

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        return np.asarray(self.X @ w.astype(self.X.dtype, copy=False), dtype=np.float64)

    def back(self, r: Floats) -> Floats:
        """``X^T r`` (size,)."""
        return np.asarray(self.transposed @ r.astype(self.X.dtype, copy=False), dtype=np.float64)

    def variances(self, weight: Floats) -> Floats:
        """Variance of every column (size,), row i with ``weight_i >= 0``; their sum is positive."""
        if isinstance(self.X, np.ndarray):
            share = (weight / weight.sum()).astype(self.X.dtype)
            mean = share @ self.X
            return np.asarray(np.einsum("i,ij,ij->j", share, self.X, self.X) - mean**2, np.float64).clip(
                min=0
            )
        return np.asarray(
            mean_variance_axis(self.X, axis=0, weights=weight.astype(self.X.dtype))[1], np.float64
        )
