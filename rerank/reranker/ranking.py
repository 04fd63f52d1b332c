"""What a fitted reranker does with rows: scores, places, and the statistic of the list they make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.arrays import check_labels, check_matrix, check_qid
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists, rows_by_list
from rerank.reranker.state import FittedState
from rerank.reranker.training import Weights, worth
from rerank.statistics import parse

Floats = NDArray[np.float64]


class GradedTags:
    """What scikit-learn is told of an estimator that learns from grades and takes no sparse rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = False
        return tags


class RankingMixin(GradedTags):
    """Ranking by a fitted state, for a class with the parameters ``stat`` and ``gain`` and the attribute ``state_``."""

    stat: Any
    gain: Any
    state_: FittedState

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row by itself, larger is better: the fitted threshold decides head or tail."""
        table = self._table(X)
        return self.state_.row_scores(table)

    def predict(self, X: ArrayLike) -> Floats:
        """The same as :meth:`decision_function`."""
        return self.decision_function(X)

    def list_scores(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only."""
        table = self._table(X)
        return self.state_.list_scores(table, _numbered(qid, table.shape[0]))

    def first_stage_scores(self, X: ArrayLike) -> Floats | None:
        """Scores of the first stage alone; None where there is none."""
        table = self._table(X)
        stage = self.state_.first_stage
        return None if stage is None else stage.scores(table)

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top; the K best of each list by the first stage are reranked.

        Equal scores keep the order of the rows.
        """
        table = self._table(X)
        lists = _numbered(qid, table.shape[0])
        scores = self.state_.list_scores(table, lists)
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
            _, weights = worth(labels, self.gain, None, query_weight, names, lists)
        return evaluate(
            parse(self.stat),
            labels,
            self.state_.list_scores(table, lists),
            lists,
            gain=self.gain,
            sample_weight=sample_weight,
            query_weight=weights,
        )

    def _table(self, X: Any) -> Floats:
        check_is_fitted(self, "result_")
        table = check_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table


def _numbered(qid: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
    """Number of each row's list."""
    return None if qid is None else number_lists(check_qid(qid, n))[1]
