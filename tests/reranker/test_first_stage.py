"""First stages: what is kept as numbers, whatever it is wrapped in."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from rerank import Reranker
from rerank.reranker.first_stage import NAMES
from tests.cases.drawn import drawn
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


RADII = [(None, None), *((name, radius) for name in NAMES for radius in (None, 0.5))]


@pytest.mark.parametrize(("stage", "radius"), RADII)
def test_columns_of_any_size_give_what_the_scaled_table_gives(stage, radius):
    X, y = table(60, 3)
    options = {"first_stage": stage, "radius": radius, "time_limit": None, "node_limit": 50, "solver": "search"}
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
