"""TopPush by multipliers: levels, the smoothed loss, its derivatives, and the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.sparse import csr_matrix

from rerank.scorers import TopPush
from rerank.scorers.toppush import multipliers
from rerank.scorers.toppush.multipliers import STIFF, Hessian, levels, smoothed
from rerank.scorers.toppush.problem import LOSSES
from tests.cases.scorers import sparse
from tests.scorers.test_toppush import clear, naive
from tests.scorers.test_toppush_problem import problem

THRESHOLDS = [("max", None), ("topk", 3), ("quantile", 0.4)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.booleans(), st.floats(1e-3, 50))
def test_levels_share_out_the_mass(seed, n, capped, mass):
    rng = np.random.default_rng(seed)
    v = rng.integers(-3, 4, n) / 2 + (seed % 2) * rng.random(n)
    cap = rng.random(n) + 0.01
    cap /= cap.sum() * (rng.random() if n > 1 and seed % 3 else 1)
    theta, parts = rng.standard_normal(1), np.zeros((1, 4))
    levels(np.array([0, n]), v, cap if capped else np.zeros(0), np.array([mass]), theta, parts)
    most = mass * cap if capped else np.full(n, np.inf)
    b = np.clip(v - theta[0], 0, most)
    assert b.sum() == pytest.approx(mass, rel=1e-9)
    full = v - theta[0] >= most * (1 - 1e-12)
    if not np.isclose(v - theta[0], most, rtol=1e-9).any() and not np.isclose(v, theta[0], atol=1e-12).any():
        held = cap[full] if capped else cap[:0]
        wanted = [((b > 0) & ~full).sum(), held.sum(), (held**2).sum(), (held * v[full][: held.size]).sum()]
        np.testing.assert_allclose(parts[0], wanted, rtol=1e-9, atol=1e-12)


def test_a_list_without_mass_has_a_level():
    theta, parts = np.zeros(1), np.zeros((1, 4))
    levels(np.array([0, 3]), np.array([1.0, 5, 4]), np.full(3, 0.5), np.zeros(1), theta, parts)
    # The slope in A at 0 is the mean of the two largest.
    assert theta[0] + parts[0, 3] - theta[0] * parts[0, 1] == pytest.approx(4.5)


def feasible(p, rng):
    """A random dual point of the problem."""
    a = rng.random(p.share.size)
    mass = p.per_list(p.share * a)
    b = np.zeros(p.negatives.shape[0])
    for part in (0.3, 0.7):
        for g in range(p.n_lists):
            rows = rng.permutation(np.flatnonzero(p.negative_list == g))
            caps = p.threshold.caps[rows]
            b[rows] += part * mass[g] * np.clip(1 - (np.cumsum(caps) - caps), 0, caps)
    return a, b


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_smoothed_loss_is_a_maximum(threshold, k, loss):
    p = problem(50, lists=2, loss=loss, threshold=threshold, k=k)
    rng = np.random.default_rng(1)
    up, down = rng.standard_normal(p.share.size), rng.standard_normal(p.negatives.shape[0])
    a0, beta, sigma = rng.random(up.size), 0.1 * rng.random(down.size), 0.3
    kink = loss == "squared_hinge"

    def value(a, b):
        off = np.r_[b - beta, kink * p.share * (a - a0) / STIFF**0.5]
        return b @ down - p.share @ (a * up + p.loss.conjugate(a)) - off @ off / (2 * sigma)

    found = smoothed(p, up, down, a0, beta, sigma)
    assert np.isfinite(p.dual(found.a, found.b, 1.0))
    assert found.value == pytest.approx(value(found.a, found.b), rel=1e-9)
    for _ in range(40):
        a, b = feasible(p, rng)
        for e in (1e-3, 0.1, 1):
            assert value((1 - e) * found.a + e * a, (1 - e) * found.b + e * b) <= found.value + 1e-9
    loss_itself = p.share @ p.loss.value(p.threshold.values(down)[p.list_of] - up)
    assert found.value <= loss_itself
    assert smoothed(p, up, down, found.a, found.b, 1e9).value == pytest.approx(loss_itself, rel=1e-5)


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("store", [np.asarray, csr_matrix])
@pytest.mark.parametrize("lists", [1, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_derivatives_of_the_smoothed_loss(threshold, k, store, lists, loss):
    p = problem(70, lists=lists, loss=loss, threshold=threshold, k=k, X=store(clear(70, 4)[0]))
    rng = np.random.default_rng(2)
    a0, beta, sigma = rng.random(p.share.size), 0.02 * rng.random(p.negatives.shape[0]), 0.05
    w = rng.standard_normal(4)

    def at(w):
        return smoothed(p, p.positives @ w, p.negatives @ w, a0, beta, sigma)

    def gradient(w):
        found = at(w)
        return 0.1 * w - p.residual(found.a, found.b)

    assert check_grad(lambda w: 0.05 * w @ w + at(w).value, gradient, w) < 1e-6
    hessian = Hessian(p, 0.1, sigma, at(w))
    for v in np.eye(4):
        slow = (gradient(w + 1e-6 * v) - gradient(w - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(hessian.times(v), slow, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("direct, whole", [(2500, 0), (0, 0), (0, 10**9)])
@pytest.mark.parametrize("store", [np.asarray, csr_matrix])
@pytest.mark.parametrize("lists", [1, 3])
def test_newton_steps_solve_their_system(direct, whole, store, lists, monkeypatch):
    monkeypatch.setattr(multipliers, "DIRECT", direct)
    monkeypatch.setattr(multipliers, "WHOLE", whole)
    monkeypatch.setattr(multipliers, "LEFT", 1e-10)
    p = problem(70, lists=lists, threshold="topk", k=4, X=store(clear(70, 4)[0]))
    rng = np.random.default_rng(3)
    for _ in range(2):
        w, g = rng.standard_normal(4), rng.standard_normal(4)
        zeros = np.zeros(p.share.size), np.zeros(p.negatives.shape[0])
        at = smoothed(p, p.positives @ w, p.negatives @ w, *zeros, 0.05)
        hessian = Hessian(p, 0.1, 0.05, at)
        np.testing.assert_allclose(hessian.times(hessian.solve(g)), -g, rtol=1e-6, atol=1e-8)


def program(X, y, qid, alpha, loss, counts):
    """Optimum by SLSQP; Rockafellar and Uryasev's form, the mean of the k largest is min_c c + sum [s - c]_+ / k."""
    d, up, down = X.shape[1], np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    G, home = counts.size, qid[down]
    split = lambda v: (v[:d], v[d : d + G], v[d + G :])  # noqa: E731

    def margins(v):
        w, c, e = split(v)
        return (c + np.bincount(home, e, G) / counts)[qid[up]] - X[up] @ w

    def gradient(v):
        slope = LOSSES[loss].slope(margins(v)) / up.size
        by_list = np.bincount(qid[up], slope, G)
        return np.r_[alpha * v[:d] - X[up].T @ slope, by_list, (by_list / counts)[home]]

    room = np.hstack([-X[down], np.eye(G)[home], np.eye(down.size)])
    found = minimize(
        lambda v: alpha / 2 * v[:d] @ v[:d] + LOSSES[loss].value(margins(v)).mean(),
        np.r_[np.zeros(d + G), np.full(down.size, 0.1)],
        jac=gradient,
        method="SLSQP",
        bounds=[(None, None)] * (d + G) + [(0, None)] * down.size,
        constraints=dict(type="ineq", fun=lambda v: room @ v, jac=lambda v: room),
        options=dict(maxiter=500, ftol=1e-13),
    )
    return found.fun, found.x[:d]


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lists", [1, 3])
def test_the_optimum_is_that_of_a_program_with_a_variable_for_every_negative(threshold, k, loss, lists):
    X, y = clear(50, 4)
    qid = np.arange(50) % lists
    n = np.bincount(qid[y == 0])
    counts = {"max": np.ones(lists), "topk": np.minimum(3, n), "quantile": np.ceil(0.4 * n)}[threshold]
    model = TopPush(alpha=0.05, loss=loss, threshold=threshold, k=k, tol=1e-8).fit(X, y, qid)
    assert model.gap_ <= 1e-8
    value, w = program(X, y, qid, 0.05, loss, counts)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_, w, atol=2e-3)


def test_rows_on_the_same_side_of_many_sparse_columns():
    X, y = sparse(200, 400, 10), np.arange(200) % 4 == 0
    assert TopPush(alpha=1e-2).fit(X, y).gap_ <= 1e-6


def test_a_mean_over_most_negatives_converges():
    rng = np.random.default_rng(0)
    X = csr_matrix(np.round(rng.standard_normal((4000, 40)), 1) * (rng.random((4000, 40)) < 0.3))
    y = (X[:, 0].toarray().ravel() + rng.standard_normal(4000) > 2).astype(float)
    model = TopPush(alpha=1e-2, threshold="quantile", k=0.6).fit(X, y)
    assert (model.dual_coef_ < 0).sum() > 1500
    assert model.gap_ <= 1e-6


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
def test_many_lists(threshold, k):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(1600), 4)
    X, y = rng.standard_normal((6400, 3)), np.tile([1.0, 0, 0, 0], 1600)
    X[y > 0, 0] += 1
    model = TopPush(alpha=0.1, threshold=threshold, k=k).fit(X, y, qid)
    assert model.gap_ <= 1e-6
    count = {"max": 1, "topk": 3, "quantile": 2}[threshold]
    top = lambda s, v: np.sort(s)[::-1][:count].mean()  # noqa: E731
    assert model.objective_ == pytest.approx(naive(model.coef_, X, y, 0.1, qid=qid, top=top), rel=1e-10)
