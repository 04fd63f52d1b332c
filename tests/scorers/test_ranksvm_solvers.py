"""Optimality of RankSVM, checked by means that share no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from rerank.scorers import RankSVM
from rerank.scorers.base import groups_of
from rerank.scorers.ranksvm.newton import DesignMatrix
from tests.cases.scorers import sparse, utilities
from tests.scorers.test_ranksvm_pairs import coefficients, hinges, naive

ALPHAS = (1.0, 1e-2, 1e-4)


def objective(X, y, qid, w, alpha, loss, average, weight=None):
    weight = np.ones(y.size) if weight is None else weight
    c = coefficients(y, groups_of(qid, y.size), weight, average)
    value, slope = naive(c, X @ w, loss)
    return value + alpha * w @ w, X.T @ slope + 2 * alpha * w


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("levels", [None, 2, 4])
def test_squared_hinge_reaches_the_minimum(alpha, average, levels):
    X, y, qid = utilities(n=150, lists=3, levels=levels)
    fitted = RankSVM(alpha, tol=1e-10, average=average).fit(X, y, qid)
    value, gradient = objective(X, y, qid, fitted.coef_, alpha, "squared", average)
    assert value == pytest.approx(fitted.objective_, rel=1e-10)
    assert gradient @ gradient / (4 * alpha * value) <= 1e-9
    other = minimize(
        lambda w: objective(X, y, qid, w, alpha, "squared", average),
        np.zeros(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-10, "ftol": 1e-15},
    )
    assert fitted.objective_ <= other.fun * (1 + 1e-9)


def test_the_proven_gap_holds_at_every_tolerance():
    X, y, qid = utilities(n=200, levels=5)
    best = RankSVM(1e-3, tol=1e-7).fit(X, y).objective_
    for tol in (0.5, 0.1, 1e-2, 1e-3):
        rough = RankSVM(1e-3, tol=tol).fit(X, y)
        assert rough.gap_ <= tol
        assert rough.objective_ - best <= rough.gap_ * rough.objective_ * (1 + 1e-9)


def test_the_gap_of_the_squared_hinge_is_that_of_its_gradient():
    X, y, qid = utilities(n=80, lists=2)
    for tol in (0.3, 1e-3):
        rough = RankSVM(1e-2, tol=tol).fit(X, y, qid)
        value, gradient = objective(X, y, qid, rough.coef_, 1e-2, "squared", "queries")
        assert rough.gap_ == pytest.approx(gradient @ gradient / (4e-2 * value), rel=1e-6)


def test_separable_utilities_are_ranked_without_a_mistake():
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5]
    fitted = RankSVM(1e-9, tol=1e-3).fit(X, y)
    c = coefficients(y, np.zeros(60, int), np.ones(60), "pairs")
    p = fitted.decision_function(X)
    assert c.any() and not (c * (p[:, None] >= p)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_agree(dtype):
    X = sparse(300, 2000, 8).astype(dtype)
    y = np.asarray(X @ np.random.default_rng(1).standard_normal(2000))
    tol = 1e-5
    thin, thick = (RankSVM(1e-3, tol=tol).fit(M, y) for M in (X, X.toarray()))
    assert thin.objective_ == pytest.approx(thick.objective_, rel=2 * tol)
    empty = np.asarray(np.abs(X).sum(axis=0)).ravel() == 0
    assert empty.any() and not thin.coef_[empty].any()


def test_few_used_columns_are_packed_and_put_back():
    X = csr_matrix(([1.0, 2, 3], [7, 2, 7], [0, 1, 2, 3]), shape=(3, 20))
    rows, w = DesignMatrix(X), np.arange(20.0)
    assert rows.size == 2
    np.testing.assert_array_equal(rows.scores(rows.compact(w)), X @ w)
    r = np.array([1.0, -1, 2])
    np.testing.assert_array_equal(rows.expand(rows.back(r)), X.T @ r)
    weight = np.array([1.0, 2, 0])
    dense = DesignMatrix(X.toarray())
    np.testing.assert_allclose(rows.expand(rows.variances(weight)), dense.variances(weight), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_of_one_row_become_one_column_with_the_same_products_and_norms(dtype, index):
    X = sparse(60, 900, 9).astype(dtype)
    X.data[5] = 0.0
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    held = np.bincount(X.indices, minlength=900)
    rows, rng = DesignMatrix(X), np.random.default_rng(0)
    lonely = {i for i in range(60) if (held[X.indices[X.indptr[i] : X.indptr[i + 1]]] == 1).any()}
    assert 5 < (held > 1).sum() < 900 and rows.size == (held > 1).sum() + len(lonely)
    tiny = 1e-5 if dtype == np.float32 else 1e-13
    w, r, coef = rng.standard_normal(rows.size), rng.standard_normal(60), rng.standard_normal(900)
    whole = rows.expand(w)
    np.testing.assert_allclose(rows.scores(w), X @ whole, atol=tiny)
    np.testing.assert_allclose(rows.back(r) @ w, r @ (X @ whole), atol=tiny * 10)
    assert whole @ whole == pytest.approx(w @ w, rel=tiny)
    np.testing.assert_allclose(rows.compact(whole), w, atol=tiny)
    # Least weights with the same scores: nothing of what is lost is seen by a row.
    np.testing.assert_allclose(rows.scores(rows.compact(coef)), X @ coef, atol=tiny * 10)
    assert np.linalg.norm(rows.compact(coef)) < np.linalg.norm(coef)
    share = rng.random(60)
    share /= share.sum()
    Z = np.column_stack([rows.scores(e) for e in np.eye(rows.size)])
    variance = share @ Z**2 - (share @ Z) ** 2
    np.testing.assert_allclose(rows.variances(7 * share), variance, atol=tiny)


def test_hinges_of_the_twin_are_zero_at_the_margin():
    h, active = hinges(np.array([0.0, 1.0]))
    assert h[0, 1] == 0 and not active[0, 1] and active[1, 0]
