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
from rerank.ranks.positions import count_lost, dense_codes, reach, value_of_lost
from rerank.ranks.rationals import as_integers, exact_sum

Floats = NDArray[np.float64]


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


def certified_list(item: RankedList, scores: NDArray[Any], margin: int) -> CertifiedList:
    """Values and pairs of one list.

    Parameters
    ----------
    item : RankedList
    scores : object array of int
        Of all rows; see :func:`exact_scores`.
    margin : int
        Smallest whole difference of scores that reaches epsilon.
    """
    distinct, codes = dense_codes(scores[item.rows])
    with_margin = reach(distinct, margin)[codes]
    won = near = pairs = 0
    margins = []
    for gain in item.thresholds():
        mine, others = codes[item.gains == gain], np.sort(codes[item.gains < gain])
        beaten = np.searchsorted(others, with_margin[item.gains == gain], side="left")
        ahead = np.searchsorted(others, mine, side="left")
        won, near = won + int(beaten.sum()), near + int((ahead - beaten).sum())
        pairs += mine.size * others.size
        some = beaten > 0
        margins += (distinct[mine[some]] - distinct[others[beaten[some] - 1]]).tolist()
    value, statistic = _raw(item, codes, with_margin, codes)
    return CertifiedList(value, statistic, won, near, pairs, min(margins, default=None))


def _raw(item: RankedList, codes: NDArray[np.intp], *reached: NDArray[np.intp]) -> list[Fraction]:
    """Values of one list in the unit of ``evaluate``, one for each of ``reached``; see :func:`count_lost`."""
    levels, gain_unit = as_integers(item.thresholds())
    coefficients, coefficient_unit = as_integers(item.coefficients)
    steps = np.diff(levels, prepend=0).tolist()
    found = []
    for one in reached:
        lost = [count_lost(codes, one, item.gains >= gain) for gain in item.thresholds()]
        total = sum(step * value_of_lost(mine, coefficients, item.hits) for step, mine in zip(steps, lost))
        raw = Fraction(total, gain_unit * coefficient_unit)
        found.append((raw + Fraction(item.constant)) / Fraction(item.scale))
    return found


def mean_of_lists(problem: Problem, values: list[Fraction]) -> Fraction:
    """Weighted mean over the problem's lists."""
    weights = [Fraction(item.weight) for item in problem.lists]
    return exact_sum(weight * value for weight, value in zip(weights, values)) / exact_sum(weights)


def ideal_value(problem: Problem) -> Fraction:
    """Exact value of lists with every larger gain above every smaller one: no weights can be worth more."""
    orders = [dense_codes(item.gains)[1] for item in problem.lists]
    return mean_of_lists(problem, [_raw(item, codes, codes)[0] for item, codes in zip(problem.lists, orders)])
