"""The parts of TopPush: losses, thresholds, quadratic programs, forms of the curvature, projection, methods."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, linprog, minimize
from scipy.sparse import csr_matrix

from rerank.scorers import TopPush
from rerank.scorers.data import RankingData
from rerank.scorers.toppush.answer import certificate_of
from rerank.scorers.toppush.cuts import qp
from rerank.scorers.toppush.cuts.metric import FeatureMetric, LimitedMetric, RowMetric
from rerank.scorers.toppush.cuts.newton import minimise
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.gram import factor
from rerank.scorers.toppush.losses import LOSSES
from rerank.scorers.toppush.multipliers.accelerated import descend, project, shift
from rerank.scorers.toppush.multipliers.augmented import Augmented
from rerank.scorers.toppush.prepare import problem_of
from rerank.scorers.toppush.problem import relative_gap
from rerank.scorers.toppush.threshold import MaxThreshold, TopThreshold
from tests.cases.scorers import bipartite, sparse
from tests.scorers.test_toppush import clear


def problem(n=60, d=4, lists=1, loss="squared_hinge", threshold="max", k=None, seed=0, X=None):
    made, y = clear(n, d, seed)
    rng = np.random.default_rng(seed)
    X = made if X is None else X
    data = RankingData(X, y, rng.integers(0, lists, n), rng.random(n) + 0.2)
    return problem_of(data, LOSSES[loss], threshold, k)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=str)
def test_losses_and_their_derivatives_and_conjugates(loss):
    for z in np.linspace(-3.7, 2.9, 23):
        assert check_grad(lambda v: loss.value(v)[0], lambda v: loss.slope(v), [z]) < 1e-5
        if abs(z + 1) > 1e-3:
            assert check_grad(lambda v: loss.slope(v)[0], lambda v: loss.curvature(v), [z]) < 1e-5
        a = loss.slope(z)
        # Fenchel and Young: equality at the slope, an inequality elsewhere.
        assert loss.conjugate(a) == pytest.approx(a * z - loss.value(z), abs=1e-12)
        assert loss.conjugate(a) >= a * (z + 0.3) - loss.value(z + 0.3) - 1e-12
    assert np.isfinite(loss.conjugate(np.array([0.0, 1.0]))).all()


def slow_threshold(scores, caps):
    """max p.s over 0 <= p <= caps, sum p = 1, by linear programming."""
    found = linprog(-scores, A_eq=np.ones((1, scores.size)), b_eq=[1], bounds=[(0, c) for c in caps])
    return -found.fun


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12))
def test_thresholds_are_linear_programs(seed, n, m):
    rng = np.random.default_rng(seed)
    start = np.array([0, n, n + m])
    scores = rng.integers(-3, 4, n + m).astype(float)
    weight = rng.random(n + m) + 0.1
    k = np.array([rng.random(), 1.0]) * np.add.reduceat(weight, start[:-1])
    for threshold in (MaxThreshold(start), TopThreshold(start, weight, k)):
        values, caps = threshold.values(scores), threshold.caps()
        for g in range(2):
            i = slice(start[g], start[g + 1])
            assert values[g] == pytest.approx(slow_threshold(scores[i], caps[i]), abs=1e-9)
        vertices = threshold.above(scores, np.full(2, -np.inf), 1)
        np.testing.assert_allclose(np.asarray(vertices.sum(axis=1)).ravel(), 1)
        assert (vertices.toarray() <= caps * (1 + 1e-12)).all()
        assert set(np.round(vertices @ scores, 9)) >= set(np.round(values, 9))
        assert threshold.above(scores, values + 1e-9, 5).shape[0] == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 6))
def test_quadratic_programs_meet_the_conditions_of_optimality(seed, n, rank):
    rng = np.random.default_rng(seed)
    N = rng.integers(-2, 3, (n, rank)).astype(float)
    N[rng.integers(n)] = N[rng.integers(n)]
    K, r = N @ N.T + (rng.random() < 0.5) * 1.0, N @ rng.standard_normal(rank)
    q = qp.solve(K, r, rng.random(n) < 0.4, 1e-10)
    y = K @ q - r
    assert (q >= 0).all()
    assert (y >= -1e-7).all()
    assert abs(q @ y) <= 1e-6 * max(1, q.max())


def test_a_large_quadratic_program_starts_from_lapack():
    rng = np.random.default_rng(0)
    N = rng.standard_normal((150, 200))
    K, r = N @ N.T, N @ rng.standard_normal(200)
    first = qp.solve(K, r, np.zeros(150, bool), 1e-10)
    np.testing.assert_allclose(qp.solve(K, r, np.ones(150, bool), 1e-10), first, atol=1e-9)
    assert (first > 0).sum() > qp.MANY


@pytest.mark.parametrize("form", [FeatureMetric, RowMetric])
@pytest.mark.parametrize("store", [np.asarray, csr_matrix])
def test_forms_of_the_curvature_are_the_schur_complement(form, store):
    X = store(clear(60, 4)[0])
    p = problem(lists=3, X=X)
    dense = np.asarray(p.positives.todense() if store is csr_matrix else p.positives)
    rng = np.random.default_rng(1)
    metric, pool = form(p, 0.3), Pool(p)
    for _ in range(2):
        D = p.share * rng.integers(0, 2, p.share.size)
        D[p.list_of == 1] = 0
        metric.refresh(D)
        pool.add(p.threshold.above(rng.standard_normal(p.negatives.shape[0]), np.full(3, -np.inf), 4))
        Z = np.hstack([-dense, np.eye(3)[p.list_of]])
        H = Z.T @ (D[:, None] * Z) + np.diag([0.3] * 4 + [0.0] * 3)
        H[4:, 4:] += np.diag(metric.S - p.per_list(D))
        rows = np.asarray(pool.rows.todense() if store is csr_matrix else pool.rows)
        N = np.hstack([-rows, np.eye(3)[pool.lists]])
        K = N @ np.linalg.solve(H, N.T)
        np.testing.assert_allclose(metric.gram(pool), K, atol=1e-9 * np.abs(K).max())
        inner = np.linalg.inv(H)[:4, :4]
        v = rng.standard_normal(4)
        np.testing.assert_allclose(metric.solve(v), inner @ v, rtol=1e-8, atol=1e-10)


def test_the_limited_form_meets_its_secants_and_is_consistent():
    p = problem(lists=2, d=6)
    rng = np.random.default_rng(0)
    metric, exact, pool = LimitedMetric(p, 0.3), FeatureMetric(p, 0.3), Pool(p)
    metric.refresh(p.share)
    exact.refresh(p.share)
    for _ in range(6):
        s = rng.standard_normal(6)
        metric.learn(s, p.positives @ s)
        metric.refresh(p.share)
        product = np.linalg.solve(np.column_stack([exact.solve(e) for e in np.eye(6)]), s)
        np.testing.assert_allclose(metric.solve(product), s, rtol=1e-8)
    pool.add(p.threshold.above(rng.standard_normal(p.negatives.shape[0]), np.full(2, -np.inf), 5))
    N = np.column_stack([metric.rows_sum(pool, e) for e in np.eye(pool.size)]).T
    same = (pool.lists[:, None] == pool.lists) / metric.S[pool.lists]
    K = np.array([[u @ metric.solve(v) for v in N] for u in N]) + same
    np.testing.assert_allclose(metric.gram(pool), K, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [FeatureMetric, RowMetric, LimitedMetric])
def test_every_form_closes_the_gap(form, loss):
    p = problem(90, 5, lists=2, loss=loss)
    found = minimise(p, 0.05, 1e-7, 500, None, form(p, 0.05))
    value = p.primal(found.w, 0.05)
    assert relative_gap(value, p.dual(found.a, p.feasible(found.a, found.beta), 0.05)) <= 1.01e-7


def test_a_point_that_is_nearly_feasible_is_mended_and_proves_as_much():
    p = problem(120, 4, lists=2, threshold="topk", k=3)
    found = Augmented(p, 0.05, np.zeros(4), np.zeros(p.negatives.shape[0])).run(1e-8, 300)
    a, beta = found.a, found.beta
    bound = p.dual(a, p.feasible(a, beta), 0.05)
    rough = beta * (1 + 1e-7 * np.random.default_rng(0).standard_normal(beta.size))
    assert p.dual(a, rough, 0.05) == -np.inf
    mended = p.feasible(a, rough)
    most = p.per_list(p.share * a)[p.negative_list] * p.threshold.caps()
    assert (mended >= 0).all() and (mended <= most * (1 + 1e-15)).all()
    assert p.dual(a, mended, 0.05) == pytest.approx(bound, rel=1e-6)


def test_multipliers_that_all_have_to_be_at_their_caps_are_moved_there():
    p = problem(60, 4, threshold="quantile", k=1.0)
    a = np.full(p.share.size, 0.7)
    exact = 0.7 * p.threshold.caps()
    rough = exact * (1 + 1e-3 * np.random.default_rng(0).standard_normal(exact.size))
    assert p.dual(a, rough, 0.1) == -np.inf
    np.testing.assert_allclose(p.feasible(a, rough), exact, rtol=1e-9)
    assert p.dual(a, p.feasible(a, rough), 0.1) == pytest.approx(p.dual(a, exact, 0.1), rel=1e-9)


def test_a_bound_above_the_value_is_rounding_or_no_proof():
    assert relative_gap(1.0, 1 + 1e-12) == pytest.approx(1e-12, rel=1e-3)
    assert 0 < relative_gap(1.0, 1.0) < 1e-14
    for bound in (1 + 1e-8, 0.0, -1.0, np.nan):
        assert relative_gap(1.0, bound) == np.inf


def test_the_gram_of_the_positives_is_taken_anew_where_differences_wore_it():
    p = problem(60, 3)
    rng = np.random.default_rng(0)
    gram, n = p.gram, p.share.size
    assert gram is p.gram
    for size in (1.0, 1e-3, 1e12, 1e-6, 0.0):
        D = size * rng.random(n)
        X = np.asarray(p.positives)
        np.testing.assert_allclose(gram.at(D), X.T @ (D[:, None] * X), rtol=1e-9, atol=1e-9 * size)


def test_a_matrix_that_rounding_left_indefinite_is_factored_all_the_same():
    V = np.random.default_rng(0).standard_normal((6, 2))
    H = V @ V.T - 1e-15 * np.eye(6)
    L = factor(H.copy())
    np.testing.assert_allclose(L @ L.T, H, atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        factor(-np.eye(2))


def test_many_active_cuts_are_handed_to_the_multipliers(monkeypatch):
    monkeypatch.setattr("rerank.scorers.toppush.answer.MANY_ACTIVE", 10)
    monkeypatch.setattr("rerank.scorers.toppush.cuts.newton.MANY_ACTIVE", 10)
    called = []
    run = Augmented.run
    monkeypatch.setattr(Augmented, "run", lambda self, *a: called.append(1) or run(self, *a))
    X, y = sparse(200, 400, 10), np.arange(200) % 4 == 0
    model = TopPush(alpha=1e-2).fit(X, y)
    assert called
    assert model.gap_ <= 1e-6


def test_the_dual_refuses_points_that_are_not_feasible():
    p = problem(threshold="topk", k=3)
    found = minimise(p, 0.1, 1e-8, 100, None)
    assert p.dual(found.a, found.beta, 0.1) > 0
    assert p.dual(found.a, found.beta * 1.001, 0.1) == -np.inf
    assert p.dual(found.a, -found.beta, 0.1) == -np.inf
    heap = np.zeros_like(found.beta)
    heap[0] = found.beta.sum()
    assert p.dual(found.a, heap, 0.1) == -np.inf


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
    slow, fast = descend(p, 1.0, 1e-6, 20_000, "gap", None), minimise(p, 1.0, 1e-9, 100, None)
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


def in_hull(X, y):
    """Whether the mean of the positives is a convex combination of negatives, by linear programming."""
    N = X[y == 0]
    found = linprog(
        np.zeros(len(N)),
        A_eq=np.vstack([N.T, np.ones(len(N))]),
        b_eq=np.r_[X[y == 1].mean(axis=0), 1],
        bounds=(0, None),
    )
    return found.status == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 3))
def test_degenerate_exactly_when_a_linear_program_says_so(seed, shift):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    y = (np.arange(40) < 12).astype(float)
    X[:12, 0] += shift
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = TopPush(alpha=0.01).fit(X, y)
    assert model.degenerate_ == in_hull(X, y)
    assert model.degenerate_ == (not model.coef_.any())


def test_a_certificate_that_proves_nothing_is_refused():
    p = problem()
    n = p.negatives.shape[0]
    assert certificate_of(p, np.zeros(n)) is None
    assert certificate_of(p, np.ones(n)) is None


def test_topk_agrees_with_a_smooth_solver():
    X, y = clear(50, 3, seed=9)
    up, down = X[y == 1], X[y == 0]

    def objective(v):
        """Rockafellar and Uryasev's form: the mean of the k largest is min_c c + sum [s - c]_+ / k."""
        return 0.05 * v[:3] @ v[:3] + ((1 + v[3] + v[4:].sum() / 6 - up @ v[:3]).clip(0) ** 2).mean()

    found = minimize(
        objective,
        np.r_[np.zeros(4), np.full(len(down), 0.1)],
        method="SLSQP",
        bounds=[(None, None)] * 4 + [(0, None)] * len(down),
        constraints=dict(type="ineq", fun=lambda v: v[4:] + v[3] - down @ v[:3]),
        options=dict(maxiter=500, ftol=1e-12),
    )
    model = TopPush(alpha=0.1, threshold="topk", k=6).fit(X, y)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-5)


def test_empty_columns_are_left_out_and_put_back():
    X, y = sparse(60, 40, 6, seed=1), np.arange(60) % 3 == 0
    place = np.sort(np.random.default_rng(0).permutation(1000)[:40])
    wide = csr_matrix((X.data, place[X.indices], X.indptr), shape=(60, 1000))
    narrow, model = TopPush(alpha=0.01, tol=1e-10).fit(X, y), TopPush(alpha=0.01, tol=1e-10).fit(wide, y)
    assert model.coef_.shape == (1000,)
    np.testing.assert_allclose(model.coef_[place], narrow.coef_, rtol=1e-6, atol=1e-9)
    assert np.count_nonzero(model.coef_) == np.count_nonzero(narrow.coef_)
    warm = TopPush(alpha=0.01, warm_start=True).fit(wide, y)
    assert warm.fit(wide[:, ::-1], y).gap_ <= 1e-6


def test_inner_products_of_sparse_rows_are_those_of_dense_ones_as_the_pool_grows_and_shrinks():
    X = sparse(80, 30, 5)
    thin, thick = Pool(problem(X=X)), Pool(problem(X=X.toarray()))
    rng = np.random.default_rng(0)
    for _ in range(3):
        scores = rng.standard_normal(thin.vertices.shape[1])
        for pool in (thin, thick):
            pool.add(pool.problem.threshold.above(scores, np.full(1, -np.inf), 7))
        rows = thin.rows.toarray()
        np.testing.assert_allclose(thin.gram(), rows @ rows.T, atol=1e-12)
        np.testing.assert_allclose(np.diff(rows, axis=0), np.diff(thick.rows, axis=0), atol=1e-12)
        for pool in (thin, thick):
            pool.keep(np.arange(pool.size) % 3 > 0)
