"""The problem of TopPush: losses, thresholds, dual points, Gram matrices and the certificate of zero weights."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, linprog
from scipy.sparse import csr_array, csr_matrix

from rerank.scorers import TopPush
from rerank.scorers.base import RankingData
from rerank.scorers.toppush.answer import Answer, certificate_of
from rerank.scorers.toppush.gram import factor
from rerank.scorers.toppush.multipliers import Augmented
from rerank.scorers.toppush.problem import LOSSES, Threshold, problem_of, relative_gap
from tests.cases.scorers import sparse
from tests.scorers.test_toppush import clear


def problem(n=60, d=4, lists=1, loss="squared_hinge", threshold="max", k=None, seed=0, X=None):
    made, y = clear(n, d, seed)
    rng = np.random.default_rng(seed)
    X = made if X is None else X
    data = RankingData(X, y, rng.integers(0, lists, n), rng.random(n) + 0.2)
    return problem_of(data, LOSSES[loss], threshold, k)


def solved(p, alpha, tol):
    """An answer with that gap."""
    (m, d), n = p.positives.shape, p.negatives.shape[0]
    return Augmented(p, alpha, Answer(np.zeros(d), np.zeros(m), np.zeros(n))).run(tol, 500)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
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


def test_the_squared_hinge_near_multipliers_is_a_maximum():
    a = np.linspace(0, 30, 300_001)
    smoothed = LOSSES["squared_hinge"].near(0.7, 0.4)
    for z in (-3.0, -1.1, -0.5, 2.0):
        values = a * z - LOSSES["squared_hinge"].conjugate(a) - 0.2 * (a - 0.7) ** 2
        assert smoothed.value(z) == pytest.approx(values.max(), abs=1e-8)
        assert smoothed.slope(z) == pytest.approx(a[values.argmax()], abs=2e-4)
        assert check_grad(lambda v: smoothed.slope(v)[0], lambda v: smoothed.curvature(v), [z]) < 1e-5


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
    for threshold in (Threshold(start, weight), Threshold(start, weight, k)):
        values, caps = threshold.values(scores), threshold.caps
        for g in range(2):
            i = slice(start[g], start[g + 1])
            assert values[g] == pytest.approx(slow_threshold(scores[i], caps[i]), abs=1e-9)


def test_a_point_that_is_nearly_feasible_is_mended_and_proves_as_much():
    p = problem(120, 4, lists=2, threshold="topk", k=3)
    found = solved(p, 0.05, 1e-8)
    a, beta = found.a, found.beta
    bound = p.dual(a, p.feasible(a, beta), 0.05)
    rough = beta * (1 + 1e-7 * np.random.default_rng(0).standard_normal(beta.size))
    assert p.dual(a, rough, 0.05) == -np.inf
    mended = p.feasible(a, rough)
    most = p.per_list(p.share * a)[p.negative_list] * p.threshold.caps
    assert (mended >= 0).all() and (mended <= most * (1 + 1e-15)).all()
    assert p.dual(a, mended, 0.05) == pytest.approx(bound, rel=1e-6)


def test_multipliers_that_all_have_to_be_at_their_caps_are_moved_there():
    p = problem(60, 4, threshold="quantile", k=1.0)
    a = np.full(p.share.size, 0.7)
    exact = 0.7 * p.threshold.caps
    rough = exact * (1 + 1e-3 * np.random.default_rng(0).standard_normal(exact.size))
    assert p.dual(a, rough, 0.1) == -np.inf
    np.testing.assert_allclose(p.feasible(a, rough), exact, rtol=1e-9)
    assert p.dual(a, p.feasible(a, rough), 0.1) == pytest.approx(p.dual(a, exact, 0.1), rel=1e-9)


def test_a_bound_above_the_value_is_rounding_or_no_proof():
    assert relative_gap(1.0, 1 + 1e-12) == pytest.approx(1e-12, rel=1e-3)
    assert 0 < relative_gap(1.0, 1.0) < 1e-14
    for bound in (1 + 1e-8, 0.0, -1.0, np.nan):
        assert relative_gap(1.0, bound) == np.inf


def test_the_gram_of_the_positives_is_computed_anew_after_it_has_shrunk():
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


def test_the_dual_refuses_points_that_are_not_feasible():
    p = problem(threshold="topk", k=3)
    found = solved(p, 0.1, 1e-8)
    assert p.dual(found.a, found.beta, 0.1) > 0
    assert p.dual(found.a, found.beta * 1.001, 0.1) == -np.inf
    assert p.dual(found.a, -found.beta, 0.1) == -np.inf
    heap = np.zeros_like(found.beta)
    heap[0] = found.beta.sum()
    assert p.dual(found.a, heap, 0.1) == -np.inf


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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 60), st.integers(1, 5), st.integers(2, 4), st.integers(0, 1))
def test_degenerate_as_the_program_says_where_rows_share_faces(seed, n, d, values, shift):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, values, (n, d)).astype(float), (np.arange(n) < max(1, n // 4)).astype(float)
    X[y == 1, 0] += shift
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [TopPush(alpha=0.1).fit(store(X), y).degenerate_ for store in (np.asarray, csr_matrix, csr_array)]
    assert found == [in_hull(X, y)] * 3


def test_a_certificate_that_proves_nothing_is_refused():
    p = problem()
    n = p.negatives.shape[0]
    assert certificate_of(p, np.zeros(n)) is None
    assert certificate_of(p, np.ones(n)) is None


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
