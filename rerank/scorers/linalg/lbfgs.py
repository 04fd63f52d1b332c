"""L-BFGS for losses of linear scores, ``alpha/2 |w|^2 + loss(X w)``, shared by the smooth first stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rerank.errors.stops import current
from rerank.scorers.base import Solution
from rerank.scorers.data import Floats
from rerank.scorers.linalg.products import Products

Loss = Callable[[Floats], tuple[float, Floats]]
"""Scores (n,) to the loss and its gradient in the scores (n,)."""

MEMORY = 20  # steps that L-BFGS keeps
ADVICE = "Raise max_iter or alpha, or standardise the features."
ROUNDING = 1e-15  # relative decrease of the objective below which float64 shows no progress


def minimise(
    X: Any, loss: Loss, alpha: float, start: Floats | None, tol: float, max_iter: int, convex: bool
) -> Solution:
    """Minimise ``J(w) = alpha/2 |w|^2 + loss(X w)``.

    Converged means ``max|grad J(w)| <= tol max|grad J(0)|``, which does not depend on the scale of the loss, or that
    float64 shows no further decrease of ``J``.

    Parameters
    ----------
    X : float array or CSR matrix (n, d)
    loss : callable
        Scores (n,) to value and gradient (n,).
    alpha : float
    start : float64 (d,) or None
        None is zero.
    tol, max_iter : float, int
    convex : bool
        Whether ``loss`` is convex.  ``J`` is then ``alpha``-strongly convex and ``J(w) - min J`` is at most
        ``|grad J(w)|^2 / (2 alpha)`` [Nesterov2004, th. 2.1.10]; the solution's gap says so.
    """
    products, stop = Products(X), current()

    def unless_over(_: Floats) -> None:
        if stop.now:
            raise StopIteration

    def value(w: Floats) -> tuple[float, Floats]:
        at, slope = loss(products.scores(w))
        return at + 0.5 * alpha * float(w @ w), products.back(slope) + alpha * w

    zero = np.zeros(X.shape[1])
    scale = float(np.abs(value(zero)[1]).max(initial=0.0))
    w, used, still = (zero if start is None else start.copy()), 0, False
    while True:
        found = minimize(
            value,
            w,
            jac=True,
            method="L-BFGS-B",
            callback=unless_over,
            options={
                "gtol": tol * scale,
                "ftol": ROUNDING,
                "maxcor": MEMORY,
                "maxiter": max_iter - used,
                "maxfun": 20 * max_iter,
            },
        )
        w, used = found.x, used + int(found.nit)
        small = float(np.abs(found.jac).max(initial=0.0)) <= tol * scale
        # A failed line search (status 2) is tried once more without the old steps.  If that does not move either,
        # only rounding is left.
        still = found.status == 0 or (found.status == 2 and found.nit == 0)
        if small or still or used >= max_iter or found.status == 1 or stop.now:
            break
    gap = _gap(float(found.fun), found.jac, alpha) if convex else float("nan")
    return Solution(w, float(found.fun), used, bool(small or still), gap, advice=ADVICE)


def _gap(value: float, slope: Floats, alpha: float) -> float:
    """Bound on ``(J(w) - min J) / |min J|`` by strong convexity."""
    above = float(slope @ slope) / (2.0 * alpha)
    tiny = np.finfo(np.float64).tiny
    nearest = tiny if value - above <= 0.0 <= value else min(abs(value), abs(value - above))
    return 0.0 if above == 0.0 else above / max(nearest, tiny)
