"""Values of lists in exact arithmetic: scores as integers over one unit, lost counts, sums without rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem, RankedList
from rerank.ranks.positions import dense_codes, reach, value_of_lost
from rerank.ranks.rationals import as_integers, exact_sum

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class CertifiedList:
    """One list, exactly.

    Attributes
    ----------
    value, statistic : Fraction
        Value at the margin, and of the ranking itself.
    won, near, pairs : int
        Pairs that reach the margin, pairs in the right order that do not, all pairs.
    margin : int or None
        Smallest difference of scores among the pairs won; None when no pair is won.
    """

    value: Fraction
    statistic: Fraction
    won: int
    near: int
    pairs: int
    margin: int | None


def exact_scores(problem: Problem, weights: Floats) -> tuple[NDArray[Any], int]:
    """Scaled scores up to a constant, as integers over a common unit.

    Returns
    -------
    scores : object array of int, shape (n,)
        0 for rows that stand in no list.
    unit : int
        A score of ``unit`` is 1 in scaled space.

    Raises
    ------
    InputError
        For a missing or infinite value where it counts.
    """
    scores: NDArray[Any] = np.zeros(problem.X.shape[0], dtype=object)
    support = np.flatnonzero(weights)
    used = np.unique(np.concatenate([item.rows for item in problem.lists]))
    if not np.isfinite(problem.X[np.ix_(used, support)]).all():
        raise InputError("The data hold a missing or infinite value; the certificate needs finite numbers.")
    unit = 1
    for j in support:  # one column at a time: its integers take ten times the memory of the doubles
        numerators, denominator = as_integers(problem.X[used, j])
        factor = Fraction(weights[j]) / (Fraction(problem.high[j]) - Fraction(problem.low[j])) / denominator
        common = math.lcm(unit, factor.denominator)
        # Shifting by low moves all scores alike and is left out: only differences count.
        numerators *= factor.numerator * (common // factor.denominator)
        if common != unit:
            scores *= common // unit
        scores[used] += numerators
        unit = common
    return scores, unit


def certified_lists(problem: Problem, scores: NDArray[Any], margin: int) -> list[CertifiedList]:
    """Values and pairs of each list.

    Parameters
    ----------
    problem : Problem
    scores : object array of int
        Of all rows; see :func:`exact_scores`.
    margin : int
        Smallest whole difference of scores that reaches epsilon.
    """
    distinct, codes = dense_codes(scores)
    reached = reach(distinct, margin)[codes]
    integers = _Integers()
    return [_certified(item, distinct, codes[item.rows], reached[item.rows], integers) for item in problem.lists]


def _certified(
    item: RankedList, distinct: NDArray[Any], codes: Indices, reached: Indices, integers: _Integers
) -> CertifiedList:
    """One list, by the codes of its rows' scores and what they reach; see :func:`certified_lists`."""
    won = near = pairs = 0
    margins = []
    with_margin, without = _Earned(item, integers), _Earned(item, integers)
    for gain in item.thresholds():
        above = item.gains >= gain
        others, mine = np.sort(codes[~above]), codes[above]
        beaten = np.searchsorted(others, reached[above], side="left")
        ahead = np.searchsorted(others, mine, side="left")
        with_margin.add(others.size - beaten)
        without.add(others.size - ahead)
        own = item.gains[above] == gain
        all_won = int(beaten[own].sum())
        won, near = won + all_won, near + int(ahead[own].sum()) - all_won
        pairs += int(np.count_nonzero(own)) * others.size
        some = own & (beaten > 0)
        margins += (distinct[mine[some]] - distinct[others[beaten[some] - 1]]).tolist()
    return CertifiedList(with_margin.value, without.value, won, near, pairs, min(margins, default=None))


class _Integers:
    """:func:`as_integers` of arrays of which many are equal: what places earn in lists of one length."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[NDArray[Any], int]] = {}

    def of(self, values: Floats) -> tuple[NDArray[Any], int]:
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = as_integers(values)
        return self._known[key]


class _Earned:
    """What one list earns, in the unit of ``evaluate``, from the lost counts of its levels one after the other."""

    def __init__(self, item: RankedList, integers: _Integers) -> None:
        self.item = item
        levels, gain_unit = integers.of(item.thresholds())
        self.coefficients, coefficient_unit = integers.of(item.coefficients)
        self.steps = iter([high - low for low, high in zip([0, *levels], levels)])
        self.total, self.unit = 0, gain_unit * coefficient_unit

    def add(self, lost: Indices) -> None:
        """Of the next higher level: how many rows below it each of its rows does not beat."""
        self.total += next(self.steps) * value_of_lost(lost, self.coefficients, self.item.hits)

    @property
    def value(self) -> Fraction:
        """Exactly, when all levels have been added."""
        return (Fraction(self.total, self.unit) + Fraction(self.item.constant)) / Fraction(self.item.scale)


def mean_of_lists(problem: Problem, values: list[Fraction]) -> Fraction:
    """Weighted mean over the problem's lists."""
    weights = [Fraction(item.weight) for item in problem.lists]
    return exact_sum(weight * value for weight, value in zip(weights, values)) / exact_sum(weights)


def ideal_value(problem: Problem) -> Fraction:
    """Exact value of lists with every larger gain above every smaller one: no weights can be worth more."""
    integers, values = _Integers(), []
    for item in problem.lists:
        earned = _Earned(item, integers)
        for gain in item.thresholds():
            earned.add(np.zeros(np.count_nonzero(item.gains >= gain), dtype=np.intp))
        values.append(earned.value)
    return mean_of_lists(problem, values)
