"""The curvature of TopPush's loss learnt from past steps, for many features and many positives.

The inverse of H in the compact form of Byrd, Nocedal and Schnabel, "Representations of quasi-Newton matrices and
their use in limited memory methods", Mathematical Programming 63, 1994, equation (3.1).  The pairs are exact: to a
step s belongs ``y = Hs``, which costs one product because the change of the scores is at hand.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rerank.scorers.toppush.cuts.metric import Metric, inner_products
from rerank.scorers.toppush.cuts.pool import Pool, dense
from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]

MEMORY = 20
# A guess: without steps nothing is known of how the curvature is spread.
DIRECTIONS = 10


class LimitedMetric(Metric):
    """``H^-1 ~ V / gamma + W C W'`` with ``W = [S, Y / gamma]`` of the last steps S and their products ``Y = HS``."""

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
            # Before the first step: the trace of the curvature, as if it were spread over so many directions.
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
            inner_products(self, pool, k, dense(pool.rows @ self.mean.T)) / self._gamma
            + self._V @ self._C @ new.T
        )
