"""Truncated Newton for the squared hinge loss over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.errors.stops import current
from rerank.scorers.base import Solution
from rerank.scorers.data import Floats
from rerank.scorers.ranksvm.design_matrix import DesignMatrix
from rerank.scorers.ranksvm.pairs import ActivePairs, Pairs, Record

# Conjugate gradients stop where this share of the gradient is left.
FORCING = 0.1


def newton(
    X: DesignMatrix, pairs: Pairs, alpha: float, starts: list[Floats], tol: float, max_iter: int
) -> Solution:
    """Minimise ``J(w) = sum c_ij (1 + p_i - p_j)_+ ** 2 + alpha |w|^2``, ``p = X w``.

    The start is the first of ``starts`` that is better than the next one.
    ``J`` is strongly convex with modulus ``2 alpha``, so ``J(w) - min J <= |grad J(w)|^2 / (4 alpha)``; this is also
    the duality gap at the multipliers ``2 c_ij (1 + p_i - p_j)_+``.  The method stops where that is at most
    ``tol * J``.  Each step solves with the Hessian of the active pairs, as in [Lee, Lin 2014], and is halved
    until ``J`` decreases.
    """
    J = np.inf
    for start in starts:
        there = pairs.at(X.scores(start))
        value, gradient = _value(there, start, alpha)
        if np.inf > J and not value < J:
            break
        w, active, J, slope = start, there, value, gradient
    gap, stop = np.inf, current()
    for step in range(max_iter + 1):
        gradient = X.back(slope) + 2 * alpha * w
        gap = float(gradient @ gradient) / (4 * alpha * J)
        if gap <= tol or step == max_iter or stop.now:
            break
        enough = np.sqrt(tol * 4 * alpha * J) / 2
        s = _direction(X, pairs.recorded(active), gradient, alpha, enough)
        moved = _search(pairs, active, w, s, X.scores(s), alpha, J, float(gradient @ s))
        if moved is None:
            break
        w, active, J, slope = moved
    advice = "Raise max_iter, tol or alpha; float32 features may also be too coarse for this tol."
    return Solution(X.expand(w), J, step, gap <= tol, gap, advice=advice)


def _value(active: ActivePairs, w: Floats, alpha: float) -> tuple[float, Floats]:
    loss, slope = active.squared
    return loss + alpha * float(w @ w), slope


def _direction(X: DesignMatrix, record: Record, gradient: Floats, alpha: float, enough: float) -> Floats:
    """Solve ``H s = -gradient`` by conjugate gradients until ``|H s + gradient|`` is small enough for this step.

    The preconditioner is the diagonal that ``H`` would have if both rows of a pair were drawn independently, in
    proportion to their weight of partners ``mass_i``: ``2 alpha + 2 sum(mass) variance_k`` for column k.
    """
    mass = record.pairs.coefficient * record.degree
    diagonal = np.full(gradient.size, 2 * alpha)
    if mass.any():
        diagonal += 2 * mass.sum() * X.variances(mass)
    scale = 1 / diagonal
    s, r, d = np.zeros_like(gradient), -gradient, -gradient * scale
    rz = float(r @ d)
    goal, stop = max(enough, FORCING * float(np.linalg.norm(gradient))) ** 2, current()
    for _ in range(gradient.size):
        left, rz = _conjugate_step(s, r, d, X.back(record.hessian(X.scores(d))), scale, 2 * alpha, rz)
        if left <= goal or stop.now:
            break
    return s


def _search(
    pairs: Pairs, active: ActivePairs, w: Floats, s: Floats, u: Floats, alpha: float, J: float, slope: float
) -> tuple[Floats, ActivePairs, float, Floats] | None:
    """The first step among 1, 1/2, 1/4, ... with a fair decrease; None where rounding hides any."""
    t = 1.0
    while t > 1e-10:
        there = pairs.at(active.p + t * u)
        value, gradient = _value(there, w + t * s, alpha)
        if value <= J + 1e-4 * t * slope:
            return w + t * s, there, value, gradient
        t /= 2
    return None


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _conjugate_step(s: Any, r: Any, d: Any, h: Any, scale: Any, shift: float, rz: float) -> Any:
    """One step of preconditioned conjugate gradients with ``h = (H - shift I) d``, in place.

    ``s`` is the solution so far, ``r`` the residual, ``d`` the direction, ``scale`` the inverse diagonal and ``rz`` the
    product of ``r`` with ``scale * r``.  Returns ``|r|^2`` and the new ``rz``.
    """
    curve = 0.0
    for j in range(d.size):
        h[j] += shift * d[j]
        curve += d[j] * h[j]
    step = rz / curve
    left, new = 0.0, 0.0
    for j in range(d.size):
        s[j] += step * d[j]
        x = r[j] - step * h[j]
        r[j] = x
        left += x * x
        new += x * x * scale[j]
    share = new / rz
    for j in range(d.size):
        d[j] = scale[j] * r[j] + share * d[j]
    return left, new
