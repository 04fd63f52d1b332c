"""The loss of TopPush with its threshold smoothed around given multipliers: value, multipliers and curvature.

For scores s of the rows, multipliers ``beta`` of the negatives and a charge ``sigma``::

    psi(s) = max_{a, b}  sum_j b_j s_j - sum_i c_i (a_i s_i + l*(a_i)) - 1 / (2 sigma) sum_j (b_j - beta_j)^2

over the dual points of :mod:`rerank.scorers.toppush.problem`: ``sum_j b_j = A_g = sum_i c_i a_i`` in each list and
``0 <= b_j <= A_g cap_j``.  Without the last term psi is the loss itself, which is never below it.  At the maximum
``a_i = l'(T_g - s_i)`` and ``b_j = clip(beta_j + sigma s_j - theta_g, 0, A_g cap_j)``, where ``T_g`` is the slope in
``A_g`` of what the negatives give; it plays the part of the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.toppush.multipliers.level_kernel import levels
from rerank.scorers.toppush.problem import TopPushProblem
from rerank.scorers.toppush.threshold import MaxThreshold

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Smoothed:
    """Value of psi, its maximiser (a, b), and what its derivatives are made of.

    Per list T, theta and what the search for theta counted (G, 4); ``D`` (m,) are the second derivatives of the loss,
    ``middle`` the negatives whose multiplier is between its bounds, ``upper`` (n,) the caps of those at the upper.
    """

    value: float
    a: Floats
    b: Floats
    T: Floats
    theta: Floats
    parts: Floats
    D: Floats
    middle: NDArray[np.int64]
    upper: Floats


class Envelope:
    """The function psi.

    Parameters
    ----------
    problem : TopPushProblem
    """

    def __init__(self, problem: TopPushProblem) -> None:
        self.problem = problem
        free = isinstance(problem.threshold, MaxThreshold)
        self.cap = np.zeros(0) if free else problem.threshold.caps()

    def at(self, up: Floats, down: Floats, beta: Floats, sigma: float, near: Smoothed | None) -> Smoothed:
        """The maximum at the scores ``up`` (m,) and ``down`` (n,); ``near`` is one close by.

        T is the root of ``T - T_h(A(T))``, which rises at least as fast as T.
        """
        p = self.problem
        v = beta + sigma * down
        T = p.threshold.values(down) if near is None else near.T.copy()
        theta = sigma * T if near is None else near.theta.copy()
        low, high = np.full(T.size, -np.inf), np.full(T.size, np.inf)
        parts = np.zeros((T.size, 4))
        for _ in range(100):
            z = T[p.list_of] - up
            pull = p.per_list(p.share * p.loss.slope(z))
            levels(p.threshold.start, v, self.cap, pull, theta, parts)
            got, fall = self._threshold(theta, pull, sigma, parts)
            off = T - got
            if (np.abs(off) <= 1e-14 * (1 + np.abs(T))).all():
                break
            low, high = np.where(off < 0, T, low), np.where(off > 0, T, high)
            new = T - off / (1 + fall * p.per_list(p.share * p.loss.curvature(z)))
            known = np.isfinite(low) & np.isfinite(high)
            middle = np.where(known, np.where(known, low, 0) / 2 + np.where(known, high, 0) / 2, got)
            new = np.where((new > low) & (new < high), new, middle)
            if (new == T).all():
                break
            T = new
        return self._finish(up, down, beta, sigma, v, T, theta, parts)

    def _threshold(self, theta: Floats, pull: Floats, sigma: float, parts: Floats) -> tuple[Floats, Floats]:
        """``T_h`` at the pull A, and how fast it falls as A grows."""
        between, top, top2, top_v = parts.T
        rest = (1 - top) ** 2 / np.maximum(between, 1)
        return (theta + top_v - theta * top - pull * top2) / sigma, (rest + top2) / sigma

    def _finish(
        self,
        up: Floats,
        down: Floats,
        beta: Floats,
        sigma: float,
        v: Floats,
        T: Floats,
        theta: Floats,
        parts: Floats,
    ) -> Smoothed:
        p = self.problem
        z = T[p.list_of] - up
        a = p.loss.slope(z)
        pull = p.per_list(p.share * a)
        b = np.maximum(v - theta[p.negative_list], 0)
        upper = np.zeros(b.size)
        if self.cap.size:
            most = pull[p.negative_list] * self.cap
            full = (b >= most) & (b > 0)
            upper[full] = self.cap[full]
            b = np.minimum(b, most)
        middle = np.flatnonzero((b > 0) & (upper == 0))
        got = np.bincount(p.negative_list, b, p.n_lists)
        # What rounding left of the root is shared out, so that the dual point is feasible.
        b = b * (pull / np.where(got > 0, got, 1))[p.negative_list]
        off = b - beta
        value = p.share @ p.loss.value(z) - pull @ T + b @ down - (off @ off) / (2 * sigma)
        return Smoothed(float(value), a, b, T, theta, parts, p.share * p.loss.curvature(z), middle, upper)
