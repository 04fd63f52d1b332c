"""Lists of a problem: their rows, gains and what places earn, and the binary lists that they fall into."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RankedList:
    """One list: its rows, the gain of each row, the coefficient of each place.

    Attributes
    ----------
    rows : intp array (m,)
        Rows of ``Problem.X`` in this list.
    gains : float64 array (m,)
        Non-negative gain of each row; 0 is irrelevant.
    coefficients : float64 array (m,)
        ``a_1 <= ... <= a_m``; ``a_m`` belongs to the top of the list.
    weight : float
        Weight of the list in the mean over lists.
    constant : float
        Added to the raw value before it is divided by ``scale``: what a fixed tail below these rows earns, minus
        the offset by which the statistic is shown.
    scale : float
        Positive divisor of the raw value (pairs for AUC, ideal DCG for nDCG, otherwise 1).
    """

    rows: Indices
    gains: Floats
    coefficients: Floats
    weight: float = 1.0
    constant: float = 0.0
    scale: float = 1.0

    @cached_property
    def _thresholds(self) -> Floats:
        return np.unique(self.gains[self.gains > 0])

    def thresholds(self) -> Floats:
        """Distinct positive gains, ascending."""
        return self._thresholds


@dataclass(frozen=True, eq=False)
class Unit:
    """One binary list: the rows of a list at or above a gain, against its other rows.

    Its part of ``V`` is ``factor * sum_i a_(rank of i)`` over the rows i of ``positive``.
    """

    list_index: int
    positive: Indices
    negative: Indices
    coefficients: Floats
    factor: float
