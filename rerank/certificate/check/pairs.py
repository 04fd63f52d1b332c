"""The pairs of a problem as arrays, with the doubles that decide most of them and the error of these doubles."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.exact import ExactProblem, ExactUnit
from rerank.problem.lists import Floats, Indices
from rerank.ranks.rationals import exact_sum

Mask = NDArray[np.bool_]
BLOCK = 2**18  # multiplications in one call of a matrix product


class SlotPairs:
    """Every item of every binary list (a *slot*) against every distinct row below it, list by list.

    A pair is a row ``upper`` above a row ``lower``, counts in a ``slot``, and stands for so many ``copies`` (P,); ``D``
    (P, d) are scaled flipped differences, each correctly rounded.
    """

    def __init__(self, exact: ExactProblem) -> None:
        self.exact = exact
        units = exact.units
        sizes = np.array([u.positive.size for u in units], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        self.unit_of = np.repeat(np.arange(sizes.size), sizes)  # the binary list of each slot
        steps = np.array([u.step for u in units], dtype=np.intp)
        # 0, 1, ... within each binary list, 0 where items take no places from each other; places that earn anything;
        # what the j-th best item of the slot's list is multiplied by, in the order of ``rank``.
        self.rank = (np.arange(sizes.sum()) - starts[self.unit_of]) * steps[self.unit_of]
        self.earning = np.array([sum(a > 0 for a in u.coefficients) for u in units], dtype=np.int32)[self.unit_of]
        self.hits = np.array([h for u in units for h in u.hits], dtype=np.int64)
        none = [np.empty(0, np.intp)]
        self.upper = np.concatenate([*none, *(np.repeat(u.positive, u.negative.size) for u in units)])
        self.lower = np.concatenate([*none, *(np.tile(u.negative, u.positive.size) for u in units)])
        self.copies = np.concatenate([*none, *(np.tile(u.copies, u.positive.size) for u in units)]).astype(np.int32)
        below = np.array([u.negative.size for u in units], dtype=np.intp)
        self.slot = np.repeat(np.arange(self.unit_of.size), below[self.unit_of])
        self.single = bool((self.copies == 1).all())
        self.rounded, self.first, self.shift = rounded_up(units)
        self.D = exact.rounded(self.upper, self.lower)

    def lost(self, which: Indices | Mask) -> NDArray[np.int64]:
        """How many of these pairs each slot has."""
        return np.bincount(self.slot[which], weights=self.copies[which], minlength=self.unit_of.size).astype(np.int64)

    def totals(self, gone: Mask, which: Indices, base: NDArray[np.int64]) -> NDArray[np.int64]:
        """Value in units of ``2^-shift``, rounded up, where of the pairs ``which`` (n,) those ``gone`` are lost.

        Each of L cases is a column of ``gone`` (n, L); ``base`` (S,) are the lost counts before.
        """
        slot = self.slot[which]
        starts = np.flatnonzero(np.diff(slot, prepend=-1))
        touched = slot[starts]
        counted = gone if self.single else gone * self.copies[which][:, None]
        more = np.zeros((0, gone.shape[1]), np.int32)
        if starts.size:
            more = np.add.reduceat(counted, starts, axis=0, dtype=np.int32)
        moving = np.zeros(self.first.size - 1, dtype=bool)
        moving[self.unit_of[touched]] = True
        active = moving[self.unit_of]
        place = np.cumsum(active) - 1
        counts = np.repeat(base[active].astype(np.int32)[None], gone.shape[1], axis=0)
        counts[:, place[touched]] += more.T
        rest = self._values(base[~active].astype(np.int32)[None], ~active)
        return self._values(counts, active) + rest

    def _values(self, counts: NDArray[np.int32], slots: Mask) -> NDArray[np.int64]:
        """Sums of the rounded coefficients for lost counts (L, number of slots)."""
        if not counts.size:
            return np.zeros(counts.shape[0], np.int64)
        unit = self.unit_of[slots]
        # One sort for all lists: counts of later lists are lifted above those of earlier ones.
        lift = (unit - unit[0]) * int(counts.max() + 1)
        kind = np.int32 if lift[-1] < 2**30 else np.int64
        lifted = np.sort(counts + lift.astype(kind), axis=1)
        earned = self.rounded[lifted + (self.first[unit] + self.rank[slots] - lift)]
        return (earned * self.hits[slots]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Filter:
    """The pairs on one support, with thresholds for ``c.D +- h.|D|`` in doubles. A computed value below ``low`` means
    less than epsilon, one of at least ``high`` no less; ``slack`` bounds the error.
    """

    both: Floats  # (P, 2k): ``D`` and ``|D|``
    low: Floats
    high: Floats
    slack: Floats

    @classmethod
    def on(cls, pairs: SlotPairs, features: Indices) -> Filter:
        """Restrict pairs to the features of a support."""
        D = pairs.D[:, features]
        size = np.abs(D)
        k = features.size
        # u for the rounding of D, gamma_2k for the product (|c| + h <= 1), 3u for what follows; all that twice.
        slack = (2 * k + 8) * 2.0**-52 * size.sum(axis=1) + 2.0**-1000
        epsilon = float(pairs.exact.epsilon)
        low, high = np.nextafter(epsilon - slack, -np.inf), np.nextafter(epsilon + slack, np.inf)
        return cls(np.concatenate([D, size], axis=1), low, high, slack)

    def reach(self, centres: Floats, halves: Floats, which: Indices | slice = slice(None)) -> Floats:
        """Largest values over boxes, (n, L)."""
        return _product(self.both[which], np.concatenate([centres, halves], axis=1).T)

    def ends(self, centre: Floats, half: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Smallest and largest values over one box."""
        ends = np.array([[*centre, *-half], [*centre, *half]])
        both = _product(self.both[which], ends.T)
        return both[:, 0], both[:, 1]

    def opposed(self, line: Floats, epsilon: float) -> Mask:
        """Pairs that are lost wherever ``w.line >= 0``, as far as doubles can tell. With ``r >= 0`` and ``R = D + r
        line``, ``w.D = w.R - r w.line <= |R|_1``, which must stay below epsilon.
        """
        k = line.size
        D, size = self.both[:, :k], self.both[:, k:]
        longest = float(np.abs(line).max())
        ratio = size.max(axis=1) / longest if longest > 0 else np.zeros(len(D))
        rest = np.abs(D + ratio[:, None] * line).sum(axis=1)
        error = 4 * (k + 4) * 2.0**-52 * (size.sum(axis=1) + ratio * np.abs(line).sum()) + 2.0**-1000
        return rest + 2 * error < epsilon


def _product(rows: Floats, columns: Floats) -> Floats:
    """``rows @ columns`` in blocks too small for a BLAS library to start threads, which cost more here."""
    out = np.empty((len(rows), columns.shape[1]))
    step = max(1, BLOCK // max(columns.size, 1))
    for a in range(0, len(rows), step):
        np.matmul(rows[a : a + step], columns, out=out[a : a + step])
    return out


def rounded_up(units: list[ExactUnit]) -> tuple[NDArray[np.int64], Indices, int]:
    """What all places earn, rounded up to whole multiples of ``2^-shift``, so that sums are exact.

    Place after place, best first, list after list; where each list begins; the shift. It is chosen such that a sum over
    all items stays below ``2^62`` plus the sum of the weights of hits. The first of them is not 0, so that no place of
    a list alone earns more than this.
    """
    largest = exact_sum(u.value([0] * u.positive.size) for u in units)
    # 62 less a whole number that ``log2(largest)`` does not exceed.
    shift = 61 - largest.numerator.bit_length() + largest.denominator.bit_length() if largest else 62
    worths = [unit.factor / unit.denominator * Fraction(2) ** shift for unit in units]
    rounded = [-(-a * w.numerator // w.denominator) for unit, w in zip(units, worths) for a in unit.coefficients]
    first = np.concatenate([[0], np.cumsum([len(unit.coefficients) for unit in units], dtype=np.intp)])
    return np.array(rounded, dtype=np.int64), first, shift
