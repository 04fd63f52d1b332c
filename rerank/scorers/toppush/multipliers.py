"""TopPush by multipliers: for every loss and threshold, many features, and many negatives at the threshold.

Multipliers of the rows smooth the threshold and the loss.  For scores s of the rows, multipliers ``beta`` of the
negatives and ``a0`` of the positives, and a penalty parameter ``sigma``::

    psi(s) = max_{a, b}  sum_j b_j s_j - sum_i c_i (a_i s_i + l*(a_i)) - 1 / (2 sigma) sum_j (b_j - beta_j)^2
                         - 1 / (2 tau) sum_i c_i^2 (a_i - a0_i)^2,    tau = STIFF sigma

where the last sum is for a loss with a kink only.  The maximum is over the dual points of
:mod:`rerank.scorers.toppush.problem`: ``sum_j b_j = A_g = sum_i c_i a_i`` in each list and ``0 <= b_j <= A_g cap_j``.
Without squares psi is the loss itself, which is never below it.  At the maximum ``a_i = l'(T_g - s_i)``, l smoothed
too (``near`` of a loss), and ``b_j = clip(beta_j + sigma s_j - theta_g, 0, A_g cap_j)``, where ``T_g`` is the slope in
``A_g`` of what the negatives give; it takes the place of the threshold.

``phi(w) = alpha / 2 |w|^2 + psi(Xw)`` is minimised by Newton steps, its maximiser (a, b) becomes the new multipliers,
and so on: the proximal point method on the dual, which converges from anywhere [R. T. Rockafellar, "Augmented
Lagrangians and applications of the proximal point algorithm in convex programming", Mathematics of Operations Research
1, 1976].  At every point (a, b) is a dual point; its bound is below ``P`` by ``|grad phi|^2 / (2 alpha)`` and the
effect of the smoothing.

With ``D_i = c_i l''`` and, in each list, M the negatives whose multiplier is between its bounds (1 for ``|M|`` if
there is none), ``kappa`` the sum of the caps of those at the upper one, ``g = ((1 - kappa)^2 / |M| + sum cap^2) /
sigma`` and ``S = sum_i D_i``, the Hessian of phi is::

    H = alpha I + Cov_D(positives) + sigma Cov_M(negatives) + sum_g omega_g delta_g delta_g',  omega = S / (1 + g S)

``Cov`` are scatters about the mean of each list (weights D, and 1 on M), and ``delta_g`` leads from the mean of the
positives to ``(1 - kappa) mean_M + sum_upper cap_j x_j``.
"""

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.linalg import LinearOperator, cg

from rerank.errors.stops import current
from rerank.scorers.base import Floats
from rerank.scorers.linalg import squares
from rerank.scorers.toppush.answer import PrimalDual
from rerank.scorers.toppush.gram import add_gram, dense, factor
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap, weighted_sum
from rerank.scorers.toppush.smoothed import Smoothed, smoothed

# The first penalty parameter, in units of alpha over the mean square of a row: that is how far a multiplier moves the
# score it belongs to.
PENALTY = 1.0
# Growth of the penalty parameter after a round that took few steps but did not shrink the gap tenfold.
GROWTH, EASY = 4.0, 4
# A line search ends where the slope is this share of the first one, or after so many evaluations.
FLAT, EVALUATIONS = 0.3, 30
# A round ends when the gradient makes up at most this share of the gap.
ROUND = 0.9
# The penalty parameter grows so much once the gap is small enough; steps then go on until
# float64 shows no gap or so many in turn did not make it ten times less.
LAST, EXACT, SLOW = 1e3, 1e-15, 2
# The penalty parameter grows to so many times the first at most; the method ends after so many rounds without a step.
MOST, IDLE = 1e12, 3
# A Hessian with up to this many rows, one for each feature or positive, is factored.
DIRECT = 2500
# The preconditioner holds all rows of M if the cube of their number is below so many times the stored entries.
WHOLE = 6000
# Products for a step at most, and the share of the first residual that may be left.
PRODUCTS, LEFT = 500, 0.03


class Augmented:
    """State of the method: weights, their scores and multipliers, at first those of ``start``."""

    def __init__(self, problem: TopPushProblem, alpha: float, start: PrimalDual) -> None:
        self.problem, self.alpha = problem, alpha
        self.w, self.a, self.beta = start.w, start.a, start.beta
        X = problem.negatives
        values = X.data if issparse(X) else X.ravel()
        self.sigma = PENALTY * alpha / max(float(values @ values) / X.shape[0], 1e-300)
        self.up, self.down = problem.positives @ self.w, X @ self.w
        self.here = smoothed(problem, self.up, self.down, self.a, self.beta, self.sigma)
        self._most = MOST * self.sigma

    def run(self, tol: float, max_iter: int) -> PrimalDual:
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
            bent = self.here  # in a new round, too: there many rows leave M at first, only to come back
            if missing <= ROUND * (primal - proved) or stuck > 0 or proof <= tol:
                # Most of the gap is from the smoothing, not from the gradient: take new multipliers.
                self.beta, self.a = self.here.b, self.here.a
                if primal - proved > 0.1 * last and steps <= EASY and proof > tol:
                    self.sigma = min(self.sigma * GROWTH, self._most)
                last, steps = primal - proved, 0
                self.here = smoothed(self.problem, self.up, self.down, self.a, self.beta, self.sigma)
                gradient = self._gradient()
            n_iter, steps = n_iter + 1, steps + 1
            stuck = 0 if self._move(gradient, bent) else stuck + 1
        return PrimalDual(point, *dual, n_iter, gap <= tol)

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

    def _move(self, gradient: Floats, bent: Smoothed) -> bool:
        """One Newton step, with the Hessian at ``bent``, and a line search; whether phi fell."""
        step = Hessian(self.problem, self.alpha, self.sigma, bent).solve(gradient)
        up, down = self.problem.positives @ step, self.problem.negatives @ step
        length, there = self._search(step, up, down, float(gradient @ step))
        if there is None:
            return False
        self.here = there
        self.w = self.w + length * step
        self.up, self.down = self.up + length * up, self.down + length * down
        return True

    def _search(self, step: Floats, up: Floats, down: Floats, slope: float) -> tuple[float, Smoothed | None]:
        """Length of the step, by secants: where phi is lower and nearly flat, or 1 if phi still falls there. If the
        slope jumps, the best length of all evaluations. No point if rounding hides every decrease.
        """
        best: tuple[float, Smoothed | None] = (0.0, None)
        share, square, cross = self.problem.share, float(step @ step), float(self.w @ step)
        low, fall, high, rise, length = 0.0, slope, 1.0, 0.0, 1.0
        for _ in range(EVALUATIONS):
            scores = self.up + length * up, self.down + length * down
            there = smoothed(self.problem, *scores, self.a, self.beta, self.sigma, self.here)
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


class Hessian:
    """H at a point."""

    def __init__(self, p: TopPushProblem, alpha: float, sigma: float, at: Smoothed) -> None:
        self.problem, self.alpha, self.sigma, self.S = p, alpha, sigma, p.per_list(at.D)
        self.rows, self.lists = p.negatives[at.middle], p.negative_list[at.middle]
        m, d = p.positives.shape
        self.direct = d <= DIRECT and d <= m + self.lists.size
        self.positives, self.D, self.list_of = p.positives, at.D, p.list_of
        if not self.direct:  # many products are to come
            bent = np.flatnonzero(at.D)
            self.positives, self.D, self.list_of = p.positives[bent], at.D[bent], p.list_of[bent]
        self.count = np.maximum(np.bincount(self.lists, minlength=p.n_lists), 1)
        self.means = _average((1 / self.count)[self.lists], self.lists, p.n_lists)
        rest, squares = (1 - at.parts[:, 1]), at.parts[:, 2]
        self.omega = self.S / (1 + self.S * (rest**2 / self.count + squares) / sigma)
        top = at.upper.copy()
        top[at.middle] = (rest / self.count)[self.lists]
        share = self.D / np.where(self.S > 0, self.S, 1)[self.list_of]
        self.mean: Any = _sums(share, self.list_of, p.n_lists, self.positives)
        self.delta: Any = _sums(top, p.negative_list, p.n_lists, p.negatives) - self.mean

    def solve(self, gradient: Floats) -> Floats:
        """``-H^-1 gradient``, exactly or nearly."""
        d = gradient.size
        if self.direct:
            return np.asarray(-scipy.linalg.cho_solve((self._factor(), True), gradient, check_finite=False))
        H, near = (LinearOperator((d, d), product, dtype=float) for product in (self.times, self._preconditioner()))
        return np.asarray(cg(H, -gradient, rtol=LEFT, maxiter=PRODUCTS, M=near)[0])

    def times(self, v: Floats) -> Floats:
        """``H v``."""
        x = self.D * (self.positives @ v - (self.mean @ v)[self.list_of])
        y = self.sigma * self._centred(self.rows @ v)
        z = self.omega * (self.delta @ v)
        return np.asarray(self.alpha * v + self.positives.T @ x + self.rows.T @ y + self.delta.T @ z)

    def _centred(self, y: Floats) -> Floats:
        """Without the mean of each list, for values or columns of values of the rows of M."""
        return np.asarray(y - (self.means @ y)[self.lists])

    def _factor(self) -> Floats:
        """Lower Cholesky factor of H."""
        mean, delta = dense(self.mean), dense(self.delta)
        H = self.problem.gram.at(self.D) + (delta.T * self.omega) @ delta - (mean.T * self.S) @ mean
        if issparse(self.rows):
            add_gram(self.rows, np.full(self.lists.size, self.sigma), H)
            middle = dense(self.means @ self.rows)
            H -= (middle.T * (self.sigma * self.count)) @ middle
        else:
            rows = self._centred(self.rows)
            H += self.sigma * (rows.T @ rows)
        H.flat[:: H.shape[0] + 1] += self.alpha
        return factor(H)

    def _preconditioner(self) -> Any:
        """The inverse of ``E + Z'Z``: Z are the rows of M, centred, and delta; the positives are in the diagonal E."""
        k, G = self.lists.size, self.omega.size
        E = self.alpha + squares(self.positives, self.D) - squares(self.mean, self.S)
        whole = (k + G) ** 3 <= WHOLE * (self.positives.size + self.rows.size)
        if not whole:
            E += squares(self.rows, np.full(k, self.sigma)) + squares(self.delta, self.omega)
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
            return np.asarray(root * (y - rows.T @ (penalty * self._centred(s[:k])) - delta.T @ (weight * s[k:])))

        return near


def _average(values: Floats, lists: Any, n_lists: int) -> Any:
    """A row for each list with the values of its members; the members of a list are adjacent."""
    if n_lists == 1:
        return values[None, :]
    start = np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=n_lists))])
    return csr_matrix((values, np.arange(values.size), start), shape=(n_lists, values.size))


def _sums(values: Floats, lists: Any, n_lists: int, X: Any) -> Any:
    """The weighted sum of the rows of each list (G, d); of one list, rows of weight 0 are not read if they are most."""
    if n_lists > 1:
        return _average(values, lists, n_lists) @ X
    return weighted_sum(X, values)[None, :]


def _scaled(X: Any, columns: Floats) -> Any:
    """X with its columns multiplied."""
    if issparse(X):
        return csr_matrix((X.data * columns[X.indices], X.indices, X.indptr), shape=X.shape)
    return X * columns
