"""RankSVM with the hinge, the loss of the TreeRSVM paper: cutting planes with a line search.

A part of ``python -m benchmarks.papers --treersvm``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from rerank.errors.stops import current
from rerank.scorers import RankSVM
from rerank.scorers.base import Floats, ScorerSolution
from rerank.scorers.ranksvm.estimator import longer, starts
from rerank.scorers.ranksvm.newton import DesignMatrix
from rerank.scorers.ranksvm.pairs import ActivePairs, UtilityPairs

# Planes for which there is space at first, and solutions without weight after which a plane may be dropped.
CAPACITY, IDLE = 32, 30
# A line search starts at the step FIRST, then at LONGER times the last one; it ends where the slope is FLAT times the
# first one, or after TRIES steps.
FIRST, LONGER, FLAT, TRIES = 0.5, 1.5, 0.7, 4
# The model is solved to this share of the gap.
CLOSE = 0.1
# A plane is also added at the model's minimum if the others do not raise the model there by this share of the gap.
LIFT = 0.1
# A bound above the value by more than this share is an error, not rounding.
BEYOND = 1e-9


class HingeRankSVM(RankSVM):
    """``J(w) = sum c_ij (1 + p_i - p_j)_+ + alpha |w|^2`` [Airola, Pahikkala, Salakoski 2011, eq. 2]."""

    def _solve(
        self, problem: tuple[DesignMatrix, UtilityPairs], alpha: float, start: ScorerSolution | None
    ) -> ScorerSolution:
        matrix, pairs = problem
        trail = () if start is None else start.state
        known = [matrix.compact(coef) for coef in starts(trail, alpha, matrix.d)]
        found = bundle(matrix, pairs, alpha, known, self.tol, self.max_iter)
        return replace(found, state=longer(trail, alpha, found.coef))


class _Planes:
    """Planes ``loss(w) >= a_s.w + b_s`` and the minimum of their upper envelope plus ``alpha |w|^2``.

    With weights x on the simplex ``lower = b.x - |A^T x|^2 / (4 alpha) <= min J``; the largest is the minimum of the
    model, at ``w = -A^T x / (2 alpha)``.
    """

    def __init__(self, d: int, alpha: float) -> None:
        self.alpha, self.n = alpha, 0
        self._allocate(d, CAPACITY)

    def _allocate(self, d: int, space: int) -> None:
        self.A, self.b = np.empty((space, d)), np.empty(space)
        self.Q, self.x, self.idle = np.zeros((space, space)), np.zeros(space), np.zeros(space, np.int64)

    def add(self, a: Floats, b: float) -> None:
        """Add a plane; if there is no space, drop those that have had no weight for long, or double the space."""
        if self.n == self.b.size:
            self._drop_idle()
        n = self.n
        self.A[n], self.b[n], self.idle[n] = a, b, 0
        self.x[n] = 0.0 if n else 1.0
        self.n += 1
        self.Q[n, : n + 1] = self.Q[: n + 1, n] = self.A[: n + 1] @ a / (2 * self.alpha)

    def _drop_idle(self) -> None:
        keep = np.flatnonzero(self.idle < IDLE)
        A, b, Q, x, idle = self.A, self.b, self.Q, self.x, self.idle
        self._allocate(A.shape[1], max(CAPACITY, 2 * keep.size))
        self.n = n = keep.size
        self.A[:n], self.b[:n], self.x[:n], self.idle[:n] = A[keep], b[keep], x[keep], idle[keep]
        self.Q[:n, :n] = Q[np.ix_(keep, keep)]

    def solve(self, tol: float) -> tuple[Floats, float]:
        """``w`` and ``lower``, the latter within ``tol`` of its largest."""
        n = self.n
        x = self.x[:n]
        descend_simplex(self.Q, self.b[:n], x, tol, 100_000)  # whole rows: one memory layout, compiled once
        x /= x.sum()
        self.idle[:n] += 1
        self.idle[:n][x > 0] = 0
        combined = x @ self.A[:n]
        return combined / (-2 * self.alpha), float(self.b[:n] @ x - combined @ combined / (4 * self.alpha))


def bundle(
    X: DesignMatrix, pairs: UtilityPairs, alpha: float, starts: list[Floats], tol: float, max_iter: int
) -> ScorerSolution:
    """Minimise ``J(w) = sum c_ij (1 + p_i - p_j)_+ + alpha |w|^2``, ``p = X w``, from the best of ``starts``.

    The planes are those of [Teo et al. 2010]; as in [Franc, Sonnenburg 2009] the best point moves by a line search
    towards the minimum of the model, and the next plane is taken where the search ends.  The method stops where
    ``J(w) - lower <= tol * J(w)``.
    """
    planes = _Planes(X.size, alpha)
    J, lower, gap = np.inf, -np.inf, np.inf
    for start in starts:
        there = pairs.at(X.scores(start))
        _cut(planes, X, there)
        value = there.hinge[0] + alpha * float(start @ start)
        if value < J:
            w, here, J = start, there, value
    first, stop = FIRST, current()
    for step in range(1, max_iter + 1):
        target, found = planes.solve(CLOSE * max(tol * J, min(J - lower, J)))
        lower = max(lower, found)
        gap = _gap(J, lower)
        if gap <= tol or step == max_iter or stop.now or not np.isfinite(found):
            break
        s, p = target - w, X.scores(target)
        t, there = _search(pairs, here, w, s, p - here.p, alpha, first)
        first = min(LONGER * t, 1.0)
        loss, slope = there.hinge
        tried = [(w + t * s, there)]
        # Without a plane that raises the model at its minimum the next target could be the same.
        if loss + float(slope @ (p - there.p)) + alpha * float(target @ target) < found + LIFT * (J - found):
            tried.append((target, pairs.at(p)))
        for at, there in tried:
            _cut(planes, X, there)
            value = there.hinge[0] + alpha * float(at @ at)
            if value < J:
                w, here, J = at, there, value
    return ScorerSolution(X.expand(w), J, step, gap <= tol, gap, advice="Raise max_iter, tol or alpha.")


def _gap(J: float, lower: float) -> float:
    """``(J - lower) / J``; a bound above J by more than rounding proves nothing."""
    return abs(J - lower) / J if lower <= J * (1 + BEYOND) else float("inf")


def _cut(planes: _Planes, X: DesignMatrix, active: ActivePairs) -> None:
    loss, slope = active.hinge
    planes.add(X.back(slope), loss - float(slope @ active.p))


def _search(
    pairs: UtilityPairs, here: ActivePairs, w: Floats, s: Floats, u: Floats, alpha: float, step: float
) -> tuple[float, ActivePairs]:
    """A step along ``s`` by regula falsi from ``step``, until the slope is :data:`FLAT` times the first one.

    A more exact search costs more than the planes that it saves.
    """
    curve, tilt = 2 * alpha * float(s @ s), 2 * alpha * float(w @ s)
    first = float(here.hinge[1] @ u) + tilt
    low, at_low = 0.0, first
    high, at_high = np.inf, np.inf
    for _ in range(TRIES):
        t = step
        there = pairs.at(here.p + t * u)
        slope = float(there.hinge[1] @ u) + tilt + curve * t
        if abs(slope) <= FLAT * -first:
            break
        if slope < 0:
            low, at_low = t, slope
        else:
            high, at_high = t, slope
        if at_high == np.inf:
            step = 2 * t
        else:
            # Rounding may leave no difference between the slopes.
            share = -at_low / (at_high - at_low) if at_high > at_low else 0.5
            step = low + (high - low) * min(max(share, 0.1), 0.5)
    return t, there


@njit(cache=True, nogil=True)
def descend_simplex(Q: Any, b: Any, x: Any, tol: float, max_iter: int) -> Any:
    """Minimise ``x.Qx / 2 - b.x`` over the simplex from ``x`` (n,), in place, to a gap of ``tol``; returns the gap.

    ``Q`` is the leading (n, n) part of what is given.

    Each step moves weight between two vertices: to the one of the least slope, from the one with the largest gain by
    the second-order rule of [Fan, Chen, Lin 2005].  ``x.g - min g``,
    with ``g = Qx - b``, bounds the remaining decrease.
    """
    n = b.size
    g = -b
    for i in range(n):
        if x[i] > 0.0:
            for k in range(n):
                g[k] += x[i] * Q[i, k]
    gap = np.inf
    for _ in range(max_iter):
        i = int(np.argmin(g))
        gap = 0.0
        best, j = 0.0, -1
        for k in range(n):
            if x[k] > 0.0:
                rise = g[k] - g[i]
                gap += x[k] * rise
                curve = max(Q[i, i] + Q[k, k] - 2 * Q[i, k], 1e-300)
                gain = rise * min(rise / curve, x[k])
                if gain > best:
                    best, j = gain, k
        if gap <= tol or j < 0:
            break
        t = min((g[j] - g[i]) / max(Q[i, i] + Q[j, j] - 2 * Q[i, j], 1e-300), x[j])
        x[i] += t
        x[j] -= t
        for k in range(n):
            g[k] += t * (Q[i, k] - Q[j, k])
    return gap
