"""TopPush by cuts: quadratic programs, forms of the curvature, the pool of vertices, the hand-over to multipliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from rerank.scorers import TopPush
from rerank.scorers.toppush.cuts import qp
from rerank.scorers.toppush.cuts.metric import FeatureMetric, LimitedMetric, RowMetric
from rerank.scorers.toppush.cuts.newton import minimise
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.losses import LOSSES
from rerank.scorers.toppush.multipliers.augmented import Augmented
from rerank.scorers.toppush.problem import relative_gap
from tests.cases.scorers import sparse
from tests.scorers.test_toppush import clear
from tests.scorers.test_toppush_problem import problem


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
