"""The Infinite Push against its own program with a variable for every pair."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from rerank.scorers import InfinitePush, TopPush
from tests.scorers.test_toppush import LOSSES, clear


@parametrize_with_checks([InfinitePush()])
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def pairs_program(X, y, alpha):
    """min alpha/2 |w|^2 + tau, tau >= mean_i xi_ij^2 for all j, xi_ij >= 1 + w.x_j - w.x_i, xi >= 0, by SLSQP."""
    up, down = X[y == 1], X[y == 0]
    m, n, d = len(up), len(down), X.shape[1]
    difference = (down[None] - up[:, None]).reshape(m * n, d)
    w = lambda v: v[:d]  # noqa: E731
    slack = lambda v: v[d + 1 :]  # noqa: E731
    worst = lambda v: v[d] - (slack(v).reshape(m, n) ** 2).mean(axis=0)  # noqa: E731
    start = np.concatenate([np.zeros(d), [1.0], np.ones(m * n)])
    return minimize(
        lambda v: alpha / 2 * w(v) @ w(v) + v[d],
        start,
        method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0, None)] * (m * n),
        constraints=[
            dict(type="ineq", fun=worst),
            dict(type="ineq", fun=lambda v: slack(v) - 1 - difference @ w(v)),
        ],
        options=dict(maxiter=500, ftol=1e-12),
    )


@pytest.mark.parametrize("seed, alpha", [(0, 0.1), (1, 0.02), (2, 1.0)])
def test_the_program_over_all_pairs_has_the_same_optimum(seed, alpha):
    X, y = clear(16, 3, seed=seed)
    model = InfinitePush(alpha=alpha, tol=1e-10).fit(X, y)
    found = pairs_program(X, y, alpha)
    assert found.success
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(model.coef_, found.x[:3], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_maximum_and_sum_change_places(loss):
    X, y = clear(50, 4, seed=6)
    weight = np.random.default_rng(0).random(50) + 0.1
    model = InfinitePush(alpha=0.05, loss=loss).fit(X, y, sample_weight=weight)
    s, up = X @ model.coef_, np.flatnonzero(y == 1)
    worst = max(sum(weight[i] * LOSSES[loss](s[j] - s[i]) for i in up) for j in np.flatnonzero(y == 0))
    value = 0.05 / 2 * model.coef_ @ model.coef_ + worst / weight[up].sum()
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    same = TopPush(alpha=0.05, loss=loss).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, same.coef_)
