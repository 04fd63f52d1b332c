"""Binary lists in exact numbers: what the places of their items are worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rerank.problem import RankedList

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Unit:
    """A binary list: the items of one list at or above one of its gains, against the others.

    Attributes
    ----------
    positive, negative : intp arrays
        Rows; equal negative rows stand once.
    copies : int64 array
        How often each negative row stands in the list.
    factor : Fraction
        What one unit of a coefficient is worth in the problem's value.
    worth : list of int
        The list's coefficients, best place first, in units of ``1 / grain``.
    grain : int
    """

    positive: Indices
    negative: Indices
    copies: NDArray[np.int64]
    factor: Fraction
    worth: list[int]
    grain: int

    def value(self, lost: Iterable[int]) -> Fraction:
        """Value of lost counts, one an item: the j-th smallest stands at place ``j + lost``."""
        return self.factor * Fraction(sum(self.worth[j + x] for j, x in enumerate(sorted(lost))), self.grain)


def binary_lists(X: Floats, item: RankedList, share: Fraction) -> list[Unit]:
    """One binary list for each distinct positive gain; ``share`` is what the list's raw value is multiplied by."""
    ratios = [a.as_integer_ratio() for a in item.coefficients[::-1].tolist()]
    grain = max((below for _, below in ratios), default=1)
    worth = [above * (grain // below) for above, below in ratios]
    out, previous = [], Fraction(0)
    for level in sorted({g for g in item.gains.tolist() if g > 0}):
        reached = item.gains >= level
        others = item.rows[~reached]
        _, kept, copies = np.unique(X[others], axis=0, return_index=True, return_counts=True)
        factor, previous = share * (Fraction(level) - previous), Fraction(level)
        out.append(Unit(item.rows[reached], others[kept], copies.astype(np.int64), factor, worth, grain))
    return out


def fraction_sum(terms: Iterable[Fraction]) -> Fraction:
    """Sum of many fractions, as a balanced tree and reduced once, since reducing a long one is slow."""
    level = [(t.numerator, t.denominator) for t in terms] or [(0, 1)]
    while len(level) > 1:
        level = [
            (a * q + b * p, p * q) if p != q else (a + b, p)
            for (a, p), (b, q) in zip(level[::2], [*level[1::2], (0, 1)])
        ]
    return Fraction(*level[0])


def rounded_up(units: list[Unit]) -> tuple[NDArray[np.int64], Indices, int]:
    """Worths of all places, rounded up to multiples of ``2^-shift``: these, each list's first, ``shift``.

    The shift is chosen such that a sum over all items stays below ``2^62`` plus their number.
    """
    largest = fraction_sum(u.value([0] * u.positive.size) for u in units)
    shift = 62 - _log2(largest)
    table = [
        -(-(w * unit.factor.numerator << shift) // (unit.factor.denominator * unit.grain)) if shift >= 0
        else -(-w * unit.factor.numerator // (unit.factor.denominator * unit.grain << -shift))
        for unit in units for w in unit.worth
    ]  # fmt: skip
    first = np.concatenate([[0], np.cumsum([len(unit.worth) for unit in units], dtype=np.intp)])
    return np.array(table, dtype=np.int64), first, shift


def _log2(x: Fraction) -> int:
    """A whole number that ``log2(x)`` does not exceed; 0 for 0."""
    return x.numerator.bit_length() - x.denominator.bit_length() + 1 if x else 0
