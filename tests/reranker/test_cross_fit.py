"""Out-of-fold scores: no row is scored by a model that has seen it, in a fit and in cross-validation."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from rerank import Reranker, RerankerCV
from rerank.reranker.columns import columns_of
from rerank.reranker.cross_fit import on_one_scale
from rerank.reranker.data import Arguments, checked
from rerank.reranker.first_stage import FirstStage, fit_first_stage
from rerank.reranker.selection.folds import splits_of
from rerank.reranker.selection.held_out import Fold, part_of, priors
from rerank.reranker.task import task_of

SEEN: list[np.ndarray] = []


class Memory(RegressorMixin, BaseEstimator):
    """Scores 1 for a row it was fitted on and 0 for any other; the first column is the row's number."""

    def fit(self, X, y):
        self.rows_ = np.sort(X[:, 0])
        SEEN.append(self.rows_)
        return self

    def predict(self, X):
        return np.isin(X[:, 0], self.rows_).astype(float)


class Spread(Memory):
    """A model whose scores have another centre in every fold."""

    def predict(self, X):
        return 7 + 3 * X[:, 1] + 0.01 * (self.rows_.sum() % 5)


def numbered(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n), rng.normal(size=(n, 2))])
    return X, (X[:, 1] + rng.normal(size=n) > 0.7).astype(int)


def test_scores_of_training_rows_come_from_models_that_have_not_seen_them():
    X, y = numbered()
    est = Reranker("auc", first_stage=Memory(), radius=0.1, features=[1, 2], solver="search", time_limit=2).fit(X, y)
    assert est.result_.folds == 5 and not est.state_.prior_scores.any()
    assert np.all(est.first_stage_.predict(X) == 1)
    alone = Reranker("auc", first_stage=Memory(), radius=0.1, features=[1, 2], cross_fit=False, solver="search")
    assert alone.fit(X, y).result_.folds == 0


def test_a_head_is_not_cut_by_scores_that_know_the_answers():
    """A nearest neighbour orders its own rows ideally, which a cross-fitted head does not believe."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.r_[np.ones(40), np.zeros(160)]
    nearest = KNeighborsClassifier(1)
    known = Reranker("precision@20", first_stage=nearest, cross_fit=False, solver="search", time_limit=2).fit(X, y)
    assert known.result_.status == "already_ideal"
    found = Reranker("precision@20", first_stage=nearest, solver="search", time_limit=2).fit(X, y)
    assert found.result_.first_stage_statistic < 12 and found.result_.folds == 5


def test_a_first_stage_that_is_ready_is_taken_at_its_word_and_that_is_said():
    X, y = numbered()
    ready = FrozenEstimator(KNeighborsClassifier(3).fit(X, y))
    est = Reranker("auc", first_stage=ready, radius=0.1, solver="search", time_limit=2).fit(X, y)
    assert est.result_.folds == 0 and any("at its word" in note for note in est.result_.notes)


def test_folds_are_no_more_than_relevant_rows_and_lists_stay_whole():
    X, y = numbered()
    few = np.zeros(60, dtype=int)
    few[:3] = 1
    est = Reranker("auc", first_stage=Memory(), radius=0.1, features=[1], solver="search", time_limit=1)
    assert est.fit(X, few).result_.folds == 3
    few[1:] = 0
    assert est.fit(X, few).result_.folds == 0
    qid = np.repeat(np.arange(12), 5)
    SEEN.clear()
    est.fit(X, y, qid)
    for rows in SEEN[1:]:
        assert all(np.isin(X[qid == q, 0], rows).all() or not np.isin(X[qid == q, 0], rows).any() for q in range(12))


def test_scores_that_are_no_log_odds_are_put_on_one_scale():
    X, y = numbered()
    with pytest.warns(UserWarning, match="times as far"):
        on_one_scale(np.r_[np.arange(5.0), 10 * np.arange(5.0)], np.repeat([0, 1], 5), FirstStage("f", None, None))
    est = Reranker("auc", first_stage=Spread(), radius=0.1, features=[1, 2], solver="search", time_limit=2).fit(X, y)
    prior = est.state_.prior_scores
    assert abs(prior.mean()) < 1e-12 and prior.std() == pytest.approx(1.0)
    new = est.first_stage_scores(X)
    assert abs(new.mean()) < 0.1 and 0.8 < new.std() < 1.2
    assert np.corrcoef(new, X[:, 1])[0, 1] > 1 - 1e-9


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_candidate_learns_from_scores_of_models_that_saw_its_fold_or_the_row(k):
    X, y = numbered()
    rows = columns_of(X, features=[1, 2])
    data = checked(rows, Arguments(X, y), "exponential")
    options = Reranker("auc", first_stage=Memory(), radius=0.1, cross_fit=k > 2)
    splits = splits_of(data.X, y > 0, None, k, 2, 0)
    parts = [part_of(data, split.train, "exponential", "a fold") for split in splits]
    folds = [Fold(part, data.some(split.test), "a fold") for part, split in zip(parts, splits)]
    SEEN.clear()
    calls = []

    def call(jobs):
        calls.append(len(jobs))
        return [function(*given) for function, given in jobs]

    found = priors(data, task_of(options, 2), splits, folds, call)
    for prior in found:
        assert not prior.held.any()
        assert prior.staged.scores.any() == (k == 2)  # with two folds no row is left for a model without both
    assert sum(calls) == 2 * k + (2 * k * (k - 1) // 2 if k > 2 else 0)
    assert sum(any(np.array_equal(rows_seen, split.train) for split in splits) for rows_seen in SEEN) == 2 * k


class Proba(ClassifierMixin, Memory):
    """A classifier that knows probabilities only."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 1]))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize(
    "learner, comparable",
    [
        (LogisticRegression(), True),
        (LinearDiscriminantAnalysis(), True),
        (RandomForestClassifier(9), True),
        (GradientBoostingClassifier(n_estimators=5), True),
        (LinearSVC(), False),
        (Ridge(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scores_are_log_odds_where_they_agree_with_the_probabilities(learner, comparable):
    X, y = numbered()
    stage, _ = fit_first_stage(learner, columns_of(X), y.astype(float))
    assert stage.log_odds is comparable


def test_average_precision_of_one_list_is_judged_by_itself():
    X, y = numbered()
    base = Reranker("ap", solver="search", time_limit=0.5)
    found = RerankerCV(base, grid={"radius": [0.1]}, cv=2).fit(X, y)
    assert np.isfinite(found.cv_results_["lead"]).all()


def test_probabilities_become_log_odds():
    X, y = numbered()
    est = Reranker("auc", first_stage=Proba(), radius=0.1, features=[1, 2], solver="search", time_limit=2).fit(X, y)
    np.testing.assert_allclose(est.first_stage_scores(X), X[:, 1], rtol=1e-9)
    sure = np.array([[0.0, 800.0, 0.0], [0.0, -800.0, 0.0]])
    with np.errstate(over="ignore"):
        assert np.isfinite(est.first_stage_scores(sure)).all()


@pytest.mark.parametrize(
    ("name", "share"), [("logistic", 0.03), ("logistic", 0.9), ("logistic+squares", 0.03), ("trees", 0.03)]
)
def test_short_of_time_a_first_stage_learns_from_a_sample_that_weights_make_up_for(name, share):
    """The order is nearly that of all rows, also where the sample holds other shares of the classes than the table."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24_000, 2))
    chance = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))
    y = (chance > np.quantile(chance, 1 - share)).astype(float)

    def fitted(limit):
        return Reranker("auc", first_stage=name, cross_fit=False, solver="none", time_limit=limit).fit(X, y)

    whole, short, again = fitted(None), fitted(0.01), fitted(0.01)
    told = [note for est in (whole, short) for note in est.result_.notes if "a sample of 10,000 of the 24,000" in note]
    assert len(told) == 1 and f"with {min(5000 if share < 0.5 else 7600, int(y.sum())):,} of the" in told[0]
    first, second, third = (est.first_stage_scores(X) for est in (whole, short, again))
    assert np.array_equal(second, third)
    assert roc_auc_score(y, second) > roc_auc_score(y, first) - 0.01
    if name != "trees":  # log-odds of the table, not of the sample
        assert abs(second.mean() - first.mean()) < 0.3
