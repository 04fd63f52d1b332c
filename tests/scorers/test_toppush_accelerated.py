"""The accelerated projected gradient method of TopPush: projection, descent, the published iteration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.scorers import TopPush
from rerank.scorers.toppush.accelerated import descend, project, shift
from rerank.scorers.toppush.answer import Answer
from rerank.scorers.toppush.problem import relative_gap
from tests.cases.scorers import bipartite
from tests.scorers.test_toppush import clear
from tests.scorers.test_toppush_problem import problem, solved


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.lists(st.integers(-4, 4), min_size=1, max_size=9)
)
def test_projection_has_equal_sums_and_is_the_nearest(a, b):
    a, b = np.array(a) / 2, np.array(b) / 2
    p, q = project(a, b, np.array([0, a.size]), np.array([0, b.size]))
    assert p.sum() == pytest.approx(q.sum(), abs=1e-12)
    assert (p >= 0).all() and (q >= 0).all()
    # Nearest: p - a + g >= 0 with equality where p > 0, q - b - g likewise.
    g = shift(a, b)
    np.testing.assert_allclose(np.where(p > 0, p - a + g, 0), 0, atol=1e-12)
    np.testing.assert_allclose(np.where(q > 0, q - b - g, 0), 0, atol=1e-12)
    if p.sum() > 0:
        assert (g - a)[p == 0].min(initial=0) >= -1e-12
        assert (-b - g)[q == 0].min(initial=0) >= -1e-12


def test_projection_of_long_lists_is_the_sorted_one():
    rng = np.random.default_rng(0)
    for case in range(20):
        a, b = rng.standard_normal(300) * 10**case, rng.standard_normal(200)
        steps = np.sort(np.concatenate([a, -b]))
        rho = np.array([np.maximum(a - u, 0).sum() - np.maximum(b + u, 0).sum() for u in steps])
        k = np.flatnonzero(rho >= 0)[-1]
        g = steps[k] + (rho[k] * (steps[k + 1] - steps[k]) / (rho[k] - rho[k + 1]) if rho[k] > 0 else 0)
        assert shift(a, b) == pytest.approx(g, rel=1e-9)


@pytest.mark.parametrize("lists", [1, 3])
def test_the_accelerated_method_descends_to_the_same_optimum(lists):
    p = problem(80, 4, lists=lists)
    zero = Answer(np.zeros(4), np.zeros(p.share.size), np.zeros(p.negatives.shape[0]))
    slow, fast = descend(p, 1.0, 1e-6, 20_000, "gap", zero), solved(p, 1.0, 1e-9)
    assert slow.met
    assert p.primal(slow.w, 1.0) == pytest.approx(p.primal(fast.w, 1.0), rel=1e-6)
    assert relative_gap(p.primal(slow.w, 1.0), p.dual(slow.a, slow.beta, 1.0)) <= 1.01e-6
    again = descend(p, 1.0, 1e-6, 20_000, "gap", slow)
    assert again.n_iter < slow.n_iter


def slow_accelerated(X, y, alpha, tol):
    """The authors' iteration by the book: a bisection for the projection, L doubled from 1 / m."""
    P, N = X[y == 1], X[y == 0]
    m = len(P)
    Z = np.vstack([P, -N])
    up = np.r_[np.ones(m, bool), np.zeros(len(N), bool)]

    def g(v):
        return (Z.T @ v) @ (Z.T @ v) / (2 * alpha * m) + (v[up] ** 2 / 4 - v[up]).sum()

    def nearest(v):
        low, high = -1e6, 1e6
        for _ in range(200):
            mid = (low + high) / 2
            if np.maximum(v[up] - mid, 0).sum() > np.maximum(v[~up] + mid, 0).sum():
                low = mid
            else:
                high = mid
        return np.maximum(v - np.where(up, low, -low), 0)

    x, old, t, before, L, values = np.zeros(len(Z)), np.zeros(len(Z)), 1.0, 0.0, 1 / m, []
    while True:
        s = x + (before - 1) / t * (x - old)
        slope = Z @ (Z.T @ s) / (alpha * m) + np.where(up, s / 2 - 1, 0)
        while True:
            new = nearest(s - slope / L)
            if g(new) <= g(s) + slope @ (new - s) + L / 2 * (new - s) @ (new - s) + 1e-12:
                break
            L *= 2
        old, x = x, new
        before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        values.append(g(x) / m)
        if len(values) >= 10 and abs(values[-1] - values[-2]) <= abs(values[-2]) * tol:
            return Z.T @ x / (alpha * m), len(values)


@pytest.mark.parametrize("make", [clear, bipartite])
def test_stop_authors_is_the_published_iteration(make):
    X, y = make(90, 4, seed=3)
    model = TopPush(alpha=0.1, solver="accelerated", stop="authors", tol=1e-4).fit(X, y)
    w, n_iter = slow_accelerated(X, y, 0.1, 1e-4)
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.coef_, w, rtol=1e-6, atol=1e-9)
    assert model.gap_ > 1e-4
