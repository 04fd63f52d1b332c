"""Measures of a ranking that are quoted beside a rank statistic, with the same rules for ties and lists.

All but Pos@Top can be fitted, too.  An item is relevant when its label is above 0.

>>> from rerank.ranks.measures import average_precision, pos_at_top, reciprocal_rank
>>> y, scores = [0, 1, 1, 0], [4.0, 3.0, 2.0, 1.0]
>>> pos_at_top(y, scores), reciprocal_rank(y, scores), round(average_precision(y, scores), 4)
(0.0, 0.5, 0.5833)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.io.options import one_of
from rerank.ranks.evaluate import evaluate
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import Empty, mean_over_lists, scores_of, split
from rerank.ranks.positions import Indices, dense_codes
from rerank.ranks.row_gains import Gain
from rerank.statistics import NDCG, AveragePrecision, Precision, RankStatistic, ReciprocalRank

Blocks = tuple[Indices, Indices]
"""Items and relevant items of each distinct score, best score first."""


def pos_at_top(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    empty: Empty = "skip",
) -> float:
    """Share of the relevant items above every irrelevant one [LiJinZhou2014, sec. 5]; 1 without irrelevant items."""

    def value(blocks: Blocks) -> float:
        sizes, hits = blocks
        mixed = np.flatnonzero(hits < sizes)
        if mixed.size == 0:
            return 1.0
        first = int(mixed[0])
        # In random order each relevant item of the first mixed block precedes all m others with chance 1/(m + 1).
        chance = {
            "pessimistic": 0.0,
            "optimistic": 1.0,
            "average": 1.0 / float(sizes[first] - hits[first] + 1),
        }
        return float(hits[:first].sum() + hits[first] * chance[ties]) / float(hits.sum())

    return _mean(y, scores, qid, ties, empty, value)


def average_precision(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    empty: Empty = "skip",
) -> float:
    """``evaluate("ap", ...)``: mean over the relevant items of the precision at their place."""
    return _evaluated(AveragePrecision(), y, scores, qid, ties, empty)


def reciprocal_rank(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "pessimistic",
    empty: Empty = "skip",
) -> float:
    """``evaluate("rr", ...)``: 1/position of the first relevant item."""
    return _evaluated(ReciprocalRank(), y, scores, qid, ties, empty)


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


def _evaluated(
    statistic: RankStatistic, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None, ties: Ties, empty: Empty
) -> float:
    one_of("ties", ties, ("pessimistic", "optimistic", "average"))
    return float(evaluate(statistic, y, scores, qid, ties=ties, empty=empty))


def _mean(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None,
    ties: Ties,
    empty: Empty,
    value: Callable[[Blocks], float],
) -> float:
    one_of("ties", ties, ("pessimistic", "optimistic", "average"))

    lists = split(y, qid, gain="linear")
    given = scores_of(scores, sum(one.rows.size for one in lists))
    values = (value(_blocks(one.gains > 0, given[one.rows])) if one.gains.any() else None for one in lists)
    return mean_over_lists(lists, values, empty)


def _blocks(relevant: NDArray[np.bool_], scores: NDArray[Any]) -> Blocks:
    codes = dense_codes(scores)[1]
    sizes = np.bincount(codes)[::-1]
    hits = np.bincount(codes, weights=relevant)[::-1]
    return sizes, hits.astype(np.intp)
