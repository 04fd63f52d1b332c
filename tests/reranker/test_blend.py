"""Blends of first stages: weights from out-of-fold scores, from 0 on, and the same scores from a file."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from rerank import Reranker, RerankerCV, compare, load, verify
from rerank.errors import NotSupportedError
from rerank.io import read_table
from rerank.ranks import evaluate
from rerank.reranker.estimator import restored
from rerank.reranker.files.document import kinds_of
from rerank.reranker.files.model_file import read
from rerank.reranker.selection.options import STRONG
from rerank.scorers import TableTrees
from tests.cases.refuses import refuses


def table(n=400, seed=0):
    """Two numbers, of which one counts and both together, a text, gaps, a score in use and noise as another."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "word": rng.choice(list("xyz"), n)})
    worth = X.a + 1.5 * X.a * X.b + (X.word == "y")
    X["score"], X["noise"] = worth + rng.normal(size=n), rng.normal(size=n)
    worth += rng.normal(size=n)
    X.loc[::11, "b"] = np.nan
    return X, worth.to_numpy()


MEMBERS = ["logistic", "trees", "score", "noise"]


def fitted(members, X, y, **options):
    return Reranker(
        "precision@30", first_stage=members, solver="search", time_limit=600, **{"radius": 0.0} | options
    ).fit(X, y)


@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_a_blend_is_kept_in_a_file_to_the_last_bit(radius, tmp_path):
    X, worth = table()
    found = fitted(MEMBERS, X, worth > 1.5, radius=radius, node_limit=20)
    found.save(tmp_path / "m.json")
    kept, new = load(tmp_path / "m.json"), table(seed=1)[0]
    np.testing.assert_array_equal(kept.decision_function(new), found.decision_function(new))
    np.testing.assert_array_equal(kept.first_stage_scores(new), found.first_stage_scores(new))
    assert kept.blend_weights_ == found.blend_weights_
    assert kept.get_params()["first_stage"] == MEMBERS


def test_weights_are_of_a_stack_from_0_on_averaged_with_equal_ones():
    """Of scores that are ready nothing has to be out of fold, so that any optimiser finds the same weights."""
    rng = np.random.default_rng(3)
    y = np.repeat([0.0, 1.0], 100)
    X = np.column_stack([y + rng.normal(size=200), 5 * (y + 2 * rng.normal(size=200)), -y + rng.normal(size=200)])
    scores = pd.DataFrame(X, columns=["one", "two", "worse"])
    found = fitted(["one", "two", "worse"], scores, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def loss(w):
        margins = Z @ w[:3] + w[3]
        return np.logaddexp(0, margins).sum() - y @ margins + 0.005 * np.sum(w[:3] ** 2)

    best = minimize(loss, np.zeros(4), bounds=[(0, None)] * 3 + [(None, None)], options={"ftol": 1e-14}).x[:3]
    alone = best / best.sum()
    weights = np.array([found.blend_weights_[f"column {name}"] for name in scores])
    share = (weights[2] - alone[2]) / (1 / 3 - alone[2])  # how much equal weights count
    assert alone[2] < 1e-6 and 0 < share < 0.7
    np.testing.assert_allclose(weights, share / 3 + (1 - share) * alone, atol=1e-4)
    np.testing.assert_allclose(found.decision_function(scores), Z @ weights, atol=1e-9)


def test_a_blend_ranks_rows_to_come_better_than_its_members():
    X, worth = table(900)
    new, to_come = table(3000, seed=1)
    members = ["logistic", "trees", "score"]

    def auc(first_stage):
        found = fitted(first_stage, X, worth > 2)
        return evaluate("auc", (to_come > 2).astype(float), found.decision_function(new))

    assert auc(members) > max(map(auc, members))


@pytest.mark.parametrize("statistic", ["precision@12", "dcg@12"])
@pytest.mark.parametrize("constraint", ["score >= 0", "score <= noise"])
def test_no_weights_from_0_on_beat_the_bound_of_a_searched_blend(statistic, constraint):
    """Of two members all blends are those of the angles between crossings, each counted by the definition."""
    X, worth = table(80)
    y = (worth > 1).astype(float)
    asked = {"features": "members", "radius": None, "constraints": [constraint], "n_candidates": None}
    found = Reranker(statistic, first_stage=["score", "noise"], solver="search", **asked).fit(X, y)
    Z = (X[["score", "noise"]] - X[["score", "noise"]].mean()) / X[["score", "noise"]].std(ddof=0)
    d = (Z.to_numpy()[:, None] - Z.to_numpy()[None]).reshape(-1, 2)
    at = np.sort(np.arctan2(np.abs(d[:, 0]), np.abs(d[:, 1]))[d[:, 0] * d[:, 1] < 0])
    angles = np.concatenate([[0.0], (at[1:] + at[:-1]) / 2, [np.pi / 2]])
    angles = angles[np.sin(angles) >= np.cos(angles)] if "<=" in constraint else angles
    best = max(evaluate(statistic, y, Z @ [np.cos(one), np.sin(one)]) for one in angles)
    assert found.result_.proved and found.result_.value <= best + 1e-9 <= found.statistic_bound() + 2e-9
    assert best - found.result_.value < 0.4  # what the margin costs
    own = found.coef_
    assert min(own) >= 0 and ("<=" not in constraint or own[0] <= own[1] + 1e-12)
    assert found.result_.statistic == pytest.approx(evaluate(statistic, y, Z @ own), abs=1e-9)
    assert list(found.blend_weights_.values()) == pytest.approx(own / own.sum())


def test_a_searched_blend_is_of_out_of_fold_scores_which_its_file_holds(tmp_path):
    X, worth = table(200)
    y, members = (worth > 1.5).astype(float), ["logistic", "trees", "score"]
    found = fitted(members, X, y, features="members", radius=None, constraints=["trees <= 2 * logistic"], proof=True)
    found.save(tmp_path / "m.json")
    kept, new = load(tmp_path / "m.json"), table(seed=1)[0]
    np.testing.assert_array_equal(kept.decision_function(new), found.decision_function(new))
    scores = kept.state_.member_scores
    for name, own in zip(members[:2], scores.T):
        alone = fitted(name, X, y, cross_fit=True).state_.prior_scores
        np.testing.assert_allclose(own, (alone - alone.mean()) / alone.std(), atol=1e-9)
    weights = dict(zip(members, found.coef_))
    assert min(found.coef_) >= 0 and weights["trees"] <= 2 * weights["logistic"] + 1e-12
    assert found.result_.statistic == evaluate("precision@30", y, scores @ found.coef_)
    assert found.result_.statistic >= found.result_.first_stage_statistic
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    table_of = read_table(tmp_path / "t.csv", label="y", kinds=kinds_of(read(tmp_path / "m.json")))
    report = verify(tmp_path / "m.json", table_of, found.result_.proof)
    assert report.holds and any("fitted on all rows" in one.why for one in report.not_looked_at)
    other = replace(found.state_, member_scores=scores[::-1].copy())
    assert not verify(restored(other), table_of).holds


def test_a_searched_blend_is_tried_on_held_out_rows():
    X, worth = table(200)
    base = Reranker("auc", first_stage=["logistic", "score"], features="members", solver="search", node_limit=0)
    found = RerankerCV(base, cv=3, n_repeats=1, safeguard=-math.inf).fit(X, worth > 1.5)
    assert np.isfinite(found.cv_results_["value"]).all() and found.best_score_ > 0.75
    refuses("give a list of first stages", fitted, "logistic", X, worth > 1.5, features="members")


def test_what_cannot_be_a_blend_or_be_written_is_said_in_one_sentence(tmp_path):
    X, worth = table(120)
    y = worth > 1.5
    refuses("'logistic' twice", fitted, ["logistic", "logistic"], X, y)
    refuses("one member", fitted, ["logistic"], X, y)
    refuses("a blend with a blend", fitted, ["logistic", ["trees", "score"]], X, y)
    refuses("did you mean 'trees'", fitted, ["logistic", "treees"], X, y)
    found = fitted(["score", KNeighborsClassifier()], X[["a", "score", "noise"]], y)
    with pytest.raises(NotSupportedError, match="member KNeighborsClassifier"):
        found.save(tmp_path / "m.json")
    numbers = fitted(["score", LogisticRegression()], X[["a", "score", "noise"]], y)
    numbers.save(tmp_path / "m.json")
    body = json.loads((tmp_path / "m.json").read_text())
    body["settings"]["table.members.0.weight"] = {"hex": (2.0).hex()}
    (tmp_path / "m.json").write_text(json.dumps(body))
    refuses("sum is 1|digest", load, tmp_path / "m.json")


@pytest.mark.parametrize("lists", [False, True])
def test_a_blend_is_an_option_beside_its_members_and_judged_by_held_out_scores(lists):
    X, worth = table(300)
    qid = np.arange(300) // 15 if lists else None
    y = np.digitize(worth, [1.0, 2.5]) if lists else worth > 1.5
    grid = {"first_stage": ["trees", ["logistic", "trees", "score"]], "radius": [0.0]}
    base = Reranker("ndcg@5" if lists else "auc", solver="search", node_limit=0)
    found = RerankerCV(base, grid=grid, safeguard=0).fit(X, y, qid=qid)
    trees, blend = found.cv_results_["value"]
    assert found.chosen_ == 1 and blend > max(trees, found.cv_results_["first_stage"][1])
    assert set(found.blend_weights_) == {"logistic", "trees", "column score"}
    assert "blend of logistic, trees, score" in found.report()


def test_held_out_rows_choose_the_first_stage_too():
    """Trees and blends count only where they were asked for; alone "auto" is logistic regression."""
    X, worth = table(300)
    X, y = X[["a", "b"]].fillna(0.0), worth > 1.5
    base = Reranker("auc", first_stage="auto", solver="search", node_limit=0)
    found = RerankerCV(base, cv=2, n_repeats=1).fit(X, y)
    assert found.best_params_["first_stage"] in STRONG
    assert found.best_score_ > max(one for one in found.cv_results_["first_stage"] if one == one)
    own = {str(one["first_stage"]) for one in found.cv_results_["params"]}
    assert {str(one) for one in STRONG} <= own
    plain, named = (clone(base).set_params(first_stage=name, radius=0.0).fit(X, y) for name in ("auto", "logistic"))
    np.testing.assert_array_equal(plain.decision_function(X), named.decision_function(X))


def test_what_is_compared_is_what_is_fitted():
    X, worth = table(300)
    y = worth > 1.5
    found = compare(X[["a", "b"]].fillna(0.0), y, "auc", methods=["logistic", "trees", "blend"], folds=3)
    values = {row.name: row.value for row in found.methods}
    assert min(values["trees"], values["blend"]) > values["logistic"] and found.take != "logistic"
    assert found.estimator.first_stage in STRONG


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_trees_learn_the_gain_of_grades(gain):
    X, worth = table(200)
    y, qid, weight = (
        np.digitize(worth, [0.5, 1.5, 2.5]),
        np.arange(200) // 20,
        np.random.default_rng(0).random(200) + 0.5,
    )
    est = Reranker("ndcg@5", first_stage="forest", radius=0, gain=gain, solver="search", cross_fit=False)
    found = est.fit(X, y, qid=qid, sample_weight=weight).first_stage_scores(X)
    peer = TableTrees(forest=True).fit(X, 2.0**y - 1 if gain == "exponential" else y, sample_weight=weight)
    np.testing.assert_allclose(found, peer.decision_function(X), rtol=1e-9)
