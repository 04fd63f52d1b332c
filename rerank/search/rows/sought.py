"""A good point of a line where very many places count: the value at some angles, sorted and not by pairs.

Where each of many thousand pairs is a step, the value is so nearly smooth that a few angles show where it is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.search.rows.tables import RowTables

Floats = NDArray[np.float64]

ANGLES, FINER = 12, 10
"""Values on a line, and then around the best of them."""

GLANCED = 4
"""Values that a glance at a line takes."""


def middles(low: float, high: float, n: int) -> Floats:
    """The middles of ``n`` equal angles between two directions, given by their tangents."""
    ends = np.linspace(np.arctan(low), np.arctan(high), n + 1)
    return np.asarray(0.5 * (ends[1:] + ends[:-1]))


def sought(value: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """A large value of an angle, and that angle: the best of some angles, and Brent's method around it.

    Parameters
    ----------
    value : callable
    low, high : float
        Tangents of the first and the last angle, infinite for the half circle.
    """
    from scipy.optimize import minimize_scalar

    angles = middles(low, high, ANGLES)
    values = [value(angle) for angle in angles]
    i = int(np.argmax(values))
    bounds = (
        float(angles[i - 1]) if i > 0 else float(np.arctan(low)),
        float(angles[i + 1]) if i < ANGLES - 1 else float(np.arctan(high)),
    )
    options = {"maxiter": FINER}
    found: Any = minimize_scalar(lambda angle: -value(angle), bounds=bounds, method="bounded", options=options)
    return max((-float(found.fun), float(found.x)), (values[i], float(angles[i])))


def sorted_value(t: RowTables, scores: Floats, margin: float) -> float:
    """The value of lists for the scores of their rows, by sorting; a pair within ``margin`` is lost.

    The same as :func:`rerank.search.rows.sweep.value_of` but for rounding of the sum, and sooner where most places
    count: positive i has lost the pairs with the negatives above ``score_i - margin``.
    """
    total = 0.0
    for q in range(t.begin.size - 1):
        mine, level = scores[t.begin[q] : t.begin[q + 1]], t.level[t.begin[q] : t.begin[q + 1]]
        for u in range(t.first_unit[q], t.first_unit[q + 1]):
            positives = int(np.searchsorted(-level, -(u - t.first_unit[q])))  # of this threshold; levels descend
            ahead, behind = -np.sort(-mine[:positives]), np.sort(mine[positives:])
            # The lost pairs ascend, so the j-th positive stands at place j + lost.
            at = np.arange(positives) + behind.size - np.searchsorted(behind, ahead - margin, side="right")
            at = at[: np.searchsorted(at, t.places[u])]
            earned = t.coef[t.coef_start[u] + at]
            total += float(earned.sum() if not t.hits.size else earned @ t.hits[t.hit_start[u] : t.hit_start[u] + at.size])
    return total
