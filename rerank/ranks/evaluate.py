r"""Ranks, ties and values: the only place where equal scores are interpreted.

Items of equal score have no order of their own.  The toolkit counts such a tie against the relevant item unless
it is told otherwise: *pessimistic* puts the smaller gain on top, *optimistic* the larger, *average* is the mean
over all orders of the tied items.  Comparisons are all that is asked of scores, so integers and Fractions are
ranked exactly.

>>> from rerank.ranks.evaluate import evaluate, subranks
>>> subranks([6.2, 6.2, 5.8, 1.7]).tolist()
[2, 2, 1, 0]
>>> evaluate("auc", [1, 0, 1, 0], [3, 3, 2, 1], ties="interval")
(0.5, 0.75)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.ranks.lists import Empty, Gain, comparable, gains, mean_over_lists, split
from rerank.statistics import RankStatistic, parse, presentation

__all__ = [
    "count_empty",
    "dense_codes",
    "evaluate",
    "gains",
    "lost_counts",
    "reach",
    "resolved_ranks",
    "subranks",
    "value_of_lost",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Ties = Literal["pessimistic", "optimistic", "average"]


def dense_codes(scores: ArrayLike) -> tuple[NDArray[Any], Integers]:
    """Distinct scores in ascending order, and for each item the place of its score among them."""
    values = comparable(scores)
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct, codes.astype(np.intp)


def subranks(scores: ArrayLike) -> Integers:
    """Number of items scored strictly below each item, 0..n-1 [RudinWang2018, sec. 2.6]."""
    distinct, codes = dense_codes(scores)
    below = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=distinct.size))])
    return below[codes]


def resolved_ranks(scores: ArrayLike, y: ArrayLike) -> Integers:
    """Ranks 0..n-1, each once: equal scores resolved against the relevant item.

    Where scores are equal, the item with the smaller label ranks higher; between equal labels the later row
    does [RudinWang2018, sec. 2.6 and constraints (16)-(19)].

    Parameters
    ----------
    scores, y : arrays (n,)

    Returns
    -------
    int array (n,)
        A permutation, nowhere below :func:`subranks`.
    """
    _, codes = dense_codes(scores)
    labels = np.asarray(y)
    if labels.shape != codes.shape:
        raise InputError(
            f"There are {codes.size} scores and labels of shape {labels.shape}; give one per row."
        )
    order = np.lexsort((-labels.astype(np.float64), codes))
    ranks = np.empty(codes.size, np.intp)
    ranks[order] = np.arange(codes.size)
    return ranks


def reach(distinct: NDArray[Any], margin: Any = 0) -> Integers:
    """For each distinct score the first code that it does not beat by the margin (see :func:`dense_codes`).

    Item i loses to every lesser item k with ``codes[k] >= reach(distinct, margin)[codes[i]]``, that is with
    ``s_i - s_k < margin``; at margin 0 a tie is lost, so the condition is ``s_k >= s_i``.
    """
    if margin == 0:
        return np.arange(distinct.size)
    return np.searchsorted(distinct, distinct - margin, side="right").astype(np.intp)


def lost_counts(scores: ArrayLike, positive: ArrayLike, margin: Any = 0) -> Integers:
    """For each positive item, how many of the others it fails to beat by the margin; n log n.

    Parameters
    ----------
    scores : array (n,)
        Floats, integers or Fractions.  The count is exact for the last two; for floats ``s_i - margin`` is
        rounded.
    positive : bool array (n,)
    margin : number
        Item k is lost when ``s_i - s_k < margin``; at margin 0 when ``s_k >= s_i``.

    Returns
    -------
    int array (number of positives,), in row order
    """
    distinct, codes = dense_codes(scores)
    return count_lost(codes, reach(distinct, margin)[codes], np.asarray(positive, dtype=bool))


def count_lost(codes: Integers, reached: Integers, positive: NDArray[np.bool_]) -> Integers:
    """:func:`lost_counts` from codes and their reach, for several questions about the same scores."""
    others = np.sort(codes[~positive])
    return others.size - np.searchsorted(others, reached[positive], side="left")


def value_of_lost(lost: ArrayLike, coefficients: NDArray[Any]) -> Any:
    """Sum of the coefficients at the places that lost counts mean.

    With the counts sorted, the j-th best positive item stands at position ``j + lost_(j)`` from the top.

    Parameters
    ----------
    lost : int array (p,)
        Lost counts of the positive items of one list, in any order.
    coefficients : array (m,)
        ``a_1..a_m`` of a list of m items; floats, or exact numbers in an object array.

    Returns
    -------
    number
        Exact for exact coefficients; correctly rounded for floats.
    """
    sorted_lost = np.sort(np.asarray(lost, dtype=np.intp))
    positions = np.arange(1, sorted_lost.size + 1) + sorted_lost
    earned = coefficients[coefficients.shape[0] - positions]
    return math.fsum(earned) if earned.dtype.kind == "f" else sum(earned.tolist())


def _raw(coefficients: Floats, worth: Floats, codes: Integers, ties: Ties) -> float:
    """Sum of gain times coefficient: by telescoping, the sum over gain thresholds of each binary value."""
    best_last = worth if ties == "optimistic" else -worth
    order = np.lexsort((best_last, codes))
    earned = worth[order]
    if ties == "average":
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sizes = np.diff(starts, append=codes.size)
        coefficients = np.repeat(np.add.reduceat(coefficients, starts) / sizes, sizes)
    return math.fsum(coefficients * earned)


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
    empty: Empty = "skip",
) -> Any:
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
        Worth of grade g: ``2^g - 1`` or g.
    sample_weight : array (n,), optional
        Multiplies the gain of a row.
    query_weight : mapping or array (n,), optional
        Weight of a list in the mean.
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
    if ties not in ("pessimistic", "optimistic", "average", "interval"):
        raise InputError(
            f"ties is {ties!r}; it must be 'pessimistic', 'optimistic', 'average' or 'interval'."
        )
    statistic = parse(stat)
    lists = split(y, scores, qid, gain=gain, sample_weight=sample_weight, query_weight=query_weight)
    coefficients = cache(statistic.coefficients)

    def mean(rule: Ties) -> float:
        def value(worth: Floats, scored: NDArray[Any]) -> float | None:
            offset, scale = _shown(statistic, worth)
            if not scale > 0:
                return None
            return (_raw(coefficients(worth.size), worth, dense_codes(scored)[1], rule) - offset) / scale

        return mean_over_lists(lists, value, empty)

    if ties == "interval":
        return mean("pessimistic"), mean("optimistic")
    return mean(ties)


def _shown(statistic: RankStatistic, worth: Floats) -> tuple[float, float]:
    """Offset and scale of a list; scale 0 when no item has a gain."""
    return presentation(statistic, worth.size, worth) if worth.any() else (0.0, 0.0)


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
    lists = split(y, np.zeros(np.shape(y)), qid, gain=gain, sample_weight=sample_weight)
    return sum(not _shown(statistic, item.gains)[1] > 0 for item in lists)
