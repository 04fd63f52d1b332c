"""Reranker: what a fit reports against independent recomputation, and every status it can end in."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from rerank import Reranker, search
from rerank.errors import CertificateError
from rerank.ranks import evaluate
from tests.cases.stages import fit_stage, stage_scores
from tests.oracles.oracle import objective_at, optimum


def table(seed, n=60, d=3, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, (signal > np.quantile(signal, 1 - share)).astype(float)


def lists(seed, n_lists=6, m=8, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * m, d))
    noisy = X @ rng.normal(size=d) + rng.normal(size=n_lists * m)
    y = np.digitize(noisy, [0.5, 1.5]).astype(float)
    qid = np.repeat([f"q{k}" for k in range(n_lists)], m)
    order = rng.permutation(y.size)
    return X[order], y[order], qid[order]


def fitted(X, y, stat="dcg@5", qid=None, **options):
    return Reranker(stat, **{"solver": "search", "time_limit": 20, **options}).fit(X, y, qid)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stat", ["auc", "dcg@3", "mrr", "precision@3"])
def test_value_and_bound_meet_the_exact_optimum(seed, stat):
    X, y = table(seed, n=9, d=2)
    est = fitted(X, y, stat, first_stage=None, margin=0.05, C=0.01 * (seed % 2))
    problem, result = est.state_.problem, est.result_
    best = optimum(problem).value
    assert abs(result.value - float(best)) < 1e-9
    assert result.value <= best <= Fraction(result.bound)
    assert result.status == "optimal" and result.proved


@pytest.mark.parametrize("stat", ["auc", "pauc@4", "wta", "precision@4", "mrr", "dcg", "dcg@5", "pnorm@3"])
@pytest.mark.parametrize("n_candidates", [8, 25, None])
def test_the_numbers_are_those_of_the_ranking(stat, n_candidates):
    X, y = table(3)
    est = fitted(X, y, stat, n_candidates=n_candidates, max_features=2)
    result = est.result_
    assert result.statistic == pytest.approx(evaluate(stat, y, est.list_scores(X)), abs=1e-12)
    assert result.statistic == pytest.approx(est.score(X, y), abs=1e-12)
    assert result.statistic >= result.first_stage_statistic
    assert result.value <= result.bound and result.gap == result.bound - result.value
    if result.certificate is not None:
        problem = est.state_.problem
        assert result.certificate.value == objective_at(problem, result.weights)
        assert float(result.certificate.statistic) >= result.value - 1e-12
        assert Fraction(result.value) <= result.certificate.value


def test_head_is_reordered_and_tail_is_not():
    X, y = table(5)
    est = fitted(X, y, n_candidates=12)
    first = est.first_stage_scores(X)
    places, by_first = est.rank(X), np.argsort(np.argsort(-first)) + 1
    tail = np.argsort(-first)[12:]
    assert np.array_equal(places[tail], by_first[tail])
    assert sorted(places.tolist()) == list(range(1, 61))
    assert np.array_equal(np.argsort(-est.decision_function(X), kind="stable"), np.argsort(places))


def test_duplicates_and_conflicts_are_counted():
    X, y = table(7, n=20)
    X = np.vstack([X, X[:3]])
    y = np.append(y, [1 - y[0], y[1], y[2]])
    info = fitted(X, y, first_stage=None).result_.shortlist
    assert (info.n_duplicates, info.n_conflicts) == (3, 1)


def test_signs_and_support_are_kept():
    X, y = table(8, d=4)
    est = fitted(X, 1 - y, "auc", first_stage=None, positive=True, max_features=2)
    assert np.all(est.result_.weights >= 0) and np.count_nonzero(est.coef_) <= 2
    est = fitted(X, y, "auc", first_stage=None, positive=[1, -1, 0, 0])
    assert est.result_.weights[0] >= 0 and est.result_.weights[1] <= 0


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_first_stage_is_kept_when_nothing_beats_it():
    X, y = table(9, n=80, d=2)
    # A feature costs more than any list is worth, so the best weights are 0 and tie the whole shortlist.
    est = fitted(X, y, "dcg@5", n_candidates=20, C=5.0)
    result = est.result_
    assert result.status == "first_stage_kept" and not est.reranks_
    assert result.statistic == result.first_stage_statistic
    assert np.array_equal(est.decision_function(X), est.first_stage_scores(X))
    assert np.allclose(est.coef_, est.state_.first_stage.coef)


@pytest.mark.parametrize(("late", "k"), [([], 15), ([3], 5)], ids=["ideal", "relevant rows only"])
def test_an_ideal_first_stage_is_left_alone(late, k):
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 29).astype(float)
    y[late] = 1
    result = fitted(X, y, "dcg@5", n_candidates=k).result_
    assert (result.status, result.gap, result.bound_source) == ("already_ideal", 0, "ideal")
    assert result.statistic == pytest.approx(result.value, rel=1e-15) and result.value == result.bound


@pytest.mark.parametrize(("k", "status"), [(3, "nothing_to_find"), (4, "optimal")])
def test_a_shortlist_of_one_class_is_a_result(k, status):
    X = np.column_stack([np.arange(30.0), np.r_[np.zeros(26), 1, 0, 0, 0]])
    y = np.zeros(30)
    y[26] = 1
    backwards = FrozenEstimator(Ridge().fit(X[:, :], X[:, 0]))
    result = Reranker("dcg@5", first_stage=backwards, n_candidates=k, solver="search").fit(X, y).result_
    assert result.status == status
    assert result.shortlist.n_positive_head == (k == 4)


@pytest.mark.parametrize(
    ("stat", "k", "needed"), [("precision@5", 5, 6), ("precision@5", 3, 6), ("pauc@4", 1, 2), ("wta", 1, 2)]
)
def test_where_no_order_matters_the_smallest_shortlist_that_does_is_named(stat, k, needed):
    X, _ = table(5, n=40)
    y = (np.random.default_rng(4).random(40) < 0.4).astype(float)
    with pytest.warns(UserWarning, match="n_candidates must be at least") as caught:
        est = fitted(X, y, stat, n_candidates=k)
    result = est.result_
    assert result.status.startswith("nothing") and not result.proved
    least = result.shortlist.least_candidates
    assert str(caught[0].message) == result.message and f"at least {least} " in result.message
    assert least == needed
    assert not fitted(X, y, stat, n_candidates=least).result_.status.startswith("nothing")
    with pytest.warns(UserWarning, match=f"at least {least} "):
        fitted(X, y, stat, n_candidates=least - 1)


def test_the_head_of_lists_is_the_best_of_each_list():
    X, y, qid = lists(5, n_lists=4, m=12)
    est = fitted(X, y, "dcg@3", n_candidates=5, qid=qid)
    scores = est.decision_function(X, qid)
    first = est.first_stage_scores(X)
    for q in np.unique(qid):
        own = qid == q
        assert np.array_equal(np.argsort(-scores[own], kind="stable"), np.argsort(est.rank(X, qid)[own]))
        head = first[own] >= np.sort(first[own])[-5]
        assert scores[own][head].min() > scores[own][~head].max()


def test_a_column_that_varies_only_where_nothing_counts_is_left_out_and_named():
    X, y, qid = lists(5, n_lists=4, m=12)
    y[qid == qid[0]] = 0
    X = np.column_stack([X, np.where(qid == qid[0], np.arange(y.size), 7.0)])
    est = fitted(X, y, "dcg@3", qid=qid, first_stage=None)
    assert est.result_.shortlist.constant_features == (f"x{X.shape[1] - 1}",)
    assert np.isfinite(est.decision_function(X)).all()


@pytest.mark.parametrize(("stat", "n", "k"), [("dcg@10", 1500, None), ("auc", 2500, None), ("dcg@40", 2500, 80)])
def test_by_default_the_whole_list_up_to_a_length(stat, n, k):
    X, y = table(7, n=n, d=1)
    est = fitted(X, y, stat, time_limit=1)
    assert est.result_.shortlist.n_candidates == k
    assert (est.threshold_ == -math.inf) == (k is None)


# -- first stages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["toppush", "ranksvm", "robirank"])
def test_our_own_scorers_are_first_stages_by_name(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) * [1, 100, 0.01] + [0, 5, 1]
    s = X @ [1, -0.01, 50] + 0.3 * rng.normal(size=150)
    y = np.digitize(s, np.quantile(s, [0.7, 0.9])).astype(float)
    qid = rng.integers(0, 5, 150)
    stage = fit_stage(name, X, y, qid, random_state=0)
    assert stage.name == name and stage.coef is not None
    assert evaluate("auc", (y > 0).astype(float), stage_scores(stage, X)) > 0.8
    est = Reranker(stat="ndcg@5", first_stage=name, n_candidates=10, solver="search", time_limit=1.0)
    est.fit(X, y.astype(int), qid=qid)
    assert est.result_.value >= 0.0 and est.first_stage_ is not None


def test_scorers_that_take_grades_learn_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 1, 2.0, 1.0 * (X[:, 1] > 0))  # the best rows differ in the first column
    graded = fit_stage("ranksvm", X, y).coef
    binary = fit_stage("ranksvm", X, (y > 0).astype(float)).coef
    assert graded[0] / abs(graded[1]) > binary[0] / abs(binary[1])


def test_a_fitted_estimator_is_used_as_it_is():
    X, y = table(1)
    given = LogisticRegression().fit(X, 1 - y)
    est = fitted(X, y, first_stage=given, n_candidates=20)
    assert est.first_stage_ is given
    assert est.result_.first_stage_statistic == evaluate("dcg@5", y, given.decision_function(X))


# -- lists, grades, weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("stage", [None, "logistic"])
def test_graded_lists(gain, stage):
    X, y, qid = lists(0)
    est = fitted(X, y, "ndcg@4", qid, first_stage=stage, n_candidates=5, gain=gain)
    result = est.result_
    assert (result.n_lists, result.gain) == (6, gain)
    by_rank = evaluate("ndcg@4", y, est.list_scores(X, qid), qid, gain=gain)
    assert result.statistic == pytest.approx(by_rank, abs=1e-12)
    assert result.statistic == pytest.approx(est.score(X, y, qid), abs=1e-12)
    assert result.certificate.value == objective_at(est.state_.problem, result.weights)
    for name in np.unique(qid):
        assert sorted(est.rank(X, qid)[qid == name]) == list(range(1, 9))


def test_row_order_and_names_of_lists_do_not_matter():
    X, y, qid = lists(1)
    est = Reranker("ndcg", first_stage=None, solver="search").fit(X, y, qid)
    order = np.random.default_rng(0).permutation(y.size)
    renamed = np.array([{"q0": 7, "q1": 3, "q2": 5, "q3": 1, "q4": 0, "q5": 2}[name] for name in qid])
    other = Reranker("ndcg", first_stage=None, solver="search").fit(X[order], y[order], renamed[order])
    assert other.result_.value == pytest.approx(est.result_.value, abs=1e-12)


def test_lists_without_a_gain_are_skipped_and_counted():
    X, y, qid = lists(2)
    y[qid == "q3"] = 0
    result = Reranker("ndcg@4", first_stage=None, solver="search").fit(X, y, qid).result_
    assert (result.n_lists, result.n_empty_lists) == (6, 1)


# -- claims that do not hold ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "sentence"), [({"value": 99.0, "bound": 99.0}, "claims 99"), ({"bound": 0.1}, "no value exceeds")]
)
def test_a_search_whose_claims_do_not_hold_is_caught(monkeypatch, claims, sentence):
    honest = search.solve
    monkeypatch.setattr(search, "solve", lambda *a, **k: replace(honest(*a, **k), **claims))
    X, y = table(0, n=20)
    with pytest.raises(CertificateError, match=sentence):
        fitted(X, y, first_stage=None)


@pytest.mark.parametrize("options", [{}, {"first_stage": "logistic+squares"}])
def test_a_start_that_is_left_as_it_is_takes_no_better_first_stage_away(options):
    """A first stage of texts or squares gives no start, and weights of 0 rank nothing."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=200), "t": rng.choice(list("xyz"), 200)})
    y = ((X.t == "x") * 2 + X.a + rng.normal(size=200) > 1.5).to_numpy().astype(int)
    est = Reranker("precision@40", solver="none", **options).fit(X, y)
    result = est.result_
    assert result.status == "first_stage_kept" and result.statistic == result.first_stage_statistic > 20
    assert y[est.rank(X) <= 40].sum() == result.statistic and est.build_model().w
