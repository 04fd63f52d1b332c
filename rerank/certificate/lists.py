"""Lists in exact arithmetic: scores as integers over one unit, lost counts, sums without rounding, and quotas."""

import math
from collections.abc import Sequence
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
from rerank.ranks.rationals import Exact, as_integers, exact_sum, exact_total

LONG = 200  # numbers whose exact sum costs less as a sum of parts of doubles than as one of integers


def refuse_gaps(problem: Problem, weights: Floats, rows: Indices) -> None:
    """InputError for a missing or infinite value where it counts."""
    if not all(np.isfinite(problem.X[rows, j]).all() for j in np.flatnonzero(weights)):
        raise InputError("The data hold a missing or infinite value; the certificate needs finite numbers.")


def exact_scores(problem: Problem, weights: Floats, rows: Indices | None = None) -> tuple[Exact, int]:
    """Scaled scores of rows up to a constant, as integers (m,), and the unit that is 1 in scaled space; of all rows
    (n,) without ``rows``, and 0 for those in no list. InputError for a missing or infinite value where it counts.
    """
    used = rows_of(problem.lists, len(problem.X)) if rows is None else rows
    refuse_gaps(problem, weights, used)
    support = np.flatnonzero(weights)
    found, unit = _summed(problem, weights, used, support) if support.size else (np.zeros(used.size, dtype=object), 1)
    if rows is not None:
        return found, unit
    scores: Exact = np.zeros(problem.X.shape[0], dtype=object)
    scores[used] = found
    return scores, unit


def _summed(problem: Problem, weights: Floats, rows: Indices, columns: Indices) -> tuple[Exact, int]:
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


def value_of_places(problem: Problem, lost: Sequence[Indices | None]) -> Fraction:
    """Mean over the lists, exactly. ``lost`` holds, for the lowest threshold of the lists that have one, then for the
    second lowest and so on, how many rows below it each of the rows at or above it does not beat, list by list in
    ascending order; None where it beats all of them.
    """
    kinds: dict[tuple[Any, ...], int] = {}
    kind = np.array([kinds.setdefault(_kind(item), len(kinds)) for item in problem.lists])
    sample = [problem.lists[q] for q in np.unique(kind, return_index=True)[1].tolist()]
    totals = [Fraction(0)] * len(sample)
    thresholds, levels = _flat([item.thresholds() for item in problem.lists])
    gains, sizes = _flat([item.gains for item in problem.lists])
    number, begins = np.repeat(np.arange(sizes.size), sizes), np.cumsum(levels) - levels
    whole = cache(lambda raw: as_integers(np.frombuffer(raw)))  # lists of one length have the same coefficients
    for t, own in enumerate(lost):
        some = levels > t
        least = np.append(thresholds, 0.0)[np.where(some, begins + t, -1)]
        reach = some[number] & (gains >= least[number])
        of = number[reach]
        order = np.argsort(kind[of], kind="stable")  # the rows of each kind, list by list
        place = np.arange(of.size) - np.searchsorted(of, of)
        below = np.zeros(of.size, np.intp) if own is None else own
        ends = np.cumsum(np.bincount(kind[of], minlength=len(sample)))
        for k, (begin, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist())):
            if begin == end:
                continue
            item, rows = sample[k], order[begin:end]
            at = sizes[of[rows]] - 1 - below[rows] - (0 if item.alone else place[rows])
            if item.hits is None and at.size > LONG:
                earned = exact_total(item.coefficients[at])
            else:
                numbers, unit = whole(item.coefficients.tobytes())
                paid = numbers[at] if item.hits is None else numbers[at] * item.hits[place[rows]]
                earned = Fraction(sum(paid.tolist()), unit)
            below_it = Fraction(item.thresholds()[t - 1]) if t else 0
            totals[k] += (Fraction(item.thresholds()[t]) - below_it) * earned
    counts, parts, weights = np.bincount(kind).tolist(), [], []
    for item, total, count in zip(sample, totals, counts):
        raw = total + count * Fraction(item.constant)
        parts.append(Fraction(item.weight) * raw / Fraction(item.scale))
        weights.append(Fraction(item.weight) * count)
    return exact_sum(parts) / exact_sum(weights)


def _kind(item: RankedList) -> tuple[Any, ...]:
    """What the value of a list depends on beside the places of its rows: lists of one kind are added up together."""
    arrays = item.coefficients, item.thresholds(), *(() if item.hits is None else (item.hits,))
    return (item.weight, item.constant, item.scale, item.alone, *(own.tobytes() for own in arrays))


def _flat(parts: Sequence[NDArray[np.generic]]) -> tuple[NDArray[Any], Indices]:
    """Arrays one after the other, and their sizes."""
    return np.concatenate(parts), np.array([part.size for part in parts], dtype=np.intp)


@dataclass(frozen=True)
class Counted:
    """All lists, exactly."""

    value: Fraction  # mean at the margin,
    statistic: Fraction  # and of the ranking itself
    won: int  # pairs that reach the margin,
    near: int  # pairs in the right order that do not,
    pairs: int  # and all pairs
    narrowest: tuple[Indices, Indices]  # codes of the pairs won among which the smallest difference is


def counted_pairs(problem: Problem, codes: Indices, reached: Indices) -> Counted:
    """Values and pairs of the lists by places of the rows' scores and what they reach (n,); see ``Standing``."""
    rows, sizes = _flat([item.rows for item in problem.lists])
    gains = np.concatenate([item.gains for item in problem.lists])
    thresholds, levels = _flat([item.thresholds() for item in problem.lists])
    number, begins = np.repeat(np.arange(sizes.size), sizes), np.cumsum(levels) - levels
    codes, reached, most = codes[rows], reached[rows], int(codes.max(initial=0)) + 2
    won = near = pairs = 0
    upper, lower, with_margin, without = (list[Indices]() for _ in range(4))
    for t in range(int(levels.max(initial=0))):
        least = np.append(thresholds, np.inf)[np.where(levels > t, begins + t, -1)][number]
        above, inside = gains >= least, np.isfinite(least)
        # Needles in the order of the line are found much sooner.
        order = np.flatnonzero(above)
        order = order[np.argsort(codes[order] + number[order] * most)]
        below, of = number[inside & ~above], number[order]
        # Codes of one line, on which lists follow each other.
        others = np.sort(codes[inside & ~above] + below * most)
        count = np.bincount(below, minlength=sizes.size)
        first = (np.cumsum(count) - count)[of]
        beaten = np.searchsorted(others, reached[order] + of * most) - first
        ahead = np.searchsorted(others, codes[order] + of * most) - first
        for lost, found in ((with_margin, beaten), (without, ahead)):
            line = np.sort(count[of] - found + of * rows.size)
            lost.append(line - of * rows.size)
        own = gains[order] == least[order]
        all_won = int(beaten[own].sum())
        won, near = won + all_won, near + int(ahead[own].sum()) - all_won
        pairs += int(count[of[own]].sum())
        some = own & (beaten > 0)
        upper.append(codes[order][some])
        lower.append(others[(first + beaten)[some] - 1] - of[some] * most)
    sides = (np.concatenate([np.empty(0, np.intp), *side]) for side in (upper, lower))
    value = value_of_places(problem, with_margin)
    same = all(map(np.array_equal, with_margin, without))  # no place is lost by the margin alone
    statistic = value if same else value_of_places(problem, without)
    return Counted(value, statistic, won, near, pairs, (next(sides), next(sides)))


def ideal_value(problem: Problem) -> Fraction:
    """Exact value of lists with every larger gain above every smaller one: no weights can be worth more."""
    return value_of_places(problem, [None] * max(item.thresholds().size for item in problem.lists))


def check_quotas(problem: Problem, scores: NDArray[np.generic]) -> None:
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
