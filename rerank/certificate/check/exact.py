r"""A problem in rational numbers, for the checker of proofs.

Written from the definition of the value in :mod:`rerank.problem` alone.  Every stored double is taken at its
word; what the checker compares are integers and fractions.  Beside them stand doubles with a known error and
integers rounded to a known side, which decide all but the close cases.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import ceil, lcm

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.units import binary_lists, fraction_sum
from rerank.errors import InputError
from rerank.problem import Problem

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class ExactProblem:
    """The problem's numbers as integers: what differences, values and limits are exactly.

    Attributes
    ----------
    units : list of Unit
    constant : Fraction
        The part of the value that no weights change.
    epsilon, price : Fraction
        Margin, and the price of one feature.
    signed : bool array (d,)
        Weights of one sign only.
    flip : list of int
        -1 where that sign is minus, else 1.

    Raises
    ------
    InputError
        For data on which no value is defined.
    """

    def __init__(self, problem: Problem) -> None:
        _check(problem)
        self.problem = problem
        self.epsilon, self.price = Fraction(problem.epsilon), Fraction(problem.C)
        self.signed = problem.signs != 0
        self.flip = [-1 if sign < 0 else 1 for sign in problem.signs.tolist()]
        self.used = np.unique(np.concatenate([item.rows for item in problem.lists]))
        self._columns()
        weights = [Fraction(item.weight) for item in problem.lists]
        total = fraction_sum(weights)
        shares = [w / (total * Fraction(item.scale)) for w, item in zip(weights, problem.lists)]
        self.constant = fraction_sum(s * Fraction(item.constant) for s, item in zip(shares, problem.lists))
        self.units = [
            unit for s, item in zip(shares, problem.lists) for unit in binary_lists(problem.X, item, s)
        ]

    def _columns(self) -> None:
        """Each feature over its range: ``numerators / width``, up to a shift that differences lose."""
        p = self.problem
        self.numerators = np.zeros(p.X.shape, dtype=object)
        self.widths: list[int] = []
        for j in range(p.n_features):
            values = [*p.X[self.used, j].tolist(), float(p.low[j]), float(p.high[j])]
            ratios = [v.as_integer_ratio() for v in values]
            grain = max(below for _, below in ratios)
            whole = [above * (grain // below) for above, below in ratios]
            self.numerators[self.used, j] = [self.flip[j] * v for v in whole[:-2]]
            self.widths.append(whole[-1] - whole[-2])

    def difference(self, upper: int, lower: int, features: Indices) -> list[Fraction]:
        """Scaled flipped difference of two rows on some features."""
        N = self.numerators
        return [Fraction(N[upper, j] - N[lower, j], self.widths[j]) for j in features.tolist()]

    def rounded(self, upper: Indices, lower: Indices) -> Floats:
        """Scaled flipped differences of pairs, correctly rounded; NaN where no double is large enough."""
        out = np.empty((upper.size, self.problem.n_features))
        for j, width in enumerate(self.widths):
            numerators = self.numerators[:, j]
            out[:, j] = [
                _quotient(a - b, width)
                for a, b in zip(numerators[upper].tolist(), numerators[lower].tolist())
            ]
        return out

    def value(self, w: Floats) -> Fraction:
        """``V(w) - C |w|_0`` of weights in scaled space (not flipped)."""
        weights = [Fraction(float(v)) * f / width for v, f, width in zip(w, self.flip, self.widths)]
        grain = lcm(*(v.denominator for v in weights))
        scores = np.zeros(len(self.numerators), dtype=object)
        for j in np.flatnonzero(w):
            scores[self.used] += self.numerators[self.used, j] * (
                weights[j].numerator * (grain // weights[j].denominator)
            )
        # Scores are whole numbers, so a difference reaches epsilon exactly when it reaches the next whole
        # number.
        margin = ceil(self.epsilon * grain)
        parts = [self.constant]
        for unit in self.units:
            others = sorted(
                s for s, n in zip(scores[unit.negative].tolist(), unit.copies.tolist()) for _ in range(n)
            )
            parts.append(
                unit.value(
                    len(others) - bisect_right(others, s - margin) for s in scores[unit.positive].tolist()
                )
            )
        return fraction_sum(parts) - self.price * int(np.count_nonzero(w))

    def ideal(self) -> Fraction:
        """Value of losing nothing."""
        return fraction_sum([self.constant, *(unit.value([0] * unit.positive.size) for unit in self.units)])


def _quotient(above: int, below: int) -> float:
    try:
        return above / below  # correctly rounded, whatever the length of the integers
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
        raise InputError(
            "A proof needs columns that are not constant, a margin above 0 and a price of at least 0."
        )
    for item in lists:
        rising = not (np.diff(item.coefficients, prepend=0.0) < 0).any()
        sizes = {item.rows.size, item.gains.size, item.coefficients.size}
        if not (
            item.weight > 0 and item.scale > 0 and (item.gains >= 0).all() and rising and len(sizes) == 1
        ):
            raise InputError(
                "A list has a negative gain, weight or scale, or coefficients that fall: it has no bound."
            )
