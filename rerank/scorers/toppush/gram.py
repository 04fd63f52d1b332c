"""Matrices ``X' diag(D) X`` kept up to date as D changes, their factors, and compiled loops over CSR rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numba import njit
from scipy.sparse import issparse

from rerank.scorers.data import Floats

# A matrix with up to this many rows, one for each feature or positive, is factored.
DIRECT = 2500
# Sums that have shrunk by this factor are computed anew: rounding of the larger ones is left in them.
SHRUNK = 1e6


class Gram:
    """The matrix of the rows X (m, d); of sparse rows only its lower triangle.

    Second derivatives that take two values only change in few rows from one step to the next, and they do not depend
    on alpha.  So differences are added along a whole path.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        m, d = self.X.shape
        self._value, self._weights, self._most = np.zeros((d, d)), np.zeros(m), 0.0

    def at(self, D: Floats) -> Floats:
        """The matrix for second derivatives D (m,); to be read only."""
        if SHRUNK * D.sum() < self._most:
            self.clear()
        add(self.X, D - self._weights, self._value)
        self._weights[:] = D
        self._most = max(self._most, float(D.sum()))
        return self._value


def dense(M: Any) -> Floats:
    """A matrix as an array, whether it was sparse or not."""
    return np.asarray(M.toarray() if issparse(M) else M)


def add(X: Any, weight: Floats, H: Floats) -> None:
    """``H += X' diag(weight) X``, of sparse rows the lower triangle only."""
    if issparse(X):
        _add_gram(X.indptr, X.indices, X.data, weight, H)
        return
    rows = np.flatnonzero(weight)
    if rows.size:
        part = X if rows.size == weight.size else X[rows]
        H += (part.T * weight[rows]) @ part


def factor(H: Floats) -> Floats:
    """Lower Cholesky factor of H, of which the lower triangle is read.

    If rounding has left H indefinite, its diagonal is raised: the factor only determines directions of steps.
    """
    ridge = 1e-14 * float(np.trace(H))
    while True:
        try:
            return np.asarray(scipy.linalg.cholesky(H, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            if not 0 < ridge < np.inf:
                raise
            H.flat[:: H.shape[0] + 1] += ridge
            ridge *= 100


@njit(cache=True, nogil=True)
def _add_gram(indptr: Any, indices: Any, data: Any, weight: Any, H: Any) -> None:
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
