"""Polish the weights that a solver found: win the same pairs, with the smallest margin as wide as possible.

The weights of a mixed-integer solver often win pairs by exactly the margin. An exact check may then fail in the last
digits, although the solver made no mistake. With the pairs won fixed, the widest smallest margin is a linear program:

    maximise delta  subject to  w.(x_i - x_k) >= delta for every pair (i, k) won,
    -1 <= w_j <= 1 or the limits of an anchored problem, the signs asked for, w_j = 0 off the support.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors.stops import current

Floats = NDArray[np.float64]
Pairs = NDArray[np.intp]

MOST_ROUNDS = 60
"""Rounds of adding rows; five to fifteen are usual."""


def polish(
    X: ArrayLike,
    pairs_won: ArrayLike,
    w: ArrayLike,
    signs: ArrayLike | None = None,
    support: ArrayLike | None = None,
    limits: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Weights with the widest smallest margin over the pairs won.

    Only violated rows are added to the linear program, so 20,000 pairs cost about as much as 200. Inside
    :func:`rerank.errors.stops.limited` no linear program is begun after the deadline.

    Parameters
    ----------
    X : array (n, d)
        Scaled features.
    pairs_won : int array (p, 2)
        Rows (i, k) of X with ``w.(x_i - x_k)`` at least the margin, up to the solver's tolerance.
    w : array (d,)
        The weights found, in [-1, 1].
    signs : int array (d,), optional
        1 where a weight must be >= 0, -1 where it must be <= 0, 0 where it is free.
    support : bool array (d,), optional
        Weights that may differ from 0; those that do in ``w`` if omitted.
    limits : pair of float arrays (d,), optional
        Smallest and largest weights of an anchored problem, in which nothing is scaled.

    Returns
    -------
    float64 array (d,)
        With ``max |w_j| = 1`` (or within the limits) and a wider smallest margin than ``w``; a copy of ``w`` if there
        is no pair, no support or nothing to gain.
    """
    table, pairs, given = np.asarray(X, np.float64), np.asarray(pairs_won), np.array(w, np.float64)
    d = given.size
    least, most = (-np.ones(d), np.ones(d)) if limits is None else limits
    free = given != 0 if support is None else np.asarray(support, dtype=bool)
    sign = np.zeros(d, np.int8) if signs is None else np.asarray(signs)
    if not pairs.size or not free.any():
        return given
    low, high = np.where(free & (sign <= 0), least, 0.0), np.where(free & (sign >= 0), most, 0.0)
    best = _widest(table, pairs.astype(np.intp), given, low, high)
    if limits is None and best is not given:
        best = best / np.max(np.abs(best))
    return best if smallest_margin(table, pairs, best) > smallest_margin(table, pairs, given) else given


def smallest_margin(X: Floats, pairs: Pairs, w: Floats) -> float:
    """Smallest ``w.x_i - w.x_k`` over the pairs, in floating point."""
    return float(_margins(X, pairs, w).min())


def _margins(X: Floats, pairs: Pairs, w: Floats) -> Floats:
    scores = X @ w
    margins: Floats = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return margins


def _widest(X: Floats, pairs: Pairs, w: Floats, low: Floats, high: Floats) -> Floats:
    """Weights for all pairs, from linear programs over some of them; the most violated pairs are added in rounds."""
    best, best_margin = w, -np.inf
    active = _lowest(_margins(X, pairs, w), 4 * w.size + 20)
    for _ in range(MOST_ROUNDS):
        if current().now:
            break
        solved = _solve(X[pairs[active, 0]] - X[pairs[active, 1]], low, high)
        if solved is None:
            break
        candidate, delta = solved
        margins = _margins(X, pairs, candidate)
        if margins.min() > best_margin:
            best, best_margin = candidate, float(margins.min())
        violated = np.setdiff1d(_lowest(margins, 2 * w.size + 50), active)
        violated = violated[margins[violated] < delta - 1e-12]
        if not violated.size:
            break
        active = np.concatenate([active, violated])
    # With a smallest margin of 0 or below some pair is not won, and a larger scale would not help.
    return best if best_margin > 0 and best.any() else w


def _lowest(margins: Floats, count: int) -> Pairs:
    if margins.size <= count:
        return np.arange(margins.size)
    return np.argpartition(margins, count)[:count]


def _solve(differences: Floats, low: Floats, high: Floats) -> tuple[Floats, float] | None:
    """Maximise delta over ``differences @ w >= delta`` in the box; None if the solver gives up."""
    from scipy.optimize import linprog

    d = low.size
    largest = float(np.abs(differences).sum(axis=1).max())
    answer = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.column_stack([-differences, np.ones(len(differences))]),
        b_ub=np.zeros(len(differences)),
        bounds=[*zip(low, high, strict=True), (-largest, largest)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if answer.x is None:
        return None
    return np.clip(answer.x[:d], low, high), float(answer.x[d])
