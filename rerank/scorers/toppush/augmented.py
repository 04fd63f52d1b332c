"""Augmented Lagrangian for TopPush: for every threshold, many features, and many negatives at the threshold.

Multipliers of the rows smooth the threshold and the loss (:mod:`.envelope`); ``phi(w) = alpha / 2 |w|^2 + psi(Xw)``
is minimised by Newton steps, its maximiser (a, b) becomes the new multipliers, and so on: the proximal point method on
the dual, which converges from anywhere [R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal
point algorithm in convex programming", Mathematics of Operations Research 1, 1976].  At every point (a, b) is a
dual point; its bound is below ``P`` by ``|grad phi|^2 / (2 alpha)`` and the effect of the smoothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from rerank.errors.stops import current
from rerank.scorers.data import Floats
from rerank.scorers.toppush.answer import Answer
from rerank.scorers.toppush.envelope import Envelope, Smoothed
from rerank.scorers.toppush.hessian import SmoothHessian
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap

# The first penalty parameter, in units of alpha over the mean square of a row: that is how far a multiplier moves the
# score it belongs to.
PENALTY = 1.0
# Growth of the penalty parameter after a round that took few steps but did not shrink the gap tenfold.
GROWTH, EASY = 4.0, 4
# A line search ends where the slope is this share of the first one, or after so many evaluations.
FLAT, EVALUATIONS = 0.3, 30
# A round ends when the gradient makes up this share of the gap.
ROUND = 0.1
# The penalty parameter grows so much once the gap is small enough; steps then go on until
# float64 shows no gap or so many in turn did not make it ten times less.
LAST, EXACT, SLOW = 1e3, 1e-15, 2
# The penalty parameter grows to so many times the first at most; the method ends after so many rounds without a step.
MOST, IDLE = 1e12, 3


class Augmented:
    """State of the method: weights, their scores and multipliers.

    Parameters
    ----------
    problem : TopPushProblem
    alpha : float
    w : array (d,)
        Start.
    a, beta : array (m,), (n,)
        Multipliers to start from.
    """

    def __init__(self, problem: TopPushProblem, alpha: float, w: Floats, a: Floats, beta: Floats) -> None:
        self.problem, self.alpha = problem, alpha
        self.w, self.a, self.beta = w, a, beta
        self.sigma = PENALTY * alpha / max(_mean_square(problem.negatives), 1e-300)
        self.up, self.down = problem.positives @ w, problem.negatives @ w
        self.envelope = Envelope(problem)
        self.here = self.envelope.at(self.up, self.down, a, beta, self.sigma, None)
        self._most = MOST * self.sigma

    def run(self, tol: float, max_iter: int) -> Answer:
        """Newton steps until the gap is at most ``tol``; the best weights and the best dual point."""
        bound, value, last = -np.inf, np.inf, np.inf
        point, dual = self.w, (np.zeros(self.up.size), np.zeros(self.down.size))
        n_iter, gap, steps, stuck, stop = 0, np.inf, 0, 0, current()
        proof, slow = np.inf, 0  # the gap of the last step since it was small enough, and how many hardly changed it
        while n_iter < max_iter and stuck <= IDLE:
            gradient = self._gradient()
            primal = self.problem.value(self.w, self.up, self.down, self.alpha)
            proved = self._dual(gradient)
            missing = float(gradient @ gradient) / (2 * self.alpha)
            if primal < value:
                value, point = primal, self.w
            if proved > bound:
                bound, dual = proved, (self.here.a, self.here.b)
            gap = relative_gap(value, bound)
            if gap <= tol:
                # The scores are sums of steps: check the gap with scores of the rows.
                dual = (dual[0], self.problem.feasible(*dual))
                value, bound = self.problem.primal(point, self.alpha), self.problem.dual(*dual, self.alpha)
                gap = relative_gap(value, bound)
                slow = slow + 1 if gap > proof / 10 else 0
                if gap <= EXACT or slow == SLOW or (n_iter == 0 and gap <= tol and self.beta.any()):
                    break
                if gap <= tol:
                    # Where the pieces of the loss are known a step is exact, and this ends at float64's digits.
                    self.sigma, proof = (self.sigma * LAST if np.isinf(proof) else self.sigma), gap
                self.up, self.down = self.problem.positives @ self.w, self.problem.negatives @ self.w
            if stop.now:
                break
            if missing <= ROUND * (primal - proved) or stuck > 0 or proof <= tol:
                # Most of the gap is from the smoothing, not from the gradient: take new multipliers.
                self.beta, self.a = self.here.b, self.here.a
                if primal - proved > 0.1 * last and steps <= EASY and proof > tol:
                    self.sigma = min(self.sigma * GROWTH, self._most)
                last, steps = primal - proved, 0
                self.here = self.envelope.at(self.up, self.down, self.a, self.beta, self.sigma, None)
                gradient = self._gradient()
            n_iter, steps = n_iter + 1, steps + 1
            stuck = 0 if self._move(gradient) else stuck + 1
        return Answer(point, *dual, n_iter, gap <= tol)

    def _gradient(self) -> Floats:
        """Of phi."""
        return self.alpha * self.w - self.problem.residual(self.here.a, self.here.b)

    def _dual(self, gradient: Floats) -> float:
        p, a = self.problem, self.here.a
        mass = p.per_list(p.share * a)
        if (np.bincount(p.negative_list, self.here.b, p.n_lists)[mass > 0] <= 0).any():
            return -np.inf
        nu = self.alpha * self.w - gradient
        return float(-(nu @ nu) / (2 * self.alpha) - p.share @ p.loss.conjugate(a))

    def _move(self, gradient: Floats) -> bool:
        """One Newton step with a line search; whether phi fell."""
        hessian = SmoothHessian(self.problem, self.alpha, self.sigma, self.here)
        step = hessian.solve(gradient)
        up, down = self.problem.positives @ step, self.problem.negatives @ step
        length, there = self._search(step, up, down, float(gradient @ step))
        if there is None:
            return False
        self.here = there
        self.w = self.w + length * step
        self.up, self.down = self.up + length * up, self.down + length * down
        return True

    def _search(self, step: Floats, up: Floats, down: Floats, slope: float) -> tuple[float, Smoothed | None]:
        """Length of the step, by secants: where phi is lower and nearly flat, or 1 if phi still falls there.

        If the slope jumps, the best length of all evaluations.  No point if rounding hides every decrease.
        """
        best: tuple[float, Smoothed | None] = (0.0, None)
        share, square, cross = self.problem.share, float(step @ step), float(self.w @ step)
        low, fall, high, rise, length = 0.0, slope, 1.0, 0.0, 1.0
        for _ in range(EVALUATIONS):
            there = self.envelope.at(
                self.up + length * up, self.down + length * down, self.a, self.beta, self.sigma, self.here
            )
            change = there.value - self.here.value + self.alpha * length * (cross + length / 2 * square)
            bend = float(self.alpha * (cross + length * square) + there.b @ down - (share * there.a) @ up)
            lower = change <= 1e-4 * length * slope
            if lower:
                best = (length, there)
                if bend <= -FLAT * slope and (length == 1 or bend >= FLAT * slope):
                    break
            if lower and bend < 0:
                low, fall = length, bend
            else:
                high, rise = length, max(bend, -1e-3 * fall)
            length = low + (high - low) * float(np.clip(fall / (fall - rise), 0.1, 0.9))
        return best


def _mean_square(X: Any) -> float:
    """Mean of the squared norms of the rows."""
    values = X.data if issparse(X) else X.ravel()
    return float(values @ values) / X.shape[0]
