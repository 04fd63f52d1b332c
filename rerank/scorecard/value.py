"""The value of a card, exactly: integers and fractions where the statistic has them, sums rounded once elsewhere.

It shares no code with the search, so that it may be believed where the search is doubted.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.scorecard.likelihood import LogLoss, link_of, value_at
from rerank.statistics import AUC, Precision, RankStatistic, presentation

NOTHING = "No list holds both relevant rows and others, so there is nothing to order; give labels of both kinds."

Counts = Sequence[tuple[int, int]]  # relevant and other rows of each block of tied rows, from the top, in units


def gains_of(n: int, relevant: float) -> NDArray[np.float64]:
    """Gains of ``n`` rows in ascending order, of which so many are relevant, the last one perhaps in part."""
    return np.clip(np.arange(1.0, n + 1) - (n - relevant), 0.0, 1.0)


def blocks(totals: Any, relevant: NDArray[np.int64], other: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The blocks of rows with equal totals, the largest total first: relevant and other rows."""
    levels, number = np.unique(-np.asarray(totals), return_inverse=True)
    sides = [np.zeros(levels.size, np.int64) for _ in range(2)]
    for side, count in zip(sides, (relevant, other)):
        np.add.at(side, number, count)
    return list(zip(sides[0].tolist(), sides[1].tolist()))


def value_of_list(
    statistic: RankStatistic, rate: float | None, order: Counts, unit: int = 1, ties: str = "average"
) -> Fraction | float | None:
    """Value of one list whose rows stand in blocks, counted in ``unit`` to a row; None where it has none. ``rate`` is
    the greatest false positive rate of a partial area; then the statistic does not matter. Tied rows count in
    expectation over their orders ("average"), or the others first ("pessimistic").
    """
    if ties == "pessimistic":
        order = [part for p, q in order for part in ((0, q), (p, 0))]
    P, Q = sum(p for p, _ in order), sum(q for _, q in order)
    if rate is not None or isinstance(statistic, AUC):
        if not P * Q:
            return None
        limit = Fraction(Q) if rate is None else Fraction(repr(float(rate))) * Q
        area, above_p, above_q = Fraction(0), 0, 0
        for p, q in order:
            counted = min(Fraction(q), limit - above_q)
            if counted > 0:
                area += counted * (above_p + Fraction(p) * counted / (2 * q))
            above_p, above_q = above_p + p, above_q + q
        return area / (P * Q)
    if not P:
        return None
    n = math.ceil(Fraction(P + Q, unit))
    offset, scale = presentation(statistic, n, gains_of(n, P / unit))
    if isinstance(statistic, Precision) and not statistic.per_relevant and not statistic.normalised:
        hits, left = Fraction(0), statistic.at * unit
        for p, q in order:
            taken = min(p + q, left)
            if taken > 0:
                hits += Fraction(p * taken, p + q)
            left -= taken
        return hits / unit
    earned = statistic.coefficients(n)[::-1].tolist()
    terms, place = [-offset], 0
    for p, q in order:
        size = p + q
        if p:
            share = Fraction(p, size)
            terms += [float(share * part) * earned[at] for at, part in _parts(place, place + size, unit, n)]
        place += size
    return math.fsum(terms) / scale if scale > 0 else None


def _parts(start: int, end: int, unit: int, n: int) -> list[tuple[int, Fraction]]:
    """Places that a block covers, with the part of each."""
    places = range(start // unit, min(-(-end // unit), n))
    return [(at, Fraction(min(end, (at + 1) * unit) - max(start, at * unit), unit)) for at in places]


def value_of(
    statistic: RankStatistic | LogLoss,
    rate: float | None,
    totals: Any,
    rows: Any,
    units: tuple[Any, int],
    ties: str = "average",
    link: tuple[float, float] | None = None,
) -> Fraction | float:
    """Weighted mean over the lists of the value of a card that gives rows these totals; see :func:`value_of_list`.
    ``units`` are the numbers of rows that each row stands for (n,), in parts of a row, and how many make a row. Log
    loss is that of a ``link``, or of the one that is best on these rows.
    """
    counts, unit = units
    relevant, other = counts * rows.relevant, counts * ~rows.relevant
    if isinstance(statistic, LogLoss):
        return value_at(link_of(totals, relevant, other) if link is None else link, totals, relevant, other)
    parts, weights = [], []
    for of, weight in enumerate(rows.list_weight.tolist()):
        own = rows.lists == of
        value = value_of_list(statistic, rate, blocks(np.asarray(totals)[own], relevant[own], other[own]), unit, ties)
        if value is not None and weight > 0:
            parts.append(value)
            weights.append(Fraction(weight))
    if not parts:
        raise InputError(NOTHING)
    if all(isinstance(value, Fraction) for value in parts):
        return sum((value * weight for value, weight in zip(parts, weights)), Fraction(0)) / sum(weights)
    return math.fsum(float(value) * float(weight) for value, weight in zip(parts, weights)) / float(sum(weights))
