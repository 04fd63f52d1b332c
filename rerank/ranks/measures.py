"""Measures of a ranking that are quoted beside a rank statistic, with the same rules for ties and lists.

All can be fitted, too.  An item is relevant when its label is above 0.

>>> from rerank.ranks.measures import average_precision, pos_at_top, reciprocal_rank
>>> y, scores = [0, 1, 1, 0], [4.0, 3.0, 2.0, 1.0]
>>> pos_at_top(y, scores), reciprocal_rank(y, scores), round(average_precision(y, scores), 4)
(0.0, 0.5, 0.5833)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.io.options import one_of
from rerank.ranks.evaluate import evaluate
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import Empty, mean_over_lists, scores_of, split
from rerank.ranks.row_gains import Gain
from rerank.statistics import NDCG, AveragePrecision, Precision, ReciprocalRank


def pos_at_top(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """Share of the relevant items above every irrelevant one [LiJinZhou2014, sec. 5]; 1 without irrelevant items."""
    _check(ties)
    lists = split(y, qid, gain="binary")
    given = scores_of(scores, sum(one.rows.size for one in lists))
    values = [_share_on_top(one.gains > 0, given[one.rows], ties) for one in lists]
    return mean_over_lists(lists, values, empty)


def _share_on_top(relevant: NDArray[np.bool_], scores: NDArray[Any], ties: Ties) -> float | None:
    """Share of the relevant items of one list above all others; None without a relevant one."""
    own, others = scores[relevant], scores[~relevant]
    if not own.size:
        return None
    if not others.size:
        return 1.0
    best = others.max()
    # In random order each relevant item among the best others precedes all m of them with chance 1/(m + 1).
    m = int(np.count_nonzero(others == best))
    chance = {"pessimistic": 0.0, "optimistic": 1.0, "average": 1.0 / (m + 1)}[ties]
    return float(np.count_nonzero(own > best) + np.count_nonzero(own == best) * chance) / own.size


def average_precision(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """``evaluate("ap", ...)``: mean over the relevant items of the precision at their place."""
    _check(ties)
    return float(evaluate(AveragePrecision(), y, scores, qid, ties=ties, empty=empty))


def reciprocal_rank(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """``evaluate("rr", ...)``: 1/position of the first relevant item."""
    _check(ties)
    return float(evaluate(ReciprocalRank(), y, scores, qid, ties=ties, empty=empty))


def precision_at(
    y: ArrayLike,
    scores: ArrayLike,
    at: int,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    empty: Empty = "skip",
) -> float:
    """Share of the top ``at`` places held by relevant items; a list shorter than ``at`` has empty places."""
    statistic = Precision(at)
    lists = split(y, qid, gain="binary")
    earned = Evaluator(statistic, lists).values(scores, ties)
    shares = [None if value is None else value / statistic.at for value in earned]
    return mean_over_lists(lists, shares, empty)


def ndcg(
    y: ArrayLike,
    scores: ArrayLike,
    at: int | None = None,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    gain: Gain = "exponential",
    empty: Empty = "skip",
) -> float:
    """DCG of the top ``at`` places over its ideal [JarvelinKekalainen2002]; ``evaluate("ndcg@N", ...)``."""
    return float(evaluate(NDCG(at), y, scores, qid, ties=ties, gain=gain, empty=empty))


def _check(ties: Any) -> None:
    one_of("ties", ties, ("pessimistic", "optimistic", "average"))
