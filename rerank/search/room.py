"""A point far from all rows on the weights, by linear programming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 1e-7
"""Distance from all rows, whose largest coefficient is 1, below which weights count as having no room."""


def inside(
    walls: Floats, lower: Floats, upper: Floats, anchor: Sequence[int], most: int | None = None
) -> Floats | None:
    """A point as far from all rows as the box allows; None where it would be on one.

    Parameters
    ----------
    walls : float64 (m, d + 2)
        Rows ``a.v >= b``: coefficients, ``b``, rounding.
    lower, upper : float64 (d,)
        The box.
    anchor : sequence of int
        Coordinates that are 1.
    most : int, optional
        Largest number of the others that are not 0.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    d, anchor = lower.size, list(anchor)
    low, high = lower.copy(), upper.copy()
    low[anchor] = high[anchor] = 1.0
    free = np.delete(np.arange(d), anchor) if most is not None else np.empty(0, np.intp)
    n, none = free.size, np.zeros((len(walls), free.size))
    a, b = walls[:, :-2], walls[:, -2]
    # A row that nothing moves has no distance.
    moves = (a != 0) @ (high > low) > 0
    # Binary variables say which coordinates are not 0.
    picked, switched = np.eye(d)[free], lambda end: -np.diag(np.maximum(end, 0.0)[free])
    limits = [
        LinearConstraint(np.column_stack([a, -1.0 * moves, none]), lb=b),
        LinearConstraint(np.column_stack([picked, np.zeros(n), switched(high)]), ub=0.0),
        LinearConstraint(np.column_stack([-picked, np.zeros(n), switched(-low)]), ub=0.0),
        LinearConstraint(np.concatenate([np.zeros(d + 1), np.ones(n)])[None], ub=np.inf if most is None else most),
    ]
    x: Any = milp(
        np.concatenate([np.zeros(d), [-1.0], np.zeros(n)]),
        integrality=np.concatenate([np.zeros(d + 1), np.ones(n)]),
        bounds=Bounds(np.concatenate([low, [-np.inf], np.zeros(n)]), np.concatenate([high, [1.0], np.ones(n)])),
        constraints=limits if n else limits[:1],
    ).x
    if x is None or not x[d] > LEAST:
        return None
    v = np.clip(x[:d], low, high)
    v[free[x[d + 1 :] < 0.5]] = 0.0
    return v
