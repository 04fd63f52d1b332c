"""A problem in rational numbers, for the checker of proofs.

Written from the definition of the value in :mod:`rerank.problem.problem` alone.  Stored doubles are taken as they
are, the margin as the rational that was written, and the checker compares integers and fractions.  Beside them stand
doubles of a known error, which decide all but the close cases.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem, RankedList
from rerank.problem.lists import MOST_HITS, Floats, Indices, rows_of
from rerank.problem.problem import coordinates
from rerank.ranks.rationals import as_integers, common_denominator, exact_sum


@dataclass(frozen=True, eq=False)
class ExactUnit:
    """A binary list: the items of one list at or above one of its gains, against the others."""

    positive: Indices  # rows
    negative: Indices  # rows; equal ones stand once,
    copies: NDArray[np.int64]  # and so often in the list
    factor: Fraction  # what a coefficient is multiplied by in the problem's value
    coefficients: list[int]  # best place first, in units of ``1 / denominator``
    denominator: int
    hits: list[int]  # what the coefficient of the j-th best positive item is multiplied by
    step: int = 1  # places an item stands lower for each one above it: 1, or 0 where they take none

    def value(self, lost: Iterable[int]) -> Fraction:
        """Value of lost counts, one an item: the j-th smallest is at place ``j + lost``, or ``1 + lost``."""
        places = (self.step * j + count for j, count in enumerate(sorted(lost)))
        earned = sum(hit * self.coefficients[place] for hit, place in zip(self.hits, places))
        return self.factor * Fraction(earned, self.denominator)


class ExactProblem:
    """The problem's numbers as integers: what differences, values and limits are exactly. Weights are ``scale`` times
    the coordinates that boxes are made of, which lie between ``lower`` and ``upper`` (d,). InputError for data on which
    no value is defined.
    """

    def __init__(self, problem: Problem) -> None:
        _check(problem)
        self.problem = problem
        self.epsilon, self.price = problem.epsilon.exact, Fraction(problem.C)
        # A margin that is multiplied by the sum of the weights is a part of each column's difference.
        self.apart, self.epsilon = (self.epsilon, Fraction(0)) if problem.by_sum else (Fraction(0), self.epsilon)
        scale, self.lower, self.upper = coordinates(problem)
        self.scale = [Fraction(x) for x in scale.tolist()]
        for j, (low, high) in enumerate(zip(*problem.limits or ((), ()))):
            lower, upper = Fraction(self.lower[j]) * self.scale[j], Fraction(self.upper[j]) * self.scale[j]
            if not lower <= Fraction(low) <= Fraction(high) <= upper:
                raise InputError(f"The coordinates of weight {j} do not cover its limits; please report this.")
        self.walls = [  # rows on the weights as ``a.v >= b`` on all coordinates
            ([a * s for a, s in zip(row, self.scale)], side) for own in problem.rows for row, side in own.sides()
        ]
        self.used = rows_of(problem.lists, len(problem.X))  # rows that stand in a list
        self._columns()
        weights = [Fraction(item.weight) for item in problem.lists]
        total = exact_sum(weights)
        shares = [w / (total * Fraction(item.scale)) for w, item in zip(weights, problem.lists)]
        # The part of the value that no weights change.
        self.constant = exact_sum(s * Fraction(item.constant) for s, item in zip(shares, problem.lists))
        self.units = [unit for s, item in zip(shares, problem.lists) for unit in _binary_lists(problem.X, item, s)]

    def _columns(self) -> None:
        """Each feature over its range: ``numerators / width``, up to a shift that differences lose."""
        p = self.problem
        self.numerators = np.zeros(p.X.shape, dtype=object)
        self.widths: list[int] = []
        for j in range(p.n_features):
            whole, _ = as_integers(np.array([*p.X[self.used, j], p.low[j], p.high[j]]))
            self.numerators[self.used, j] = self.scale[j].numerator * whole[:-2]
            self.widths.append(self.scale[j].denominator * (whole[-1] - whole[-2]))

    def roots(self, features: Indices) -> tuple[Floats, Floats]:
        """Centres and half-widths of the boxes that the coordinates of a support fall into. One box in an anchored
        problem; else the faces ``v_j = 1`` and, where coordinates may be negative, ``v_j = -1``.
        """
        lower, upper = self.lower[features], self.upper[features]
        centre, half = (lower + upper) / 2, (upper - lower) / 2
        if self.problem.anchored:
            return centre[None], half[None]
        centres, halves = [], []
        for j in range(lower.size):
            for side in (1.0, -1.0) if lower[j] < 0 else (1.0,):
                c, h = centre.copy(), half.copy()
                c[j], h[j] = side, 0.0
                centres.append(c)
                halves.append(h)
        return np.array(centres), np.array(halves)

    def difference(self, upper: int, lower: int, features: Indices, margin: bool = True) -> list[Fraction]:
        """Difference of two rows on some features, scaled so that coordinates multiply it. A margin that is a part of
        it is subtracted, unless only the order counts.
        """
        N, apart = self.numerators, self.apart if margin else Fraction(0)
        return [Fraction(N[upper, j] - N[lower, j], self.widths[j]) - apart for j in features.tolist()]

    def rounded(self, upper: Indices, lower: Indices, margin: bool = True) -> Floats:
        """The same of pairs on all features, correctly rounded; NaN where no double is large enough."""
        apart = self.apart if margin else Fraction(0)
        out = np.empty((upper.size, self.problem.n_features))
        for j, width in enumerate(self.widths):
            differences = self.numerators[upper, j] - self.numerators[lower, j]
            above, below = apart.numerator * width, apart.denominator
            out[:, j] = [_quotient(each * below - above, width * below) for each in differences.tolist()]
        return out

    def value(self, w: Floats) -> Fraction:
        """``V(w) - C |w|_0`` of weights in scaled space (not of coordinates)."""
        weights = [Fraction(float(v)) / s / width for v, s, width in zip(w, self.scale, self.widths)]
        multipliers, unit_of_score = common_denominator(weights)
        scores = np.zeros(len(self.numerators), dtype=object)
        for j in np.flatnonzero(w):
            scores[self.used] += self.numerators[self.used, j] * multipliers[j]
        # Scores are whole numbers: a difference reaches epsilon exactly when it reaches the next whole number.
        margin = ceil((self.epsilon + self.apart) * self.problem.norm(w) * unit_of_score)
        parts = [self.constant]
        for unit in self.units:
            others = np.sort(np.repeat(scores[unit.negative], unit.copies)).tolist()
            parts.append(
                unit.value(len(others) - bisect_right(others, s - margin) for s in scores[unit.positive].tolist())
            )
        return exact_sum(parts) - self.price * self.problem.used(w)

    def ideal(self) -> Fraction:
        """Value of losing nothing."""
        return exact_sum([self.constant, *(unit.value([0] * unit.positive.size) for unit in self.units)])


def _binary_lists(X: Floats, item: RankedList, share: Fraction) -> list[ExactUnit]:
    """One binary list for each distinct positive gain; ``share`` is what the list's raw value is multiplied by."""
    whole, denominator = as_integers(item.coefficients[::-1])
    out, previous = [], Fraction(0)
    for level in sorted({g for g in item.gains.tolist() if g > 0}):
        reached = item.gains >= level
        others = item.rows[~reached]
        _, kept, copies = np.unique(X[others], axis=0, return_index=True, return_counts=True)
        factor, previous = share * (Fraction(level) - previous), Fraction(level)
        upper = item.rows[reached]
        hits = [1] * upper.size if item.hits is None else [int(h) for h in item.hits[: upper.size]]
        rows = upper, others[kept], copies.astype(np.int64)
        out.append(ExactUnit(*rows, factor, whole.tolist(), denominator, hits, int(not item.alone)))
    return out


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator  # correctly rounded, however long the integers
    except OverflowError:
        return float("nan")


def _check(problem: Problem) -> None:
    """Refuse what the definition of the value does not cover."""
    lists = problem.lists
    if not lists:
        raise InputError("The problem holds no list; a proof needs at least one.")
    rows = np.concatenate([item.rows for item in lists])
    numbers = [problem.X[rows], problem.low, problem.high, np.array([problem.epsilon, problem.C])]
    numbers += [np.array([item.weight, item.constant, item.scale]) for item in lists]
    numbers += [part for item in lists for part in (item.gains, item.coefficients)]
    if not all(np.isfinite(part).all() for part in numbers):
        raise InputError("The problem holds a missing or infinite number; a proof needs finite ones.")
    if not (problem.high > problem.low).all() or not problem.epsilon > 0 or problem.C < 0:
        raise InputError("A proof needs columns that are not constant, a margin above 0 and a penalty of at least 0.")
    for item in lists:
        rising = not (np.diff(item.coefficients, prepend=0.0) < 0).any()
        same = item.rows.size == item.gains.size == item.coefficients.size
        if not (item.weight > 0 and item.scale > 0 and (item.gains >= 0).all() and rising and same):
            raise InputError("A list has a negative gain, weight or scale, or coefficients that fall: it has no bound.")
        if item.hits is not None and (item.alone or not _hits_are_sound(item)):
            raise InputError("A list's weights of hits must be whole numbers from 0 on, the first above 0, one a row.")


def _hits_are_sound(item: RankedList) -> bool:
    """Whether no pair won lowers the value, and sums in 64 bits have room for it."""
    hits = np.asarray(item.hits)
    whole = hits.dtype.kind == "i" and hits.shape == item.rows.shape
    return bool(whole and hits[0] >= 1 and hits.min() >= 0 and hits.max() <= MOST_HITS)
