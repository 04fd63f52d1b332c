"""Lists of a problem: their rows, gains and what places earn, and the binary lists that they fall into."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

SHORT = 64  # rows of a list that Python sorts faster than NumPy
MOST_HITS = 2**31  # largest weight of a hit that a file may hold: sums of the checker have room for it


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
        Positive divisor of the raw value (pairs for AUC, ideal DCG for nDCG, relevant items for AP and recall,
        otherwise 1).
    hits : int64 array (m,), or None
        ``h_1 .. h_m``: what the j-th best item earns is multiplied by ``h_j``.  Not negative, the first at least 1;
        None where all are 1.
    alone : bool
        Whether relevant rows take no places from each other: each earns what its place among the others does.
    """

    rows: Indices
    gains: Floats
    coefficients: Floats
    weight: float = 1.0
    constant: float = 0.0
    scale: float = 1.0
    hits: Counts | None = None
    alone: bool = False

    @cached_property
    def _thresholds(self) -> Floats:
        if self.gains.size < SHORT:  # as below, in a tenth of the time
            return np.array(sorted({gain for gain in self.gains.tolist() if gain > 0}), dtype=np.float64)
        return np.unique(self.gains[self.gains > 0])

    def thresholds(self) -> Floats:
        """Distinct positive gains, ascending."""
        return self._thresholds


def rows_of(lists: Sequence[RankedList], n: int) -> Indices:
    """The rows that stand in a list, ascending, of ``n`` rows."""
    there = np.zeros(n, dtype=bool)
    there[np.concatenate([item.rows for item in lists])] = True
    return np.flatnonzero(there)


@dataclass(frozen=True, eq=False)
class BinaryList:
    """One binary list: the rows of a list at or above a gain, against its other rows.

    Its part of ``V`` is ``factor * sum_j h_j a_(rank of the j-th best)`` over the rows of ``positive``; ``hits`` holds
    ``h_j`` for each of them. Where they are ``alone``, each counts by its rank among itself and ``negative``.
    """

    list_index: int
    positive: Indices
    negative: Indices
    coefficients: Floats
    factor: float
    hits: Counts
    alone: bool = False

    def value(self, lost: Indices) -> float:
        """Part of ``V`` with these lost counts (n,), one a positive row and ascending."""
        above = 0 if self.alone else np.arange(lost.size)
        earned = self.coefficients[::-1][lost + above] * self.hits
        return self.factor * float(earned.sum())

    @property
    def ideal(self) -> float:
        """Part of ``V`` with nothing lost."""
        earned = np.full(self.positive.size, self.coefficients[-1]) if self.alone else self.coefficients[::-1]
        return self.factor * float((earned[: self.positive.size] * self.hits).sum())
