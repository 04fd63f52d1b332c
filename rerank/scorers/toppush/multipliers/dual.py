"""The accelerated projected gradient method of Li, Jin and Zhou, NIPS 2014, Algorithm 1, for the squared hinge.

It minimises, over ``a, b >= 0`` that have equal sums in each list::

    g(a, b) = |nu|^2 / (2 alpha m) + sum_i (a_i^2 / (4 v_i) - a_i),    nu = sum_i a_i x_i - sum_j b_j x_j

and ``w = nu / (alpha m)``; ``v_i`` is the weight of a positive and m their sum.  ``-g / m`` is the dual of the
problem.  The line search tests the quadratic upper bound at the step, where the printed test has a sign wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.toppush.multipliers.projection import project
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap

Floats = NDArray[np.float64]

# The gap costs two products more; it is looked at once in so many iterations.
LOOK = 10
# The authors' rule: no earlier than this iteration, or a step shorter than this.
EARLIEST, SHORTEST = 10, 1e-6


@dataclass(frozen=True, eq=False)
class Descent:
    """Weights, a dual point in the scale of :mod:`.problem`, iterations, and whether the rule was met."""

    w: Floats
    a: Floats
    beta: Floats
    n_iter: int
    met: bool


class _Dual:
    """The function g, its gradient and its projection."""

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        self.p, self.v, self.m = problem, problem.weight, float(problem.weight.sum())
        self.scale = 1 / (alpha * self.m)
        counts = np.bincount(problem.list_of)
        self.start_a = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.start_b = problem.threshold.start

    def nu(self, a: Floats, b: Floats) -> Floats:
        return np.asarray(self.p.positives.T @ a - self.p.negatives.T @ b)

    def value(self, a: Floats, nu: Floats) -> float:
        return float(self.scale / 2 * (nu @ nu) + (a * a / (4 * self.v) - a).sum())

    def gradient(self, a: Floats, nu: Floats) -> tuple[Floats, Floats]:
        up, down = self.p.positives @ nu, self.p.negatives @ nu
        return self.scale * up + a / (2 * self.v) - 1, -self.scale * down

    def project(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        return project(a, b, self.start_a, self.start_b)


def descend(
    problem: TopPushProblem,
    alpha: float,
    tol: float,
    max_iter: int,
    stop: str,
    start: tuple[Floats, Floats] | None,
) -> Descent:
    """Run the method.

    Parameters
    ----------
    problem : TopPushProblem
        With the squared hinge and the largest score as threshold.
    alpha, tol : float
    max_iter : int
    stop : "gap" or "authors"
        Relative duality gap at most ``tol``; or ``g / m`` changed by at most ``tol`` of itself after ten iterations
        or more, or a step no longer than 1e-6 from the point where the gradient was taken.
    start : tuple of arrays, optional
        ``a`` and ``beta`` of an earlier :class:`Descent`.
    """
    dual = _Dual(problem, alpha)
    a, b = np.zeros(problem.share.size), np.zeros(problem.negatives.shape[0])
    if start is not None and (start[0].size, start[1].size) == (a.size, b.size):
        a, b = dual.project(start[0] * dual.v, start[1] * dual.m)
    moved_a, moved_b = np.zeros_like(a), np.zeros_like(b)
    before, t, L = 0.0, 1.0, 1 / dual.m
    nu, value, last = dual.nu(a, b), 0.0, np.inf
    for n_iter in range(1, max_iter + 1):
        s_a, s_b = a + (before - 1) / t * moved_a, b + (before - 1) / t * moved_b
        new_a, new_b, nu, value, L, length = _step(dual, s_a, s_b, L)
        moved_a, moved_b, a, b = new_a - a, new_b - b, new_a, new_b
        before, t = t, (1 + np.sqrt(4 * t * t + 1)) / 2
        if stop == "authors":
            # A short step ends the run before the change of the value is looked at.
            if length <= SHORTEST or (n_iter >= EARLIEST and abs(value - last) <= abs(last) * tol):
                return Descent(nu * dual.scale, a / dual.v, b / dual.m, n_iter, True)
        elif n_iter % LOOK == 0 or length == 0:
            if _gap(dual, alpha, nu, value) <= tol:
                return Descent(nu * dual.scale, a / dual.v, b / dual.m, n_iter, True)
        last = value
    met = stop == "gap" and _gap(dual, alpha, nu, value) <= tol
    return Descent(nu * dual.scale, a / dual.v, b / dual.m, max_iter, met)


def _gap(dual: _Dual, alpha: float, nu: Floats, value: float) -> float:
    return relative_gap(dual.p.primal(nu * dual.scale, alpha), -value / dual.m)


def _step(dual: _Dual, s_a: Floats, s_b: Floats, L: float) -> Any:
    """A projected gradient step from ``(s_a, s_b)``, L doubled until the quadratic bound holds."""
    nu = dual.nu(s_a, s_b)
    value = dual.value(s_a, nu)
    g_a, g_b = dual.gradient(s_a, nu)
    while True:
        a, b = dual.project(s_a - g_a / L, s_b - g_b / L)
        new_nu = dual.nu(a, b)
        new = dual.value(a, new_nu)
        d_a, d_b = a - s_a, b - s_b
        square = float(d_a @ d_a + d_b @ d_b)
        excess = new - value - float(g_a @ d_a + g_b @ d_b) - L / 2 * square
        if excess <= 1e-12 * max(1.0, abs(value)) or np.sqrt(square) <= SHORTEST:
            return a, b, new_nu, new, L, np.sqrt(square)
        L *= 2
