"""What a fitted reranker does with rows: scores, places, and the statistic of the list they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.arrays import check_labels, check_matrix, check_qid
from rerank.ranks import evaluate
from rerank.ranks.lists import rows_by_list
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.fit import head_scores
from rerank.reranker.shortlist import list_heads, number_lists, stack
from rerank.reranker.training import worth
from rerank.statistics import parse

Floats = NDArray[np.float64]
Weights = Mapping[Any, float] | ArrayLike | None


class GradedTags:
    """What scikit-learn is told of an estimator that learns from grades and takes no sparse rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = False
        return tags


class RankingMixin(GradedTags):
    """Ranking by a fitted first stage and reranking weights.

    A host holds the parameters ``stat``, ``n_candidates`` and ``gain``, and after its fit ``threshold_``, ``reranks_``,
    the first stage, the columns used, their scaling and their weights.
    """

    stat: Any
    n_candidates: int | None
    gain: Any
    threshold_: float
    reranks_: bool
    _stage: FirstStage | None
    _columns: NDArray[np.intp]
    _low: Floats
    _high: Floats
    _weights: Floats

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row by itself, larger is better: the fitted threshold decides head or tail."""
        table = self._table(X)
        if self._stage is None:
            return self._head(table)
        first = self._stage.scores(table)
        if not self.reranks_:
            return first
        return stack(first, self._head(table), first >= self.threshold_, self.threshold_, self._weights.size)

    def predict(self, X: ArrayLike) -> Floats:
        """The same as :meth:`decision_function`."""
        return self.decision_function(X)

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top; the K best of each list by the first stage are reranked.

        Equal scores keep the order of the rows.
        """
        table = self._table(X)
        lists = None if qid is None else number_lists(check_qid(qid, table.shape[0]))[1]
        scores = self._in_lists(table, lists)
        places = np.empty(scores.size, dtype=np.intp)
        for _, rows in rows_by_list(lists, scores.size):
            places[rows[np.argsort(-scores[rows], kind="stable")]] = np.arange(1, rows.size + 1)
        return places

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
    ) -> float:
        """The statistic ``stat`` of the ranking, equal scores against the relevant rows; lists without a
        gain are skipped.
        """
        table = self._table(X)
        labels = check_labels(y, table.shape[0], one_class=True)
        lists, weights = None, query_weight
        if qid is not None:
            names, lists = number_lists(check_qid(qid, table.shape[0]))
            _, weights = worth(labels, self.gain, None, query_weight, names, lists)  # type: ignore[arg-type]
        return evaluate(
            parse(self.stat),
            labels,
            self._in_lists(table, lists),
            lists,
            gain=self.gain,  # type: ignore[arg-type]
            sample_weight=sample_weight,
            query_weight=weights,
        )

    def list_scores(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only."""
        table = self._table(X)
        return self._in_lists(table, None if qid is None else number_lists(check_qid(qid, table.shape[0]))[1])

    def _in_lists(self, table: Floats, lists: NDArray[np.intp] | None) -> Floats:
        if self._stage is None:
            return self._head(table)
        first = self._stage.scores(table)
        if not self.reranks_:
            return first
        is_head, _ = list_heads(first, lists, self.n_candidates)
        tail = first[~is_head]
        return stack(
            first,
            self._head(table),
            is_head,
            float(tail.max()) if tail.size else -math.inf,
            self._weights.size,
        )

    def _head(self, table: Floats) -> Floats:
        return head_scores(table[:, self._columns], self._low, self._high, self._weights)

    def _table(self, X: Any) -> Floats:
        check_is_fitted(self, "result_")
        table = check_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table
