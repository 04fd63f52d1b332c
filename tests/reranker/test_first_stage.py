"""First stages: what is kept as numbers, whatever it is wrapped in."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker
from sklearn import clone, config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from rerank import Reranker, RerankerCV
from rerank.errors import InputWarning
from rerank.ranks import evaluate
from rerank.reranker.first_stage import NAMES
from tests.cases.drawn import drawn
from tests.cases.refuses import refuses
from tests.cases.stages import fit_stage, stage_scores


def table(n=80, d=3):
    return drawn(n, d, cut=0.5, steps=10.0)


def frozen_twice(estimator):
    return FrozenEstimator(FrozenEstimator(estimator))


def frozen_steps(pipeline):
    return make_pipeline(*(FrozenEstimator(step) for _, step in pipeline.steps))


@pytest.mark.parametrize("wrap", [FrozenEstimator, frozen_twice, frozen_steps])
@pytest.mark.parametrize("last", [LogisticRegression(), Ridge()])
def test_a_frozen_pipeline_scores_the_same_bits_as_the_pipeline(wrap, last):
    X, y = table()
    fitted = make_pipeline(StandardScaler(), last).fit(X, y)
    plain, frozen = fit_stage(fitted, X, y), fit_stage(wrap(fitted), X, y)
    np.testing.assert_array_equal(frozen.coef, plain.coef)
    assert frozen.intercept == plain.intercept
    np.testing.assert_array_equal(stage_scores(frozen, X), stage_scores(plain, X))
    # The weights are in original units: they tell apart what the estimator tells apart.
    raw = fitted.predict(X) if isinstance(last, Ridge) else fitted.decision_function(X)
    np.testing.assert_allclose(X @ frozen.coef + frozen.intercept, raw, rtol=1e-9, atol=1e-9)


def test_a_frozen_estimator_goes_by_the_name_of_what_it_holds():
    X, y = table()
    assert fit_stage(FrozenEstimator(Ridge().fit(X, y)), X, y).name == "Ridge"


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(3, random_state=0), make_pipeline(MinMaxScaler((0, 1)), Ridge()), PoissonRegressor()],
)
def test_what_is_not_read_as_affine_is_asked_frozen_or_not(estimator):
    X, y = table()
    fitted = estimator.fit(X, y)
    plain, frozen = fit_stage(fitted, X, y), fit_stage(FrozenEstimator(fitted), X, y)
    assert plain.coef is None and frozen.coef is None
    np.testing.assert_array_equal(stage_scores(frozen, X), stage_scores(plain, X))


PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    "stage",
    ["logistic", "ranksvm", LogisticRegression(), PIPELINE, None],
    ids=["named", "scorer", "plain", "pipeline", "pipeline that requests weights"],
)
def test_weights_reach_the_first_stage_whether_metadata_are_routed_or_not(stage):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.random(60) + 0.5
    y = (X[:, 0] + rng.normal(size=60) > 0.5).astype(float)
    if stage is None:
        with config_context(enable_metadata_routing=True):
            stage = make_pipeline(
                StandardScaler().set_fit_request(sample_weight=False),
                LogisticRegression().set_fit_request(sample_weight=True),
            )
    with config_context(enable_metadata_routing=True):
        routed = fit_stage(stage, X, y, None, weights)
    plain = fit_stage(stage, X, y, None, weights)
    unweighted = fit_stage(stage, X, y)
    assert np.array_equal(plain.coef, routed.coef) and not np.array_equal(plain.coef, unweighted.coef)


RADII = [(None, None), *((name, (None, 0.5)[number % 2]) for number, name in enumerate(NAMES))]


@pytest.mark.parametrize(("stage", "radius"), RADII)
def test_columns_of_any_size_give_what_the_scaled_table_gives(stage, radius):
    X, y = table(60, 3)
    options = {"first_stage": stage, "radius": radius, "cross_fit": 2 if stage else "auto"}
    options |= {"time_limit": None, "node_limit": 50, "solver": "search"}
    plain = Reranker("dcg@3", **options).fit(X, y)
    # Powers of two scale exactly. 2^1010 times 300 is 3e306, and the last is 1e-300.
    for sizes in ([2.0**515] * 3, [2.0**1010, 1.0, 2.0**-990], [2.0**-997] * 3):
        grown = X * np.array(sizes)
        found = Reranker("dcg@3", **options).fit(grown, y)
        assert found.result_.value == pytest.approx(plain.result_.value, rel=1e-12)
        np.testing.assert_array_equal(found.rank(grown), plain.rank(X))


def test_a_range_beyond_the_largest_number_is_scaled():
    X, y = table(60, 2)
    wide = np.sign(X) * 1.7e308 * np.minimum(1.0, np.abs(X) / 10.0)
    stage = fit_stage("logistic", wide, y)
    half = fit_stage("logistic", wide * 2.0**-300, y)
    np.testing.assert_allclose(stage.coef * 2.0**300, half.coef, rtol=1e-9)


# -- a first stage whose score decides nothing -------------------------------------------------------------------------


def trees_and_lists(signal=0.0, n=160):
    """An interaction, which trees find and weights of columns do not, in short lists; ``signal`` is one of a column."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] * X[:, 1] + signal * X[:, 2] + 0.3 * rng.normal(size=n) > 0.8).astype(int)
    trees = LGBMRanker(n_estimators=15, num_leaves=7, min_child_samples=5, n_jobs=1, verbose=-1, random_state=0)
    return X, y, np.arange(n) // 8, trees


def heads(stage, X, y, qid=None, **options):
    """A fit whose weights are not the first stage's, and its warnings on a score that is not used."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est = Reranker("ndcg@3", first_stage=stage, solver="search", node_limit=20, cross_fit=False, **options)
        est.fit(X, y, qid)
    return est, [one for one in caught if issubclass(one.category, InputWarning)]


def test_trees_whose_score_decides_nothing_are_told_of():
    X, y, qid, _ = trees_and_lists(signal=3.0)
    trees = LGBMRanker(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1)  # the weights are ahead of these
    est, caught = heads(trees, X, y, qid)
    assert np.array_equal(est.coef_, heads(None, X, y, qid)[0].coef_)  # as without the trees
    (warned,) = caught
    assert str(warned.message) in est.result_.notes and warned.filename == __file__
    assert str(warned.message) == (
        "The score of the first stage LGBMRanker decides nothing here, because all lists are reordered whole by the "
        "columns alone; give radius, such as 0.3, to correct it, or n_candidates below 8 to keep its order below the "
        "first rows."
    )
    for cure in ({"radius": 0.3}, {"n_candidates": 4}):
        est, caught = heads(trees, X, y, qid, **cure)
        assert not caught and not any("decides nothing" in note for note in est.result_.notes) and est.reranks_
        assert not np.array_equal(est.list_scores(X, qid), heads(None, X, y, qid)[0].list_scores(X, qid))


def test_a_first_stage_is_not_told_of_where_its_weights_were_compared_or_it_is_kept():
    X, y, qid, trees = trees_and_lists()
    kept, caught = heads(trees.set_params(n_estimators=5, num_leaves=4), X, y, qid)
    assert kept.result_.status == "first_stage_kept" and not caught
    assert not any("decides nothing" in note for note in kept.result_.notes)
    X, y, qid, _ = trees_and_lists(signal=3.0)
    for stage in ("logistic", LogisticRegression(), "x0"):
        assert not heads(stage, pd.DataFrame(X, columns=["x0", "x1", "x2"]), y, qid)[1]
    other = heads("x0", pd.DataFrame(X, columns=["x0", "x1", "x2"]), y, features=["x1", "x2"])
    assert "The score of the first stage column x0 decides nothing here, because the list" in str(other[1][0].message)
    assert "The given score decides nothing" in str(heads(lambda X: X[:, 0] ** 3, X, y, qid)[1][0].message)


@pytest.mark.parametrize("signal, kept", [(0.0, True), (3.0, False)])
def test_a_choice_over_trees_corrects_their_score_and_keeps_them_as_the_null(signal, kept):
    X, y, qid, trees = trees_and_lists(signal, n=400)
    base = Reranker("ndcg@3", first_stage=trees, solver="search", node_limit=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        cv = RerankerCV(base, cv=3, n_repeats=1).fit(X, y, qid)
    tried = [
        params["radius"]
        for params, lead in zip(cv.cv_results_["params"], cv.cv_results_["lead"])
        if params["first_stage"] is trees and not np.isnan(lead)
    ]
    assert set(tried) == {0.03, 0.1, 0.3, 1.0, 3.0, None}
    splits = list(GroupKFold(4).split(X, y, qid))  # the null is what these trees say of lists they have not seen
    alone = np.empty(y.size)
    for train, test in splits:
        order = train[np.argsort(qid[train], kind="stable")]
        sizes = np.unique(qid[order], return_counts=True)[1]
        alone[test] = clone(trees).fit(X[order], y[order], group=sizes).predict(X[test])
    again = RerankerCV(base, cv=splits, grid={"radius": [0.1]}).fit(X, y, qid)
    assert again.cv_results_["first_stage"][0] == pytest.approx(
        np.mean([evaluate("ndcg@3", y[test], alone[test], qid[test], ties="average") for _, test in splits]), abs=1e-12
    )
    assert cv.first_stage_kept_ == kept
    if kept:
        whole = clone(trees).fit(X, y, group=np.unique(qid, return_counts=True)[1]).predict(X)
        assert evaluate("ndcg@3", y, cv.list_scores(X, qid), qid) == evaluate("ndcg@3", y, whole, qid)
    else:
        assert cv.best_params_["radius"] is not None and cv.prior_weight_ == 1


@pytest.mark.parametrize("estimator", [Reranker(), RerankerCV()])
def test_sizes_of_lists_are_refused_in_a_sentence(estimator):
    X, y, qid, _ = trees_and_lists()
    name = type(estimator).__name__
    refuses(f"{name}.fit has no 'group'; give qid, the list of each row", estimator.fit, X, y, group=[8] * 20)
    refuses(f"Unknown argument of {name}.fit 'grups'; did you mean 'groups'", estimator.fit, X, y, grups=qid)
