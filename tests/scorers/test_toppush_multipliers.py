"""TopPush by multipliers: levels, the smoothed loss, its derivatives, and the optimum beside the method of cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.sparse import csr_matrix

from rerank.scorers import TopPush
from rerank.scorers.toppush.cuts.newton import minimise
from rerank.scorers.toppush.losses import LOSSES
from rerank.scorers.toppush.multipliers import smooth_hessian
from rerank.scorers.toppush.multipliers.augmented import Augmented
from rerank.scorers.toppush.multipliers.envelope import Envelope, levels
from rerank.scorers.toppush.multipliers.smooth_hessian import SmoothHessian
from rerank.scorers.toppush.problem import relative_gap
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
    scores = rng.standard_normal(p.negatives.shape[0])
    vertices = [p.threshold.above(scores * s, np.full(p.n_lists, -np.inf), 1).toarray() for s in (1, -1)]
    mix = rng.random()
    b = sum(
        m * next(r for r in v if r[p.negative_list == g].any()) * mass[g]
        for m, v in zip((mix, 1 - mix), vertices, strict=True)
        for g in range(p.n_lists)
    )
    return a, b


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_smoothed_loss_is_a_maximum(threshold, k, loss):
    p = problem(50, lists=2, loss=loss, threshold=threshold, k=k)
    rng = np.random.default_rng(1)
    up, down = rng.standard_normal(p.share.size), rng.standard_normal(p.negatives.shape[0])
    beta, sigma = 0.1 * rng.random(down.size), 0.3

    def value(a, b):
        return b @ down - p.share @ (a * up + p.loss.conjugate(a)) - (b - beta) @ (b - beta) / (2 * sigma)

    found = Envelope(p).at(up, down, beta, sigma, None)
    assert np.isfinite(p.dual(found.a, found.b, 1.0))
    assert found.value == pytest.approx(value(found.a, found.b), rel=1e-9)
    for _ in range(40):
        a, b = feasible(p, rng)
        for e in (1e-3, 0.1, 1):
            assert value((1 - e) * found.a + e * a, (1 - e) * found.b + e * b) <= found.value + 1e-9
    loss_itself = p.share @ p.loss.value(p.threshold.values(down)[p.list_of] - up)
    assert found.value <= loss_itself
    assert Envelope(p).at(up, down, found.b, 1e9, None).value == pytest.approx(loss_itself, rel=1e-5)


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("store", [np.asarray, csr_matrix])
@pytest.mark.parametrize("lists", [1, 3])
def test_derivatives_of_the_smoothed_loss(threshold, k, store, lists):
    p = problem(70, lists=lists, loss="logistic", threshold=threshold, k=k, X=store(clear(70, 4)[0]))
    rng = np.random.default_rng(2)
    beta, sigma, w = 0.02 * rng.random(p.negatives.shape[0]), 0.05, rng.standard_normal(4)

    def at(w):
        return Envelope(p).at(p.positives @ w, p.negatives @ w, beta, sigma, None)

    def gradient(w):
        found = at(w)
        return 0.1 * w - p.residual(found.a, found.b)

    assert check_grad(lambda w: 0.05 * w @ w + at(w).value, gradient, w) < 1e-6
    hessian = SmoothHessian(p, 0.1, sigma, at(w))
    for v in np.eye(4):
        slow = (gradient(w + 1e-6 * v) - gradient(w - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(hessian.times(v), slow, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("direct, whole", [(2500, 0), (0, 0), (0, 10**9)])
@pytest.mark.parametrize("store", [np.asarray, csr_matrix])
@pytest.mark.parametrize("lists", [1, 3])
def test_newton_steps_solve_their_system(direct, whole, store, lists, monkeypatch):
    monkeypatch.setattr(smooth_hessian, "DIRECT", direct)
    monkeypatch.setattr(smooth_hessian, "WHOLE", whole)
    monkeypatch.setattr(smooth_hessian, "LEFT", 1e-20)
    p = problem(70, lists=lists, threshold="topk", k=4, X=store(clear(70, 4)[0]))
    rng = np.random.default_rng(3)
    for _ in range(2):
        w, g = rng.standard_normal(4), rng.standard_normal(4)
        at = Envelope(p).at(p.positives @ w, p.negatives @ w, np.zeros(p.negatives.shape[0]), 0.05, None)
        hessian = SmoothHessian(p, 0.1, 0.05, at)
        np.testing.assert_allclose(hessian.times(hessian.solve(g)), -g, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("threshold, k", THRESHOLDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lists", [1, 4])
def test_multipliers_and_cuts_find_one_optimum(threshold, k, loss, lists):
    p = problem(90, 5, lists=lists, loss=loss, threshold=threshold, k=k)
    cuts = minimise(p, 0.05, 1e-8, 500, None)
    method = Augmented(p, 0.05, np.zeros(5), np.zeros(p.negatives.shape[0]))
    found = method.run(1e-8, 500)
    assert found.met and found.gap <= 1e-8
    assert relative_gap(p.primal(found.w, 0.05), p.dual(found.a, found.beta, 0.05)) <= 1.01e-8
    assert p.primal(found.w, 0.05) == pytest.approx(p.primal(cuts.w, 0.05), rel=3e-8)
    np.testing.assert_allclose(found.w, cuts.w, atol=1e-3)


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
