"""The curvature of TopPush's loss by way of the Gram matrix of the positives, for more features than positives."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rerank.scorers.toppush.cuts.gram import factor
from rerank.scorers.toppush.cuts.metric import Metric, inner_products
from rerank.scorers.toppush.cuts.pool import Pool, dense
from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]


class RowMetric(Metric):
    """``H^-1 = (I - Y'(alpha I + YY')^-1 Y) / alpha`` with ``Y = F'X`` and ``FF' = D - sum_g D e_g e_g' D / S_g``.

    ``F = D^1/2 (I - sum_g tau_g r_g r_g')``, where ``r_g`` holds the square roots of D in list g and 0 elsewhere,
    ``h_g = |r_g|^2`` and ``tau_g = (1 - (1 - h_g / S_g)^1/2) / h_g``; ``h_g < S_g`` only where S is at its floor.
    """

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        super().__init__(problem, alpha)
        if "products" not in problem.workspace:
            problem.workspace["products"] = dense(problem.positives @ problem.positives.T)
        self._XX = problem.workspace["products"]

    def _factor(self) -> None:
        self._on = np.flatnonzero(self.D)
        self._root = np.sqrt(self.D[self._on])
        g = self.problem.list_of[self._on]
        held = self.problem.per_list(self.D)
        self._lists = g
        share = held / self.S
        self._tau = ((1 - np.sqrt(np.maximum(1 - share, 0))) / np.where(held > 0, held, 1))[g]
        self._mean_across = self.average @ self._XX
        G = self._centred(self._centred(self._XX[np.ix_(self._on, self._on)]).T)
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
        return (inner_products(self, pool, k, (self.average @ every.T).T) - self._Z.T @ Z) / self.alpha
