"""The shortlist: which rows of each list are reranked, and how head and tail are joined to one ranking.

The first stage orders every list.  Its ``n_candidates`` best rows are the head, which is reordered.  The other rows
are the tail: they keep the first stage's order, below the head [RudinWang2018, sec. 2.1].  All rows that share the
score at the cut are in the head, so that no row's place depends on the order of the file; the additional rows are
counted.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem.lists import Floats, Indices
from rerank.ranks.lists import rows_by_list

MOST_SCORE = 2.0**1000  # of the first stage; head scores are above, and have to be finite


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Head and tail of every list."""

    heads: tuple[Indices, ...]  # rows of each list, best place first
    tails: tuple[Indices, ...]  # of equal scores the smaller gain first
    threshold: float  # least first-stage score of the head, for single rows; -inf if every row is in the head
    n_tied: int  # rows in the heads beyond the K asked for because they share the score at the cut

    @property
    def rows(self) -> Indices:
        """Rows of all heads, in the order of the data."""
        return np.sort(np.concatenate(self.heads))


def cut(scores: Floats, n_candidates: int | None) -> float:
    """Least score of the ``n_candidates`` best rows; ``-inf`` if all rows are candidates."""
    if n_candidates is None or n_candidates >= scores.size:
        return -math.inf
    return float(np.partition(scores, scores.size - n_candidates)[scores.size - n_candidates])


def shortlist(
    scores: Floats | None, gains: Floats, qid: NDArray[Any] | None = None, n_candidates: int | None = None
) -> Shortlist:
    """Head and tail of every list by first-stage scores (n,), all head without. The threshold of several lists is the
    score that as many rows reach as are in all heads, because a single row has no list.
    """
    n = gains.size
    lists = [rows for _, rows in rows_by_list(qid, n)]
    if scores is None or n_candidates is None:
        order = scores if scores is not None else np.zeros(n)
        heads = tuple(rows[np.argsort(-order[rows], kind="stable")] for rows in lists)
        return Shortlist(heads, tuple(rows[:0] for rows in lists), -math.inf, 0)
    heads_, tails, tied = [], [], 0
    for rows in lists:
        own = scores[rows]
        inside = own >= cut(own, n_candidates)
        tied += max(0, int(inside.sum()) - n_candidates)
        best_first = rows[np.lexsort((gains[rows], -own))]
        head = np.isin(best_first, rows[inside])
        heads_.append(best_first[head])
        tails.append(best_first[~head])
    return Shortlist(tuple(heads_), tuple(tails), cut(scores, sum(head.size for head in heads_)), tied)


def stack(first: Floats, head: Floats, is_head: NDArray[np.bool_], threshold: float, size: int) -> Floats:
    """One score for each row: tail rows keep that of the first stage, head rows get scores above all of these.

    ``g`` is increasing and positive, usually the score plus a constant. The reranking score ``h`` becomes ``g(h)``, or
    ``(1 + g(h)) * 2^k`` with ``2^k >= threshold`` if the threshold is positive. So the least head score is above the
    largest tail score for all data. ``size`` is the number of weights: rows inside the training range have reranking
    scores of at most this size.
    """
    if threshold == -math.inf:
        return head.copy()  # no row can be in the tail
    if threshold > MOST_SCORE:
        raise InputError(
            f"The first stage's scores reach {threshold:.3g}, and scores above them would overflow; divide them by a "
            "constant."
        )
    # Sums of a snapped score and a small power of two are exact, so no two different head scores become equal.
    shifted = head + 2.0 ** math.ceil(math.log2(size + 1))
    positive = np.where(shifted >= 1.0, shifted, 1.0 / (2.0 - np.minimum(shifted, 1.0)))
    if threshold > 0:
        lift = 2.0 ** math.ceil(math.log2(threshold))
        lift *= 2.0 if lift < threshold else 1.0  # log2 may round down at the last bit
        lift = max(lift, 2.0**-900)  # products with a smaller number are subnormal, and lose the order of the head
        positive = (1.0 + positive) * lift
    return np.where(is_head, positive, first)


def list_heads(first: Floats, qid: NDArray[Any] | None, n_candidates: int | None) -> tuple[NDArray[np.bool_], float]:
    """Which rows are among the K best of their list, and the largest cut over the lists."""
    is_head, highest = np.zeros(first.size, dtype=bool), -math.inf
    for _, rows in rows_by_list(qid, first.size):
        own = cut(first[rows], n_candidates)
        is_head[rows] = first[rows] >= own
        highest = max(highest, own)
    return is_head, highest


def joined(first: Floats, head: Floats, is_head: NDArray[np.bool_], size: int) -> Floats:
    """One score for each row: all head rows above all tail rows."""
    tail = first[~is_head]
    return stack(first, head, is_head, float(tail.max()) if tail.size else -math.inf, size)
