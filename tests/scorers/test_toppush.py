"""TopPush as an estimator: optimality, weights, lists, paths, degenerate data, scikit-learn's checks."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from rerank.errors import InputError
from rerank.scorers import TopPush
from tests.cases.scorers import bipartite, sparse

LOSSES = {
    "squared_hinge": lambda z: max(0.0, 1 + z) ** 2,
    "logistic": lambda z: np.logaddexp(0, z),
    "exponential": np.exp,
}


def naive(w, X, y, alpha, loss="squared_hinge", qid=None, weight=None, top=lambda s, v: s.max()):
    """The objective by loops over the positives of each list; ``top`` is the threshold."""
    qid = np.zeros(len(y)) if qid is None else qid
    weight = np.ones(len(y)) if weight is None else weight
    total, mass = 0.0, 0.0
    for g in np.unique(qid):
        up = np.flatnonzero((qid == g) & (y > 0) & (weight > 0))
        down = np.flatnonzero((qid == g) & (y == 0) & (weight > 0))
        if up.size and down.size:
            t = top(X[down] @ w, weight[down])
            total += sum(weight[i] * LOSSES[loss](t - X[i] @ w) for i in up)
            mass += weight[up].sum()
    return alpha / 2 * w @ w + total / mass


def clear(n, d, seed=0):
    """Positives so far from the negatives that their mean is outside the hull of the negatives."""
    X, y = bipartite(n, d, seed=seed)
    X[:, :2] += 2.5 * y[:, None]
    return X, y


def best_k(k):
    """Mean of the k largest, by repeating rows."""
    return lambda s, v: np.sort(np.repeat(s, v.astype(int)))[::-1][:k].mean()


# The accelerated method only comes near the optimum, on another way where rows are repeated.
NOT_EXACT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "equal to the accuracy of the gap only"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [TopPush(solver="accelerated", max_iter=100, alpha=10.0)], expected_failed_checks=lambda estimator: NOT_EXACT
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1e-3, 0.3])
def test_the_gap_is_closed_and_the_objective_is_the_naive_one(loss, alpha):
    X, y = clear(90, 6)
    model = TopPush(alpha=alpha, loss=loss).fit(X, y)
    assert not model.degenerate_
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(naive(model.coef_, X, y, alpha, loss), rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(sorted(LOSSES)), st.floats(1e-4, 10))
def test_the_dual_point_proves_the_gap_on_lists_with_weights(seed, lists, loss, alpha):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4))
    y = (X[:, 0] + rng.standard_normal(30) > 0.5).astype(float)
    qid, weight = rng.integers(0, lists, 30), rng.integers(0, 4, 30).astype(float)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = TopPush(alpha=alpha, loss=loss).fit(X, y, qid, weight)
    except InputError:
        return
    dual = model.dual_coef_
    assert (dual[y == 1] >= 0).all()
    assert (dual[y == 0] <= 0).all()
    for g in range(lists):
        assert dual[qid == g].sum() == pytest.approx(0, abs=1e-9)
    assert model.objective_ == pytest.approx(naive(model.coef_, X, y, alpha, loss, qid, weight), rel=1e-9)
    # Of the optimum it is P(w) >= max(D) >= P(coef) / (1 + gap) for every w, here some.
    for w in (np.zeros(4), X.T @ dual / alpha, model.coef_ + 0.01 * rng.standard_normal(4)):
        assert naive(w, X, y, alpha, loss, qid, weight) >= model.objective_ / (1 + model.gap_) - 1e-9
    assert model.gap_ <= 1e-6


@pytest.mark.parametrize("threshold, k", [("max", None), ("topk", 4), ("quantile", 0.2)])
def test_weights_are_repetitions_and_zeros_removals(threshold, k):
    X, y = clear(60, 4, seed=1)
    rng = np.random.default_rng(2)
    weight, qid = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    model = TopPush(alpha=0.02, threshold=threshold, k=k, tol=1e-11)
    weighted = model.fit(X, y, qid, weight).coef_
    rows = np.repeat(np.arange(60), weight)
    np.testing.assert_allclose(model.fit(X[rows], y[rows], qid[rows]).coef_, weighted, rtol=1e-4, atol=1e-6)


def test_more_features_than_rows():
    X, y = sparse(60, 500, 12, seed=4), np.arange(60) % 3 == 0
    model = TopPush(alpha=1e-3).fit(X, y)
    assert model.gap_ <= 1e-6
    assert (model.decision_function(X)[y].min()) > model.decision_function(X)[~y].max()


@pytest.mark.parametrize(
    "threshold, k, top",
    [
        ("topk", 1, best_k(1)),
        ("topk", 5, best_k(5)),
        ("quantile", 0.1, best_k(7)),
        ("topk", 10**6, best_k(10**6)),
    ],
)
def test_thresholds_below_the_maximum(threshold, k, top):
    X, y = clear(100, 4, seed=8)
    assert (y == 0).sum() == 70
    model = TopPush(alpha=0.01, threshold=threshold, k=k).fit(X, y)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(naive(model.coef_, X, y, 0.01, top=top), rel=1e-10)
    if k == 1:
        assert model.objective_ == pytest.approx(TopPush(alpha=0.01).fit(X, y).objective_, rel=2e-6)


def test_lists_without_a_pair_change_nothing():
    X, y = clear(70, 4)
    qid = np.zeros(70, int)
    first = TopPush(alpha=0.02).fit(X, y).coef_
    more = np.vstack([X, np.eye(4), 5 * np.eye(4)])
    labels, lists = np.r_[y, np.ones(4), np.zeros(4)], np.r_[qid, [1] * 4, [2] * 4]
    np.testing.assert_array_equal(TopPush(alpha=0.02).fit(more, labels, lists).coef_, first)


def test_path_is_cheap_and_as_good_as_cold_fits():
    X, y = clear(300, 15, seed=2)
    alphas = np.geomspace(1, 1e-3, 10)
    path = TopPush().path(X, y, alphas[::-1])
    cold = [TopPush(alpha=a).fit(X, y) for a in alphas[::-1]]
    np.testing.assert_allclose(path.objectives, [m.objective_ for m in cold], rtol=2e-6)
    assert (path.gaps <= 1e-6).all()
    assert path.n_iters.sum() <= sum(m.n_iter_ for m in cold)


def test_a_warm_start_of_the_same_problem_is_one_step():
    X, y = clear(200, 8)
    model = TopPush(alpha=1e-3, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 1


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1e-3},
        {"alpha": 1e-2, "threshold": "topk"},
        {"alpha": 1.0, "solver": "accelerated", "tol": 1e-4},
    ],
)
def test_a_warm_start_forgets_other_shapes(options):
    X, y = clear(200, 4)
    model = TopPush(**options, warm_start=True).fit(X, y)
    for rows, columns in ((90, 4), (200, 3), (200, 4)):
        model.fit(X[:rows, :columns], y[:rows])
        assert model.gap_ <= model.tol


HARD = {
    "a constant column": lambda X: np.c_[X, np.full(len(X), 1e9)],
    "an offset": lambda X: X + np.r_[1e8, 0, 0, 0],
    "a column twice, in another unit": lambda X: np.c_[X, 1e3 * X[:, 0]],
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("threshold", ["max", "topk"])
def test_columns_that_cost_digits_are_no_hindrance(kind, alpha, threshold):
    X, y = clear(120, 4)
    model = TopPush(alpha=alpha, threshold=threshold).fit(HARD[kind](X), y)
    assert model.gap_ <= 1e-6
    assert not model.degenerate_
    if kind != "a column twice, in another unit":
        plain = TopPush(alpha=alpha, threshold=threshold).fit(X, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=2e-6)
    if kind == "a constant column":
        assert abs(model.coef_[-1]) <= 1e-12 * np.abs(model.coef_).max()


def test_a_path_that_begins_at_zero_leaves_it():
    X, y = clear(120, 4)
    path = TopPush().path(np.c_[X, np.full(120, 1e9)], y, [1e6, 1.0, 1e-3])
    assert (path.gaps <= 1e-6).all() and (np.diff(path.objectives) < 0).all()


@pytest.mark.parametrize("threshold, k", [("max", None), ("quantile", 0.05), ("quantile", 0.5)])
def test_the_unit_of_the_weights_does_not_matter(threshold, k):
    X, y = clear(120, 4)
    weight = np.random.default_rng(1).integers(1, 4, 120)
    fits = [
        TopPush(alpha=0.1, threshold=threshold, k=k, tol=1e-9).fit(X, y, sample_weight=unit * weight)
        for unit in (1.0, 1 / 120, 1e-30, 7e5)
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.coef_, fits[0].coef_, rtol=1e-4)
        assert other.objective_ == pytest.approx(fits[0].objective_, rel=1e-8)


def test_one_row_of_hardly_any_weight_is_no_error():
    X, y = clear(120, 4)
    weight = np.ones(120)
    weight[np.flatnonzero(y == 0)[0]] = 1e-310
    assert TopPush(alpha=0.1, threshold="topk").fit(X, y, sample_weight=weight).gap_ <= 1e-6


def test_lists_that_share_no_direction_leave_zero_and_it_is_proved():
    X = np.array([[0.0, 0], [1, 1], [-1, 1], [0, -2], [9, 9], [0, 0]])
    y, qid = np.array([1, 0, 0, 0, 1, 0]), np.array([0, 0, 0, 0, 1, 1])
    assert not TopPush(alpha=0.1).fit(X, y, qid).degenerate_
    X[5] = [8.9, 9.1]
    with pytest.warns(UserWarning, match="optimal for every alpha"):
        model = TopPush(alpha=0.1).fit(X, y, qid)
    proof = model.certificate_
    with pytest.warns(UserWarning, match="optimal for every alpha"):
        weighted = TopPush(alpha=0.1).fit(np.vstack([X[:1], X]), np.r_[0, y], np.r_[0, qid], [0, 1, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(weighted.certificate_.weights, np.r_[0, proof.weights])
    assert model.degenerate_
    assert not model.coef_.any()
    assert (proof.weights >= 0).all()
    assert not proof.weights[y == 1].any()
    np.testing.assert_allclose([proof.weights[qid == g].sum() for g in (0, 1)], [0.5, 0.5])
    np.testing.assert_allclose(X.T @ proof.weights, X[y == 1].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("solver", ["newton", "accelerated"])
def test_degenerate_data(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.zeros(200)
    y[np.argsort(np.abs(X).sum(axis=1))[:40]] = 1
    with pytest.warns(UserWarning, match="threshold="):
        model = TopPush(alpha=1e-3, solver=solver).fit(X, y)
    np.testing.assert_allclose(X.T @ model.certificate_.weights, X[y == 1].mean(axis=0), atol=1e-8)
    assert model.objective_ == pytest.approx(1, rel=1e-12)
    assert model.gap_ <= 1e-9
    with pytest.warns(UserWarning):
        assert (TopPush(solver=solver).path(X, y, [1.0, 0.1, 10]).coefs == 0).all()
    lower = TopPush(alpha=1e-3, threshold="quantile", k=1.0).fit(X, y)
    assert not lower.degenerate_
    assert lower.coef_.any()


@pytest.mark.parametrize(
    "parameters, text",
    [
        (dict(alpha=0), "alpha is 0"),
        (dict(loss="hinge"), "loss is 'hinge'"),
        (dict(solver="lbfgs"), "solver is 'lbfgs'"),
        (dict(tol=0), "tol is 0"),
        (dict(max_iter=0), "max_iter is 0"),
        (dict(stop="never", solver="accelerated"), "stop is 'never'"),
        (dict(stop="authors"), "stop='authors' is the rule"),
        (dict(solver="accelerated", loss="logistic"), "solver='accelerated' takes"),
        (dict(solver="accelerated", threshold="topk"), "solver='accelerated' takes"),
        (dict(threshold="median"), "threshold is 'median'"),
        (dict(k=3), "threshold='max' has none"),
        (dict(threshold="topk", k=0.5), "k is 0.5"),
        (dict(threshold="quantile", k=3), "k is 3"),
    ],
)
def test_errors_say_what_to_do(parameters, text):
    X, y = clear(20, 2)
    with pytest.raises(InputError, match=text):
        TopPush(**parameters).fit(X, y)


def test_no_list_with_both_kinds_is_an_error():
    X, y = clear(20, 2)
    with pytest.raises(InputError, match="No list holds both"):
        TopPush().fit(X, y, qid=y)
    with pytest.raises(InputError, match="1 class only .1. in the rows with a weight above 0"):
        TopPush().fit(X, y, sample_weight=y)


def test_too_few_steps_are_told():
    X, y = clear(400, 12, seed=7)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = TopPush(alpha=1e-4, max_iter=1, loss="exponential").fit(X, y)
    assert model.gap_ > model.tol and model.n_iter_ == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1e-8, 1e3])
def test_separable_rows_and_extreme_regularisation(loss, alpha):
    X, y = clear(60, 40, seed=11)
    model = TopPush(alpha=alpha, loss=loss, max_iter=100).fit(X, y)
    assert model.gap_ <= 1e-6
    s = X @ model.coef_
    assert s[y == 1].min() > s[y == 0].max() or alpha == 1e3


@pytest.mark.parametrize("loss", LOSSES)
def test_maximum_and_sum_change_places(loss):
    X, y = clear(50, 4, seed=6)
    weight = np.random.default_rng(0).random(50) + 0.1
    model = TopPush(alpha=0.05, loss=loss).fit(X, y, sample_weight=weight)
    s, up = X @ model.coef_, np.flatnonzero(y == 1)
    worst = max(sum(weight[i] * LOSSES[loss](s[j] - s[i]) for i in up) for j in np.flatnonzero(y == 0))
    value = 0.05 / 2 * model.coef_ @ model.coef_ + worst / weight[up].sum()
    assert model.objective_ == pytest.approx(value, rel=1e-12)
