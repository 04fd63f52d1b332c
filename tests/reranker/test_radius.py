"""Corrections of a first stage within a radius: values against a sweep, limits, files, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from rerank import Reranker, verify
from rerank.ranks import evaluate
from rerank.reranker.files import model_file
from rerank.statistics import Window
from tests.cases.drawn import as_table, read_back


def table(seed=0, n=120, d=3, share=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(d)
    score = X @ (0.5 ** np.arange(d) / 10.0 ** np.arange(d)) + rng.normal(size=n)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


def fitted(X, y, stat="precision@12", **options):
    return Reranker(stat, **{"solver": "search", "time_limit": 20.0, "radius": 0.2, **options}).fit(X, y)


def swept(stat, y, prior, column, radius, margin):
    """The largest value of ``prior + w column`` over |w| <= radius, by trying every w between two crossings."""
    differ = column[:, None] - column[None, :]
    behind = prior[None, :] - prior[:, None] + margin
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (behind / differ)[(differ != 0) & (y[:, None] > y[None, :])]
    ends = np.unique(np.clip(crossings, -radius, radius))
    tried = np.unique([-radius, 0.0, radius, *ends, *(ends[:-1] + ends[1:]) / 2])
    # Irrelevant rows are lifted by the margin, so that a relevant row has to lead by it.
    return max(evaluate(stat, y, prior + w * column + np.where(y > 0, 0.0, margin)) for w in tried)


@pytest.mark.parametrize("stat", ["precision@6", "dcg@6", "auc", "window2@6"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), radius=st.sampled_from([0.05, 0.3, 1.0]), margin=st.sampled_from([1e-6, 0.05]))
def test_the_value_is_that_of_a_sweep_over_one_correction(stat, seed, radius, margin):
    X, y = table(seed, n=50, d=2)
    est = fitted(X, y, stat, first_stage="x1", features=["x0"], radius=radius, margin=margin, cross_fit=False)
    prior, column = X[:, 1] / X[:, 1].std(), X[:, 0] / X[:, 0].std()
    if est.result_.status != "already_ideal":
        assert est.result_.value == pytest.approx(swept(stat, y, prior, column, radius, margin), abs=1e-9)
        assert est.result_.proved


@pytest.mark.parametrize("options", [{"margin": 0.1}, {"radius": None, "margin": 0.05}, {"window": 2.0}])
def test_no_allowed_weights_exceed_the_bound_of_the_statistic(options):
    """A margin holds pairs back that are in the right order: a ranking may exceed ``bound``, never this one."""
    X, y = table(7, n=80)
    est = fitted(X, y, "precision@8", cross_fit=False, **options)
    bound, problem = est.statistic_bound(20.0), est.state_.problem
    rng, best = np.random.default_rng(0), 0.0
    # All rows, also those that no correction within the radius brings near the first places.
    every = np.column_stack([est.first_stage_scores(X), X]) if problem.anchored else X
    scaled = (every - problem.low) / (problem.high - problem.low)
    low, high = problem.limits if problem.anchored else (-np.ones(3), np.ones(3))
    for w in rng.uniform(low, high, (3000, low.size)):
        best = max(best, evaluate(est.state_.task.statistic, y, scaled @ w))
    assert best <= bound + 1e-9 and bound <= problem.ideal + 1e-9
    said, result = est.audit(20.0), est.result_
    who = "corrections of logistic regression" if problem.anchored else "weights of these 3 columns"
    whole = "window" not in options
    most = f"{np.floor(bound + 1e-6):g}" if whole else f"{bound:.4g}"
    name = result.fitted_name if whole else "count of hits around place 8"
    assert said.startswith(f"{name}: ") and f"none above {most}" in said and f"for any {who}" in said
    assert not whole or f"{result.first_stage_statistic:g} now, by logistic regression, " in said
    joined = f"that keep the fit's margin of {result.epsilon:.3g} none is above "  # one bound, or two joined
    assert (joined in said) == (bound > result.bound + 1e-6) and ("penalty" in said) <= (result.C > 0)


def test_radius_0_is_the_first_stage_itself():
    X, y = table()
    est = fitted(X, y, radius=0.0)
    alone = Reranker("precision@12", n_candidates=1).fit(X, y)
    np.testing.assert_array_equal(est.rank(X), np.argsort(np.argsort(-est.first_stage_scores(X), kind="stable")) + 1)
    np.testing.assert_allclose(est.coef_, alone.state_.first_stage.coef)
    assert est.result_.status == "first_stage_kept" and est.result_.statistic == est.result_.first_stage_statistic


@pytest.mark.parametrize("stage", ["logistic", RandomForestClassifier(10, random_state=0)], ids=["affine", "forest"])
def test_weights_are_the_first_stage_and_corrections_within_the_radius(stage):
    X, y = table(1)
    est = fitted(X, y, first_stage=stage, radius=0.1)
    corrections = est.coef_ if est.prior_weight_ else est.coef_ - est.state_.first_stage.coef
    assert est.reranks_ and np.any(corrections != 0)
    spread = est.state_.high - est.state_.low
    assert np.all(np.abs(corrections * X.std(axis=0)) <= 0.1 * spread[0] * (1 + 1e-12))
    whole = est.prior_weight_ * est.first_stage_scores(X) + X @ est.coef_
    scores = est.decision_function(X)
    apart = np.abs(np.subtract.outer(whole, whole)) > 1e-9
    assert np.all((np.subtract.outer(whole, whole) > 0)[apart] == (np.subtract.outer(scores, scores) > 0)[apart])


def test_a_sign_is_one_of_the_total_weight_where_the_first_stage_is_affine():
    X, y = table(2)
    est = fitted(X, y, radius=5.0, positive=True)
    own = est.state_.first_stage.coef
    assert np.all(est.coef_ >= np.minimum(own, 0.0) - 1e-12)
    forest = fitted(X, y, radius=5.0, positive=True, first_stage=RandomForestClassifier(10, random_state=0))
    assert np.all(forest.coef_ >= 0)


def test_what_is_fitted_and_what_is_quoted_are_two_statistics():
    X, y = table(3, n=200)
    est = fitted(X, y, window=2.0, margin=0.05)
    result = est.result_
    assert result.fitted_name == "window2@12" and result.statistic_name == "precision@12"
    prior = est.state_.prior_scores
    assert result.first_stage_statistic == evaluate("precision@12", y, prior)
    assert float(result.certificate.statistic) >= evaluate(Window(12), y, prior)
    assert result.epsilon == 0.05


def test_without_a_first_stage_equal_weights_are_corrected():
    X, y = table(4)
    est = fitted(X, y, first_stage=None, radius=0.3)
    equal = (X / X.std(axis=0)).sum(axis=1)
    assert est.result_.first_stage_statistic == evaluate("precision@12", y, equal)
    assert est.result_.statistic >= est.result_.first_stage_statistic
    given_ = fitted(X, y, first_stage=None, radius=0.3, prior=[1.0, 0.0, 0.0])
    assert given_.result_.first_stage_statistic == evaluate("precision@12", y, X[:, 0])


def test_a_constant_first_stage_leaves_the_weights_free_and_says_so():
    X, y = table(5)
    est = fitted(X, y, first_stage=lambda rows: np.zeros(len(rows)), features=[0, 1, 2])
    assert not est.state_.anchored and any("same score" in note for note in est.result_.notes)


def by_hand(X):
    return X[:, 0] - X[:, 1] / 10


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window": 2.0, "margin": 0.1},
        {"positive": True, "max_features": 2},
        {"first_stage": None},
        {"list_length": 60, "stat": "precision@6"},
        {"first_stage": RandomForestClassifier(10, random_state=0)},
        {"first_stage": by_hand},
        {"features": [0, 2]},
        {"radius": 0.0},
    ],
    ids=lambda options: ",".join(options) or "plain",
)
def test_a_file_gives_the_same_scores_and_verifies(options, tmp_path):
    X, y = table(6)
    est = fitted(X, y, **options)
    stage = by_hand if options.get("first_stage") is by_hand else est.first_stage_
    stage = None if est.state_.first_stage.coef is not None else stage
    again = read_back(est, tmp_path, X, y, first_stage=stage)
    np.testing.assert_array_equal(again.decision_function(X), est.decision_function(X))
    doc, rows = model_file.read(tmp_path / "m.json"), as_table(est, X, y)
    # Scores that are taken as given are still tied to what follows from them.
    if doc.prior_scores is not None and est.result_.status != "first_stage_kept":
        doc.prior_scores[:] = doc.prior_scores[::-1]
        assert not verify(doc, rows, first_stage=stage).holds


def test_lists_are_corrected_too():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 3)), np.repeat(np.arange(30), 10)
    y = (X @ [1, 0.5, 0.2] + rng.normal(size=300) > 0.8).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = Reranker("ndcg@5", solver="search", radius=0.1, time_limit=5.0).fit(X, y, qid)
    assert est.result_.folds == 5 and est.result_.value >= est.result_.first_stage_statistic - 1e-12
    assert est.score(X, y, qid) > 0.5
