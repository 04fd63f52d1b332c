"""Coordinates of weights in boxes: what a search divides into boxes, and a proof speaks of.

``w_j = scale_j v_j``. Without limits ``scale_j`` is -1 where a weight must not be positive, else 1. With limits it is
the larger of their sizes, so that a correction between ``-r`` and ``r`` has a coordinate between -1 and 1. The ends of
boxes are binary fractions of few digits; a limit that is none is rounded outward.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rerank.problem.problem import Problem

Floats = NDArray[np.float64]

GRID = 2**20
"""Ends of coordinates are multiples of 1 / GRID."""


def coordinates(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Scale, smallest and largest coordinate of each weight, float64 (d,) each."""
    if problem.limits is None:
        lower = np.where(problem.signs != 0, 0.0, -1.0)
        return np.where(problem.signs < 0, -1.0, 1.0), lower, np.ones(problem.n_features)
    low, high = problem.limits
    size = np.maximum(-low, high)
    scale = np.where(size > 0, size, 1.0)
    ratios = [[Fraction(x) * GRID / Fraction(s) for x, s in zip(side, scale)] for side in (low, high)]
    lower = np.array([x.__floor__() / GRID for x in ratios[0]])
    upper = np.array([x.__ceil__() / GRID for x in ratios[1]])
    return scale, lower, upper
