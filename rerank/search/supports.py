"""Which features may carry weight: the supports that the box search has to cover.

With a price ``C`` on each feature or a limit on their number the cube falls apart into cubes of fewer
dimensions, one a support.  With a limit alone only the largest supports are needed (a smaller one lies on the
sides of a larger).
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

MOST = 400_000  # supports enumerated; beyond, the sizes left out are bounded together


def supports(d: int, limit: int | None, priced: bool) -> tuple[list[NDArray[np.intp]], int | None]:
    """Supports to search, small ones first, and the smallest size that was left out (None where nothing is).

    Parameters
    ----------
    d : int
        Number of features.
    limit : int or None
        Largest support.
    priced : bool
        Whether a feature costs something, so that a smaller support can beat a larger one that contains it.
    """
    largest = d if limit is None else min(limit, d)
    sizes = range(1, largest + 1) if priced else [largest]
    out: list[NDArray[np.intp]] = []
    for size in sizes:
        if len(out) + comb(d, size) > MOST:
            return out, size
        out.extend(np.array(s, dtype=np.intp) for s in combinations(range(d), size))
    return out, None


def faces(k: int, signed: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centres and half-widths of the cube's faces ``w_j = 1`` and, for free weights, ``w_j = -1``."""
    centre = np.where(signed, 0.5, 0.0)
    half = np.where(signed, 0.5, 1.0)
    centres, halves = [], []
    for j in range(k):
        for side in (1.0,) if signed[j] else (1.0, -1.0):
            c, h = centre.copy(), half.copy()
            c[j], h[j] = side, 0.0
            centres.append(c)
            halves.append(h)
    return np.array(centres), np.array(halves)
