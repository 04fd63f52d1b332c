"""Features scaled to [0, 1], and scores: the same doubles wherever a problem is solved or a row is scored."""

import math
from fractions import Fraction

import numpy as np

from rerank.problem.lists import Floats, Indices
from rerank.ranks.positions import affine, snap
from rerank.ranks.rationals import exact_total, unit

FOLDED = 64  # numbers of rows that stand beside each other, at least, where ends are sought
FARTHEST = 2.0**960  # largest scaled feature of a row outside the range; sums of fewer than 2^60 of them stay finite


def ends_of(table: Floats, rows: Indices) -> tuple[Floats, Floats]:
    """Least and largest number of each column in different rows. Several rows of a narrow table are taken as one:
    NumPy compares row by row, and short rows take it much longer.
    """
    used = table if rows.size == len(table) else table[rows]
    d = used.shape[1]
    several = max(1, FOLDED // max(1, d))
    folded = used[: len(used) // several * several].reshape(len(used) // several, several * d)
    rest = used[len(folded) * several :]
    if len(folded):
        sides = (side.reshape(several, d) for side in (folded.min(axis=0), folded.max(axis=0)))
        low, high = (np.concatenate([side, rest]) for side in sides)
    else:
        low = high = rest
    return low.min(axis=0), high.max(axis=0)


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


def per_unit(weights: Floats, low: Floats, high: Floats) -> Floats:
    """``weights / (high - low)``, also where the difference is beyond the largest double."""
    with np.errstate(over="ignore"):
        half = np.where(np.isfinite(high - low), 1.0, 0.5)
        return weights * half / (high * half - low * half)


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


def snapped_scores(table: Floats, low: Floats, high: Floats, w: Floats) -> Floats:
    """Scores of rows by which they are ranked: scaled as in the problem, weighted, summed and rounded."""
    return snap(affine(scale_columns(table, low, high), w))
