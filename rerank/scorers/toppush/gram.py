"""Matrices ``X' diag(D) X`` kept up to date as D changes, and their factors."""

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import issparse

from rerank.errors.kernels import kept
from rerank.scorers.base import Floats

# Sums that have shrunk by this factor are computed anew: rounding of the larger ones is left in them.
SHRUNK = 1e6


class Gram:
    """The matrix ``X' diag(D) X``, of sparse rows X only its lower triangle. Second derivatives that take two values
    only change in few rows from one step to the next, and they do not depend on alpha. So differences are added along a
    whole path.
    """

    def __init__(self, X: Any) -> None:
        self.X, self.most = X, 0.0

    def at(self, D: Floats) -> Floats:
        """The matrix for second derivatives D (m,); to be read only."""
        m, d = self.X.shape
        if self.most == 0.0 or SHRUNK * D.sum() < self.most:
            self.value, self.D, self.most = np.zeros((d, d)), np.zeros(m), 0.0
        add_gram(self.X, D - self.D, self.value)
        self.D, self.most = D, max(self.most, float(D.sum()))
        return self.value


def dense(M: Any) -> Floats:
    """A matrix as an array, whether it was sparse or not."""
    return np.asarray(M.toarray() if issparse(M) else M)


def add_gram(X: Any, weight: Floats, H: Floats) -> None:
    """``H += X' diag(weight) X``, of sparse rows the lower triangle only."""
    if issparse(X):
        _add_rows(X.indptr, X.indices, X.data, weight, H)
    elif (rows := np.flatnonzero(weight)).size:
        part = X if rows.size == weight.size else X[rows]
        H += (part.T * weight[rows]) @ part


@kept()
def _add_rows(indptr: Any, indices: Any, data: Any, weight: Any, H: Any) -> None:
    """The indices of each row are sorted."""
    for i in range(weight.size):
        if weight[i] == 0.0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            row = H[indices[a]]
            x = data[a] * weight[i]
            for b in range(indptr[i], a + 1):
                row[indices[b]] += x * data[b]


def factor(H: Floats) -> Floats:
    """Lower Cholesky factor of H, of which the lower triangle is read. If rounding has left H indefinite, its diagonal
    is raised: the factor only determines directions of steps.
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
