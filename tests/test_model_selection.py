"""RerankerCV: the held-out scores are those of plain fits, and the safeguard does what it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rerank
from rerank import Reranker, RerankerCV, fitting
from rerank.errors import InputError
from rerank.folds import splits_of
from rerank.ranks import evaluate
from tests.test_reranker_estimator import EXPECTED

FAST = Reranker("auc", solver="search", time_limit=5, n_candidates=8)
SMALL = {"epsilon": [1e-3, 0.1]}


def noise(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.tile([0, 1], n // 2)


def outliers(n_lists=12, seed=0):
    """Lists whose best rows stand out by x0; a few far rows turn logistic regression against it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * 15, 2))
    qid = np.repeat(np.arange(n_lists), 15)
    y = np.zeros(len(X), dtype=int)
    for q in range(n_lists):
        rows = np.flatnonzero(qid == q)
        y[rows[np.argsort(-X[rows, 0])[:4]]] = 1
        X[rows[y[rows] == 0][0]] = [60.0, 0.0]
        X[rows[y[rows] == 0][1:3], 0] += 0.5
    return X, y, qid


@parametrize_with_checks(
    [RerankerCV(Reranker("auc", solver="search", time_limit=0.05), grid=SMALL, cv=2)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "stage",
    [LogisticRegression(), "logistic", make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["linear", "by name", "pipeline"],
)
def test_held_out_scores_are_those_of_plain_fits(stage):
    X, y, qid = outliers()
    base = clone(FAST).set_params(first_stage=stage)
    found = RerankerCV(base, grid=SMALL, cv=GroupKFold(3)).fit(X, y, qid).cv_results_
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
        plain = make_pipeline(StandardScaler(), LogisticRegression()) if stage == "logistic" else clone(stage)
        plain.fit(X[train], y[train])
        alone = plain.decision_function(X[test])
        expected = evaluate("auc", y[test], alone, qid[test])
        assert found["first_stage"][fold] == pytest.approx(expected, abs=1e-12)
        for number, params in enumerate(found["params"]):
            est = clone(base).set_params(**params).fit(X[train], y[train], qid=qid[train])
            expected = evaluate("auc", y[test], est.list_scores(X[test], qid[test]), qid[test])
            assert found["scores"][number, fold] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(found["mean_score"], found["scores"].mean(axis=1))
    np.testing.assert_allclose(found["mean_lead"], (found["scores"] - found["first_stage"]).mean(axis=1))


@pytest.mark.parametrize("stage", [LogisticRegression(), "logistic"], ids=["linear", "by name"])
def test_the_search_starts_in_a_fold_where_it_starts_in_a_plain_fit(stage, monkeypatch):
    X, y, qid = outliers()
    real, starts = fitting.solve, []

    def solve(problem, plan, clock, start):
        starts.append(start)
        return real(problem, plan, clock, start)

    monkeypatch.setattr(fitting, "solve", solve)
    base = clone(FAST).set_params(first_stage=stage)
    RerankerCV(base, grid={"epsilon": [0.1]}, cv=GroupKFold(3)).fit(X, y, qid)
    in_folds = starts[:3]  # the fourth is the fit on all rows
    starts.clear()
    for train, _ in GroupKFold(3).split(X, y, qid):
        clone(base).set_params(epsilon=0.1).fit(X[train], y[train], qid=qid[train])
    assert len(in_folds) == len(starts) == 3
    for found, expected in zip(in_folds, starts):
        np.testing.assert_array_equal(found, expected)


@given(st.integers(2, 5), st.integers(0, 5), st.booleans())
@settings(max_examples=25, deadline=None)
def test_folds_hold_out_every_row_once_and_no_list_is_cut(folds, seed, with_lists):
    X, y = noise(seed=seed)
    lists = np.arange(60) // 6 if with_lists else None
    splits = splits_of(X, y, lists, folds, 2, seed)
    assert np.bincount(np.concatenate([s.test for s in splits])).tolist() == [2] * 60
    for s in splits:
        assert sorted([*s.train, *s.test]) == list(range(60))
        if lists is not None:
            assert not set(lists[s.train]) & set(lists[s.test])


def test_reranking_is_kept_where_held_out_lists_speak_for_it():
    X, y, qid = outliers()
    est = RerankerCV(FAST, grid=SMALL, cv=3).fit(X, y, qid)
    assert not est.first_stage_kept_ and est.best_estimator_.reranks_
    fresh_X, fresh_y, fresh_qid = outliers(seed=1)
    alone = evaluate("auc", fresh_y, est.best_estimator_._stage.scores(fresh_X), fresh_qid)
    assert est.score(fresh_X, fresh_y, fresh_qid) > alone


def test_noise_keeps_the_first_stage_and_the_safeguard_can_be_waived(tmp_path):
    X, y = noise()
    est = RerankerCV(FAST, grid=SMALL, safeguard=100.0).fit(X, y)
    assert est.first_stage_kept_ and est.result_.status == "first_stage_kept"
    assert "Held-out" in est.result_.message
    np.testing.assert_array_equal(
        est.rank(X), np.argsort(np.argsort(-est.best_estimator_._stage.scores(X))) + 1
    )
    assert est.score(X, y) == pytest.approx(est.result_.statistic)
    est.save(tmp_path / "model.json")
    np.testing.assert_array_equal(rerank.load(tmp_path / "model.json").rank(X), est.rank(X))
    bold = RerankerCV(FAST, grid=SMALL, safeguard=-np.inf).fit(X, y)
    assert not bold.first_stage_kept_
    assert bold.best_score_ == pytest.approx(bold.cv_results_["mean_score"].max())


def test_without_a_first_stage_there_is_nothing_to_keep():
    X, y = noise(30)
    est = RerankerCV(clone(FAST).set_params(first_stage=None), grid=SMALL, cv=3).fit(X, y)
    assert not est.first_stage_kept_ and np.isnan(est.cv_results_["mean_lead"]).all()


def test_one_fold_of_a_splitter_decides_only_without_a_safeguard():
    X, y = noise()
    once = ShuffleSplit(1, random_state=0)
    assert RerankerCV(FAST, grid=SMALL, cv=once).fit(X, y).first_stage_kept_
    lead = RerankerCV(FAST, grid=SMALL, cv=once, safeguard=0.0).fit(X, y)
    best = np.argmax(lead.cv_results_["mean_score"])
    assert lead.first_stage_kept_ == (lead.cv_results_["mean_lead"][best] <= 0)


def test_interrupted_it_chooses_by_the_folds_that_are_complete(monkeypatch):
    X, y = noise()
    real, fits = Reranker.fit, []

    def fit(self, *args, **options):
        fits.append(1)
        if len(fits) == 5:  # three fits a fold: the second fold is under way
            raise KeyboardInterrupt
        return real(self, *args, **options)

    monkeypatch.setattr(Reranker, "fit", fit)
    est = RerankerCV(FAST, grid=SMALL, cv=3).fit(X, y)
    assert est.cv_results_["first_stage"].shape == (1,)


def test_two_fits_agree_and_tell_their_folds(capsys):
    X, y = noise()
    one, two = (RerankerCV(FAST, grid=SMALL, cv=2, verbose=1).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.cv_results_["scores"], two.cv_results_["scores"])
    assert capsys.readouterr().err.count("fold 1 of 2") == 2


@pytest.mark.parametrize(
    "change, message",
    [
        ({"grid": {"margin": [1]}}, "grid varies 'margin'"),
        ({"grid": {"stat": ["auc"]}}, "fix it"),
        ({"grid": 3}, "grid cannot be read"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 40}, "relevant rows"),
        ({"n_repeats": 0}, "n_repeats is 0"),
        ({"safeguard": float("nan")}, "safeguard is NaN"),
    ],
)
def test_what_cannot_be_used_is_refused(change, message):
    X, y = noise()
    with pytest.raises(InputError, match=message):
        RerankerCV(FAST, **{"grid": SMALL, **change}).fit(X, y)


def test_too_few_lists_are_refused():
    X, y = noise()
    with pytest.raises(InputError, match="lists with a relevant row"):
        RerankerCV(FAST, cv=5).fit(X, y, np.arange(60) // 20)
