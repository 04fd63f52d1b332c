"""Methods compared on held-out rows: values counted again by hand, what is taken, and what is not tried."""

import importlib.util
import json

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib.use("Agg")

import rerank
from rerank import RerankerCV
from rerank.ranks import evaluate
from rerank.reranker.selection import comparison
from rerank.reranker.selection.folds import splits_of
from tests.cases.stopped import interrupt
from tests.cli.commands import answer, run

HAS_TREES = importlib.util.find_spec("lightgbm") is not None


def drawn(seed, bent, n=300, share=0.15):
    """Rows to find lie at both ends of the first column, or at one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    hidden = 2 * (X[:, 0] ** 2 if bent else X[:, 0]) + rng.normal(size=n)
    return X, (hidden > np.quantile(hidden, 1 - share)).astype(int)


def hits(scores, y, places):
    """Expected hits of the first places, of which the last may be a part, equal scores in any order."""
    found, left = 0.0, places
    for score in np.unique(scores)[::-1]:
        block = y[scores == score]
        found += block.mean() * min(left, block.size)
        left -= min(left, block.size)
    return found


def held_out(X, y, fitted, places, folds=5, like=None):
    """Hits of the first places of all held-out rows, by models without their fold; with ``like`` each row gets the
    score that this model gives to the row at its place in the fold.
    """
    joint = np.empty(y.size)
    for split in splits_of(X, y > 0, None, folds, 1, 0):
        scores = fitted(X[split.train], y[split.train])(X[split.test])
        if like is not None:
            own = np.sort(like(X[split.train], y[split.train])(X[split.test]))
            scores = own[rankdata(scores, "ordinal").astype(int) - 1]
        joint[split.test] = scores
    return float(hits(joint, y, places))


def of(found, name):
    (row,) = [row for row in found.table if row["method"] == name]
    return row


def logistic(A, b):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(A, b).decision_function


@pytest.mark.parametrize("seed", range(2))
def test_values_are_hits_of_all_held_out_rows(seed):
    X, y = drawn(seed, bent=seed % 2, n=203)
    found = rerank.compare(X, y, "precision@37", methods=["logistic", "squares"])

    def squares(A, b):
        centre, scale = A.mean(axis=0), A.std(axis=0)

        def wide(table):
            own = (table - centre) / scale
            return np.hstack([own, own**2])

        middle, width = wide(A).mean(axis=0), wide(A).std(axis=0)
        model = LogisticRegression(max_iter=1000).fit((wide(A) - middle) / width, b)
        return lambda table: model.decision_function((wide(table) - middle) / width)

    assert of(found, "logistic")["value"] == pytest.approx(held_out(X, y, logistic, 37), abs=0.3)
    assert of(found, "squares")["value"] == pytest.approx(held_out(X, y, squares, 37), abs=0.6)
    assert found.list_length == 203 and found.folds == 5


def test_a_guard_is_a_choice_inside_the_training_rows():
    X, y = drawn(5, bent=True, n=150)
    methods = ["logistic", "squares", "guard"]
    found = rerank.compare(X, y, "precision@20", methods=methods, folds=2, time_limit=None)
    for name, stage in (("logistic", "logistic"), ("squares", "logistic+squares")):
        guard = comparison._guard(name, stage, rerank.Reranker("precision@20", solver="search"), 150, 4).make(None)
        assert isinstance(guard, RerankerCV) and guard.reranker.first_stage == stage
        own = held_out(X, y, lambda A, b, guard=guard: clone(guard).fit(A, b).decision_function, 20, 2, logistic)
        assert of(found, f"{name}, guarded")["value"] == pytest.approx(own, abs=1e-9)
    assert of(found, "squares, guarded")["value"] > of(found, "logistic, guarded")["value"]


def test_a_comparison_and_a_choice_have_one_value_of_a_method():
    X, y = drawn(4, bent=True, n=200)
    found = rerank.compare(X, y, "precision@30", methods=["logistic", "squares", "trees", "card"])
    grid = [{"first_stage": [one], "radius": [0.0]} for one in ("logistic+squares", "trees")]
    chosen = RerankerCV(rerank.Reranker("precision@30", solver="search"), grid=grid, n_repeats=1).fit(X, y)
    results = chosen.cv_results_
    assert of(found, "logistic")["value"] == pytest.approx(results["first_stage"][0], abs=1e-9)
    for row, value, lead, error in zip(found.table[1:], *(results[name] for name in ("value", "lead", "error"))):
        assert (row["value"], row["lead"]) == pytest.approx((value, lead), abs=1e-9)
        assert row["high"] - row["lead"] == pytest.approx(1.96 * error, abs=1e-9)
    assert of(found, "card")["value"] is not None


@pytest.mark.parametrize("together, guarded", [(True, ["trees"]), (False, ["logistic"])])
def test_trees_are_guarded_where_they_lead_and_only_there(together, guarded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = ((X[:, 0] * X[:, 1] if together else X[:, 0]) + 0.3 * rng.normal(size=500) > 0.9).astype(int)
    found = rerank.compare(X, y, "precision@30", methods=["logistic", "trees", "guard"], folds=2, time_limit=None)
    names = [row["method"] for row in found.table]
    assert names == ["logistic", "trees", *(f"{name}, guarded" for name in guarded)]
    assert of(found, names[-1])["value"] is not None and (of(found, "trees")["low"] > 0) == together


@pytest.mark.parametrize("bent", [True, False])
def test_squares_are_taken_where_both_ends_are_sought_and_logistic_where_one_is(bent):
    X, y = drawn(int(bent), bent)
    found = rerank.compare(X, y, "precision@40", methods=["logistic", "squares", "card"])
    if bent:
        assert found.take == "squares" and of(found, "squares")["low"] > 0 and of(found, "squares")["take"]
        assert "no method has a clearer lead" in found.sentence
        np.testing.assert_array_equal(found.fit().rank(X), found.estimator.fit(X, y).rank(X))
    else:
        assert found.take == "logistic" and found.sentence.startswith("Take logistic: it has precision@40 ")
        assert of(found, "logistic")["lead"] is None and of(found, "squares")["low"] <= 0


def test_of_what_cannot_be_told_apart_logistic_regression_is_taken():
    """The best is named with the interval of its lead, which holds 0."""
    X, y = drawn(11, bent=False, n=120, share=0.3)
    found = rerank.compare(X, y, "auc", methods=["squares", "logistic"])
    rows = {row["method"]: row for row in found.table}
    assert found.take == "logistic" and found.list_length is None
    assert list(rows) == ["squares", "logistic"] and rows["logistic"]["low"] < 0 < rows["logistic"]["high"]


def test_a_clear_lead_is_taken_even_of_what_is_not_simple():
    class Oracle(BaseEstimator):
        def fit(self, X, y):
            self.fitted_ = True
            return self

        def decision_function(self, X):
            return X[:, 0] ** 2

    X, y = drawn(3, bent=True)
    found = rerank.compare(X, y, "precision@40", methods=["logistic", Oracle()])
    assert found.take == "Oracle" and found.estimator.first_stage.__class__ is Oracle


def test_tables_come_as_they_are():
    rng = np.random.default_rng(0)
    X, y = drawn(0, bent=False, n=150)
    words = np.where(X[:, 1] > 0, "up", "down").astype(object)
    words[::17] = None
    table = pd.DataFrame({"a": np.where(rng.random(150) < 0.1, np.nan, X[:, 0]), "word": words, "b": X[:, 2]})
    table["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], 150))
    found = rerank.compare(table, np.where(y, "yes", "no"), "precision@15", pos_label="yes", folds=2, time_limit=None)
    tried = {row["method"] for row in found.table if row["value"] is not None}
    assert tried >= {"logistic", "squares", "card", "logistic, guarded"} and (not HAS_TREES or "lightgbm" in tried)
    assert len(pd.DataFrame(found.table)) == len(found.methods) and "<table>" in found._repr_html_()
    assert found.take in str(found) and found.sentence in str(found)


def test_lists_are_whole_and_a_card_tells_relevant_rows_from_others():
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(40), 8)
    X = rng.normal(size=(320, 3))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=320) + 0.5), 0, 3).astype(int)
    for methods, tried in (
        (["logistic", "guard"], ["logistic, guarded"]),
        (["logistic", "lightgbm", "card"], ["card", *["lightgbm"] * HAS_TREES]),
    ):
        found = rerank.compare(X, y, "ndcg@5", qid, methods=methods, folds=2, time_limit=None)
        assert found.list_length is None
        assert all(of(found, name)["value"] > 0.6 for name in tried)


def test_what_is_not_installed_is_not_tried(monkeypatch):
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    X, y = drawn(0, bent=False, n=100)
    found = rerank.compare(X, y, "auc", methods=["logistic", "lightgbm"])
    row = of(found, "lightgbm")
    assert row["value"] is row["lead"] is row["low"] is None and "not installed" in row["note"]
    assert "not installed" in str(found) and "+0" not in str(found)


class Stopped(BaseEstimator):
    """Ctrl-C comes while it is fitted."""

    def fit(self, X, y):
        interrupt()
        self.fitted_ = True
        return self

    def decision_function(self, X):
        return X[:, 0]


def test_what_was_found_is_kept_after_an_interrupt():
    X, y = drawn(0, bent=False, n=100)
    found = rerank.compare(X, y, "auc", methods=["logistic", Stopped(), "squares"])
    assert [row["value"] is None for row in found.table] == [False, True, True] and found.take == "logistic"
    assert "interrupted" in of(found, "squares")["note"]
    assert found.sentence == "Take logistic: nothing else was tried."
    with pytest.raises(KeyboardInterrupt):
        rerank.compare(X, y, "auc", methods=[Stopped(), "logistic"])


def test_the_picture_has_a_line_for_each_method_that_was_tried():
    X, y = drawn(2, bent=True, n=200)
    found = rerank.compare(X, y, "precision@20", methods=["logistic", "squares", Stopped()])
    ax = found.plot()
    value = found.methods[1].value
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"squares: {value:.4g}, chosen"]
    ax.figure.canvas.draw()


def test_the_command_prints_the_table_and_what_to_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = drawn(1, bent=True, n=200)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "hit": y}).to_csv("data.csv", index=False)
    options = ["--label", "hit", "--stat", "precision@20", "--methods", "logistic,squares", "--folds", 4]
    done = run("compare", "data.csv", *options, "--plot", "a.png")
    assert "Take squares" in done.stdout and (tmp_path / "a.png").stat().st_size > 1000
    assert "squares: precision@20" in done.stderr and "Take" not in done.stderr
    body = answer(run("compare", "data.csv", *options, "--json"))
    assert body["take"] == "squares" and body["folds"] == 4 and len(body["methods"]) == 2
    own = rerank.compare(X[:, :2], y, "precision@20", methods=["logistic", "squares"], folds=4)
    told = {**own.table[1], "seconds": None}
    assert json.loads(json.dumps({**body["methods"][1], "seconds": None})) == pytest.approx(told)
    assert run("compare", "data.csv", "--label", "hit", "--methods", "oaks", code=2).stdout == ""
    assert "raise time_limit" in run("compare", "data.csv", *options, "--time-limit", 0, code=2).stderr


def test_a_score_in_use_is_a_row_of_the_comparison_and_a_guard_over_it_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = drawn(1, bent=True, n=240)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["b"] = frame["b"].where(rng.random(240) > 0.1)  # gaps are for those that can use them
    frame["good"], frame["poor"] = y + 0.1 * rng.normal(size=240), rng.normal(size=240)
    frame.assign(hit=y).to_csv("data.csv", index=False)
    options = ["--label", "hit", "--stat", "precision@20", "--methods", "squares,guard", "--folds", 3]
    body = answer(run("compare", "data.csv", *options, "--first-stage", "good", "--json"))
    names = [one["method"] for one in body["methods"]]
    assert names == ["column good", "squares", "column good, guarded", "squares, guarded"]
    assert body["take"] == "column good" and all(one["value"] is not None for one in body["methods"])
    few = answer(run("compare", "data.csv", *options, "--features", "a,b", "--first-stage", "poor", "--json"))
    assert few["take"] != "column poor" and few["methods"][0]["method"] == "column poor"
    found = rerank.compare(frame, y, "precision@20", methods=["good", "squares"], folds=3)
    assert found.take == "column good" and found.estimator.first_stage == "good"
    assert found.estimator.fit(frame, y).score(frame, y) == evaluate("precision@20", y, frame["good"])
    assert "did you mean 'good'" in run("compare", "data.csv", *options, "--first-stage", "godo", code=2).stderr
