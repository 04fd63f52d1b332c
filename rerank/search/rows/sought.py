"""A good point of a line where very many places count: the value at some angles, sorted and not by pairs.

Where each of many thousand pairs is a step, the value is so nearly smooth that a few angles show where it is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.search.tables import RowTables

Floats = NDArray[np.float64]

ANGLES, FINER = 12, 10
"""Values on a line, and then around the best of them."""

GLANCED = 4
"""Values that a glance at a line takes."""

SAMPLED = 1000
"""Relevant rows of a list, and irrelevant ones, of which about so many show where on a line to look."""


def middles(low: float, high: float, n: int) -> Floats:
    """The middles of ``n`` equal angles between two directions, given by their tangents."""
    ends = np.linspace(np.arctan(low), np.arctan(high), n + 1)
    return np.asarray(0.5 * (ends[1:] + ends[:-1]))


def sought(
    coarse: Callable[[float], float], value: Callable[[float], float], low: float, high: float
) -> tuple[float, float]:
    """A large value of an angle, and that angle: the best of some angles, and Brent's method around it.

    Parameters
    ----------
    coarse, value : callable
        What some angles are compared by, and what is searched around the best of them.
    low, high : float
        Tangents of the first and the last angle, infinite for the half circle.
    """
    from scipy.optimize import minimize_scalar

    angles = middles(low, high, ANGLES)
    i = int(np.argmax([coarse(angle) for angle in angles]))
    bounds = (
        float(angles[i - 1]) if i > 0 else float(np.arctan(low)),
        float(angles[i + 1]) if i < ANGLES - 1 else float(np.arctan(high)),
    )
    options = {"maxiter": FINER}
    found: Any = minimize_scalar(lambda angle: -value(angle), bounds=bounds, method="bounded", options=options)
    return max((-float(found.fun), float(found.x)), (value(angles[i]), float(angles[i])))


def earned(ahead: Floats, behind: Floats, margin: float, coef: Floats, hits: Floats, steps: tuple[int, int]) -> float:
    """What positives with these scores earn beside these negatives, a pair within ``margin`` being lost.

    Each positive stands for ``steps[0]`` of them, and each negative for ``steps[1]``.
    """
    ahead, behind = -np.sort(-ahead), np.sort(behind)
    lost = behind.size - np.searchsorted(behind, ahead - margin, side="right")
    # The lost pairs ascend, so the j-th positive stands at place j + lost.
    nth = steps[0] * np.arange(ahead.size)
    at = nth + steps[1] * lost
    at = at[: np.searchsorted(at, coef.size)]
    gained = coef[at]
    return steps[0] * float(gained @ hits[nth[: at.size]] if hits.size else gained.sum())


def sorted_value(t: RowTables, scores: Floats, margin: float) -> float:
    """The value of lists for the scores of their rows, by sorting; a pair within ``margin`` is lost.

    The same as :func:`rerank.search.rows.sweep.value_of` but for rounding of the sum, and sooner where most places
    count.
    """
    total, (begin, levels, first_unit, _) = 0.0, t.lists
    for q in range(begin.size - 1):
        mine, level = scores[begin[q] : begin[q + 1]], levels[begin[q] : begin[q + 1]]
        for u in range(first_unit[q], first_unit[q + 1]):
            positives = int(np.searchsorted(-level, -(u - first_unit[q])))  # of this threshold; levels descend
            total += earned(mine[:positives], mine[positives:], margin, *_paid(t, u), (1, 1))
    return total


@dataclass(frozen=True, eq=False)
class Part:
    """Every so many of the relevant and of the irrelevant rows of a list with two grades, which stand for all."""

    rows: NDArray[np.intp]
    positives: int
    steps: tuple[int, int]
    coef: Floats
    hits: Floats

    def value(self, scores: Floats, margin: float) -> float:
        """About the value of the list for the scores of these rows."""
        ahead, behind = scores[: self.positives], scores[self.positives :]
        return earned(ahead, behind, margin, self.coef, self.hits, self.steps)


def part_of(t: RowTables) -> Part | None:
    """Some rows of a single long list with two grades; None for other lists."""
    positives, n = int(t.n_positive[0]), t.rows.shape[0]
    steps = -(-positives // SAMPLED), -(-(n - positives) // SAMPLED)
    if t.n_positive.size > 1 or max(steps) < 2:
        return None
    rng = np.random.default_rng(0)
    some = [rng.permutation(positives)[:: steps[0]], positives + rng.permutation(n - positives)[:: steps[1]]]
    return Part(np.concatenate([np.sort(one) for one in some]), some[0].size, steps, *_paid(t, 0))


def _paid(t: RowTables, u: int) -> tuple[Floats, Floats]:
    """What the places of a list earn, and what its hits multiply that with."""
    paid = t.lists.paid
    first, hits = paid.coef_start[u], paid.hits[paid.hit_start[u] : paid.hit_start[u + 1]]
    return paid.coef[first : first + paid.places[u]], hits
