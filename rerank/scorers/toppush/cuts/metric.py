"""The curvature of TopPush's mean loss, and its form over the features; two other forms have homes of their own.

At given second derivatives ``D_i`` the loss has, in the weights w and the thresholds t_g, the Hessian::

    [ alpha I + X'DX    -sum_i D_i x_i ]         S_g = sum_{i in g} D_i
    [       ...            diag(S)     ]      mean_g = sum_{i in g} D_i x_i / S_g

Without t (its Schur complement) it is ``H = alpha I + X'DX - sum_g S_g mean_g mean_g'``, and a vertex of list g
with row b becomes ``n = b - mean_g``.  What the Newton step needs is ``H^-1 v`` and the matrix
``K_uv = n_u.H^-1 n_v + [same list] / S_g``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rerank.scorers.toppush.cuts.gram import factor, gram_of
from rerank.scorers.toppush.cuts.pool import Pool, dense
from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]

# Where no positive of a list is curved, its threshold gets this share of the curvature at 0; where the curvature
# dies out exponentially it keeps what it has, down to the smaller share.
FLAT, FAINT = 1e-3, 1e-12


class Metric(ABC):
    """What all three forms share: the curvature of the thresholds and the matrix K, grown with the pool."""

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha
        self.ordinary = problem.loss.curvature(np.zeros(1))[0] * problem.per_list(problem.share)

    def refresh(self, D: Floats) -> None:
        """Take new second derivatives (m,), shares included."""
        p = self.problem
        self.D = D
        held = p.per_list(D)
        self.S = np.where(held > 0, np.maximum(held, FAINT * self.ordinary), FLAT * self.ordinary)
        place = (D / self.S[p.list_of], (p.list_of, np.arange(D.size)))
        self.average = csr_matrix(place, shape=(p.n_lists, D.size))
        # Of one list it has hardly a column without an entry, so a product with it is quicker dense.
        alone = p.n_lists == 1
        self.mean: Any = (p.positives.T @ self.average.data)[None, :] if alone else self.average @ p.positives
        self.forget()
        self._factor()

    def forget(self) -> None:
        """Start K afresh: the pool has changed other than at its end."""
        self._K = np.zeros((0, 0))

    def gram(self, pool: Pool) -> Floats:
        """The matrix K of the vertices in the pool (k, k)."""
        k = self._K.shape[0]
        if k < pool.size:
            new = self._block(pool, k)
            K = np.empty((pool.size, pool.size))
            K[:k, :k] = self._K
            K[:, k:] = new
            K[k:, :k] = new[:k].T
            self._K = K
        return self._K + (pool.lists[:, None] == pool.lists) / self.S[pool.lists]

    def rows_times(self, pool: Pool, v: Floats) -> Floats:
        """``n_u.v`` for every vertex (k,)."""
        return np.asarray(pool.rows @ v - (self.mean @ v)[pool.lists])

    def rows_sum(self, pool: Pool, q: Floats) -> Floats:
        """``sum_u q_u n_u`` (d,)."""
        pull = np.bincount(pool.lists, q, self.problem.n_lists)
        return np.asarray(pool.rows.T @ q - self.mean.T @ pull)

    def learn(self, step: Floats, scores: Floats) -> None:  # noqa: B027 - two of three forms have nothing to learn
        """Note a step and the change of the positives' scores; only the form made of past steps needs it."""

    @abstractmethod
    def solve(self, v: Floats) -> Floats:
        """``H^-1 v``."""

    @abstractmethod
    def _factor(self) -> None: ...

    @abstractmethod
    def _block(self, pool: Pool, k: int) -> Floats:
        """``n_u.H^-1 n_v`` for all vertices u and those v from k on."""


class FeatureMetric(Metric):
    """H itself (d, d), for few features."""

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        super().__init__(problem, alpha)
        self._gram = gram_of(problem)

    def _factor(self) -> None:
        mean = dense(self.mean)
        H = self._gram.at(self.D) - (mean.T * self.S) @ mean
        H.flat[:: H.shape[0] + 1] += self.alpha
        self._L = factor(H)
        self._mean = mean
        self._T = np.zeros((H.shape[0], 0))

    def solve(self, v: Floats) -> Floats:
        """``H^-1 v``."""
        return np.asarray(scipy.linalg.cho_solve((self._L, True), v, check_finite=False))

    def _block(self, pool: Pool, k: int) -> Floats:
        N = dense(pool.rows[k:]) - self._mean[pool.lists[k:]]
        T = scipy.linalg.solve_triangular(self._L, N.T, lower=True, check_finite=False)
        self._T = T if k == 0 else np.hstack([self._T, T])
        return np.asarray(self._T.T @ T)


def inner_products(metric: Metric, pool: Pool, k: int, to_mean: Floats) -> Floats:
    """``n_u.n_v`` for all vertices u and those v from k on; ``to_mean`` (all, G) holds ``b_u.mean_g``."""
    lists = pool.lists[k:]
    among = dense(metric.mean @ metric.mean.T)
    found = pool.gram()[:, k:] - to_mean[:, lists] - to_mean[k:][:, pool.lists].T
    return np.asarray(found + among[np.ix_(pool.lists, lists)])
