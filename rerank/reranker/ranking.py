"""Scores and places of rows by a fitted reranker, and the statistic of the ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.arrays import check_matrix, check_qid
from rerank.io.labels import labels_of
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists, rows_by_list
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.data import Weights, gains_and_weights, numbered
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


class GradedTags:
    """Tags for scikit-learn: the estimator learns from grades and takes no sparse rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags


class RankingMixin(GradedTags):
    """Ranking by a fitted state, for a class with the parameters ``stat`` and ``gain`` and the attribute ``state_``."""

    stat: Any
    gain: Any
    state_: FittedState

    def decision_function(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Score of each row, larger is better.

        After a fit on one list, a row is in the head if its first-stage score reaches ``threshold_``, whatever the
        other rows are; :meth:`rank` and :meth:`score` use the same rule. After a fit on several lists, the head is the
        K best rows of each list, which needs ``qid``. Without ``qid`` the threshold is used, which is approximate.
        """
        table = self._table(X)
        if qid is None:
            return self.state_.row_scores(table)
        return self.state_.list_scores(table, _numbered(qid, table.shape[0]))

    def predict(self, X: ArrayLike) -> Floats:
        """The same as :meth:`decision_function`."""
        return self.decision_function(X)

    def list_scores(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only."""
        table = self._table(X)
        return self.state_.list_scores(table, _numbered(qid, table.shape[0]))

    def first_stage_scores(self, X: ArrayLike) -> Floats | None:
        """Scores of the first stage alone; None if there is none."""
        table = self._table(X)
        stage = self.state_.first_stage
        return None if stage is None else stage.scores(table)

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top, by the scores of :meth:`list_scores`.

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
        ideal_gains: IdealGains = None,
    ) -> float:
        """The statistic ``stat`` of the ranking, equal scores against the relevant rows.

        Lists without a gain are skipped. ``ideal_gains`` as in ``fit``.
        """
        table = self._table(X)
        grades = labels_of(y, table.shape[0], self.state_.labels)
        names: tuple[Any, ...] = (0,)
        lists, weights = None, query_weight
        if qid is not None:
            names, lists = number_lists(check_qid(qid, table.shape[0]))
            _, weights = gains_and_weights(grades, self.gain, None, query_weight, names, lists)
        return evaluate(
            parse(self.stat),
            grades,
            self.state_.list_scores(table, lists),
            lists,
            gain=self.gain,
            sample_weight=sample_weight,
            query_weight=weights,
            ideal_gains=numbered(ideal_gains, names),
        )

    def _table(self, X: Any) -> Floats:
        check_is_fitted(self, "result_")
        table = check_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table


def _numbered(qid: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
    """Number of each row's list."""
    return None if qid is None else number_lists(check_qid(qid, n))[1]
