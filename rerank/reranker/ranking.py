"""Scores and places of rows by a fitted reranker, and the statistic of the ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.arrays import check_qid, held
from rerank.io.frames import expect_columns, is_frame, without
from rerank.io.labels import labels_of
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists, places_by_list
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.columns import Rows, lists_of
from rerank.reranker.data import Given, Weights, gains_and_weights, numbered
from rerank.reranker.learners import names_optional
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


class GradedTags:
    """Tags for scikit-learn: a classifier, whose classes may be grades."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = False  # sparse tables need features=[...]
        return tags


class RankingMixin(GradedTags):
    """Ranking by a fitted state, for a class with the parameters ``stat`` and ``gain`` and the attribute ``state_``."""

    stat: Any
    gain: Any
    state_: FittedState

    def decision_function(self, X: Any, qid: ArrayLike | str | None = None) -> Floats:
        """Score of each row, larger is better; with a radius over whole lists in the unit of the first stage's score.

        After a fit on one list, a row is in the head if its first-stage score reaches ``threshold_``, whatever the
        other rows are; :meth:`rank` and :meth:`score` use the same rule. After a fit on several lists, the head is the
        K best rows of each list, which needs ``qid``. Without ``qid`` the threshold is used, which is approximate.
        """
        X = held(X)
        rows = self._rows(X, qid)
        if qid is None:
            return self.state_.single_scores(rows)
        return self.state_.list_scores(rows, numbered_lists(X, qid, rows.n))

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row: one of ``classes_``, by cuts on the score.

        A row is relevant from the score on that as many training rows reach as were relevant, out-of-fold where the
        first stage's scores are. With grades there is such a cut for each of them.

        Raises
        ------
        NotSupportedError
            After a fit on several lists, whose scores are compared within a list only; and for labels that are no whole
            numbers.
        """
        rows = self._rows(X)
        return self.state_.labels_of(rows)

    def list_scores(self, X: Any, qid: ArrayLike | str | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only."""
        X = held(X)
        rows = self._rows(X, qid)
        return self.state_.list_scores(rows, numbered_lists(X, qid, rows.n))

    def first_stage_scores(self, X: Any) -> Floats | None:
        """Scores of the first stage alone; None if there is none."""
        return self.state_.first(self._rows(X))

    def rank(self, X: Any, qid: ArrayLike | str | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top, by the scores of :meth:`list_scores`.

        Equal scores keep the order of the rows.
        """
        X = held(X)
        rows = self._rows(X, qid)
        lists = numbered_lists(X, qid, rows.n)
        return places_by_list(self.state_.list_scores(rows, lists), lists)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> float:
        """The statistic ``stat`` of the ranking, equal scores against the relevant rows.

        Lists without a gain are skipped. Weights and ``ideal_gains`` as in ``fit``: a row or a list of weight 0 is not
        there.
        """
        X = held(X)
        rows = self._rows(X, qid)
        given = Given.of(rows.given, y, lists_of(X, qid), sample_weight, query_weight)
        rows = rows if given.there.mask is None else Rows(given.X, rows.columns)
        with given.counted():
            grades = labels_of(given.y, rows.n, self.state_.labels)
            names: tuple[Any, ...] = (0,)
            lists, weights = None, given.query_weight
            if qid is not None:
                names, lists = number_lists(check_qid(given.qid, rows.n))
                _, weights = gains_and_weights(grades, self.gain, None, weights, names, lists)
            return evaluate(
                parse(self.stat),
                grades,
                self.state_.list_scores(rows, lists),
                lists,
                gain=self.gain,
                sample_weight=given.sample_weight,
                query_weight=weights,
                ideal_gains=numbered(ideal_gains, names),
            )

    def _rows(self, X: Any, qid: Any = None) -> Rows:
        check_is_fitted(self, "result_")
        columns, X = self.state_.columns, held(X)
        rows = columns.rows(without(X, qid) if isinstance(qid, str) and qid not in columns.inputs else X)
        if columns.frame and is_frame(rows.given):
            expect_columns(rows.given, columns.inputs)
        with names_optional():
            validate_data(self, rows.given, reset=False, skip_check_array=True)
        return rows


def numbered_lists(X: Any, qid: ArrayLike | str | None, n: int) -> NDArray[np.intp] | None:
    """Number of each row's list."""
    return None if qid is None else number_lists(check_qid(lists_of(X, qid), n))[1]
