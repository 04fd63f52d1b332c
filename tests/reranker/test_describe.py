"""What is said of a fit: one record for every reader, in short numbers and plain words, and limits that bind."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from rerank import Reranker, RerankerCV, describe, load
from rerank.io.page import as_text
from rerank.ranks import evaluate
from tests.cases.refuses import refuses


def drawn(seed=0, n=120, p=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X @ np.linspace(1.0, 0.2, p) + rng.normal(size=n) > 0.9).astype(int)


FITS = {
    "free": dict(stat="precision@10", first_stage=None),
    "dcg": dict(stat="dcg@10", n_candidates=40),
    "corrected": dict(stat="precision@10", radius=0.3, margin=0.1),
    "window": dict(stat="precision@10", radius=0.3, margin=0.1, window=2.0),
    "open": dict(stat="auc", margin=0.05, node_limit=1),
    "few": dict(stat="auc", max_features=1),
    "kept": dict(stat="auc", radius=0.0),
}


@pytest.fixture(scope="module", params=FITS)
def fit(request):
    X, y = drawn()
    return request.param, Reranker(solver="search", time_limit=20.0, **FITS[request.param]).fit(X, y)


def test_every_reader_shows_the_same_record(fit, tmp_path):
    name, est = fit
    told = describe(est)
    assert str(told) == repr(est.result_) == str(describe(est.result_)) == str(describe(est.state_))
    assert told._repr_html_() == est.result_._repr_html_()
    whole = as_text(told.parts(details=True))
    assert whole.startswith(str(told)) and "weights " in whole and "weights " not in str(told).split("\n- ")[0][:9]
    assert ("100 % of the bound" in whole) == est.result_.proved
    est.save(tmp_path / "m.json")
    again = describe(load(tmp_path / "m.json"))
    assert (again.asked, again.held_out, again.proof) == (told.asked, told.held_out, told.proof)
    assert told.to_dict()["answer"] == told.answer


def test_numbers_are_short_and_words_plain(fit):
    name, est = fit
    said = " ".join([*describe(est).asked, describe(est).answer, *describe(est).held_out, *describe(est).proof])
    assert not re.search(r"\d\.\d{5}|\d{5}", said), said
    for word in ("window", "price", "judge", " deviations", "value"):
        assert word not in re.sub("standard deviations|a larger value may exist", "", said), word
    assert not re.search(r"\b1 (rows|columns|lists)\b", said)


def test_a_bound_of_the_answer_is_one_of_the_statistic(fit):
    name, est = fit
    told, result = describe(est), est.result_
    bound = result.statistic_bound if result.ties == "average" else result.bound  # of ties as the statistic counts them
    assert ("; no such" in told.answer or "; no allowed" in told.answer) == (
        name != "window" and bound is not None and bound >= result.statistic - 1e-6
    )
    if "; no such" in told.answer:
        assert "more than" not in told.answer or result.statistic < bound


def test_what_dcg_and_precision_share_is_said():
    X, y = drawn()
    told = {
        stat: describe(Reranker(stat, radius=0.3, margin=0.1, window=2.0, solver="search").fit(X, y))
        for stat in ("dcg@10", "precision@10")
    }
    for stat, one in told.items():
        assert f"fitted in place of {stat}, as of every statistic of the same places" in " ".join(one.proof)
        assert "a larger count of hits around place 10" in one.proof[0] and "; no such" not in one.answer
    assert "in place of" not in " ".join(describe(Reranker("dcg@10", solver="search").fit(X, y)).proof)


def test_hits_are_rows_only_without_weights():
    X, y = drawn()
    est = Reranker("precision@10", first_stage=None, solver="search", node_limit=50)
    assert f" of the {y.sum()} relevant rows in its first 10" in describe(est.fit(X, y)).answer
    for own in (dict(sample_weight=1.0 + y), dict(y=2 * y)):
        answer = describe(est.fit(X, **{"y": y, **own})).answer
        assert "relevant rows" not in answer and "has a precision@10 of" in answer


def test_before_a_fit_nothing_is_said():
    with pytest.raises(NotFittedError):
        describe(Reranker())


def test_max_features_binds_a_free_fit_to_the_best_column():
    """All that one column can order are its two directions, which are enumerated."""
    X, y = drawn(3)
    est = Reranker("precision@12", max_features=1, solver="search", time_limit=20.0).fit(X, y)
    best = max(evaluate("precision@12", y, sign * column) for column in X.T for sign in (1, -1))
    assert est.result_.first_stage_statistic > best  # logistic regression on four columns is ahead, and not allowed
    assert np.count_nonzero(est.coef_) == 1 and est.score(X, y) == est.result_.statistic == best
    assert any("is not kept: max_features is 1" in note for note in est.result_.notes) and est.result_.proved
    scores = Reranker("precision@12", first_stage=X.sum(axis=1), max_features=1, solver="search").fit(X, y)
    assert not scores.reranks_ or scores.result_.statistic >= scores.result_.first_stage_statistic  # one column


@pytest.mark.parametrize("safeguard", [np.inf, -np.inf])
def test_max_features_binds_a_choice(safeguard):
    X, y = drawn(3)
    est = RerankerCV(Reranker("auc", max_features=2, solver="search", node_limit=20), safeguard=safeguard, cv=3)
    est.fit(X, y)
    assert 1 <= np.count_nonzero(est.coef_) <= 2 and len(est.features_) <= 2
    stages = [one["first_stage"] for one in est.cv_results_["params"]]
    assert est.cv_results_["rival"] == [name != "logistic+top2" for name in stages]
    assert est.chosen_ is not None or "logistic regression on 2 columns" in describe(est).asked[0]


def test_a_choice_on_texts_takes_allowed_weights():
    X, y = drawn(3)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(np.arange(120) % 2, "x", "y"))
    est = RerankerCV(Reranker("auc", max_features=2, solver="search", node_limit=20), safeguard=np.inf, cv=3)
    est.fit(frame, y)
    assert est.reranks_ if hasattr(est, "reranks_") else est.best_estimator_.reranks_
    assert np.count_nonzero(est.coef_) <= 2 and "breaks what was asked" in " ".join(describe(est).held_out)


def test_a_logistic_regression_on_the_strongest_columns():
    X, y = drawn(5, p=5)
    X *= [1, 100, 0.01, 5, 1]
    whole = LogisticRegression(max_iter=1000).fit((X - X.mean(0)) / X.std(0), y)
    kept = np.sort(np.argsort(-np.abs(whole.coef_[0]))[:2])
    part = (X[:, kept] - X[:, kept].mean(0)) / X[:, kept].std(0)
    expected = LogisticRegression(max_iter=1000).fit(part, y).coef_[0] / X[:, kept].std(0)
    est = Reranker("auc", first_stage="logistic+top2", radius=0.0, solver="search").fit(X, y)
    np.testing.assert_allclose(est.coef_[kept], expected, rtol=1e-3)
    assert np.count_nonzero(est.coef_) == 2
    for wrong, why in (("logistic+top0", "no part of it"), ("logistic+squares+top2", "without squares and head")):
        refuses(why, Reranker("auc", first_stage=wrong, radius=0.0).fit, X, y)


def test_a_margin_of_the_base_holds_for_corrections_of_a_choice():
    X, y = drawn()
    est = RerankerCV(Reranker("auc", margin=0.05, solver="search", node_limit=0), cv=2, n_repeats=1).fit(X, y)
    margins = {params.get("margin", 0.05) for params in est.cv_results_["params"] if params["radius"]}
    assert margins == {0.05}


def test_the_first_rows_are_named_by_their_labels():
    X, y = drawn()
    frame = pd.DataFrame(X, index=[f"r{k}" for k in range(120)], columns=list("abcd"))
    est = Reranker("precision@10", solver="search", node_limit=20).fit(frame, y)
    places = np.argsort(est.rank(frame))[:7]
    assert est.top(frame, 7).tolist() == [f"r{k}" for k in places]
    assert est.top(frame.reset_index(drop=True), 7).tolist() == places.tolist()
    pytest.importorskip("matplotlib").use("Agg")
    shown = [text.get_text() for text in est.plot_contributions(frame, 3).get_yticklabels()]
    assert shown == [f"r{k}" for k in places[:3]]


def test_a_first_stage_that_is_a_function_is_called_the_given_score():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3 == 0
    given = LogisticRegression().fit(X, y)
    for first_stage in (given.decision_function, lambda X: X[:, 0] ** 3, X[:, 0] ** 3):
        est = Reranker("dcg@5", first_stage=first_stage, radius=0.3, solver="search").fit(X, y)
        assert " now, by the given score" in est.audit(10.0) and "corrections of the given score" in str(describe(est))
    est = Reranker("dcg@5", first_stage=given, radius=0.3, solver="search").fit(X, y)
    assert " now, by LogisticRegression" in est.audit(10.0)


def test_each_number_stands_beside_its_own_bound(fit):
    _, est = fit
    told, found = list(est.result_.to_dict()), est.result_
    assert told[:4] == ["value", "bound", "gap", "statistic"] and found.value <= found.bound
    assert ("statistic_bound" in told[4:5]) == (found.statistic_bound is not None)
    assert found.statistic_bound is None or found.statistic <= found.statistic_bound + 1e-9
    page = as_text(describe(est).details)
    assert page.index("of the value, margin included") < page.index("which the bound above is not of")
