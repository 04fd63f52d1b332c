"""The curvature of TopPush's mean loss in three forms: over features, over positives, or learnt from past steps.

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
from scipy.sparse import csr_matrix

from rerank.scorers.data import Floats
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.gram import dense, factor
from rerank.scorers.toppush.problem import TopPushProblem

# The threshold of a list whose positives have no curvature gets FLAT times the curvature at 0.  A curvature that
# decreases exponentially is kept down to FAINT times that at 0.
FLAT, FAINT = 1e-3, 1e-12
# Steps that LimitedMetric keeps.
MEMORY = 20
# Directions over which the curvature is assumed to be spread as long as no step is known.
DIRECTIONS = 10


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
        # One list fills nearly all of its columns, so a dense product is quicker.
        alone = p.n_lists == 1
        self.mean: Any = (p.positives.T @ self.average.data)[None, :] if alone else self.average @ p.positives
        self.forget()
        self._factor()

    def forget(self) -> None:
        """Compute K anew at the next call: the pool has changed other than at its end."""
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
        mass = np.bincount(pool.lists, q, self.problem.n_lists)
        return np.asarray(pool.rows.T @ q - self.mean.T @ mass)

    def learn(self, step: Floats, scores: Floats) -> None:  # noqa: B027 - two of three forms have nothing to learn
        """Take note of a step and of the change of the positives' scores; only the third form uses it."""

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

    def _factor(self) -> None:
        mean = dense(self.mean)
        H = self.problem.gram.at(self.D) - (mean.T * self.S) @ mean
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


class RowMetric(Metric):
    """By way of the inner products of the positives, for more features than positives.

    ``H^-1 = (I - Y'(alpha I + YY')^-1 Y) / alpha`` with ``Y = F'X`` and ``FF' = D - sum_g D e_g e_g' D / S_g``.

    ``F = D^1/2 (I - sum_g tau_g r_g r_g')``, where ``r_g`` holds the square roots of D in list g and 0 elsewhere,
    ``h_g = |r_g|^2`` and ``tau_g = (1 - (1 - h_g / S_g)^1/2) / h_g``; ``h_g < S_g`` only where S is at its floor.
    """

    def _factor(self) -> None:
        self._on = np.flatnonzero(self.D)
        self._root = np.sqrt(self.D[self._on])
        g = self.problem.list_of[self._on]
        held = self.problem.per_list(self.D)
        self._lists = g
        share = held / self.S
        self._tau = ((1 - np.sqrt(np.maximum(1 - share, 0))) / np.where(held > 0, held, 1))[g]
        self._mean_across = self.average @ self.problem.products
        G = self._centred(self._centred(self.problem.products[np.ix_(self._on, self._on)]).T)
        G.flat[:: G.shape[0] + 1] += self.alpha
        self._L = factor(G)
        self._Z = np.zeros((G.shape[0], 0))

    def _centred(self, M: Floats) -> Floats:
        """``F'M`` over the curved positives, for M (m_on,) or (m_on, k)."""
        scaled = (M.T * self._root).T
        sums = self._sums(scaled)
        return np.asarray(scaled - ((sums[self._lists]).T * (self._root * self._tau)).T)

    def _sums(self, scaled: Floats) -> Floats:
        member = csr_matrix(
            (self._root, (self._lists, np.arange(self._on.size))), shape=(self.problem.n_lists, self._on.size)
        )
        return np.asarray(member @ scaled)

    def solve(self, v: Floats) -> Floats:
        """``H^-1 v``."""
        y = self._centred((self.problem.positives @ v)[self._on])
        x = np.zeros(self.D.size)
        x[self._on] = self._back(scipy.linalg.cho_solve((self._L, True), y, check_finite=False))
        return np.asarray(v - self.problem.positives.T @ x) / self.alpha

    def _back(self, y: Floats) -> Floats:
        """``F y``."""
        return np.asarray(self._root * (y - self._root * self._tau * self._sums(y)[self._lists]))

    def _block(self, pool: Pool, k: int) -> Floats:
        every = pool.across()
        across = every[k:] - self._mean_across[pool.lists[k:]]
        Z = scipy.linalg.solve_triangular(
            self._L, self._centred(across[:, self._on].T), lower=True, check_finite=False
        )
        self._Z = Z if k == 0 else np.hstack([self._Z, Z])
        return (_inner_products(self, pool, k, (self.average @ every.T).T) - self._Z.T @ Z) / self.alpha


class LimitedMetric(Metric):
    """Learnt from past steps, for many features and many positives.

    ``H^-1 ~ I / gamma + W C W'`` with ``W = [S, Y / gamma]`` of the last steps S and their products ``Y = HS``: the
    compact form of Byrd, Nocedal and Schnabel, "Representations of quasi-Newton matrices and their use in limited
    memory methods", Mathematical Programming 63, 1994, equation (3.1).  The products are exact and cost one pass over
    the rows, because the change of the scores is known.
    """

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        super().__init__(problem, alpha)
        d = problem.positives.shape[1]
        self._steps = np.zeros((0, d))
        self._products = np.zeros((0, d))

    def learn(self, step: Floats, scores: Floats) -> None:
        """Keep a step (d,) and its product with H; ``scores`` (m,) are the positives' scores under the step."""
        p = self.problem
        by_list = p.per_list(self.D * scores) / self.S
        product = self.alpha * step + p.positives.T @ (self.D * (scores - by_list[p.list_of]))
        size = np.sqrt(step @ step)
        if size > 0:
            self._steps = np.vstack([self._steps, step / size])[-MEMORY:]
            self._products = np.vstack([self._products, product / size])[-MEMORY:]

    def _factor(self) -> None:
        self._V = np.zeros((0, 0))
        S, Y = self._steps, self._products
        k = len(S)
        if k == 0:
            X = self.problem.positives
            squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)
            self._gamma = self.alpha + float(self.D @ np.asarray(squares).ravel()) / DIRECTIONS
            self._W, self._C = np.zeros((0, S.shape[1])), np.zeros((0, 0))
            return
        self._gamma = float((Y[-1] @ Y[-1]) / (S[-1] @ Y[-1]))
        SY = S @ Y.T
        R = np.triu(SY)
        Ri = scipy.linalg.solve_triangular(R, np.eye(k), check_finite=False)
        middle = np.diag(np.diag(SY)) + (Y @ Y.T) / self._gamma
        self._C = np.block([[Ri.T @ middle @ Ri, -Ri.T], [-Ri, np.zeros((k, k))]])
        self._W = np.vstack([S, Y / self._gamma])

    def solve(self, v: Floats) -> Floats:
        """``H^-1 v``."""
        return np.asarray(v / self._gamma + self._W.T @ (self._C @ (self._W @ v)))

    def _block(self, pool: Pool, k: int) -> Floats:
        new = pool.rows[k:] @ self._W.T - (self.mean @ self._W.T)[pool.lists[k:]]
        self._V = new if k == 0 else np.vstack([self._V, new])
        return np.asarray(
            _inner_products(self, pool, k, dense(pool.rows @ self.mean.T)) / self._gamma
            + self._V @ self._C @ new.T
        )


def _inner_products(metric: Metric, pool: Pool, k: int, to_mean: Floats) -> Floats:
    """``n_u.n_v`` for all vertices u and those v from k on; ``to_mean`` (all, G) holds ``b_u.mean_g``."""
    lists = pool.lists[k:]
    among = dense(metric.mean @ metric.mean.T)
    found = pool.gram()[:, k:] - to_mean[:, lists] - to_mean[k:][:, pool.lists].T
    return np.asarray(found + among[np.ix_(pool.lists, lists)])
