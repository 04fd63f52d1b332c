"""``qid`` within scikit-learn's tools: what metadata routing hands on reaches fit, score and scorer, fold by fold."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from rerank import Reranker, RerankerCV
from rerank.metrics import make_ranking_scorer
from rerank.ranks import evaluate
from tests.cases.refuses import refuses

N, LISTS = 96, 12
EPSILONS = [1e-4, 0.4]  # far enough apart to prefer different weights
FOLDS = GroupKFold(3)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    # Lists differ in level, so that an order across lists is not that within them.
    qid = rng.permutation(np.repeat(np.arange(LISTS), N // LISTS))
    X = rng.normal(size=(N, 3)) + rng.normal(size=(LISTS, 3))[qid]
    within = X - np.array([X[qid == q].mean(axis=0) for q in range(LISTS)])[qid]
    y = (within @ [1.0, 0.6, 0.0] + rng.normal(size=N) > 0.6).astype(int)
    return X, y, qid


def reranker(**options):
    return Reranker(
        "ndcg@3", first_stage="logistic", n_candidates=6, solver="search", node_limit=20, time_limit=None, **options
    )


def asking(est):
    return est.set_fit_request(qid=True).set_score_request(qid=True)


def judged(est, table, scoring=None):
    """Scores of held-out lists, with ``qid`` handed on to whoever asks."""
    X, y, qid = table
    own = {"params": {"qid": qid, "groups": qid}, "return_estimator": True, "error_score": "raise"}
    return cross_validate(est, X, y, cv=FOLDS, scoring=scoring, **own)


def by_hand(est, table, **options):
    """Mean score of the held-out lists, with ``qid`` given by name."""
    X, y, qid = table
    X = np.asarray(X)
    found = []
    for train, test in FOLDS.split(X, y, qid):
        fold = clone(est).set_params(**options).fit(X[train], y[train], qid=qid[train])
        found.append(fold.score(X[test], y[test], qid=qid[test]))
    return found


def test_cross_validate_hands_the_lists_to_fit_and_score(table):
    X, y, qid = table
    found = judged(asking(reranker()), table)
    assert found["test_score"].tolist() == by_hand(reranker(), table)
    assert [est.result_.n_lists for est in found["estimator"]] == [8, 8, 8]
    # Without lists the folds have other scores: the test would see a qid that is lost on the way.
    alone = [clone(reranker()).fit(X[a], y[a]).score(X[b], y[b]) for a, b in FOLDS.split(X, y, qid)]
    assert alone != found["test_score"].tolist()


def test_a_step_of_a_pipeline_gets_the_lists_in_a_grid(table):
    X, y, qid = table
    pipe = Pipeline([("scale", StandardScaler()), ("reranker", asking(reranker()))])
    search = GridSearchCV(pipe, {"reranker__epsilon": EPSILONS}, cv=FOLDS, error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    for column, epsilon in enumerate(EPSILONS):
        for fold, (train, test) in enumerate(FOLDS.split(X, y, qid)):
            scale = StandardScaler().fit(X[train])
            own = reranker(margin=epsilon).fit(scale.transform(X[train]), y[train], qid=qid[train])
            score = own.score(scale.transform(X[test]), y[test], qid=qid[test])
            assert search.cv_results_[f"split{fold}_test_score"][column] == score
    means = search.cv_results_["mean_test_score"]
    assert means[0] != means[1] and search.best_estimator_["reranker"].result_.n_lists == LISTS
    assert search.score(X, y, qid=qid) == search.best_estimator_.score(X, y, qid=qid)


def test_a_grid_over_the_reranker_within_a_choice_by_folds(table):
    """Names with two underscores; the choice within gets the lists too, and keeps them whole."""
    X, y, qid = table
    within = RerankerCV(reranker(), grid={"margin": [1e-4]}, cv=2)
    search = GridSearchCV(asking(within), {"reranker__epsilon": EPSILONS}, cv=FOLDS, error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    assert search.best_estimator_.result_.n_lists == LISTS
    plain = RerankerCV(reranker(margin=EPSILONS[0]), grid={"margin": [1e-4]}, cv=2)
    assert search.cv_results_["mean_test_score"][0] == np.mean(by_hand(plain, table))


@pytest.mark.parametrize("in_a_pipeline", [False, True])
def test_a_scorer_of_a_statistic_gets_the_lists_and_counts_within_them(table, in_a_pipeline):
    X, y, qid = table
    est = reranker().set_fit_request(qid=True)
    if in_a_pipeline:
        est = Pipeline([("scale", StandardScaler()), ("reranker", est)])
    scorer = make_ranking_scorer("precision@2").set_score_request(qid=True)
    found = judged(est, table, scorer)
    for own, score, (_, test) in zip(found["estimator"], found["test_score"], FOLDS.split(X, y, qid), strict=True):
        assert score == evaluate("precision@2", y[test], own.decision_function(X[test]), qid[test])
    both = judged(est, table, {"routed": scorer, "other": make_ranking_scorer("auc").set_score_request(qid=True)})
    assert both["test_routed"].tolist() == found["test_score"].tolist() != both["test_other"].tolist()
    refuses("8 lists", judged, est, table, make_ranking_scorer("precision@2").set_score_request(qid=False))


def test_lists_that_nobody_asked_for_are_an_error_and_not_dropped(table):
    with pytest.raises(UnsetMetadataPassedError, match="qid"):
        judged(reranker(), table)
