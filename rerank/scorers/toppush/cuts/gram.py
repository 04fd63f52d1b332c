"""``X' diag(D) X`` of the positives, kept up to date as D changes, and factors of matrices made from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import issparse

from rerank.scorers.toppush.cuts.gram_kernel import add_gram
from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]

# Up to this many features, or positives, a matrix as large is factored.
DIRECT = 2500
# Sums that were so many times larger have left too much rounding behind: they are taken anew.
WORN = 1e6


class Gram:
    """The matrix of the positives (d, d); of sparse rows only its lower triangle.

    Second derivatives that jump between two values change in few rows from one step to the next, and alpha is no
    part of them, so differences are added along a whole path.
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
        if WORN * D.sum() < self._most:
            self.clear()
        add(self.X, D - self._weights, self._value)
        self._weights[:] = D
        self._most = max(self._most, float(D.sum()))
        return self._value


def gram_of(problem: TopPushProblem) -> Gram:
    """The one of this problem."""
    if "gram" not in problem.workspace:
        problem.workspace["gram"] = Gram(problem.positives)
    found: Gram = problem.workspace["gram"]
    return found


def add(X: Any, weight: Floats, H: Floats) -> None:
    """``H += X' diag(weight) X``, of sparse rows the lower triangle only."""
    if issparse(X):
        add_gram(X.indptr, X.indices, X.data, weight, H)
        return
    rows = np.flatnonzero(weight)
    if rows.size:
        part = X if rows.size == weight.size else X[rows]
        H += (part.T * weight[rows]) @ part


def factor(H: Floats) -> Floats:
    """Lower Cholesky factor of H, of which the lower triangle is read.

    Where differences of large numbers have left it indefinite it gets a larger diagonal: it only steers steps.
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
