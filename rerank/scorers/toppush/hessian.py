"""The Hessian of TopPush with a smoothed threshold, and Newton steps with it.

With ``D_i = c_i l''`` and, in each list, M the negatives whose multiplier is between its bounds (1 for ``|M|`` if
there is none), ``kappa`` the sum of the caps of those at the upper one, ``g = ((1 - kappa)^2 / |M| + sum cap^2) /
sigma`` and ``S = sum_i D_i``::

    H = alpha I + Cov_D(positives) + sigma Cov_M(negatives) + sum_g omega_g delta_g delta_g',  omega = S / (1 + g S)

``Cov`` are scatters about the mean of each list (weights D, and 1 on M), and ``delta_g`` leads from the mean of the
positives to ``(1 - kappa) mean_M + sum_upper cap_j x_j``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix, issparse

from rerank.scorers.data import Floats
from rerank.scorers.toppush.envelope import Smoothed
from rerank.scorers.toppush.gram import DIRECT, add, add_products, add_squares, dense, factor
from rerank.scorers.toppush.problem import TopPushProblem, weighted_sum

# The preconditioner holds all rows of M if the cube of their number is below so many times the stored entries.
WHOLE = 6000
# Products for a step at most, and the share of the first squared residual that may be left.
PRODUCTS, LEFT = 500, 1e-3


class SmoothHessian:
    """H at a point.

    Parameters
    ----------
    problem : TopPushProblem
    alpha, sigma : float
    at : Smoothed
    """

    def __init__(self, problem: TopPushProblem, alpha: float, sigma: float, at: Smoothed) -> None:
        p = self.problem = problem
        self.alpha, self.sigma, self.D = alpha, sigma, at.D
        self.S = p.per_list(at.D)
        self.rows, self.lists = p.negatives[at.middle], p.negative_list[at.middle]
        self.count = np.maximum(np.bincount(self.lists, minlength=p.n_lists), 1)
        rest, squares = (1 - at.parts[:, 1]), at.parts[:, 2]
        self.omega = self.S / (1 + self.S * (rest**2 / self.count + squares) / sigma)
        top = at.upper.copy()
        top[at.middle] = (rest / self.count)[self.lists]
        self.mean: Any = _sums(
            at.D / np.where(self.S > 0, self.S, 1)[p.list_of], p.list_of, p.n_lists, p.positives
        )
        self.delta: Any = _sums(top, p.negative_list, p.n_lists, p.negatives) - self.mean

    def solve(self, gradient: Floats) -> Floats:
        """``-H^-1 gradient``, exactly or nearly."""
        m, d = self.problem.positives.shape
        if d <= DIRECT and d <= m + self.lists.size:
            return np.asarray(-scipy.linalg.cho_solve((self._factor(), True), gradient, check_finite=False))
        return self._conjugate_gradients(-gradient)

    def times(self, v: Floats) -> Floats:
        """``H v``."""
        p = self.problem
        y = self._centred(self.rows @ v)
        found = (
            self.alpha * v + self.rows.T @ (self.sigma * y) + self.delta.T @ (self.omega * (self.delta @ v))
        )
        if p.n_lists == 1 and issparse(p.positives):
            X = p.positives
            add_products(X.indptr, X.indices, X.data, self.D, v, found)
            return np.asarray(found - (self.S[0] * (self.mean[0] @ v)) * self.mean[0])
        x = self.D * (p.positives @ v - (self.mean @ v)[p.list_of])
        return np.asarray(found + p.positives.T @ x)

    def _centred(self, y: Floats) -> Floats:
        """Without the mean of each list, for values or columns of values of the rows of M."""
        if y.ndim == 1:
            return np.asarray(y - (np.bincount(self.lists, y, self.count.size) / self.count)[self.lists])
        means = _average((1 / self.count)[self.lists], self.lists, self.count.size) @ y
        return np.asarray(y - means[self.lists])

    def _factor(self) -> Floats:
        """Lower Cholesky factor of H."""
        mean = dense(self.mean)
        H = self.problem.gram.at(self.D) - (mean.T * self.S) @ mean
        if issparse(self.rows):
            add(self.rows, np.full(self.lists.size, self.sigma), H)
            middle = dense(_average((1 / self.count)[self.lists], self.lists, self.count.size) @ self.rows)
            H -= (middle.T * (self.sigma * self.count)) @ middle
        else:
            rows = self._centred(self.rows)
            H += self.sigma * (rows.T @ rows)
        delta = dense(self.delta)
        H += (delta.T * self.omega) @ delta
        H.flat[:: H.shape[0] + 1] += self.alpha
        return factor(H)

    def _conjugate_gradients(self, r: Floats) -> Floats:
        near = self._preconditioner()
        x = np.zeros(r.size)
        y = near(r)
        d, size = y, float(r @ y)
        first = size
        for _ in range(PRODUCTS):
            if not size > LEFT * first:
                break
            h = self.times(d)
            length = size / float(d @ h)
            x += length * d
            r = r - length * h
            y = near(r)
            new = float(r @ y)
            d, size = y + (new / size) * d, new
        return x

    def _preconditioner(self) -> Any:
        """The inverse of ``E + Z'Z``: Z are the rows of M, centred, and delta; the positives are in the diagonal E."""
        p = self.problem
        k, G = self.lists.size, self.omega.size
        E = self.alpha + _squares(p.positives, self.D) - _squares(self.mean, self.S)
        whole = (k + G) ** 3 <= WHOLE * (p.positives.size + self.rows.size)
        if not whole:
            E += _squares(self.rows, np.full(k, self.sigma)) + _squares(self.delta, self.omega)
            return lambda r: r / np.maximum(E, self.alpha)
        E = np.maximum(E, self.alpha)
        root, penalty, weight = 1 / np.sqrt(E), np.sqrt(self.sigma), np.sqrt(self.omega)
        rows, delta = _scaled(self.rows, root), _scaled(self.delta, root)
        W = np.empty((k + G, k + G))
        W[:k, :k] = self.sigma * self._centred(self._centred(dense(rows @ rows.T)).T)
        W[k:, :k] = (penalty * weight[:, None]) * self._centred(dense(rows @ delta.T)).T
        W[:k, k:] = W[k:, :k].T
        W[k:, k:] = weight[:, None] * dense(delta @ delta.T) * weight
        W.flat[:: k + G + 1] += 1
        factor = scipy.linalg.cho_factor(W, lower=True, overwrite_a=True, check_finite=False)

        def near(r: Floats) -> Floats:
            y = r * root
            s = np.concatenate([penalty * self._centred(rows @ y), weight * (delta @ y)])
            s = scipy.linalg.cho_solve(factor, s, check_finite=False)
            return np.asarray(
                root * (y - rows.T @ (penalty * self._centred(s[:k])) - delta.T @ (weight * s[k:]))
            )

        return near


def _average(values: Floats, lists: Any, n_lists: int) -> csr_matrix:
    """A row for each list with the values of its members; the members of a list are adjacent."""
    start = np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=n_lists))])
    return csr_matrix((values, np.arange(values.size), start), shape=(n_lists, values.size))


def _sums(values: Floats, lists: Any, n_lists: int, X: Any) -> Any:
    """The weighted sum of the rows of each list (G, d); of one list, rows of weight 0 are not read if they are most."""
    if n_lists > 1:
        return _average(values, lists, n_lists) @ X
    return weighted_sum(X, values)[None, :]


def _squares(X: Any, weight: Floats) -> Floats:
    """``sum_i weight_i X_ij^2`` (d,)."""
    if issparse(X):
        found = np.zeros(X.shape[1])
        add_squares(X.indptr, X.indices, X.data, weight, found)
        return found
    return np.asarray(np.einsum("ij,ij,i->j", X, X, weight))


def _scaled(X: Any, columns: Floats) -> Any:
    """X with its columns multiplied."""
    if issparse(X):
        return csr_matrix((X.data * columns[X.indices], X.indices, X.indptr), shape=X.shape)
    return X * columns
