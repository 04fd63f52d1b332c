"""The accelerated projected gradient method of Li, Jin and Zhou, NIPS 2014, Algorithm 1, for the squared hinge.

It minimises, over ``a, b >= 0`` that have equal sums in each list::

    g(a, b) = |nu|^2 / (2 alpha m) + sum_i (a_i^2 / (4 v_i) - a_i),    nu = sum_i a_i x_i - sum_j b_j x_j

and ``w = nu / (alpha m)``; ``v_i`` is the weight of a positive and m their sum.  ``-g / m`` is the dual of the
problem.  The line search tests the quadratic upper bound at the step, where the sign in the printed test is wrong.
"""

from typing import Any

import numpy as np

from rerank.errors.stops import current
from rerank.scorers.base import Floats
from rerank.scorers.toppush.answer import PrimalDual
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap

# The gap costs two more products; it is computed once in so many iterations.
CHECKED = 10
# The authors' rule: no earlier than this iteration, or a step shorter than this.
EARLIEST, SHORTEST = 10, 1e-6


class _Dual:
    """The function g."""

    def __init__(self, problem: TopPushProblem, alpha: float) -> None:
        self.p, self.v, self.m = problem, problem.weight, float(problem.weight.sum())
        self.scale = 1 / (alpha * self.m)
        self.start_a = np.concatenate([[0], np.cumsum(np.bincount(problem.list_of))]).astype(np.int64)
        self.start_b = problem.threshold.start

    def at(self, a: Floats, b: Floats) -> tuple[Floats, float]:
        """``nu``, and the value of g."""
        nu = np.asarray(self.p.positives.T @ a - self.p.negatives.T @ b)
        return nu, float(self.scale / 2 * (nu @ nu) + (a * a / (4 * self.v) - a).sum())


def descend(
    problem: TopPushProblem, alpha: float, tol: float, max_iter: int, stop: str, start: PrimalDual
) -> PrimalDual:
    """Run the method on a problem with the squared hinge and the largest score, from ``a`` and ``beta`` of ``start``.

    It ends by ``stop``.  "gap": relative duality gap at most ``tol``; "paper": g changed by at most ``tol``; "authors":
    g changed by at most ``tol`` of itself after ten iterations or more, or a step no longer than 1e-6 from the point
    where the gradient was taken.
    """
    dual = _Dual(problem, alpha)
    a, b = project(start.a * dual.v, start.beta * dual.m, dual.start_a, dual.start_b)
    moved_a, moved_b = np.zeros_like(a), np.zeros_like(b)
    before, t, L = 0.0, 1.0, 1 / dual.m
    nu, last, met, over = dual.at(a, b)[0], np.inf, False, current()
    for n_iter in range(1, max_iter + 1):
        s_a, s_b = a + (before - 1) / t * moved_a, b + (before - 1) / t * moved_b
        new_a, new_b, nu, value, L, length = _step(dual, s_a, s_b, L)
        moved_a, moved_b, a, b = new_a - a, new_b - b, new_a, new_b
        before, t = t, (1 + np.sqrt(4 * t * t + 1)) / 2
        if stop == "authors":
            # A short step ends the run whatever the change of the value.
            met = length <= SHORTEST or (n_iter >= EARLIEST and abs(value - last) <= abs(last) * tol)
        elif stop == "paper":
            met = abs(value - last) <= tol
        elif n_iter % CHECKED == 0 or length == 0 or n_iter == max_iter:
            met = relative_gap(problem.primal(nu * dual.scale, alpha), -value / dual.m) <= tol
        if met or over.now:
            break
        last = value
    return PrimalDual(nu * dual.scale, a / dual.v, b / dual.m, n_iter, bool(met))


def _step(dual: _Dual, s_a: Floats, s_b: Floats, L: float) -> Any:
    """A projected gradient step from ``(s_a, s_b)``, L doubled until the quadratic bound holds."""
    nu, value = dual.at(s_a, s_b)
    g_a = dual.scale * (dual.p.positives @ nu) + s_a / (2 * dual.v) - 1
    g_b = -dual.scale * (dual.p.negatives @ nu)
    while True:
        a, b = project(s_a - g_a / L, s_b - g_b / L, dual.start_a, dual.start_b)
        new_nu, new = dual.at(a, b)
        d_a, d_b = a - s_a, b - s_b
        square = float(d_a @ d_a + d_b @ d_b)
        excess = new - value - float(g_a @ d_a + g_b @ d_b) - L / 2 * square
        if excess <= 1e-12 * max(1.0, abs(value)) or np.sqrt(square) <= SHORTEST:
            return a, b, new_nu, new, L, np.sqrt(square)
        L *= 2


def shift(a: Floats, b: Floats) -> float:
    """A root g of ``sum_i [a_i - g]_+ - sum_j [b_j + g]_+``, which falls in g; Li, Jin and Zhou, Algorithm 2."""
    up, down = np.sort(a), np.sort(-b)
    above, below = np.append(np.cumsum(up[::-1])[::-1], 0), np.append(0, np.cumsum(down))
    places = np.sort(np.concatenate([up, down]))
    i, j = np.searchsorted(up, places, "right"), np.searchsorted(down, places, "right")
    value = above[i] + below[j] - (up.size - i + j) * places
    last = np.flatnonzero(value >= 0)[-1]
    count = up.size - i[last] + j[last]
    return float((above[i[last]] + below[j[last]]) / count if count else places[last])


def project(a: Any, b: Any, start_a: Any, start_b: Any) -> tuple[Any, Any]:
    """Project ``(a, b)`` list by list; ``start_a`` and ``start_b`` (G + 1,) say where each begins in them."""
    new_a, new_b = np.empty_like(a), np.empty_like(b)
    for g in range(start_a.size - 1):
        i, j = slice(start_a[g], start_a[g + 1]), slice(start_b[g], start_b[g + 1])
        s = shift(a[i], b[j])
        new_a[i] = np.maximum(a[i] - s, 0)
        new_b[j] = np.maximum(b[j] + s, 0)
    return new_a, new_b
