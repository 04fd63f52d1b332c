"""Exact fits of columns and their squares: as of columns made by hand, in folds, files, programs and the command."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import rerank
from rerank import Reranker, RerankerCV, datasets, verify
from rerank.ranks import evaluate
from rerank.reranker.estimator import restored
from rerank.reranker.files import model_file
from rerank.reranker.files.export import imported
from rerank.scorers import Squares
from rerank.solvers import gateway
from tests.cases.drawn import as_table, read_back
from tests.cases.mutants import signed
from tests.cli.commands import run


def bowl(n=300, d=3, seed=0):
    """What is found lies far from the middle of the first column, and the score knows the second one alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal([3.0, 0.0, -1.0], [2.0, 1.0, 0.5], size=(n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(3.5 - ((X[:, 0] - 3) / 2) ** 2 - 0.5 * X[:, 1]))).astype(int)
    return X, y, X[:, 1] + rng.normal(size=n)


def by_hand(X, rows=slice(None)):
    """The columns, and their squares with the means and deviations of some rows."""
    return np.hstack([X, ((X - X[rows].mean(axis=0)) / X[rows].std(axis=0)) ** 2])


OPTIONS = {
    "corrected": {"stat": "precision@30", "radius": 0.5, "margin": 0.1, "window": 2.0, "node_limit": 0},
    "proved": {"stat": "precision@10", "radius": 0.5, "margin": 0.01, "max_features": 1},
    "free": {"stat": "dcg@5", "n_candidates": 20, "max_features": 2},
}


@pytest.mark.parametrize("case", OPTIONS)
def test_the_fit_is_that_of_squares_made_by_hand(case):
    X, y, scores = bowl()
    options = {"solver": "search", "first_stage": scores, **OPTIONS[case]}
    ours = Reranker(**options, features=Squares()).fit(X, y)
    hand = Reranker(**options).fit(by_hand(X), y)
    assert ours.result_.value == hand.result_.value and ours.result_.bound == hand.result_.bound
    np.testing.assert_allclose(ours.state_.weights, hand.state_.weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.coef_, hand.coef_, rtol=1e-9, atol=1e-12)
    assert ours.reranks_ and ours.coef_[3:].any() and (case != "proved" or ours.result_.proved)
    np.testing.assert_array_equal(ours.state_.prior_weight, hand.state_.prior_weight)


def test_a_model_with_squares_is_saved_without_pickle_verified_and_says_what_a_square_is(tmp_path):
    X, y, _ = bowl()
    frame = pd.DataFrame(X, columns=["size", "heat", "age"])
    est = Reranker(solver="search", first_stage="heat", features=Squares(), **OPTIONS["corrected"]).fit(frame, y)
    assert "size^2" in est.features_ and any("Squares" in note for note in est.result_.notes)
    assert any("of size^2" in note for note in est.result_.notes)
    est.save(tmp_path / "m.json")
    twin = rerank.load(tmp_path / "m.json")
    new = pd.DataFrame(bowl(seed=1)[0], columns=frame.columns)
    np.testing.assert_array_equal(twin.decision_function(new), est.decision_function(new))
    np.testing.assert_array_equal(twin.coef_, est.coef_)
    parts = est.contributions(new)
    assert "size^2" in parts and list(parts) == list(twin.contributions(new))
    twin.save(tmp_path / "n.json")
    assert (tmp_path / "n.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    table = as_table(est, X, y)
    assert table.feature_names == ("size", "heat", "age")
    checked = verify(tmp_path / "m.json", table)
    assert checked.holds and any(check.name == "settings.squares" for check in checked.checks)
    # Another mean is another column, and another fit.
    body = json.loads((tmp_path / "m.json").read_text())
    body["settings"]["squares.centre.0"] = {"hex": (0.5).hex()}
    forged = verify(model_file.from_dict(signed(body)), table)
    assert not forged.holds


def test_files_without_squares_are_read_as_before(tmp_path):
    X, y, _ = bowl()
    est = Reranker(solver="search", **OPTIONS["free"]).fit(X, y)
    est.save(tmp_path / "m.json")
    body = json.loads((tmp_path / "m.json").read_text())
    assert body["schema"] == 4
    (tmp_path / "old.json").write_text(json.dumps(signed({**body, "schema": 2})))
    np.testing.assert_array_equal(rerank.load(tmp_path / "old.json").rank(X), est.rank(X))


def test_a_program_of_squares_out_and_a_solution_back(tmp_path):
    X, y, _ = bowl(n=60)
    options = {"n_candidates": 12, "features": Squares(), "max_features": 1, "margin": 0.01}
    est = Reranker("dcg@2", solver="none", **options).fit(X, y)
    proved = Reranker("dcg@2", solver="search", **options).fit(X, y)
    program, _ = est.export_mps(tmp_path / "p.mps")
    gateway.solve_file(program, "highs", solution=tmp_path / "p.sol")
    state = imported(program, tmp_path / "p.sol")
    assert proved.result_.proved and state.result.value == pytest.approx(proved.result_.value, abs=1e-9)
    np.testing.assert_array_equal(restored(state).rank(X), est.load_solution(tmp_path / "p.sol").rank(X))


class Counted(TransformerMixin, BaseEstimator):
    """Learns how many rows there are."""

    seen = []

    def fit(self, X, y=None):
        self.rows_ = len(X)
        self.seen.append(len(X))
        return self

    def transform(self, X):
        return np.asarray(X)[:, :1]


def test_a_transformer_learns_from_the_training_rows_of_each_fold():
    X, y, scores = bowl(n=90)
    Counted.seen.clear()
    base = Reranker("auc", first_stage=scores, solver="search", node_limit=0, features=Counted())
    RerankerCV(base, grid={"radius": [0.1]}, cv=3, n_repeats=1).fit(X, y)
    assert Counted.seen.count(60) == 3


@pytest.mark.parametrize("features", [None, Squares(), [0, 2]], ids=["all", "squares", "some"])
def test_a_choice_judges_columns_and_squares_on_the_same_folds(features):
    X, y, _ = bowl()
    options = {"first_stage": "x1", "solver": "search", "node_limit": 0, "margin": 0.1}
    rows = np.arange(y.size)
    pairs = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    grid = {"radius": [0.5], "features": [None, Squares(), [0, 2]]}
    base = Reranker("auc", **options, features=features)
    found = RerankerCV(base, grid=grid, cv=pairs, safeguard=-np.inf).fit(X, y)
    wanted = []
    for which in ("columns", "squares", "some"):
        own = []
        for train, test in pairs:
            table = {"columns": X, "squares": by_hand(X, train), "some": X[:, [0, 2, 1]]}[which]
            keep = {"some": [0, 1]}.get(which)
            plain = Reranker("auc", **options | {"first_stage": X[train, 1]}, radius=0.5, features=keep)
            plain.fit(table[train], y[train])
            moved = table[test] if keep is None else table[test][:, keep]
            own.append(evaluate("auc", y[test], X[test, 1] + moved @ plain.coef_[: moved.shape[1]]))
        wanted.append(np.mean(own))
    np.testing.assert_allclose(found.cv_results_["value"], wanted, atol=1e-9)
    assert found.chosen_ == int(np.argmax(wanted)) == 1
    assert found.result_.evidence.options[1] == "with squares"
    assert isinstance(found.best_estimator_.features, Squares)
    assert found.best_estimator_.coef_.size == 6


def test_a_choice_with_squares_tries_the_columns_alone_before_and_names_what_it_took(tmp_path):
    X, y, scores = bowl(n=900)
    base = Reranker("precision@30", first_stage="x1", solver="search", node_limit=0, features=Squares())
    est = RerankerCV(base, cv=3, n_repeats=1).fit(X, y)
    names = est.result_.evidence.options
    alone = [name for name in names if name.startswith(("radius", "free"))]
    half = len(alone) // 2
    assert [f"{name} with squares" for name in alone[:half]] == alone[half:]
    assert not est.first_stage_kept_ and names[est.chosen_].endswith("with squares")
    assert f"Chosen (*): {names[est.chosen_]}" in est.report()
    assert read_back(est, tmp_path, X, y).result_.evidence.report() == est.report()


def test_the_command_fits_squares_and_ranks_by_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = bowl()
    frame = pd.DataFrame(X, columns=["size", "heat", "age"]).assign(word="a", hit=y)
    frame.loc[::2, "word"] = "b"
    frame.to_csv("data.csv", index=False)
    common = ["--label", "hit", "--stat", "precision@20", "--solver", "search", "--node-limit", 0]
    done = run("fit", "data.csv", "--model", "m.json", "--squares", *common, "--cv", 3, code=(0, 3))
    assert "with squares" in done.stdout
    model = rerank.load("m.json")
    assert isinstance(model.features, Squares) and model.features.columns_.tolist() == [0, 1, 2]
    assert "size^2" in model.state_.columns.names
    run("verify", "m.json", "data.csv", code=(0, 3))
    frame.drop(columns="hit").to_csv("new.csv", index=False)
    run("rank", "m.json", "new.csv", "--output", "ranked.csv")
    places = pd.read_csv("ranked.csv")
    assert len(places) == len(frame)


def test_rows_of_weight_0_are_in_no_mean():
    made = datasets.machines(400, 0)
    weight = np.ones(400)
    weight[:100] = 0
    options = {"radius": 0.3, "margin": 0.1, "solver": "search", "node_limit": 0, "features": Squares()}
    ours = Reranker("precision@20", first_stage="x0", **options).fit(made.X, made.y, sample_weight=weight)
    same = Reranker("precision@20", first_stage="x0", **options).fit(made.X[100:], made.y[100:])
    np.testing.assert_array_equal(ours.coef_, same.coef_)
