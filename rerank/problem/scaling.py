"""Features scaled to [0, 1], and scores: the same doubles wherever a problem is solved or a row is scored."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.ranks.rationals import exact_total

Floats = NDArray[np.float64]

FARTHEST = 2.0**960
"""Largest scaled feature of a row outside the range; sums of fewer than 2^60 of them stay finite."""

BINARY_PLACES = 40
"""Binary places of the scaled score to which scores are rounded before they are compared, so that two rows whose exact
scores are equal are not told apart by the rounding of a sum (see docs/decisions)."""


def scale_columns(X: Floats, low: Floats, high: Floats) -> Floats:
    """``(X - low) / (high - low)`` for finite numbers of any size.

    Each entry is within 4 units of rounding of the exact quotient.  Entries outside ``low <= X <= high`` are cut
    at ``FARTHEST`` in size, so they are finite and never turn an order.

    Parameters
    ----------
    X : float64 array (n, d)
    low, high : float64 arrays (d,)
        Range of each column in the training rows; ``low < high``.

    Returns
    -------
    float64 array (n, d)
    """
    with np.errstate(over="ignore"):
        above, span = X - low, high - low
        wide = ~(np.isfinite(above) & np.isfinite(span))
        if wide.any():
            # Only entries whose difference overflows are halved: halving a subnormal number would round it.
            half = np.where(wide, 0.5, 1.0)
            above, span = X * half - low * half, high * half - low * half
        return np.clip(above / span, -FARTHEST, FARTHEST)


def unit(largest: Any) -> Any:
    """Powers of two near numbers, by which columns of such size can be divided exactly before they are squared.

    They are 1 for numbers from 2^-400 to 2^400, whose squares neither overflow nor vanish.
    """
    power = np.frexp(largest)[1]
    return np.ldexp(1.0, np.where(np.abs(power) > 400, np.clip(power, -1000, 1000), 0))


def deviation(n: int, total: Fraction, squares: Fraction) -> float:
    """Standard deviation of ``n`` numbers with these exact sums of themselves and of their squares."""
    return math.sqrt(max(0.0, float(squares / n - (total / n) ** 2)))


def deviations(table: Floats) -> Floats:
    """Standard deviation of each column, from exact sums: the same bits on every machine and however rows are cut."""
    n = table.shape[0]
    found = []
    for column in table.T:
        size = float(unit(np.abs(column).max(initial=0.0)))
        scaled = column / size
        found.append(size * deviation(n, exact_total(scaled), exact_total(scaled * scaled)))
    return np.array(found)


def affine(X: Floats, coef: Floats, intercept: float = 0.0) -> Floats:
    """``X @ coef + intercept``, summed column by column, so that every machine gives the same bits (BLAS does not)."""
    total = np.full(X.shape[0], float(intercept))
    for j in np.flatnonzero(coef):
        total += X[:, j] * coef[j]
    return total


def snap(scores: Floats) -> Floats:
    """Scores rounded to ``BINARY_PLACES`` binary places, so that rounding errors do not break ties."""
    step = 2.0**BINARY_PLACES
    rounded = np.rint(scores * step) / step
    # Beyond 2^12 a double has no 40 binary places to round away (and the product may overflow): leave those alone.
    return np.where(np.abs(scores) < 4096.0, rounded, scores)


def snapped_scores(table: Floats, low: Floats, high: Floats, w: Floats) -> Floats:
    """Scores of rows by which they are ranked: scaled as in the problem, weighted, summed and rounded."""
    return snap(affine(scale_columns(table, low, high), w))
