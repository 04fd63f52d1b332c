"""Cutting planes with a line search for the hinge loss over pairs."""

from __future__ import annotations

import numpy as np

from rerank.scorers.base import Solution
from rerank.scorers.data import Floats
from rerank.scorers.ranksvm_pairs import ActivePairs, Pairs
from rerank.scorers.ranksvm_rows import Rows
from rerank.scorers.ranksvm_simplex import descend

IDLE = 30
FLAT = 0.7
TRIES = 4
CLOSE = 0.05
LIFT = 0.1


class Planes:
    """Planes ``loss(w) >= a_s.w + b_s`` and the minimum of their upper envelope plus ``alpha |w|^2``.

    With weights x on the simplex ``lower = b.x - |A^T x|^2 / (4 alpha) <= min J``; the largest is the minimum of the
    model, at ``w = -A^T x / (2 alpha)``.
    """

    def __init__(self, d: int, alpha: float) -> None:
        self.alpha = alpha
        self.A, self.b = np.empty((8, d)), np.empty(0)
        self.gram, self.x, self.idle = np.empty((0, 0)), np.empty(0), np.empty(0, np.int64)

    def add(self, a: Floats, b: float) -> None:
        """One more plane; the ones long without weight make room."""
        keep = self.idle < IDLE
        n = int(keep.sum())
        if n < keep.size:
            self.A[:n] = self.A[: keep.size][keep]
        if n == self.A.shape[0]:
            self.A = np.concatenate([self.A, np.empty_like(self.A)])
        self.A[n] = a
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n] = self.gram[np.ix_(keep, keep)]
        gram[n] = gram[:, n] = self.A[: n + 1] @ a
        self.gram, self.b, self.idle = gram, np.append(self.b[keep], b), np.append(self.idle[keep], 0)
        self.x = np.append(self.x[keep], 0.0) if n else np.ones(1)

    def solve(self, tol: float) -> tuple[Floats, float]:
        """``w`` and ``lower``, the latter within ``tol`` of its largest."""
        Q = self.gram / (2 * self.alpha)
        descend(Q, self.b, self.x, tol, 100_000)
        self.x /= self.x.sum()
        self.idle = np.where(self.x > 0, 0, self.idle + 1)
        lower = float(self.b @ self.x - self.x @ Q @ self.x / 2)
        return -(self.x @ self.A[: self.x.size]) / (2 * self.alpha), lower


def bundle(rows: Rows, pairs: Pairs, alpha: float, w: Floats, tol: float, max_iter: int) -> Solution:
    """Minimise ``J(w) = sum c_ij (1 + p_i - p_j)_+ + alpha |w|^2``, ``p = X w``, from ``w``.

    The planes are those of [Teo et al. 2010]; as in [Franc, Sonnenburg 2009] the best point moves by a line search
    towards the minimum of the model, and the next plane is taken where the search ends.  The end is where
    ``J(w) - lower <= tol * J(w)``.
    """
    planes = Planes(rows.size, alpha)
    here = pairs.at(rows.scores(w))
    J, lower, gap = here.hinge()[0] + alpha * float(w @ w), -np.inf, np.inf
    _cut(planes, rows, here)
    for step in range(1, max_iter + 1):
        target, found = planes.solve(CLOSE * max(tol * J, min(J - lower, J)))
        lower = max(lower, found)
        gap = (J - lower) / J
        if gap <= tol or step == max_iter:
            break
        s, p = target - w, rows.scores(target)
        t, there = _search(pairs, here, w, s, p - here.p, alpha)
        loss, slope = there.hinge()
        tried = [(w + t * s, there)]
        # Without a plane that lifts the model at its minimum the next target could be the same.
        if loss + float(slope @ (p - there.p)) + alpha * float(target @ target) < found + LIFT * (J - found):
            tried.append((target, pairs.at(p)))
        for at, there in tried:
            _cut(planes, rows, there)
            value = there.hinge()[0] + alpha * float(at @ at)
            if value < J:
                w, here, J = at, there, value
    return Solution(rows.expand(w), J, step, gap <= tol, gap, advice="Raise max_iter, tol or alpha.")


def _cut(planes: Planes, rows: Rows, active: ActivePairs) -> None:
    loss, slope = active.hinge()
    planes.add(rows.back(slope), loss - float(slope @ active.p))


def _search(
    pairs: Pairs, here: ActivePairs, w: Floats, s: Floats, u: Floats, alpha: float
) -> tuple[float, ActivePairs]:
    """A step along ``s`` by regula falsi, until the slope is :data:`FLAT` times the first one.

    A closer search costs more than the planes that it saves.
    """
    curve, tilt = 2 * alpha * float(s @ s), 2 * alpha * float(w @ s)
    first = float(here.hinge()[1] @ u) + tilt
    low, at_low = 0.0, first
    high, at_high = np.inf, np.inf
    step = 1.0
    for _ in range(TRIES):
        t = step
        there = pairs.at(here.p + t * u)
        slope = float(there.hinge()[1] @ u) + tilt + curve * t
        if abs(slope) <= FLAT * -first:
            break
        if slope < 0:
            low, at_low = t, slope
        else:
            high, at_high = t, slope
        wide = at_high == np.inf
        step = 2 * t if wide else low + (high - low) * min(max(-at_low / (at_high - at_low), 0.1), 0.5)
    return t, there
