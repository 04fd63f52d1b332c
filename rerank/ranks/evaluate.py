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
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.io.options import one_of
from rerank.ranks.lists import Empty, Floats, Gain, mean_over_lists, split
from rerank.ranks.positions import Indices, dense_codes
from rerank.statistics import RankStatistic, parse, presentation

Ties = Literal["pessimistic", "optimistic", "average"]


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
        Gain of grade g: ``2^g - 1`` or g.
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
    one_of("ties", ties, ("pessimistic", "optimistic", "average", "interval"))
    statistic = parse(stat)
    lists = split(y, scores, qid, gain=gain, sample_weight=sample_weight, query_weight=query_weight)
    coefficients = cache(statistic.coefficients)

    def mean(rule: Ties) -> float:
        def value(gains: Floats, scored: NDArray[Any]) -> float | None:
            offset, scale = _shown(statistic, gains)
            if not scale > 0:
                return None
            return (_raw(coefficients(gains.size), gains, dense_codes(scored)[1], rule) - offset) / scale

        return mean_over_lists(lists, value, empty)

    if ties == "interval":
        return mean("pessimistic"), mean("optimistic")
    return mean(ties)


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


def _raw(coefficients: Floats, gains: Floats, codes: Indices, ties: Ties) -> float:
    """Sum of gain times coefficient: by telescoping, the sum over gain thresholds of each binary value."""
    last = gains if ties == "optimistic" else -gains
    order = np.lexsort((last, codes))
    earned = gains[order]
    if ties == "average":
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sizes = np.diff(starts, append=codes.size)
        coefficients = np.repeat(np.add.reduceat(coefficients, starts) / sizes, sizes)
    return math.fsum(coefficients * earned)


def _shown(statistic: RankStatistic, gains: Floats) -> tuple[float, float]:
    """Offset and scale of a list; scale 0 when no item has a gain."""
    return presentation(statistic, gains.size, gains) if gains.any() else (0.0, 0.0)
