"""The shared L-BFGS driver: products block by block, a known optimum, when it calls itself converged."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rerank.scorers import linalg
from rerank.scorers.linalg import Products, minimise
from tests.cases.examples import examples


@examples(30, st.integers(0, 1000), st.integers(1, 40), st.integers(1, 6), st.integers(1, 50))
def test_float32_is_never_widened_as_a_whole(seed, n, d, block):
    rng = np.random.default_rng(seed)
    X, w, g = rng.standard_normal((n, d)).astype(np.float32), rng.standard_normal(d), rng.standard_normal(n)
    kept, linalg.BLOCK = linalg.BLOCK, block
    try:
        both = [Products(X), Products(thin := csr_array(X))]
    finally:
        linalg.BLOCK = kept
    assert both[0].rows == max(1, block // d)
    assert both[1].entries[0] is thin.data and thin.dtype == np.float32
    for each in both:
        np.testing.assert_allclose(each.scores(w), X.astype(np.float64) @ w, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(each.back(g), g @ X.astype(np.float64), rtol=1e-12, atol=1e-13)


def ridge(n=30, d=4, alpha=0.7, seed=0):
    """Least squares with a penalty, its loss of scores, and its optimum in closed form."""
    rng = np.random.default_rng(seed)
    X, t = rng.standard_normal((n, d)), rng.standard_normal(n)
    best = np.linalg.solve(X.T @ X + alpha * np.eye(d), X.T @ t)
    value = 0.5 * float((X @ best - t) @ (X @ best - t)) + 0.5 * alpha * float(best @ best)
    return X, (lambda f: (0.5 * float((f - t) @ (f - t)), f - t)), alpha, best, value


def test_a_known_optimum_is_reached():
    X, loss, alpha, best, value = ridge()
    found = minimise(X, loss, alpha, None, 1e-10, 1000)
    assert found.converged and found.objective == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.coef, best, atol=1e-8)


def test_the_optimum_as_a_start_needs_no_step():
    X, loss, alpha, best, _ = ridge()
    found = minimise(X, loss, alpha, best, 1e-6, 1000)
    assert found.n_iter == 0 and found.converged
    np.testing.assert_array_equal(found.coef, best)


def test_a_loss_that_is_flat_at_0_stays_there():
    found = minimise(np.eye(3), lambda f: (0.5 * float(f @ f), f), 1.0, None, 1e-6, 10)
    assert found.converged and found.objective == 0 and not found.coef.any()


def test_too_few_iterations_are_not_called_converged():
    X, loss, alpha, *_ = ridge(d=10)
    found = minimise(X, loss, alpha, None, 1e-12, 2)
    assert not found.converged and found.n_iter == 2 and "max_iter" in found.advice


def test_a_tolerance_below_rounding_ends_as_converged():
    X, loss, alpha, best, _ = ridge()
    found = minimise(X, loss, alpha, None, 1e-300, 10_000)
    assert found.converged and found.n_iter < 1000
    np.testing.assert_allclose(found.coef, best, atol=1e-6)
