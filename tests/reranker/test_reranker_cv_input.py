"""RerankerCV: weights, frames, grades, other programs, and what cannot be used."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ShuffleSplit

import rerank
from rerank import Reranker, RerankerCV
from rerank.ranks import evaluate
from rerank.reranker.selection.options import SIMPLE
from tests.cases.refuses import refuses
from tests.reranker.test_reranker_cv import FAST, SMALL, noise, outliers

# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stat", ["auc", "ndcg@5"])
def test_weights_count_in_judging_as_they_do_in_learning(stat):
    X, y, qid = outliers()
    rng = np.random.default_rng(1)
    rows, by_list = rng.integers(0, 4, y.size) * 1.0, {q: float(q % 3) for q in range(2, 12)}
    heavy = np.array([by_list.get(q, 1.0) for q in qid])
    base = clone(FAST).set_params(stat=stat)
    est = RerankerCV(base, grid={"margin": [0.1]}, cv=GroupKFold(3), safeguard=-np.inf)
    est.fit(X, y, qid, sample_weight=rows, query_weight=by_list)
    there = np.flatnonzero((rows > 0) & (heavy > 0))
    pairs = GroupKFold(3).split(X[there], y[there], qid[there])
    splits = [(there[train], there[test]) for train, test in pairs]
    dealt = np.empty(y.size, dtype=int)
    for fold, (_, test) in enumerate(splits):
        dealt[test] = fold
    own_values, alones = [], []
    for train, test in splits:
        one = clone(base).set_params(margin=0.1)
        own = {"sample_weight": rows[train], "query_weight": heavy[train], "groups": dealt[train]}
        one.fit(X[train], y[train], qid[train], **own)
        weights = {"sample_weight": rows[test], "query_weight": heavy[test]}
        expected = evaluate(stat, y[test], one.list_scores(X[test], qid[test]), qid[test], **weights)
        own_values.append(expected)
        expected = evaluate(stat, y[test], one.first_stage_scores(X[test]), qid[test], **weights)
        alones.append(expected)
    assert est.cv_results_["value"] == [pytest.approx(np.mean(own_values), abs=1e-12)]
    assert est.cv_results_["first_stage"] == [pytest.approx(np.mean(alones), abs=1e-12)]
    whole = est.score(X, y, qid, sample_weight=rows, query_weight=by_list)
    assert whole == pytest.approx(est.result_.statistic, abs=1e-12)
    assert whole != pytest.approx(est.score(X, y, qid), abs=1e-3)


def test_rows_without_weight_are_not_what_folds_are_dealt_by():
    X, y = noise()
    weights = np.ones(60)
    weights[np.flatnonzero(y)[2:]] = 0.0
    for random_state in range(4):
        est = RerankerCV(FAST, grid={}, cv=2, n_repeats=1, random_state=random_state).fit(X, y, sample_weight=weights)
        assert est.result_.evidence.folds == 2 and np.isfinite(est.cv_results_["first_stage"]).all()
    refuses("2 relevant rows that count", RerankerCV(FAST, grid={}, cv=3).fit, X, y, sample_weight=weights)


# -- what cannot be used ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, message",
    [
        ({"reranker": object()}, "None or a Reranker"),
        ({"grid": {"margin": [0.1, -1.0]}}, r"^margin is -1"),
        ({"cv": 1}, "at least 2 folds"),
        ({"safeguard": None}, "safeguard is None"),
        ({"cv": ShuffleSplit(2), "n_repeats": 2}, "n_repeats is 2"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_fitted(change, message, monkeypatch):
    X, y = noise()
    monkeypatch.setattr(Reranker, "fit", lambda *a, **k: pytest.fail("a fit was begun"))
    refuses(message, RerankerCV(**{"reranker": FAST, "grid": SMALL, **change}).fit, X, y)


def test_a_fold_that_cannot_be_used_is_named():
    X, y = noise()
    early, late = np.arange(30), np.arange(30, 60)
    one_class = [(late, early), (np.arange(0, 18, 2), late)]
    refuses("training rows of fold 2 of 2: y holds one class only", RerankerCV(FAST, grid={}, cv=one_class).fit, X, y)
    no_pair = [(late, early), (early, np.arange(31, 60, 2))]
    refuses("rows held out in fold 2 of 2: .*a pair for AUC", RerankerCV(FAST, grid={}, cv=no_pair).fit, X, y)


def test_coefficients_for_one_length_need_whole_lists():
    X, y, qid = outliers()
    lists = RerankerCV(clone(FAST).set_params(stat=np.arange(15.0)), grid={}, cv=3).fit(X, y, qid)
    by_rule = RerankerCV(clone(FAST).set_params(stat=lambda rank, n: rank - 1), grid={}, cv=3).fit(X, y, qid)
    assert lists.cv_results_ == by_rule.cv_results_


# -- frames, grades, other programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_what_their_columns_are(library, tmp_path):
    frames = pytest.importorskip(library)
    X, y, qid = outliers()
    columns = frames.DataFrame({"age": X[:, 0], "size": X[:, 1]})
    labels, weights = frames.Series(y), frames.Series(np.arange(y.size) % 3 + 1.0)
    names = frames.Series([f"q{q}" for q in qid])
    options = {"grid": SMALL, "cv": 3, "safeguard": -np.inf}
    est = RerankerCV(FAST, **options).fit(columns, labels, names, weights, {"q1": 2.0})
    plain = RerankerCV(FAST, **options).fit(X, y, qid, weights.to_numpy(), {1: 2.0})
    assert est.cv_results_ == plain.cv_results_
    np.testing.assert_array_equal(est.rank(columns, names), plain.rank(X, qid))
    assert est.score(columns, labels, names, weights) == plain.score(X, y, qid, weights.to_numpy())
    assert est.feature_names_in_.tolist() == ["age", "size"] and est.features_[-1] == "size"
    est.save(tmp_path / "model.json")
    read = rerank.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.rank(columns, names), est.rank(columns, names))
    assert not hasattr(est.fit(X, y, qid), "feature_names_in_") and est.n_features_in_ == 2


def squared(rank, length):
    return (rank / length) ** 2


@pytest.mark.parametrize(
    ("stat", "gain", "with_lists"),
    [("ndcg@5", "exponential", True), ("auc", "linear", False), (squared, "linear", False), (squared, "linear", True)],
)
def test_grades_and_statistics_by_rule(stat, gain, with_lists):
    X, y, qid = outliers()
    y = y * (1 + np.arange(y.size) % 3)
    lists = qid if with_lists else None
    base = clone(FAST).set_params(stat=stat, gain=gain)
    cut = (np.flatnonzero(qid < 8), np.flatnonzero(qid >= 8))
    train, test = cut
    est = RerankerCV(base, grid={}, cv=[cut]).fit(X, y, lists)
    one = clone(base).fit(X[train], y[train], None if lists is None else lists[train])
    held = None if lists is None else lists[test]
    ranked = one.decision_function(X[test]) if held is None else one.list_scores(X[test], held)
    for found, scores in (("value", ranked), ("first_stage", one.first_stage_scores(X[test]))):
        expected = evaluate(stat, y[test], scores, held, gain=gain)
        if stat is squared and not with_lists:  # as of a list of all rows: each row stands for three
            places = 3 * np.argsort(np.argsort(scores))[:, None] + [1, 2, 3]
            expected = float((y[test, None] * (places / y.size) ** 2).sum())
        assert est.cv_results_[found][0] == pytest.approx(expected, abs=1e-12)
    if with_lists:  # of a single list the out-of-fold scores are told
        assert est.score(X, y, lists) == pytest.approx(est.result_.statistic, abs=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "formulation, stat, options",
    [
        ("subrank", "dcg@5", 6),
        ("resolved_rank", "dcg@5", 1),
        ("mixed", squared, 6),
        ("auc", "auc", 6),
        ("pairwise", "auc", 6),
    ],
)
def test_default_options_go_with_every_program(formulation, stat, options):
    X, y, qid = (part[:60] for part in outliers())
    base = Reranker(stat, first_stage="logistic", formulation=formulation, n_candidates=4, time_limit=5)
    est = RerankerCV(base, cv=2).fit(X, y, qid)
    assert len(est.cv_results_["value"]) == options + (formulation != "resolved_rank") * len(SIMPLE)
    assert np.isfinite(est.cv_results_["value"]).all()


def test_missed_items_of_one_list_alone_do_not_stop_the_folds_that_hold_it_out():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(40, 2)), np.tile([1, 0, 0, 0], 10), np.repeat([f"q{i}" for i in range(4)], 10)
    X[:, 0] += 2 * y
    base = Reranker("ndcg@10", first_stage=None, solver="search", time_limit=5)
    search = RerankerCV(base, grid={"radius": [0.1]}, cv=4, n_repeats=1)
    with_missed = search.fit(X, y, qid=qid, ideal_gains={"q2": [1, 1]}).cv_results_["value"]
    without = search.fit(X, y, qid=qid).cv_results_["value"]
    assert with_missed[0] < without[0]
