"""Augmented Lagrangian for TopPush, for problems in which very many negatives reach the threshold at once.

The cuts ``t_g >= s_j`` carry multipliers ``beta_j >= 0`` and are charged when violated::

    phi(w) = min_t  alpha / 2 |w|^2 + sum_i c_i l(t_g(i) - w.x_i)
                    + 1 / (2 sigma) sum_j [beta_j + sigma (s_j - t_g(j))]_+^2

At the minimising t the new multipliers ``b_j = [beta_j + sigma (s_j - t)]_+`` of a list sum to ``sum c_i a_i``,
``a_i = l'(t - w.x_i)``, so ``(a, b)`` is a dual point, and its bound lacks ``|grad phi|^2 / (2 alpha)`` and what the
violated cuts weigh.  ``phi`` is minimised by Newton steps whose systems conjugate gradients solve; nothing is stored
but rows.  Only for the largest score as threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rerank.scorers.toppush_problem import TopPushProblem, relative_gap

Floats = NDArray[np.float64]

# First charge, its growth where a round of multipliers does not shrink the gap tenfold, and products per system.
CHARGE, GROWTH, PRODUCTS = 0.1, 5.0, 300


class Augmented:
    """State of the method: weights, their scores, thresholds and multipliers.

    Parameters
    ----------
    problem : TopPushProblem
    alpha : float
    w : array (d,)
        Start.
    beta : array (n,)
        Multipliers to start from.
    """

    def __init__(self, problem: TopPushProblem, alpha: float, w: Floats, beta: Floats) -> None:
        self.problem, self.alpha = problem, alpha
        self.w, self.beta, self.sigma = w, beta, CHARGE
        self.up, self.down = problem.positives @ w, problem.negatives @ w
        self.t = problem.threshold.values(self.down)
        self.products = 0

    def run(self, tol: float, max_iter: int) -> tuple[Floats, Floats, Floats, float, int]:
        """Newton steps until the gap is at most ``tol``: the best w, dual point (a, beta), gap and number of steps."""
        bound, value, last = -np.inf, np.inf, np.inf
        point, dual = self.w, (np.zeros(self.up.size), np.zeros(self.down.size))
        n_iter, gap = 0, np.inf
        while n_iter < max_iter:
            a, b, gradient = self._gradient()
            here = self._primal()
            missing = float(gradient @ gradient) / (2 * self.alpha)
            proved = self._dual(a, gradient)
            if here < value:
                value, point = here, self.w
            if proved > bound:
                bound, dual = proved, (a, b)
            gap = relative_gap(value, bound)
            if gap <= tol:
                break
            if missing <= 0.1 * (here - proved):
                # The cuts, not the gradient, make up the gap: time for new multipliers.
                self.beta = b
                if here - proved > 0.1 * last:
                    self.sigma *= GROWTH
                last = here - proved
                gradient = self._gradient()[2]
            n_iter += 1
            self._move(gradient)
        return point, dual[0], dual[1], gap, n_iter

    def _thresholds(self, up: Floats, down: Floats, t: Floats) -> Floats:
        """The minimising t: the root of ``sum c_i l'(t - up_i) - sum [beta_j + sigma (down_j - t)]_+``."""
        p = self.problem
        low, high = np.full(t.size, -np.inf), np.full(t.size, np.inf)
        for _ in range(200):
            z = t[p.list_of] - up
            b = np.maximum(self.beta + self.sigma * (down - t[p.negative_list]), 0)
            pull, push = p.per_list(p.share * p.loss.slope(z)), self._by_list(b)
            f = pull - push
            if (np.abs(f) <= 1e-14 * (pull + push)).all():
                break
            low, high = np.where(f < 0, t, low), np.where(f > 0, t, high)
            rise = p.per_list(p.share * p.loss.curvature(z)) + self.sigma * self._by_list(
                (b > 0).astype(float)
            )
            new = t - f / np.maximum(rise, 1e-300)
            inside = (new > low) & (new < high)
            middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, t - np.sign(f))
            new = np.where(f == 0, t, np.where(inside, new, middle))
            if (new == t).all():
                break
            t = new
        return t

    def _by_list(self, values: Floats) -> Floats:
        return np.bincount(self.problem.negative_list, values, self.problem.n_lists).astype(
            np.float64, copy=False
        )

    def _gradient(self) -> tuple[Floats, Floats, Floats]:
        """``a``, ``b`` and the gradient of ``phi`` at w; sets t."""
        p = self.problem
        self.t = self._thresholds(self.up, self.down, self.t)
        a = p.loss.slope(self.t[p.list_of] - self.up)
        b = np.maximum(self.beta + self.sigma * (self.down - self.t[p.negative_list]), 0)
        # What rounding left of the root is shared out, so that the dual point is feasible.
        pull, push = p.per_list(p.share * a), self._by_list(b)
        b = b * (pull / np.where(push > 0, push, 1))[p.negative_list]
        return a, b, self.alpha * self.w - p.residual(a, b)

    def _primal(self) -> float:
        p = self.problem
        t = p.threshold.values(self.down)
        loss = p.share @ p.loss.value(t[p.list_of] - self.up)
        return float(self.alpha / 2 * (self.w @ self.w) + loss)

    def _dual(self, a: Floats, gradient: Floats) -> float:
        nu = self.alpha * self.w - gradient
        return float(-(nu @ nu) / (2 * self.alpha) - self.problem.share @ self.problem.loss.conjugate(a))

    def _phi(self, e: float, step: Floats, up: Floats, down: Floats) -> float:
        p = self.problem
        w, up, down = self.w + e * step, self.up + e * up, self.down + e * down
        t = self._thresholds(up, down, self.t)
        b = np.maximum(self.beta + self.sigma * (down - t[p.negative_list]), 0)
        loss = p.share @ p.loss.value(t[p.list_of] - up)
        return float(self.alpha / 2 * (w @ w) + loss + (b @ b) / (2 * self.sigma))

    def _move(self, gradient: Floats) -> None:
        """One Newton step with a line search."""
        p = self.problem
        step = self._newton(gradient)
        up, down = p.positives @ step, p.negatives @ step
        slope = float(gradient @ step)
        old, length = self._phi(0.0, step, up, down), 1.0
        while length > 1e-10 and not self._phi(length, step, up, down) <= old + 1e-4 * length * slope:
            length *= 0.5
        self.w = self.w + length * step
        self.up, self.down = self.up + length * up, self.down + length * down

    def _newton(self, gradient: Floats) -> Floats:
        """``-H^-1 gradient`` by preconditioned conjugate gradients, to a tenth."""
        p = self.problem
        D = p.share * p.loss.curvature(self.t[p.list_of] - self.up)
        on = np.flatnonzero(self.beta + self.sigma * (self.down - self.t[p.negative_list]) > 0)
        rows, lists = p.negatives[on], p.negative_list[on]
        S = np.maximum(p.per_list(D) + self.sigma * np.bincount(lists, minlength=p.n_lists), 1e-300)

        def times(v: Floats) -> Floats:
            x, y = D * (p.positives @ v), self.sigma * (rows @ v)
            mean = (p.per_list(x) + np.bincount(lists, y, p.n_lists)) / S
            x, y = x - D * mean[p.list_of], y - self.sigma * mean[lists]
            return np.asarray(self.alpha * v + p.positives.T @ x + rows.T @ y)

        scale = self.alpha + _squares(p.positives).T @ D + self.sigma * _sums(_squares(rows))
        x, r = np.zeros(gradient.size), -gradient
        y = r / scale
        d, size = y, float(r @ y)
        first = size
        for _ in range(PRODUCTS):
            if size <= 1e-2 * first:
                break
            h = times(d)
            self.products += 1
            length = size / float(d @ h)
            x, r = x + length * d, r - length * h
            y = r / scale
            new = float(r @ y)
            d, size = y + (new / size) * d, new
        return x


def _squares(X: Any) -> Any:
    if issparse(X):
        X = X.copy()
        X.data **= 2
        return X
    return X * X


def _sums(X: Any) -> Floats:
    return np.asarray(X.sum(axis=0)).ravel()
