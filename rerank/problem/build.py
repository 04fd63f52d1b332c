"""Problems from a rank statistic: the list of one query, and all rows of a table in their lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.problem.lists import RankedList
from rerank.problem.problem import Problem
from rerank.ranks.evaluator import shown
from rerank.ranks.lists import rows_by_list
from rerank.statistics import RankStatistic


def ranked_list(
    statistic: RankStatistic,
    rows: ArrayLike,
    gains: ArrayLike,
    tail_gains: ArrayLike = (),
    weight: float = 1.0,
    missed: ArrayLike = (),
) -> RankedList | None:
    """The list of a statistic: head rows to be ordered, above a tail whose order is fixed.

    Parameters
    ----------
    statistic : RankStatistic
    rows : array (m,)
        Rows of the head.
    gains : array (m,)
        Their gains.  AP, RR, success@N and Pos@Top ask only whether they are above 0; recall and RBP take them as
        they are, so labels have to be made binary before (:func:`rerank.ranks.row_gains.gain_of`).
    tail_gains : array (t,)
        Gains of the items below the head, best place first.
    weight : float
        Weight of the list.
    missed : array
        Gains of relevant items that are no rows; they count in the scale only.

    Returns
    -------
    RankedList or None
        None where the statistic is not defined: no gain at all, or no pair for AUC. A list whose relevant items were
        all missed has no gain, and is worth 0 in every order.
    """
    head, tail, others = (np.asarray(part, dtype=np.float64) for part in (gains, tail_gains, missed))
    hits = statistic.hit_weights(head.size + tail.size)
    if statistic.weighs_hits:
        head, tail, others = ((part > 0).astype(np.float64) for part in (head, tail, others))
    offset, scale = shown(statistic, np.concatenate([head, tail]), others)
    coefficients = statistic.coefficients(head.size + tail.size)
    if not scale > 0:
        return None
    earned = tail
    if hits is not None:
        number = np.count_nonzero(head) + np.cumsum(tail).astype(np.intp)
        earned = tail * hits[np.maximum(number, 1) - 1]
    places = np.arange(head.size, head.size + tail.size)
    if statistic.alone:
        places = np.count_nonzero(head == 0) + np.cumsum(tail == 0)
    below = float(np.dot(earned, coefficients[::-1][np.minimum(places, coefficients.size - 1)]))
    own_hits = None if hits is None else hits[: head.size].copy()
    return RankedList(
        np.asarray(rows, dtype=np.intp), head, coefficients[tail.size :].copy(), float(weight), below - offset,
        float(scale), own_hits, statistic.alone,
    )  # fmt: skip


def problem_of(
    X: ArrayLike,
    gains: ArrayLike,
    statistic: RankStatistic,
    qid: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | None = None,
    **options: Any,
) -> Problem:
    """The problem of ranking all rows, without a shortlist.

    Parameters
    ----------
    X : array (n, d)
        Features in original units.
    gains : array (n,)
        Gain of each row, 0 for an irrelevant one.
    statistic : RankStatistic
    qid : array (n,), optional
        List of each row; one list without it.
    query_weight : mapping, optional
        Weight of a list by its id, 1 where it has none.
    **options
        ``epsilon``, ``C`` and the others of :meth:`Problem.build`.

    Returns
    -------
    Problem
        Of the lists on which the statistic is defined; the mean leaves the others out.

    Raises
    ------
    InputError
        As :meth:`Problem.build`.
    """
    row_gains = np.asarray(gains, dtype=np.float64)
    weights = query_weight or {}
    lists = [
        ranked_list(statistic, rows, row_gains[rows], weight=weights.get(name, 1.0))
        for name, rows in rows_by_list(qid, row_gains.size)
    ]
    return Problem.build(X, [item for item in lists if item is not None], **options)
