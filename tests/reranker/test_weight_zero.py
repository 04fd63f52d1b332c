"""A row of weight 0, and a list of weight 0, are not there: every entry gives what it gives without them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

from rerank import Reranker, RerankerCV, verify
from rerank.errors import InputError
from rerank.io import Table
from rerank.ranks import count_empty, evaluate, list_values
from rerank.reranker.files.document import document
from rerank.scorers import RankSVM, RoBiRank, TopPush
from rerank.scorers.conversions import count_pairs
from tests.cases.refuses import refuses

QUICK = {"solver": "search", "time_limit": 20, "node_limit": 200}


def table(seed=0, n=80, lists=False):
    """A table of which a third has weight 0; these rows are the best and the worst, with labels that mislead."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=n) > 0.6).astype(int)
    weight = np.where(rng.random(n) < 0.35, 0.0, 1.0 + (rng.random(n) < 0.3))
    X[weight == 0] *= 30.0
    y[weight == 0] = rng.integers(0, 2, int((weight == 0).sum()))
    return X, y, (np.arange(n) // 8 if lists else None), weight


def same(a, b):
    """The same model, but for the time that it took and the notes' numbers of rows."""
    left, right = a.result_, b.result_
    for name in ["statistic", "value", "bound", "status", "first_stage_statistic", "n_lists", "folds", "message"]:
        assert getattr(left, name) == getattr(right, name), name
    np.testing.assert_array_equal(left.weights, right.weights)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.threshold_ == b.threshold_
    assert vars(left.shortlist) == vars(right.shortlist)
    assert (left.certificate is None) == (right.certificate is None)
    if left.certificate is not None:
        assert left.certificate.data_sha256 == right.certificate.data_sha256


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"stat": "auc"},
        {"stat": "dcg@5", "n_candidates": 10},
        {"stat": "auc", "first_stage": None},
        {"stat": "dcg@5", "radius": 0.3, "max_features": 2},
        {"stat": "dcg@5", "radius": 0.3, "first_stage": None},
        {"stat": "mrr", "first_stage": "toppush", "n_candidates": 12},
        {"stat": "dcg@5", "first_stage": RandomForestClassifier(5, random_state=0), "n_candidates": 12},
        {"stat": "precision@5", "radius": 0.3, "first_stage": LogisticRegression(), "features": [0, 1]},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_a_fit_is_that_of_the_table_without_them(options, lists):
    X, y, qid, weight = table(lists=lists)
    there = weight > 0
    some = None if qid is None else qid[there]
    est = Reranker(**QUICK | options).fit(X, y, qid, sample_weight=weight)
    only = Reranker(**QUICK | options).fit(X[there], y[there], some, sample_weight=weight[there])
    same(est, only)
    score = only.score(X[there], y[there], some, sample_weight=weight[there])
    assert est.score(X, y, qid, sample_weight=weight) == score
    np.testing.assert_array_equal(est.rank(X, qid), only.rank(X, qid))


def test_what_is_not_there_may_be_missing_or_a_third_label():
    X, y, _, weight = table()
    there = weight > 0
    only = Reranker("auc", **QUICK).fit(X[there], y[there])
    X[~there] = np.nan
    words = np.where(y > 0, "yes", "no").astype(object)
    words[~there] = "unknown"
    same(Reranker("auc", pos_label="yes", **QUICK).fit(X, words, sample_weight=there.astype(int)), only)
    with pytest.raises(InputError, match=r"row 0.*\(Rows are counted from 0 without those of weight 0.\)"):
        X[np.argmax(there)] = np.inf
        Reranker("auc", **QUICK).fit(X, y, sample_weight=there)


def test_scores_given_as_an_array_are_of_the_whole_table():
    X, y, _, weight = table()
    there, scores = weight > 0, X[:, 0] + X[:, 1]
    for radius in (None, 0.3):
        options = QUICK | {"radius": radius, "n_candidates": 10 if radius is None else "auto"}
        est = Reranker("dcg@5", first_stage=scores, **options).fit(X, y, sample_weight=weight)
        only = Reranker("dcg@5", first_stage=scores[there], **options)
        same(est, only.fit(X[there], y[there], sample_weight=weight[there]))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "sparse", "list"])
def test_tables_of_every_kind(library):
    X, y, _, weight = table()
    there = weight > 0
    if library == "sparse":
        made, options = csr_array(X), {"features": [0, 1, 2]}
    elif library == "list":
        made, options = X.tolist(), {}
    else:
        module = pytest.importorskip(library)
        columns = {f"c{j}": X[:, j] for j in range(3)}
        made, options = (module.table if library == "pyarrow" else module.DataFrame)(columns), {}
    est = Reranker("auc", **QUICK | options).fit(made, y.tolist(), sample_weight=weight.tolist())
    same(est, Reranker("auc", **QUICK).fit(X[there], y[there], sample_weight=weight[there]))


def test_a_list_of_weight_0_is_not_there():
    X, y, qid, _ = table(lists=True)
    by_list = {0: 2.0, 3: 0.0, 4: 0.0}
    there = ~np.isin(qid, [3, 4])
    est, again, only = (Reranker("dcg@3", n_candidates=4, **QUICK) for _ in range(3))
    some = X[there], y[there], qid[there]
    same(est.fit(X, y, qid, query_weight=by_list), only.fit(*some, query_weight={0: 2.0}))
    as_rows = np.array([by_list.get(q, 1.0) for q in qid])
    same(again.fit(X, y, qid, query_weight=as_rows), only)
    assert est.score(X, y, qid, query_weight=by_list) == only.score(*some, query_weight={0: 2.0})
    as_rows[qid == 3] = [0, 0, 0, 0, 0, 0, 0, 1]
    refuses("The weight of list 3 must be one finite number", est.fit, X, y, qid, query_weight=as_rows)
    refuses("names the list 99, which is not in qid", est.fit, X, y, qid, query_weight={99: 0.0, 3: 0.0})
    gone = np.where(there, 1.0, 0.0)  # a mapping may still name lists whose rows all have weight 0
    same(est.fit(X, y, qid, sample_weight=gone, query_weight={0: 2.0, 3: 5.0}), only)


@pytest.mark.parametrize("cv", [3, KFold(3), GroupKFold(3), "pairs"])
def test_folds_are_those_of_the_table_without_them(cv):
    lists = isinstance(cv, GroupKFold)
    X, y, qid, weight = table(lists=lists)
    there = np.flatnonzero(weight)
    some = None if qid is None else qid[there]
    whole = cv
    if cv == "pairs":
        cv = list(KFold(3).split(X[there]))
        whole = [(np.r_[there[train], np.flatnonzero(weight == 0)], there[test]) for train, test in cv]
    est = RerankerCV(Reranker("dcg@5", **QUICK), grid={"radius": [0.3]}, cv=whole)
    only = RerankerCV(Reranker("dcg@5", **QUICK), grid={"radius": [0.3]}, cv=cv)
    est.fit(X, y, qid, sample_weight=weight)
    only.fit(X[there], y[there], some, sample_weight=weight[there])
    same(est, only)
    for name in ("value", "first_stage", "lead", "error"):
        np.testing.assert_array_equal(est.cv_results_[name], only.cv_results_[name])


@pytest.mark.parametrize("lists", [False, True])
def test_a_model_and_its_proof_verify_with_the_whole_table(lists):
    X, y, qid, weight = table(n=40, lists=lists)
    est = Reranker("dcg@3", radius=0.3, cross_fit=3, proof=True, solver="search", time_limit=20)
    est.fit(X, y, qid, sample_weight=weight)
    names = ("x0", "x1", "x2")
    words = None if qid is None else qid.astype(str).astype(object)
    whole = Table(X, y.astype(float), words, None, names, sample_weight=weight)
    report = verify(est, whole, proof=est.result_.proof)
    assert report.holds, [check for check in report.checks if not check.holds]
    there = weight > 0
    known = None if words is None else words[there]
    some = Table(X[there], y[there].astype(float), known, None, names, sample_weight=weight[there])
    assert verify(est, some, proof=est.result_.proof).holds
    all_rows = Table(X, y.astype(float), words, None, names)
    refuses("out-of-fold scores of", verify, document(est.state_), all_rows)


@pytest.mark.parametrize(
    "scorer", [RankSVM(), RoBiRank(max_iter=20), TopPush(), TopPush(threshold="quantile", k=0.5)], ids=repr
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scorers(scorer):
    X, y, qid, weight = table(lists=True)
    there = weight > 0
    X[~there] = np.nan
    est, only = clone(scorer).fit(X, y, qid, weight), clone(scorer)
    only.fit(X[there], y[there], qid[there], weight[there])
    np.testing.assert_array_equal(est.coef_, only.coef_)
    refuses("sample_weight is 0 in every row: .* raise one above 0", clone(scorer).fit, X, y, qid, np.zeros(y.size))


@pytest.mark.parametrize("stat", ["auc", "dcg@3", "ap"])
@pytest.mark.parametrize("ties", ["pessimistic", "average", "interval"])
def test_evaluate(stat, ties):
    X, y, qid, weight = table(lists=True)
    weight = np.minimum(weight, 1.0)
    there, scores = weight > 0, np.round(X[:, 0], 1)
    found = evaluate(stat, y, scores, qid, sample_weight=weight, ties=ties)
    assert found == evaluate(stat, y[there], scores[there], qid[there], ties=ties)
    scores[~there] = np.nan
    assert found == evaluate(stat, y, scores, qid, sample_weight=weight, ties=ties)
    first = np.flatnonzero(there[:20])
    assert evaluate("auc", y[:20], X[:20, 1], sample_weight=weight[:20]) == evaluate("auc", y[first], X[first, 1])


def test_values_of_lists_keep_their_places():
    y, scores = np.array([1, 0, 1, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 2.0, 1.0, 0.0])
    qid, weight = np.repeat([5, 7, 9], 2), np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(list_values("auc", y, scores, qid, sample_weight=weight), [0, np.nan, 0])
    assert count_empty("auc", y, qid, sample_weight=weight) == 0
    assert evaluate("auc", y, scores, qid, query_weight={7: 0.0, 9: 0.0}, empty="error") == 0.0
    assert count_pairs(y, qid, weight) == count_pairs(y[weight > 0], qid[weight > 0])
