"""Truncated Newton for the squared hinge loss over pairs, on as few columns as give the same minimum."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from scipy.sparse.linalg import LinearOperator, cg

from rerank.errors.stops import current
from rerank.scorers.base import Floats, ScorerSolution
from rerank.scorers.linalg import Products, squares
from rerank.scorers.ranksvm.pairs import ActivePairs, Record, UtilityPairs

# Conjugate gradients stop where this share of the gradient is left.
FORCING = 0.1
WIDE = 16


class DesignMatrix(Products):
    """Products of float64 vectors with ``X`` (n, d), or with fewer columns that give the same minimum.

    Columns in which only row i has an entry change the score of that row only.  The least ``|w|`` for such a change
    points along those entries, so one column that holds their norm replaces them.  Columns without an entry have
    weight 0.  Sparse matrices with fewer than :data:`WIDE` entries a column are rewritten like this.  ``size`` is the
    number of columns that are left; the vectors of all methods but :meth:`compact` and :meth:`expand` have that length.
    """

    def __init__(self, X: Any) -> None:
        self.d, self.shared = X.shape[1], np.empty(0, np.intp)
        self.packed = issparse(X) and X.nnz < WIDE * self.d
        super().__init__(self._merged(X) if self.packed else X)
        self.size = self.X.shape[1]

    def _merged(self, X: Any) -> Any:
        """The columns that are ``shared``, then one for each row that is alone in some. ``alone`` are these columns,
        ``own`` the new ones that took their places, ``part`` their shares of the norm.
        """
        n, held = X.shape[0], np.bincount(X.indices, minlength=self.d)
        row = np.repeat(np.arange(n), np.diff(X.indptr))
        alone = held[X.indices] == 1
        norm = np.sqrt(np.bincount(row[alone], X.data[alone].astype(np.float64) ** 2, n))
        some = np.flatnonzero(norm)
        alone &= norm[row] > 0
        self.shared, self.alone = np.flatnonzero(held > 1), X.indices[alone]
        self.own = self.shared.size + np.searchsorted(some, row[alone])
        self.part = X.data[alone] / norm[row[alone]]
        single = csr_matrix((norm[some].astype(X.dtype), (some, np.arange(some.size))), (n, some.size))
        return hstack([csr_matrix(X)[:, self.shared], single], format="csr")

    def compact(self, coef: Floats) -> Floats:
        """The least weights with the same scores as ``coef`` (d,), in the columns that are kept."""
        if not self.packed:
            return coef.copy()
        w = np.asarray(np.bincount(self.own, self.part * coef[self.alone], self.size), np.float64)
        w[: self.shared.size] = coef[self.shared]
        return w

    def expand(self, w: Floats) -> Floats:
        """Weights of all columns (d,) for ``w`` (size,)."""
        if not self.packed:
            return w
        coef = np.zeros(self.d)
        coef[self.shared] = w[: self.shared.size]
        coef[self.alone] = self.part * w[self.own]
        return coef

    def variances(self, weight: Floats) -> Floats:
        """Variance of every column (size,), row i with ``weight_i >= 0``; their sum is positive."""
        share = weight / weight.sum()
        return np.asarray(squares(self.X, share) - self.back(share) ** 2).clip(min=0)


def newton(
    X: DesignMatrix, pairs: UtilityPairs, alpha: float, starts: list[Floats], tol: float, max_iter: int
) -> ScorerSolution:
    """Minimise ``J(w) = sum c_ij (1 + p_i - p_j)_+ ** 2 + alpha |w|^2``, ``p = X w``.

    The start is the first of ``starts`` that is better than the next one.
    ``J`` is strongly convex with modulus ``2 alpha``, so ``J(w) - min J <= |grad J(w)|^2 / (4 alpha)``; this is also
    the duality gap at the multipliers ``2 c_ij (1 + p_i - p_j)_+``.  The method stops where that is at most
    ``tol * J``.  Each step solves with the Hessian of the active pairs, as in [Lee, Lin 2014], and is halved
    until ``J`` decreases.
    """
    J = np.inf
    for start in starts:
        there = pairs.at(X.scores(start))
        value, gradient = _value(there, start, alpha)
        if np.inf > J and not value < J:
            break
        w, active, J, slope = start, there, value, gradient
    gap, stop = np.inf, current()
    for step in range(max_iter + 1):
        gradient = X.back(slope) + 2 * alpha * w
        gap = float(gradient @ gradient) / (4 * alpha * J)
        if gap <= tol or step == max_iter or stop.now:
            break
        enough = np.sqrt(tol * 4 * alpha * J) / 2
        s = _direction(X, pairs.recorded(active), gradient, alpha, enough)
        moved = _search(pairs, active, w, s, X.scores(s), alpha, J, float(gradient @ s))
        if moved is None:
            break
        w, active, J, slope = moved
    advice = "Raise max_iter, tol or alpha; float32 features may also be too coarse for this tol."
    return ScorerSolution(X.expand(w), J, step, gap <= tol, gap, advice=advice)


def _value(active: ActivePairs, w: Floats, alpha: float) -> tuple[float, Floats]:
    loss, slope = active.squared
    return loss + alpha * float(w @ w), slope


def _direction(X: DesignMatrix, record: Record, gradient: Floats, alpha: float, enough: float) -> Floats:
    """Solve ``H s = -gradient`` by conjugate gradients until ``|H s + gradient|`` is small enough for this step. The
    preconditioner is the diagonal that ``H`` would have if both rows of a pair were drawn independently, in proportion
    to their weight of partners ``mass_i``: ``2 alpha + 2 sum(mass) variance_k`` for column k.
    """
    mass = record.pairs.coefficient * record.degree
    diagonal = np.full(gradient.size, 2 * alpha)
    if mass.any():
        diagonal += 2 * mass.sum() * X.variances(mass)
    stop, shape = current(), (gradient.size, gradient.size)
    H = LinearOperator(shape, lambda v: X.back(record.hessian(X.scores(v))) + 2 * alpha * v, dtype=np.float64)
    near = LinearOperator(shape, lambda r: r / diagonal, dtype=np.float64)

    def unless_over(s: Floats) -> None:
        if stop.now:
            raise StopIteration(s.copy())

    goal = max(enough, FORCING * float(np.linalg.norm(gradient)))
    try:
        s = cg(H, -gradient, rtol=0, atol=goal, maxiter=gradient.size, M=near, callback=unless_over)[0]
    except StopIteration as over:
        s = over.value
    return np.asarray(s)


def _search(
    pairs: UtilityPairs, active: ActivePairs, w: Floats, s: Floats, u: Floats, alpha: float, J: float, slope: float
) -> tuple[Floats, ActivePairs, float, Floats] | None:
    """The first step among 1, 1/2, 1/4, ... with a fair decrease; None where rounding hides any."""
    t = 1.0
    while t > 1e-10:
        there = pairs.at(active.p + t * u)
        value, gradient = _value(there, w + t * s, alpha)
        if value <= J + 1e-4 * t * slope:
            return w + t * s, there, value, gradient
        t /= 2
    return None
