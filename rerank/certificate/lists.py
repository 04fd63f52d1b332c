"""Lists in exact arithmetic: scores as integers over one unit, lost counts, sums without rounding, and quotas."""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, Quota, RankedList
from rerank.problem.lists import Floats, Indices, rows_of
from rerank.ranks.positions import dense_codes, reach, value_of_lost
from rerank.ranks.rationals import as_integers, exact_sum

Integers = Callable[[bytes], tuple[NDArray[Any], int]]


@dataclass(frozen=True)
class CertifiedList:
    """One list, exactly."""

    value: Fraction  # at the margin,
    statistic: Fraction  # and of the ranking itself
    won: int  # pairs that reach the margin,
    near: int  # pairs in the right order that do not,
    pairs: int  # and all pairs
    margin: int | None  # smallest difference of scores among the pairs won


def exact_scores(problem: Problem, weights: Floats) -> tuple[NDArray[Any], int]:
    """Scaled scores up to a constant, as integers (n,), and the unit that is 1 in scaled space; 0 for rows in no list.
    InputError for a missing or infinite value where it counts.
    """
    scores: NDArray[Any] = np.zeros(problem.X.shape[0], dtype=object)
    support = np.flatnonzero(weights)
    used = rows_of(problem.lists, len(problem.X))
    if not np.isfinite(problem.X[np.ix_(used, support)]).all():
        raise InputError("The data hold a missing or infinite value; the certificate needs finite numbers.")
    if support.size:
        scores[used], unit = _summed(problem, weights, used, support)
        return scores, unit
    return scores, 1


def _summed(problem: Problem, weights: Floats, rows: Indices, columns: Indices) -> tuple[NDArray[Any], int]:
    """Scores by some columns, over their least unit: halves are added, so that most numbers stay short."""
    if columns.size > 1:
        middle = columns.size // 2
        first, unit = _summed(problem, weights, rows, columns[:middle])
        second, other = _summed(problem, weights, rows, columns[middle:])
        common = math.lcm(unit, other)
        return first * (common // unit) + second * (common // other), common
    (j,) = columns
    numerators, denominator = as_integers(problem.X[rows, j])
    # Shifting by low moves all scores alike and is left out: only differences count.
    factor = Fraction(weights[j]) / (Fraction(problem.high[j]) - Fraction(problem.low[j])) / denominator
    return numerators * factor.numerator, factor.denominator


def certified_lists(problem: Problem, scores: NDArray[Any], margin: int) -> list[CertifiedList]:
    """Values and pairs of each list by the scores of all rows (see :func:`exact_scores`). ``margin`` is the smallest
    whole difference of scores that reaches epsilon.
    """
    distinct, codes = dense_codes(scores)
    reached = reach(distinct, margin)[codes]
    integers = _integers()
    return [_certified(item, distinct, codes[item.rows], reached[item.rows], integers) for item in problem.lists]


def average_of(problem: Problem, weights: Floats) -> Fraction:
    """Exact statistic with tied rows in the mean of their orders, where every pair counts for itself (AUC)."""
    distinct, codes = dense_codes(exact_scores(problem, weights)[0])
    integers = _integers()
    parts = [_certified(item, distinct, own := codes[item.rows], own + 1, integers) for item in problem.lists]
    return mean_of_lists(problem, [(one.value + one.statistic) / 2 for one in parts])


def _certified(
    item: RankedList, distinct: NDArray[Any], codes: Indices, reached: Indices, integers: Integers
) -> CertifiedList:
    """One list, by the codes of its rows' scores and what they reach; see :func:`certified_lists`."""
    won = near = pairs = 0
    margins: list[int] = []
    with_margin: list[Indices] = []
    without: list[Indices] = []
    for gain in item.thresholds():
        above = item.gains >= gain
        others, mine = np.sort(codes[~above]), codes[above]
        beaten = np.searchsorted(others, reached[above], side="left")
        ahead = np.searchsorted(others, mine, side="left")
        with_margin.append(others.size - beaten)
        without.append(others.size - ahead)
        own = item.gains[above] == gain
        all_won = int(beaten[own].sum())
        won, near = won + all_won, near + int(ahead[own].sum()) - all_won
        pairs += int(np.count_nonzero(own)) * others.size
        some = own & (beaten > 0)
        margins += (distinct[mine[some]] - distinct[others[beaten[some] - 1]]).tolist()
    value, statistic = (_value(item, lost, integers) for lost in (with_margin, without))
    return CertifiedList(value, statistic, won, near, pairs, min(margins, default=None))


def _integers() -> Integers:
    """:func:`as_integers` of the bytes of doubles, kept: what places earn is the same in lists of one length."""
    return cache(lambda raw: as_integers(np.frombuffer(raw)))


def _value(item: RankedList, lost: Iterable[Indices], integers: Integers) -> Fraction:
    """What one list earns, in the unit of ``evaluate``. ``lost`` holds for each level, from the lowest up, how many
    rows below it each of its rows does not beat.
    """
    levels, gain_unit = integers(item.thresholds().tobytes())
    coefficients, coefficient_unit = integers(item.coefficients.tobytes())
    steps = (high - low for low, high in zip([0, *levels], levels))
    total = sum(step * value_of_lost(counts, coefficients, item.hits, item.alone) for step, counts in zip(steps, lost))
    raw = Fraction(total, gain_unit * coefficient_unit)
    return (raw + Fraction(item.constant)) / Fraction(item.scale)


def mean_of_lists(problem: Problem, values: list[Fraction]) -> Fraction:
    """Weighted mean over the problem's lists."""
    weights = [Fraction(item.weight) for item in problem.lists]
    return exact_sum(weight * value for weight, value in zip(weights, values)) / exact_sum(weights)


def ideal_value(problem: Problem) -> Fraction:
    """Exact value of lists with every larger gain above every smaller one: no weights can be worth more."""
    integers, values = _integers(), []
    for item in problem.lists:
        lost = (np.zeros(np.count_nonzero(item.gains >= gain), dtype=np.intp) for gain in item.thresholds())
        values.append(_value(item, lost, integers))
    return mean_of_lists(problem, values)


def check_quotas(problem: Problem, scores: NDArray[Any]) -> None:
    """Refuse scores (n,) of all rows, exactly, whose order does not meet a quota: a CertificateError names it."""
    for quota in problem.quotas:
        for item in problem.lists:
            own = scores[item.rows].tolist(), np.isin(item.rows, quota.rows).tolist()
            fewest, most = (counted(*own, quota.first, first=first) for first in (False, True))
            if quota.least is not None and fewest < quota.least:
                raise CertificateError(_unmet(quota, fewest))
            if quota.most is not None and most > quota.most:
                raise CertificateError(_unmet(quota, most))


def meets_quotas(problem: Problem, weights: Floats) -> bool:
    """Whether the order by weights meets all quotas."""
    with suppress(CertificateError):
        check_quotas(problem, exact_scores(problem, weights)[0])
        return True
    return False


def counted(scores: list[int], member: list[bool], places: int, first: bool) -> int:
    """Members among the first places; of equal scores theirs stand first, or last."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], member[i] != first))
    return sum(member[i] for i in order[:places])


def _unmet(quota: Quota, count: int) -> str:
    return (
        f"The weights put {count} of {quota.name} among the first {quota.first}, tied rows counted against the quota, "
        f"and '{quota}' is not met; take other weights, or another quota."
    )
