r"""The value of a ranking, and what equal scores mean for it.

Items of equal score have no order of their own: *pessimistic* puts the smaller gain on top, *optimistic* the larger,
*average* is the mean over all orders of the tied items. Unless it is told otherwise the toolkit counts ties as the
field does: AUC on the average, where a tied pair is one half, and all others against the relevant item.

>>> from rerank.ranks import evaluate
>>> evaluate("auc", [1, 0, 1, 0], [3, 3, 2, 1])
0.625
>>> evaluate("auc", [1, 0, 1, 0], [3, 3, 2, 1], ties="interval")
(0.5, 0.75)
"""

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from rerank.io.options import one_of
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import Empty, rows_by_list, split
from rerank.ranks.present import Present, present
from rerank.ranks.row_gains import Floats, Gain, IdealGains, gain_of
from rerank.statistics import parse


@overload
def evaluate(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties | None = None,
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None,
    ideal_gains: IdealGains = None,
    empty: Empty = "skip",
) -> float: ...


@overload
def evaluate(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Literal["interval"],
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None,
    ideal_gains: IdealGains = None,
    empty: Empty = "skip",
) -> tuple[float, float]: ...


def evaluate(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties | Literal["interval"] | None = None,
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
    ties : {None, "pessimistic", "optimistic", "average", "interval"}
        Equal scores: worst order, best order, mean over all orders, or the pair (worst, best). By default
        ``stat.ties``: "average" where pairs are counted ("auc"), as scikit-learn does, and "pessimistic" elsewhere.
    gain : {"exponential", "linear"}
        Gain of grade g: ``2^g - 1`` or g; a binary statistic, such as "ap", counts 1 for every grade above 0.
    sample_weight : array (n,), optional
        Multiplies the gain of a row, which for an irrelevant row is 0 anyhow. A row of weight 0 is not there: it takes
        no place. 0 or 1 for "ap", "rr", "success@N" and "pos@top".
    query_weight : mapping or array (n,), optional
        Weight of a list in the mean; a list of weight 0 is not there.
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
    if ties is not None:
        one_of("ties", ties, ("pessimistic", "optimistic", "average", "interval"))
    found, there = _evaluator(stat, y, qid, gain, sample_weight, query_weight, ideal_gains)
    scores = there.of(scores, "scores")
    if ties == "interval":
        return found.mean(scores, "pessimistic", empty), found.mean(scores, "optimistic", empty)
    return found.mean(scores, ties, empty)


def list_values(
    stat: object,
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties | None = None,
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    ideal_gains: IdealGains = None,
) -> Floats:
    """Value of each list, float64 (lists,), in the order of their names; NaN for one that has none, or no row.

    The parameters are those of :func:`evaluate`, which takes the mean of these values.
    """
    if ties is not None:
        one_of("ties", ties, ("pessimistic", "optimistic", "average"))
    found, there = _evaluator(stat, y, qid, gain, sample_weight, None, ideal_gains)
    values = found.values(there.of(scores, "scores"), ties)
    by_name = dict(zip((ranked.name for ranked in found.lists), values))
    return np.array([by_name.get(name) for name, _ in rows_by_list(qid, np.size(y))], dtype=np.float64)


def count_empty(
    stat: object,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
) -> int:
    """How many lists have no value: no relevant item, or for AUC no pair to order; of lists that have a row."""
    return sum(not scale > 0 for _, scale in _evaluator(stat, y, qid, gain, sample_weight)[0].scales)


def _evaluator(
    stat: object,
    y: ArrayLike,
    qid: ArrayLike | None,
    gain: Gain,
    sample_weight: ArrayLike | None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None,
    ideal_gains: IdealGains = None,
) -> tuple[Evaluator, Present]:
    """What values scores of the rows that are there, and which rows these are."""
    statistic = parse(stat)
    kind = gain_of(statistic, gain, sample_weight)
    there = present(np.size(y), sample_weight, query_weight, qid)
    lists = split(
        there.of(y),
        there.of(qid, "qid"),
        gain=kind,
        sample_weight=there.of(sample_weight),
        query_weight=there.of(query_weight),
        ideal_gains=ideal_gains,
    )
    return Evaluator(statistic, lists), there
