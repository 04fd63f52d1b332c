r"""The value of a ranking, and what equal scores mean for it.

Items of equal score have no order of their own.  The toolkit counts such a tie against the relevant item unless
it is told otherwise: *pessimistic* puts the smaller gain on top, *optimistic* the larger, *average* is the mean
over all orders of the tied items.

>>> from rerank.ranks import evaluate
>>> evaluate("auc", [1, 0, 1, 0], [3, 3, 2, 1], ties="interval")
(0.5, 0.75)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from rerank.io.options import one_of
from rerank.ranks.lists import Empty, OneList, mean_over_lists, split
from rerank.ranks.positions import Indices, dense_codes
from rerank.ranks.row_gains import Floats, Gain, IdealGains, gain_of
from rerank.statistics import RankStatistic, parse, presentation

Ties = Literal["pessimistic", "optimistic", "average"]


@overload
def evaluate(
    stat: object, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *,
    ties: Ties = "pessimistic", gain: Gain = "exponential", sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None, ideal_gains: IdealGains = None, empty: Empty = "skip",
) -> float: ...  # fmt: skip


@overload
def evaluate(
    stat: object, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *,
    ties: Literal["interval"], gain: Gain = "exponential", sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None, ideal_gains: IdealGains = None, empty: Empty = "skip",
) -> tuple[float, float]: ...  # fmt: skip


def evaluate(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties | Literal["interval"] = "pessimistic",
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None,
    ideal_gains: IdealGains = None,
    empty: Empty = "skip",
) -> float | tuple[float, float]:
    """Value of a rank statistic: the weighted mean over lists, ``n log n``.

    Parameters
    ----------
    stat : str, RankStatistic, array or callable
        See :func:`rerank.statistics.parse`.
    y : array (n,)
        Labels 0/1 or grades.
    scores : array (n,)
        Higher is better.  Floats, integers or Fractions; only compared.
    qid : array (n,), optional
        List of each row; one list without it.
    ties : {"pessimistic", "optimistic", "average", "interval"}
        Equal scores: worst order, best order, mean over all orders, or the pair (worst, best).
    gain : {"exponential", "linear"}
        Gain of grade g: ``2^g - 1`` or g; a binary statistic, such as "ap", counts 1 for every grade above 0.
    sample_weight : array (n,), optional
        Multiplies the gain of a row; 0 or 1 for "ap", "rr" and "success@N".
    query_weight : mapping or array (n,), optional
        Weight of a list in the mean.
    ideal_gains : mapping of list name to grades, optional
        Relevant items of a list that are no rows, because nothing retrieved them. They count in what a value is divided
        by (nDCG, AUC, AP, recall) and nowhere else; a list whose relevant items were all missed counts 0.
    empty : {"skip", 0, 1, "error"}
        Lists without a value (no gain; for AUC no pair): see :func:`count_empty` for their number.

    Returns
    -------
    float, or (float, float) for ``ties="interval"``

    Raises
    ------
    InputError
        For labels, scores, weights or options that cannot be used, and when no list is left to average.
    """
    one_of("ties", ties, ("pessimistic", "optimistic", "average", "interval"))
    statistic = parse(stat)
    lists = split(
        y,
        scores,
        qid,
        gain=gain_of(statistic, gain, sample_weight),
        sample_weight=sample_weight,
        query_weight=query_weight,
        ideal_gains=ideal_gains,
    )
    coefficients = cache(statistic.coefficients)

    def mean(rule: Ties) -> float:
        def value(item: OneList) -> float | None:
            return value_of(statistic, coefficients, item, rule)

        return mean_over_lists(lists, value, empty)

    if ties == "interval":
        return mean("pessimistic"), mean("optimistic")
    return mean(ties)


def list_values(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    ideal_gains: IdealGains = None,
) -> Floats:
    """Value of each list, float64 (lists,), in the order of their names; NaN for one that has none.

    The parameters are those of :func:`evaluate`, which takes the mean of these values.
    """
    one_of("ties", ties, ("pessimistic", "optimistic", "average"))
    statistic = parse(stat)
    kind = gain_of(statistic, gain, sample_weight)
    lists = split(y, scores, qid, gain=kind, sample_weight=sample_weight, ideal_gains=ideal_gains)
    coefficients = cache(statistic.coefficients)
    values = (value_of(statistic, coefficients, item, ties) for item in lists)
    return np.array([math.nan if value is None else value for value in values])


def count_empty(
    stat: object,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
) -> int:
    """How many lists have no value: no relevant item, or for AUC no pair to order."""
    statistic = parse(stat)
    kind = gain_of(statistic, gain, sample_weight)
    lists = split(y, np.zeros(np.shape(y)), qid, gain=kind, sample_weight=sample_weight)
    return sum(not shown(statistic, item.gains, item.missed)[1] > 0 for item in lists)


def value_of(
    statistic: RankStatistic, coefficients: Callable[[int], Floats], item: OneList, ties: Ties
) -> float | None:
    """Value of one list; None if it has none.  ``coefficients`` are those of the statistic, perhaps cached."""
    offset, scale = shown(statistic, item.gains, item.missed)
    if not scale > 0:
        return None
    codes = dense_codes(item.scores)[1]
    return (_raw(statistic, coefficients(codes.size), item.gains, codes, ties) - offset) / scale


def _raw(statistic: RankStatistic, coefficients: Floats, gains: Floats, codes: Indices, ties: Ties) -> float:
    """Sum of gain times coefficient: by telescoping, the sum over gain thresholds of each binary value."""
    last = gains if ties == "optimistic" else -gains
    order = np.lexsort((last, codes))
    earned = gains[order]
    hits = statistic.hit_weights(gains.size)
    if ties == "average":
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sizes = np.diff(starts, append=codes.size)
        if hits is not None:
            coefficients = coefficients * _mean_hit_weights(statistic, earned, starts, sizes)
        coefficients = np.repeat(np.add.reduceat(coefficients, starts) / sizes, sizes)
    elif hits is not None:
        number = np.cumsum(earned[::-1])[::-1].astype(np.intp)
        earned = earned * hits[np.maximum(number, 1) - 1]
    return math.fsum(coefficients * earned)


def _mean_hit_weights(statistic: RankStatistic, earned: Floats, starts: Indices, sizes: Indices) -> Floats:
    """Mean weight of a relevant row at each rank, the orders of blocks of equal scores being random."""
    weights = np.zeros(earned.size)
    above = 0
    hits = np.add.reduceat(earned, starts).astype(np.intp).tolist()
    for start, size, own in zip(starts[::-1].tolist(), sizes[::-1].tolist(), hits[::-1], strict=True):
        if own:
            weights[start : start + size] = statistic.mean_hit_weights(above, own, size)[::-1]
        above += own
    return weights


def shown(statistic: RankStatistic, gains: Floats, missed: Floats) -> tuple[float, float]:
    """Offset and scale of a list, the scale with the items that were missed; scale 0 where no item has a gain."""
    if not missed.size and gains.any():
        return presentation(statistic, gains.size, gains)
    everything = np.concatenate([gains, missed])
    if not everything.any():
        return 0.0, 0.0
    scale = presentation(statistic, everything.size, everything)[1]
    return presentation(statistic, gains.size, gains)[0] if gains.any() else 0.0, scale
