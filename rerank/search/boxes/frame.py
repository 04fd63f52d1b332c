r"""Coordinates for the boxes: for correlated features a frame in which the differences of pairs spread evenly.

Boxes in coordinates ``u`` with ``w = S u`` leave a pair undecided while ``|c.D'| <= h.|D'|``, ``D' = S^T D``.
If the features are correlated, few boxes of the cube ``max|w_j| = 1`` are short across the directions in
which differences are long; with ``S`` the inverse square root of the differences' covariance they all are.
The margin asks ``w.D >= epsilon`` at ``max|w_j| = 1``, that is ``u.D' >= epsilon max_j |(S u)_j|``, and that
maximum is bounded in every box.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WORTH = 2.0  # ratio of longest to shortest spread from which a frame pays
CLEAR = 20.0  # margins by which differences have to spread in every direction
MOST = 100.0  # ratio beyond which nearly collinear features are not stretched further


def frame(covariance: Floats, epsilon: float) -> Floats | None:
    """``S`` (k, k) with rows of L1 norm at most 1, for a covariance of differences; None where the cube's own axes do.

    The rows' norm keeps ``|w_j| <= 1`` for ``max|u_j| <= 1``.  Directions in which no pair clears the margin must not
    be stretched: they would fill the frame with boxes in which nothing can be decided.
    """
    if covariance.shape[0] < 3:
        return None
    values, axes = np.linalg.eigh(covariance)
    top = float(values[-1])
    if values[0] < (CLEAR * epsilon) ** 2 or values[0] * WORTH**2 >= top:
        return None
    root = 1.0 / np.sqrt(np.maximum(values, top / MOST**2))
    S = (axes * root) @ axes.T
    return np.ascontiguousarray(S / np.abs(S).sum(axis=1).max())


def framed_tolerance(plain: float, k: int) -> float:
    """Rounding of ``u.D' - epsilon N(u)`` with ``D' = S^T D`` rounded, and of the weights ``S u / N(u)`` handed out.

    ``D'`` is off by ``k`` times as much as ``D`` in each of ``k`` entries, and handing out ``w`` moves every
    product by as much again.
    """
    return 4.0 * k * plain
