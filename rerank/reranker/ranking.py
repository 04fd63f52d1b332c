"""Scores and places of rows by a fitted reranker, and the statistic of the ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.arrays import check_qid
from rerank.io.labels import labels_of
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists, rows_by_list
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.columns import Rows, lists_of
from rerank.reranker.data import Weights, gains_and_weights, numbered
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


class GradedTags:
    """Tags for scikit-learn: the estimator learns from grades; its first stage sees columns with missing values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.sparse = False  # sparse tables need features=[...]
        return tags


class RankingMixin(GradedTags):
    """Ranking by a fitted state, for a class with the parameters ``stat`` and ``gain`` and the attribute ``state_``."""

    stat: Any
    gain: Any
    state_: FittedState

    def decision_function(self, X: ArrayLike, qid: ArrayLike | str | None = None) -> Floats:
        """Score of each row, larger is better.

        After a fit on one list, a row is in the head if its first-stage score reaches ``threshold_``, whatever the
        other rows are; :meth:`rank` and :meth:`score` use the same rule. After a fit on several lists, the head is the
        K best rows of each list, which needs ``qid``. Without ``qid`` the threshold is used, which is approximate.
        """
        rows = self._rows(X)
        if qid is None:
            return self.state_.row_scores(rows)
        return self.state_.list_scores(rows, _numbered(X, qid, rows.n))

    def predict(self, X: ArrayLike) -> Floats:
        """The same as :meth:`decision_function`."""
        return self.decision_function(X)

    def list_scores(self, X: ArrayLike, qid: ArrayLike | str | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only."""
        rows = self._rows(X)
        return self.state_.list_scores(rows, _numbered(X, qid, rows.n))

    def first_stage_scores(self, X: ArrayLike) -> Floats | None:
        """Scores of the first stage alone; None if there is none."""
        return self.state_.first(self._rows(X))

    def rank(self, X: ArrayLike, qid: ArrayLike | str | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top, by the scores of :meth:`list_scores`.

        Equal scores keep the order of the rows.
        """
        rows = self._rows(X)
        lists = _numbered(X, qid, rows.n)
        scores = self.state_.list_scores(rows, lists)
        places = np.empty(scores.size, dtype=np.intp)
        for _, own in rows_by_list(lists, scores.size):
            places[own[np.argsort(-scores[own], kind="stable")]] = np.arange(1, own.size + 1)
        return places

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> float:
        """The statistic ``stat`` of the ranking, equal scores against the relevant rows.

        Lists without a gain are skipped. ``ideal_gains`` as in ``fit``.
        """
        rows = self._rows(X)
        grades = labels_of(y, rows.n, self.state_.labels)
        names: tuple[Any, ...] = (0,)
        lists, weights = None, query_weight
        if qid is not None:
            names, lists = number_lists(check_qid(lists_of(X, qid), rows.n))
            _, weights = gains_and_weights(grades, self.gain, None, query_weight, names, lists)
        return evaluate(
            parse(self.stat),
            grades,
            self.state_.list_scores(rows, lists),
            lists,
            gain=self.gain,
            sample_weight=sample_weight,
            query_weight=weights,
            ideal_gains=numbered(ideal_gains, names),
        )

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self, "result_")
        rows = self.state_.columns.rows(X)
        validate_data(self, rows.given, reset=False, skip_check_array=True)
        return rows


def _numbered(X: Any, qid: ArrayLike | str | None, n: int) -> NDArray[np.intp] | None:
    """Number of each row's list."""
    return None if qid is None else number_lists(check_qid(lists_of(X, qid), n))[1]
