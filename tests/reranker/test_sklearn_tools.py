"""The estimators within scikit-learn's tools: folds, calibration, thresholds, inspection, pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    check_cv,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rerank import Reranker, RerankerCV
from rerank.errors import InputError
from rerank.scorers import MonotoneTransform
from tests.cases.refuses import refuses

N = 90
SMALL = Reranker("precision@10", solver="search", node_limit=20, time_limit=None, radius=0.1, cross_fit=3)
HEAD = Reranker("dcg@5", solver="search", node_limit=20, time_limit=None, n_candidates=25)


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), np.ones(n)])
    return X, (X @ [1.0, 0.5, 0.0] + 0.7 * rng.normal(size=n) > 0.8).astype(int)


def words(y):
    return np.where(y == 1, "sick", "healthy")


@pytest.mark.parametrize("est", [SMALL, RerankerCV(SMALL)], ids=["Reranker", "RerankerCV"])
def test_both_are_classifiers_so_that_a_number_of_folds_is_stratified(est):
    assert is_classifier(est)
    for y in ([0, 1] * 6, [0, 1, 2] * 4):
        assert isinstance(check_cv(3, y, classifier=is_classifier(est)), StratifiedKFold)


def test_rare_rows_are_spread_over_the_folds():
    """The relevant rows come first, so that plain folds learn from none in the first fold."""
    X, y = table(60)
    order = np.argsort(-y, kind="stable")
    X, y = X[order], y[order]
    scores = cross_val_score(HEAD, X, y, cv=3, error_score="raise")
    by_hand = [
        clone(HEAD).fit(X[train], y[train]).score(X[test], y[test]) for train, test in StratifiedKFold(3).split(X, y)
    ]
    assert scores.tolist() == by_hand and min(by_hand) > 0
    assert y[:20].sum() == y.sum()
    refuses("one class only", cross_val_score, HEAD, X, y, cv=KFold(3), error_score="raise")


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("est", [SMALL, HEAD], ids=["radius", "head"])
def test_probabilities_keep_the_order_and_belong_to_single_rows(method, est):
    X, y = table()
    fitted = clone(est).fit(X[::2], y[::2])
    sure = CalibratedClassifierCV(FrozenEstimator(fitted), method=method).fit(X[1::2], y[1::2])
    p = sure.predict_proba(X)[:, 1]
    order = np.argsort(fitted.decision_function(X))
    assert (np.diff(p[order]) >= 0).all() and p.max() - p.min() > 0.4
    best = order[-8:]  # rows of the head alone
    assert fitted.first_stage_scores(X[best]).min() >= fitted.threshold_
    np.testing.assert_array_equal(sure.predict_proba(X[best])[:, 1], p[best])


def test_calibration_of_a_data_frame_with_labels_in_words():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame, labels = pandas.DataFrame(X, columns=["age", "size", "one"]), pandas.Series(words(y))
    est = clone(SMALL).set_params(pos_label="sick")
    sure = CalibratedClassifierCV(est, cv=3).fit(frame, labels)
    assert sure.classes_.tolist() == ["healthy", "sick"]
    plain = CalibratedClassifierCV(SMALL, cv=3).fit(X, y)
    np.testing.assert_array_equal(sure.predict_proba(frame), plain.predict_proba(X))


def test_labels_and_scores_of_held_out_rows():
    X, y = table()
    labels, scores = np.empty(N, dtype=object), np.empty(N)
    est = clone(SMALL).set_params(pos_label="sick")
    for train, test in StratifiedKFold(3).split(X, y):
        fold = clone(est).fit(X[train], words(y)[train])
        labels[test], scores[test] = fold.predict(X[test]), fold.decision_function(X[test])
    assert set(labels) == {"sick", "healthy"}
    assert cross_val_predict(est, X, words(y), cv=3).tolist() == labels.tolist()
    np.testing.assert_array_equal(cross_val_predict(SMALL, X, y, cv=3, method="decision_function"), scores)
    with pytest.raises(InputError, match="pos_label is 'sick', and y holds the labels .*give y as 0 and 1"):
        cross_val_predict(est, X, words(y), cv=3, method="decision_function")


def test_scorers_of_scikit_learn_find_the_relevant_class():
    """With a ``pos_label`` that sorts first, too, where the scorer is told of it."""
    X, y = table()
    fitted = clone(SMALL).fit(X, y)
    asked = average_precision_score(y, fitted.decision_function(X))
    for here in ("sick", "a"):
        labels = np.where(y == 1, here, "healthy")
        est = clone(SMALL).set_params(pos_label=here).fit(X, labels)
        scorer = make_scorer(average_precision_score, response_method="decision_function", pos_label=here)
        assert est.classes_.tolist() == ["healthy", here] and scorer(est, X, labels) == asked
    assert cross_val_score(SMALL, X, y, cv=3, scoring="roc_auc").min() > 0.7


def test_partial_dependence_is_the_mean_score_with_a_column_replaced():
    X, y = table()
    est = clone(SMALL).fit(X, y)
    found = partial_dependence(est, X, [0], method="brute", grid_resolution=4)
    for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
        moved = X.copy()
        moved[:, 0] = value
        assert mean == pytest.approx(est.decision_function(moved).mean(), abs=1e-12)
    assert (np.diff(found["average"][0]) > 0).all()


def test_partial_dependence_of_grades_and_of_lists():
    X, y = table()
    grades = y * (1 + (X[:, 1] > 0))
    for qid in (None, np.repeat([0, 1, 2], N // 3)):
        est = clone(HEAD).fit(X, grades, qid)
        assert est.classes_.tolist() == [0, 1, 2]
        assert partial_dependence(est, X, [0], method="brute", grid_resolution=3)["average"].shape == (1, 3)


def test_a_constant_column_has_no_importance():
    X, y = table()
    est = clone(SMALL).fit(X, y)
    found = permutation_importance(est, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean[0] > 0 and (found.importances[2] == 0).all()


def test_a_search_over_radii_within_a_pipeline():
    X, y = table()
    pipe = make_pipeline(StandardScaler(), SMALL)
    search = GridSearchCV(pipe, {"reranker__radius": [0.0, 0.1]}, cv=3).fit(X, y)
    for radius, mean in zip((0.0, 0.1), search.cv_results_["mean_test_score"], strict=True):
        own = clone(pipe).set_params(reranker__radius=radius)
        assert mean == cross_val_score(own, X, y, cv=3).mean()
    assert set(search.predict(X)) == {0, 1} and is_classifier(search)


def test_a_threshold_tuned_by_folds():
    X, y = table()
    est = clone(SMALL).set_params(pos_label="sick")
    tuned = TunedThresholdClassifierCV(est, cv=3, scoring="balanced_accuracy").fit(X, words(y))
    above = tuned.estimator_.decision_function(X) >= tuned.best_threshold_
    assert tuned.predict(X).tolist() == words(above).tolist()
    assert np.mean(tuned.predict(X) == words(y)) > 0.7


def test_names_of_columns_pass_through_a_pipeline_and_a_selection():
    X, y = table()
    X = pd.DataFrame(X, columns=["strong", "weak", "constant"], index=np.arange(N) + 7)
    for kind in ("signed_log", "ranks", "quantile_bins"):
        step = MonotoneTransform(kind).set_output(transform="pandas").fit(X)
        out = step.transform(X)
        assert list(out.columns) == list(X.columns) == step.get_feature_names_out().tolist()
        assert out.index.equals(X.index)
        assert np.array_equal(out, MonotoneTransform(kind).fit_transform(X.to_numpy()))
    pipe = make_pipeline(MonotoneTransform(), clone(SMALL)).set_output(transform="pandas").fit(X, y)
    assert pipe[-1].feature_names_in_.tolist() == list(X.columns) and set(pipe[-1].features_) <= set(X.columns)
    chosen = SelectFromModel(clone(HEAD), threshold=1e-9).fit(X, y)  # by the sizes of coef_
    assert chosen.get_feature_names_out().tolist() == chosen.estimator_.features_.tolist()
    assert "constant" not in chosen.get_feature_names_out()
