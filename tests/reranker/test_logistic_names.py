"""Logistic regression as first stage by name: numbers as before, tables as they come, and the simple variants."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rerank import Reranker, RerankerCV, load
from rerank.reranker.first_stage import affine_part
from rerank.scorers import TableLogistic
from tests.cases.drawn import drawn, read_back
from tests.cases.mixed import mixed
from tests.cases.refuses import refuses
from tests.cli.commands import OPEN, answer, run

PARTS = ("", "+squares", "+head20", "+balanced", "+squares+head40+balanced")
NAMES = [f"logistic{parts}" for parts in PARTS]
QUICK = {"solver": "search", "time_limit": 5.0, "node_limit": 20}


def fitted(X, y, first_stage="logistic", **options):
    return Reranker("precision@20", first_stage=first_stage, **QUICK | options).fit(X, y)


@pytest.mark.parametrize(("name", "weights"), [("logistic", None), ("logistic+balanced", "balanced")])
def test_complete_numbers_give_the_bits_of_the_pipeline_and_are_kept_as_weights(name, weights):
    X, y = drawn(150, cut=0.8, steps=10.0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, class_weight=weights))
    pipeline.fit(X, y)
    coef, intercept = affine_part(pipeline, X, pipeline.decision_function(X))
    stage = fitted(X, y, name).state_.first_stage
    assert (stage.coef == coef).all() and stage.intercept == intercept
    assert stage.name == name and not stage.notes


def test_a_frame_whose_other_columns_say_nothing_keeps_weights_of_numbers():
    X, y = mixed("pandas")
    X = X[["size", "flag", "name", "seen"]]
    est = fitted(X, y)
    whole = fitted(X[["size", "flag"]], y)
    assert (est.state_.first_stage.coef[:2] == whole.state_.first_stage.coef).all()
    assert (
        "Logistic regression learned from 2 columns of numbers; left out: name (nearly a text for each row), seen "
        "(a date). Give dates as numbers, such as days since the first of them."
    ) in est.result_.notes


@pytest.mark.parametrize(("library", "radius"), [("pandas", None), ("pandas", 0.1), ("polars", 0.1), ("pyarrow", None)])
def test_a_saved_model_scores_the_same_bits_and_is_verified(library, radius, tmp_path):
    X, y = mixed(library)
    later, _ = mixed(library, seed=1)
    for name in NAMES if library == "pandas" else NAMES[-1:]:
        est = fitted(X, y, name, radius=radius)
        again = read_back(est, tmp_path, X, y)
        assert again.first_stage == again.state_.first_stage.name == name
        assert again.result_.notes == est.result_.notes
        assert (again.first_stage_scores(later) == est.first_stage_scores(later)).all()
        if library == "pandas":  # gaps are in no column that is reranked
            assert (again.decision_function(later) == est.decision_function(later)).all()


def test_scores_are_out_of_fold_and_on_one_scale_with_a_radius():
    X, y = mixed("pandas")
    single, double = fitted(X, y, radius=0.1), fitted(X, y, "logistic+head20", radius=0.1)
    assert single.result_.folds == double.result_.folds == 5
    assert single.state_.first_stage.log_odds and not double.state_.first_stage.log_odds
    assert not (single.state_.prior_scores == single.first_stage_scores(X)).any()
    assert abs(double.state_.prior_scores.mean()) < 1e-6  # each fold has mean 0
    assert fitted(X, y, "logistic+head20").result_.folds == 0  # ours, without a radius


@pytest.mark.parametrize("name", ["logistic", "logistic+squares+head20"])
def test_the_guard_takes_them_and_lists_are_pooled(name):
    X, y = mixed("pandas", n=240)
    base = Reranker("precision@5", first_stage=name, **QUICK)
    chosen = RerankerCV(base, grid={"radius": [0.1]}, cv=3).fit(X, y)
    assert chosen.rank(X).size == 240
    lists = Reranker("ndcg@5", first_stage=name, **QUICK).fit(X, y, qid=np.arange(240) % 6)
    alone = TableLogistic(**({} if name == "logistic" else {"squares": True, "head": 0.2})).fit(X, y)
    assert (lists.first_stage_scores(X) == alone.decision_function(X)).all()


def test_grades_above_the_lowest_are_relevant():
    X, y = mixed("pandas")
    graded = y * (1 + (X["size"].to_numpy() > 0))
    assert (fitted(X, graded).first_stage_scores(X) == fitted(X, y).first_stage_scores(X)).all()


def test_sparse_rows_take_the_variants(tmp_path):
    X, y = drawn(150, cut=0.8, steps=10.0)
    X[np.abs(X) < 0.3] = 0
    est = fitted(csr_matrix(X), y, "logistic+head20+balanced", features=[0, 1])
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert (again.decision_function(csr_matrix(X)) == est.decision_function(csr_matrix(X))).all()


def test_a_table_logistic_of_the_user_is_saved_too(tmp_path):
    X, y = mixed("pandas")
    est = fitted(X, y, TableLogistic(C=0.1, squares=True))
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert isinstance(again.first_stage, TableLogistic) and again.first_stage.C == 0.1
    assert (again.decision_function(X) == est.decision_function(X)).all()
    again.save(tmp_path / "n.json")
    assert (tmp_path / "m.json").read_text() == (tmp_path / "n.json").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("logistic+square", "'square' is no part of it; known after 'logistic', joined by '\\+': squares, head10"),
        ("logistic+", "'' is no part of it"),
        ("toppush+squares", "Unknown first stage"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name, message):
    X, y = drawn(150, cut=0.8, steps=10.0)
    refuses(message, fitted, X, y, name)


def test_parts_may_stand_in_any_order():
    X, y = drawn(150, cut=0.8, steps=10.0)
    one, other = (fitted(X, y, f"logistic+{parts}") for parts in ("head20+squares", "squares+head20"))
    assert (one.first_stage_scores(X) == other.first_stage_scores(X)).all()
    assert one.state_.first_stage.name == "logistic+squares+head20"


def test_commands_read_texts_as_python_does_and_take_the_variants_on_numbers(tmp_path):
    X, y = mixed("pandas")
    model, data = tmp_path / "m.json", tmp_path / "t.csv"
    est = fitted(X, y)
    est.save(model)
    X.assign(y=y).to_csv(data, index=False)
    rows = answer(run("rank", model, data, "--top", 0, "--json"))["rows"]
    np.testing.assert_array_equal([int(row["id"]) for row in rows], np.argsort(est.rank(X)))
    X[["size", "flag"]].assign(y=y).to_csv(data, index=False)
    options = ("--label", "y", "--stat", "precision@20", "--solver", "search", "--node-limit", 20, "--radius", 0.1)
    run("fit", data, "--free", "--model", model, "--first-stage", "logistic+squares+head20", *options, code=OPEN)
    for command in (["rank"], ["score"], ["verify"], ["report", "-o", tmp_path / "r.html"]):
        run(command[0], model, data, *command[1:], code=OPEN)


@pytest.mark.parametrize("rare", ["?", 7])
def test_folds_may_hold_the_numbers_of_a_mixed_column_and_not_its_texts(rare):
    X, y = mixed("pandas")
    usual = [1, 2, 3, 4] if rare == "?" else ["a", "b", "c", "d"]
    X["mixed"] = pytest.importorskip("pandas").Series(usual * (y.size // 4), dtype=object)
    X.loc[5, "mixed"] = rare
    est = fitted(X, y, radius=0.1)
    assert est.result_.folds == 5 and "5 columns: 3 of numbers, 2 of text" in " ".join(est.result_.notes)
    assert np.isfinite(est.first_stage_scores(X.iloc[:4])).all()  # of one kind
    RerankerCV(Reranker("precision@5", **QUICK), grid={"radius": [0.1]}, cv=3).fit(X, y)
