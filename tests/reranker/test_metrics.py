"""Scorers made of statistics, in scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from rerank import Reranker
from rerank.metrics import make_ranking_scorer
from rerank.ranks import evaluate
from tests.cases.drawn import drawn
from tests.cases.refuses import refuses


@pytest.mark.parametrize("est", [LogisticRegression(), GaussianNB(), LinearRegression()], ids=repr)
def test_the_scorer_is_the_statistic_of_the_scores(est) -> None:
    X, y = drawn(80, cut=0.5)
    est.fit(X, y)
    if hasattr(est, "decision_function"):
        scores = est.decision_function(X)
    else:
        scores = est.predict_proba(X)[:, 1] if hasattr(est, "predict_proba") else est.predict(X)
    for stat in ("dcg@10", "auc", "ap"):
        assert make_ranking_scorer(stat)(est, X, y) == evaluate(stat, y, scores)


def test_words_take_the_label_to_find() -> None:
    X, y = drawn(80, cut=0.5)
    words = np.where(y == 1, "bad", "good")  # the label to find sorts first
    est = LogisticRegression().fit(X, words)
    scorer = make_ranking_scorer("precision@10", pos_label="bad")
    assert scorer(est, X, words) == evaluate("precision@10", y, -est.decision_function(X))


def test_it_chooses_in_a_grid() -> None:
    X, y = drawn(80, cut=0.5)
    scorer = make_ranking_scorer("dcg@10")
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer, cv=2).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_it_scores_a_reranker_of_one_list_as_its_own_score_does() -> None:
    X, y = drawn(80, cut=0.5)
    est = Reranker("precision@10", solver="search", node_limit=20, time_limit=None, radius=0.1)
    assert (
        cross_val_score(est, X, y, cv=2, scoring=make_ranking_scorer("precision@10")).tolist()
        == cross_val_score(est, X, y, cv=2).tolist()
    )


def test_an_unknown_statistic_is_refused_at_once() -> None:
    refuses("did you mean 'dcg@10'", make_ranking_scorer, "dcg10")
