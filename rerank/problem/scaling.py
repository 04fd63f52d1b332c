"""Features scaled to [0, 1]: the same doubles wherever a problem is solved or a row is scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FARTHEST = 2.0**960
"""Largest scaled feature of a row outside the range; sums of fewer than 2^60 of them stay finite."""


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
