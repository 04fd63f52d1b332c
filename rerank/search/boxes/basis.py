r"""Basis of the boxes: for correlated features one in which the differences of pairs spread evenly (whitened axes).

Boxes in coordinates ``u`` with ``w = S u`` leave a pair undecided while ``|c.D'| <= h.|D'|``, ``D' = S^T D``.
If the features are correlated, few boxes of the cube ``max|w_j| = 1`` are short in the directions in
which differences are long.  With ``S`` the inverse square root of the differences' covariance all boxes are.
The margin asks ``w.D >= epsilon`` at ``max|w_j| = 1``, that is ``u.D' >= epsilon max_j |(S u)_j|``, and that
maximum is bounded in every box.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_RATIO = 2.0  # of longest to shortest spread; below it, whitened axes do not save time
CLEAR = 20.0  # margins by which differences have to spread in every direction
MOST_RATIO = 100.0  # nearly collinear features are not stretched further


def whitened_basis(covariance: Floats, epsilon: float) -> Floats | None:
    """``S`` (k, k) with rows of L1 norm at most 1, for a covariance of differences; None where it would not help.

    The rows' norm keeps ``|w_j| <= 1`` for ``max|u_j| <= 1``.  Directions in which no pair clears the margin must not
    be stretched: they would fill the cube of ``u`` with boxes in which nothing can be decided.
    """
    if covariance.shape[0] < 3:
        return None
    values, axes = np.linalg.eigh(covariance)
    top = float(values[-1])
    if values[0] < (CLEAR * epsilon) ** 2 or values[0] * LEAST_RATIO**2 >= top:
        return None
    root = 1.0 / np.sqrt(np.maximum(values, top / MOST_RATIO**2))
    S = (axes * root) @ axes.T
    return np.ascontiguousarray(S / np.abs(S).sum(axis=1).max())


def whitened_tolerance(plain: float, k: int) -> float:
    """Rounding of ``u.D' - epsilon N(u)`` with ``D' = S^T D`` rounded, and of the weights ``S u / N(u)`` reported.

    ``D'`` is off by ``k`` times as much as ``D`` in each of ``k`` entries, and rounding ``w`` moves every
    product by as much again.
    """
    return 4.0 * k * plain
