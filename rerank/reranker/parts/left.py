"""The rows that are left of a list in parts, as training data: with the numbers of the whole list."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.passes import Seen
from rerank.problem.reduced import all_gains
from rerank.ranks.evaluator import shown
from rerank.reranker.columns import Columns, Rows
from rerank.reranker.data import Data
from rerank.reranker.result import ShortlistInfo
from rerank.reranker.shortlist import Shortlist
from rerank.reranker.training import Training, of_the_rows_left
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class LeftRows(Data):
    """Rows that can stand among the places that count; their statistics are those of the whole list.

    Attributes
    ----------
    seen : Seen
        What the first pass told of the whole list.

    The others are those of :class:`Data`. No row is in ``rows``, which has the columns; ``y`` holds gains.
    """

    seen: Seen

    @property
    def longest_list(self) -> int:
        """Number of rows of the whole list."""
        return self.seen.n

    def evaluate(self, statistic: RankStatistic, scores: Floats) -> float:
        """The statistic of the whole list, equal scores against the gain: no other row reaches a place that counts."""
        return self._value(statistic, self.gains, scores)

    def best(self, statistic: RankStatistic) -> float:
        """The statistic of the best order of the whole list."""
        every = all_gains(self.seen, statistic)
        return self._value(statistic, every, every)

    def _value(self, statistic: RankStatistic, gains: Floats, scores: Floats) -> float:
        offset, scale = shown(statistic, all_gains(self.seen, statistic), np.empty(0))
        length = gains.size if statistic.by_place else self.seen.n
        earned = gains[np.lexsort((-gains, scores))]
        return (math.fsum(statistic.coefficients(length)[length - gains.size :] * earned) - offset) / scale


def left_rows(problem: Problem, seen: Seen, columns: Columns, features: Indices) -> LeftRows:
    """The rows of a problem as training data; ``features`` are the columns that it corrects by."""
    (item,) = problem.lists
    X = np.zeros((item.rows.size, columns.chosen.size))
    X[:, features] = problem.X[:, 1:]
    rows = Rows(np.empty((0, len(columns.inputs))), columns)
    return LeftRows(rows=rows, X=X, y=item.gains, gains=item.gains, qid=None, list_weight=None, seen=seen)


def training_of(data: LeftRows, problem: Problem, features: Indices) -> Training:
    """The same as of a list in memory whose rows are all candidates."""
    nothing, (duplicates, conflicts) = of_the_rows_left(problem, data.seen.n)
    rows, seen = np.arange(data.y.size), data.seen
    info = ShortlistInfo(
        n_candidates=None, n_rows=seen.n, n_head=seen.n, n_positive=seen.n_relevant, n_positive_head=seen.n_relevant,
        n_tied=0, n_duplicates=duplicates, n_conflicts=conflicts, n_features=int(features.size),
        constant_features=tuple(name for j, name in enumerate(data.feature_names) if j not in set(features.tolist())),
    )  # fmt: skip
    return Training(problem, Shortlist((rows,), (rows[:0],), -math.inf, None, 0), features, 1, 0, info, nothing)
