"""Products of a matrix with vectors in float64, and L-BFGS for smooth losses of linear scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, issparse

from rerank.errors.kernels import kept
from rerank.errors.stops import current
from rerank.scorers.base import Floats, ScorerSolution

BLOCK = 1 << 18  # entries of a float32 matrix that are converted at a time: 2 MB, which fit the cache

Loss = Callable[[Floats], tuple[float, Floats]]  # scores (n,) to the loss and its gradient in the scores (n,)

MEMORY = 20  # steps that L-BFGS keeps
ADVICE = "Raise max_iter or alpha, or standardise the features."
ROUNDING = 1e-15  # relative decrease of the objective below which float64 shows no progress


class Products:
    """``X w`` and ``X' g`` in float64 for any ``X``.  float32 is not copied as a whole but in blocks of rows."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.rows = max(1, X.shape[0] if X.dtype == np.float64 else BLOCK // max(1, X.shape[1]))
        # Unsigned columns: numba then leaves out the handling of negative indices.
        self.entries = (X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr) if issparse(X) else None

    def scores(self, w: Floats) -> Floats:
        """``X w`` (n,)."""
        if self.entries is not None:
            return np.asarray(_scores(self.entries, w))
        found = np.empty(self.X.shape[0])
        for a in range(0, found.size, self.rows):
            found[a : a + self.rows] = self.X[a : a + self.rows].astype(np.float64, copy=False) @ w
        return found

    def back(self, g: Floats) -> Floats:
        """``X' g`` (d,)."""
        if self.entries is not None:
            return np.asarray(_back(self.entries, g, self.X.shape[1]))
        found = np.zeros(self.X.shape[1])
        for a in range(0, g.size, self.rows):
            found += g[a : a + self.rows] @ self.X[a : a + self.rows].astype(np.float64, copy=False)
        return found


@kept()
def _scores(entries: Any, w: Any) -> Any:
    data, columns, start = entries
    found = np.empty(start.size - 1)
    for i in range(found.size):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += data[k] * w[columns[k]]
        found[i] = s
    return found


@kept()
def _back(entries: Any, g: Any, d: int) -> Any:
    data, columns, start = entries
    found = np.zeros(d)
    for i in range(g.size):
        x = g[i]
        if x != 0.0:
            for k in range(start[i], start[i + 1]):
                found[columns[k]] += data[k] * x
    return found


def squares(X: Any, weight: Floats) -> Floats:
    """``sum_i weight_i X_ij^2`` (d,)."""
    if issparse(X):
        squared = csr_matrix((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
        return np.asarray(squared.T @ weight)
    return np.asarray(np.einsum("ij,ij,i->j", X, X, weight.astype(X.dtype)))


def minimise(X: Any, loss: Loss, alpha: float, start: Floats | None, tol: float, max_iter: int) -> ScorerSolution:
    """Minimise ``J(w) = alpha/2 |w|^2 + loss(X w)`` from ``start`` (d,), zero without one. ``loss`` takes scores (n,)
    and gives its value and gradient (n,). Converged means ``max|grad J(w)| <= tol max|grad J(0)|``, which does not
    depend on the scale of the loss, or that float64 shows no further decrease.
    """
    products, stop = Products(X), current()

    def unless_over(_: Floats) -> None:
        if stop.now:
            raise StopIteration

    def value(w: Floats) -> tuple[float, Floats]:
        at, slope = loss(products.scores(w))
        return at + 0.5 * alpha * float(w @ w), products.back(slope) + alpha * w

    zero = np.zeros(X.shape[1])
    scale = float(np.abs(value(zero)[1]).max(initial=0.0))
    w, used, still = (zero if start is None else start.copy()), 0, False
    while True:
        limits = {"maxiter": max_iter - used, "maxfun": 20 * max_iter}
        options = {"gtol": tol * scale, "ftol": ROUNDING, "maxcor": MEMORY, **limits}
        found = minimize(value, w, jac=True, method="L-BFGS-B", callback=unless_over, options=options)
        w, used = found.x, used + int(found.nit)
        small = float(np.abs(found.jac).max(initial=0.0)) <= tol * scale
        # A failed line search (status 2) is tried once more without the old steps.  If that does not move either,
        # only rounding is left.
        still = found.status == 0 or (found.status == 2 and found.nit == 0)
        if small or still or used >= max_iter or found.status == 1 or stop.now:
            break
    return ScorerSolution(w, float(found.fun), used, bool(small or still), advice=ADVICE)
