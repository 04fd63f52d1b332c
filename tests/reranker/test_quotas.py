"""Quotas of the estimator: kept on the training lists, told, in files, folds, programs and on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import rerank
from rerank import Reranker, RerankerCV, load, verify
from rerank.errors import InfeasibleError, InputError
from rerank.io import read_table
from rerank.reranker.files import model_file
from rerank.reranker.files.export import imported
from rerank.solvers import gateway
from tests.cases.refuses import refuses
from tests.cli.commands import run

QUOTA = "at least 12 of A among the first 25"
STAT = "precision@15"


def table(seed=1, n=160):
    """Rows of a kind that stands low by what the labels ask for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] - 0.5 * X[:, 2] + rng.normal(size=n) > 1).astype(int)
    return X, y, np.where(X[:, 2] > 0.3, "A", "B")


def first_of(kinds, scores, first=25):
    return int((kinds[np.argsort(-scores, kind="stable")[:first]] == "A").sum())


@pytest.fixture(scope="module")
def fitted():
    X, y, kinds = table()
    return Reranker(STAT, quota=QUOTA, time_limit=20.0).fit(X, y, people=kinds)


def test_the_order_that_comes_back_keeps_the_quota_where_rows_tie_on_a_grid():
    """Scores are rounded before they are compared, so weights that part two rows by less than that part none."""
    rng, fits = np.random.default_rng(0), 0
    cases = [
        (np.array([[1, 3], [3, 0], [0, 3], [1, 1], [0, 2.0]]), np.array([1, 1, 0, 0, 1]), np.array(list("ABBAB")), 0, 1)
    ]
    for _ in range(40):
        n, first = int(rng.integers(4, 9)), int(rng.integers(1, 4))
        X, y = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 2, n)
        cases.append((X, y, rng.choice(["A", "B"], n), int(rng.integers(0, first + 1)), first))
    for X, y, kinds, most, first in cases:
        est = Reranker("precision@2", first_stage=None, solver="search", time_limit=10)
        est.set_params(quota=f"at most {most} of B among the first {first}")
        try:
            scores = est.fit(X, y, people=kinds).decision_function(X)
        except (InputError, InfeasibleError):
            continue
        fits += 1
        order = np.lexsort((kinds == "A", -scores))  # of equal scores those of B first
        assert (kinds[order][:first] == "B").sum() <= most
    assert fits > 20


def test_a_quota_is_kept_and_a_first_stage_that_misses_it_is_not(fitted):
    X, y, kinds = table()
    free, result = Reranker(STAT, time_limit=20.0).fit(X, y), fitted.result_
    assert first_of(kinds, free.decision_function(X)) < 12 <= first_of(kinds, fitted.decision_function(X))
    assert result.status == "optimal" and result.value < free.result_.value
    assert any("is not kept" in note and "does not meet the quota" in note for note in result.notes)
    assert f"Quota '{QUOTA}': there are {first_of(kinds, fitted.decision_function(X))}." in result.notes
    assert result.first_stage_statistic > result.statistic


def test_at_most_and_kinds_that_are_numbers():
    X, y, kinds = table()
    quota = ("at most 13 of 0 among the first 25",)
    est = Reranker(STAT, quota=quota, first_stage=None, time_limit=20.0)
    est.fit(X, y, people=np.where(kinds == "A", 1.0, 0.0))
    assert first_of(kinds, est.decision_function(X)) >= 12


def test_a_quota_holds_for_every_list_and_names_a_column():
    X, y, kinds = table()
    lists = np.repeat(np.arange(5), 32)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=kinds, list=lists)
    est = Reranker("ndcg@5", quota="at least 3 of A among the first 6", first_stage=None, time_limit=20.0)
    est.fit(frame, y, qid="list", people="kind")
    scores = est.decision_function(frame)
    for own in (lists == q for q in range(5)):
        if y[own].any():
            assert first_of(kinds[own], scores[own], 6) >= 3
    assert list(est.features_) == ["a", "b", "c"]


def test_with_a_radius_rows_that_cannot_matter_are_left_out_and_the_quota_is_kept():
    X, y, kinds = table(seed=3, n=900)
    free = Reranker(STAT, radius=0.2, cross_fit=False, time_limit=20.0).fit(X, y)
    least = first_of(kinds, free.decision_function(X)) + 2
    quota = f"at least {least} of A among the first 25"
    est = Reranker(STAT, quota=quota, radius=0.2, cross_fit=False, time_limit=20.0).fit(X, y, people=kinds)
    assert free.state_.problem.X.shape[0] < est.state_.problem.X.shape[0] < 900  # more places are looked at
    assert first_of(kinds, est.decision_function(X)) >= least
    with pytest.raises(InfeasibleError, match="No weights meet the quota 'at least 25 of A .*', which is proved"):
        Reranker(STAT, quota="at least 25 of A among the first 25", radius=0.01).fit(X, y, people=kinds)


@pytest.mark.parametrize(
    ("quota", "options", "message"),
    [
        ("at least 90 of A among the first 99", {}, "cannot be met: a list of 160 rows has"),
        ("at least 2 of Z among the first 9", {}, "names the kind 'Z', and the kinds of rows are A, B"),
        (QUOTA, {"presolve": False}, "use formulation='resolved_rank', or leave formulation and presolve out"),
    ],
)
def test_what_cannot_be_asked(quota, options, message):
    X, y, kinds = table()
    refuses(message, Reranker(STAT, quota=quota, **options).fit, X, y, people=kinds)


def test_resolved_rank_states_quotas():
    X, y, kinds = table(n=14)
    quota = "at least 3 of A among the first 5"
    given = {"quota": quota, "formulation": "resolved_rank", "first_stage": None, "time_limit": 6.0}
    alone = Reranker("precision@5", presolve=False, **given).fit(X, y, people=kinds)
    searched = Reranker("precision@5", solver="search", quota=quota, first_stage=None).fit(X, y, people=kinds)
    assert first_of(kinds, alone.decision_function(X), 5) >= 3
    assert alone.result_.value <= searched.result_.value
    assert alone.result_.program_value == pytest.approx(alone.result_.value)
    confirmed = Reranker("precision@5", **given).fit(X, y, people=kinds)
    assert confirmed.result_.value == searched.result_.value


def test_files_keep_quotas_and_verification_counts_again(tmp_path, fitted):
    X, y, kinds = table()
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(kind=kinds, label=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    fitted.save(tmp_path / "model.json")
    read = rerank.load(tmp_path / "model.json")
    assert read.quota == QUOTA and (read.decision_function(X) == fitted.decision_function(X)).all()
    doc = model_file.read(tmp_path / "model.json")
    full = read_table(tmp_path / "data.csv", label="label", people="kind", features=["x0", "x1", "x2"])
    assert verify(doc, full, first_stage=None).holds
    other = json.loads((tmp_path / "model.json").read_text())["settings"]["quota"]
    assert other == QUOTA
    swapped = read_table(tmp_path / "data.csv", label="label", people="kind", features=["x0", "x1", "x2"])
    swapped.people[:] = np.where(swapped.people == "A", "B", "A")
    assert not verify(doc, swapped).holds
    with pytest.raises(InputError, match="keeps quotas on kinds of rows; name the column that holds these"):
        verify(doc, read_table(tmp_path / "data.csv", label="label", features=["x0", "x1", "x2"]))


def test_folds_ask_for_their_share_and_the_choice_keeps_the_quota():
    X, y, kinds = table(n=200)
    base = Reranker(STAT, quota=QUOTA, time_limit=5.0)
    found = RerankerCV(base, cv=3, grid={"window": [None, 2.0]}, random_state=0).fit(X, y, people=kinds)
    assert first_of(kinds, found.decision_function(X)) >= 12
    assert not found.first_stage_kept_


def test_the_command_line(tmp_path):
    X, y, kinds = table()
    pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(kind=kinds, label=y).to_csv(tmp_path / "data.csv", index=False)
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    ask = ("fit", data, "--free", "--model", model, "--label", "label", "--stat", STAT, "--time-limit", 20)
    assert f"Quota '{QUOTA}': there are 1" in run(*ask, "--people", "kind", "--quota", QUOTA).output
    run("verify", model, data, code=3)  # the proof is not looked at


@pytest.mark.parametrize("quota", ["at least 3 of A among the first 4", "at least 1 of B among the first 1"])
def test_the_program_of_quotas_is_had_without_a_solver(quota, tmp_path):
    X = np.array([[9, 9, 8, 3, 9, 8, 2, 3, 7, 5, 6, 9], [6, 6, 3, 3, 1, 2, 5, 4, 3, 5, 5, 8]], float).T
    y, kinds = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1]), np.array(list("AABABBABABBA"))
    given = {"first_stage": None, "margin": 0.001, "quota": quota, "formulation": "resolved_rank", "solver": "none"}
    est = Reranker("dcg@4", **given).fit(X, y, people=kinds)
    first = kinds[np.argsort(-est.decision_function(X), kind="stable")]
    assert (first[:4] == "A").sum() >= 3 if "3 of A" in quota else first[0] == "B"
    assert any("first points of a search" in note for note in est.result_.notes)
    est.export_mps(tmp_path / "q.mps")
    asked = {**given, "solver": "search"}
    best = Reranker("dcg@4", **asked).fit(X, y, people=kinds).result_.value
    assert est.result_.value <= best == pytest.approx(est.fit_model(est.build_model()).result_.value)


def test_the_program_is_had_where_no_weights_are_known_that_meet_the_quota(tmp_path):
    rng = np.random.default_rng(66)
    X, y = rng.normal(size=(14, int(rng.integers(2, 5)))), (rng.random(14) < 0.4).astype(int)
    y[:2], kinds = (1, 0), np.where(rng.random(14) < 0.5, "A", "B")
    given = {"first_stage": None, "margin": 0.001, "quota": "at least 4 of A among the first 5"}
    best = Reranker("dcg@4", solver="search", **given).fit(X, y, people=kinds).result_
    est = Reranker("dcg@4", solver="none", formulation="resolved_rank", **given).fit(X, y, people=kinds)
    none = est.result_
    assert none.value == -np.inf and none.bound >= best.value and none.status == "feasible" and not none.weights.any()
    assert "no value" in none.notes[0] and "Proved" not in str(none)
    program, _ = est.export_mps(tmp_path / "q.mps")
    est.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").result_.value == -np.inf
    gateway.solve_file(program, "highs", solution=tmp_path / "q.sol")
    assert imported(program, tmp_path / "q.sol").result.value == pytest.approx(best.value)
