"""Measures of a ranking that are quoted beside a rank statistic, with the same rules for ties and lists.

All can be fitted, too.  An item is relevant when its label is above 0.

>>> from rerank.ranks.measures import average_precision, pos_at_top, reciprocal_rank
>>> y, scores = [0, 1, 1, 0], [4.0, 3.0, 2.0, 1.0]
>>> pos_at_top(y, scores), reciprocal_rank(y, scores), round(average_precision(y, scores), 4)
(0.0, 0.5, 0.5833)
"""

from numpy.typing import ArrayLike

from rerank.io.options import one_of
from rerank.ranks.evaluate import evaluate
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import Empty, mean_over_lists, split
from rerank.ranks.row_gains import Gain
from rerank.statistics import NDCG, AveragePrecision, PosAtTop, Precision, ReciprocalRank
from rerank.statistics.base import TIES


def pos_at_top(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """Share of the relevant items above every irrelevant one [LiJinZhou2014, sec. 5]; 1 without irrelevant items."""
    one_of("ties", ties, TIES)
    return float(evaluate(PosAtTop(), y, scores, qid, ties=ties, empty=empty))


def average_precision(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """``evaluate("ap", ...)``: mean over the relevant items of the precision at their place."""
    one_of("ties", ties, TIES)
    return float(evaluate(AveragePrecision(), y, scores, qid, ties=ties, empty=empty))


def reciprocal_rank(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, ties: Ties = "pessimistic", empty: Empty = "skip"
) -> float:
    """``evaluate("rr", ...)``: 1/position of the first relevant item."""
    one_of("ties", ties, TIES)
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
