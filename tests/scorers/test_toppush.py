"""TopPush: its problem, its three solvers against other programs, and the estimator on every kind of data."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import check_grad, linprog, minimize
from scipy.sparse import csr_array, csr_matrix

from rerank.errors import InputError
from rerank.scorers import TopPush
from rerank.scorers.base import RankingData
from rerank.scorers.toppush import multipliers
from rerank.scorers.toppush import smoothed as smoothing
from rerank.scorers.toppush.accelerated import descend, project, shift
from rerank.scorers.toppush.answer import PrimalDual, certificate_of
from rerank.scorers.toppush.gram import factor
from rerank.scorers.toppush.multipliers import Augmented, Hessian
from rerank.scorers.toppush.problem import LOSSES, Loss, problem_of, relative_gap
from rerank.scorers.toppush.smoothed import STIFF, levels, smoothed
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.cases.scorers import bipartite, sparse

PLAIN_LOSSES = {
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
            total += sum(weight[i] * PLAIN_LOSSES[loss](t - X[i] @ w) for i in up)
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


@examples(25, st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(sorted(PLAIN_LOSSES)), st.floats(1e-4, 10))
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


def test_many_sparse_columns():
    X, y = sparse(200, 400, 10), np.arange(200) % 4 == 0  # rows are on the same side of many of them
    assert TopPush(alpha=1e-2).fit(X, y).gap_ <= 1e-6
    X, y = sparse(60, 500, 12, seed=4), np.arange(60) % 3 == 0
    model = TopPush(alpha=1e-3).fit(X, y)
    assert model.gap_ <= 1e-6
    assert (model.decision_function(X)[y].min()) > model.decision_function(X)[~y].max()


@pytest.mark.parametrize(
    "threshold, k, top",
    [("topk", 1, best_k(1)), ("topk", 5, best_k(5)), ("quantile", 0.1, best_k(7)), ("topk", 10**6, best_k(10**6))],
)
def test_thresholds_below_the_maximum(threshold, k, top):
    X, y = clear(100, 4, seed=8)
    assert (y == 0).sum() == 70
    model = TopPush(alpha=0.01, threshold=threshold, k=k).fit(X, y)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(naive(model.coef_, X, y, 0.01, top=top), rel=1e-10)
    if k == 1:
        assert model.objective_ == pytest.approx(TopPush(alpha=0.01).fit(X, y).objective_, rel=2e-6)


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
    [{"alpha": 1e-3}, {"alpha": 1e-2, "threshold": "topk"}, {"alpha": 1.0, "solver": "accelerated", "tol": 1e-4}],
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
@pytest.mark.parametrize("alpha", [1e-12, 1.0, 1e6])
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


def test_no_list_with_both_kinds_is_an_error():
    X, y = clear(20, 2)
    refuses("No list holds both", TopPush().fit, X, y, qid=y)
    refuses("1 class only .1. in the rows with a weight above 0", TopPush().fit, X, y, sample_weight=y)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
@pytest.mark.parametrize("alpha", [1e-8, 1e3])
def test_separable_rows_and_extreme_regularisation(loss, alpha):
    X, y = clear(60, 40, seed=11)
    model = TopPush(alpha=alpha, loss=loss, max_iter=100).fit(X, y)
    assert model.gap_ <= 1e-6
    s = X @ model.coef_
    assert s[y == 1].min() > s[y == 0].max() or alpha == 1e3


def problem(n=60, d=4, lists=1, loss="squared_hinge", threshold="max", k=None, seed=0, X=None):
    made, y = clear(n, d, seed)
    rng = np.random.default_rng(seed)
    X = made if X is None else X
    data = RankingData(X, y, rng.integers(0, lists, n), rng.random(n) + 0.2)
    return problem_of(data, LOSSES[loss], threshold, k)


def solved(p, alpha, tol):
    """An answer with that gap."""
    (m, d), n = p.positives.shape, p.negatives.shape[0]
    return Augmented(p, alpha, PrimalDual(np.zeros(d), np.zeros(m), np.zeros(n))).run(tol, 500)


def test_the_squared_hinge_near_multipliers_is_a_maximum():
    a = np.linspace(0, 30, 300_001)
    smoothed = LOSSES["squared_hinge"].near(0.7, 0.4)
    for z in (-3.0, -1.1, -0.5, 2.0):
        values = a * z - LOSSES["squared_hinge"].conjugate(a) - 0.2 * (a - 0.7) ** 2
        assert smoothed.value(z) == pytest.approx(values.max(), abs=1e-8)
        assert smoothed.slope(z) == pytest.approx(a[values.argmax()], abs=2e-4)
        assert check_grad(lambda v: smoothed.slope(v)[0], lambda v: smoothed.curvature(v), [z]) < 1e-5


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


@examples(30, st.integers(0, 10**6), st.floats(0, 3))
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


@examples(15, st.integers(0, 10**6), st.integers(6, 60), st.integers(1, 5), st.integers(2, 4), st.integers(0, 1))
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


THRESHOLDS = [("max", None), ("topk", 3), ("quantile", 0.4)]


@examples(60, st.integers(0, 10**6), st.integers(1, 30), st.booleans(), st.floats(1e-3, 50))
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
def test_a_hinge_in_one_kernel_is_the_search_for_any_loss_and_has_the_bits_of_python(threshold, k, monkeypatch):
    p = problem(80, lists=3, threshold=threshold, k=k)
    rng = np.random.default_rng(4)
    up, down = rng.standard_normal(p.share.size), rng.standard_normal(p.negatives.shape[0])
    given = up, down, rng.random(up.size), 0.1 * rng.random(down.size), 0.3
    found = smoothed(p, *given)
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        patch.setattr(smoothing, "roots", smoothing.roots.py_func)
        again = smoothed(p, *given)
    assert [getattr(again, name).tobytes() for name in "ab"] == [getattr(found, name).tobytes() for name in "ab"]
    near = Loss.near
    monkeypatch.setattr(Loss, "near", lambda *given: replace(near(*given), hinge=None))
    general = smoothed(p, *given)
    assert found.value == pytest.approx(general.value, rel=1e-12)
    np.testing.assert_allclose(np.r_[found.T, found.a, found.b], np.r_[general.T, general.a, general.b], atol=1e-11)


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


@examples(
    100, st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.lists(st.integers(-4, 4), min_size=1, max_size=9)
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
    zero = PrimalDual(np.zeros(4), np.zeros(p.share.size), np.zeros(p.negatives.shape[0]))
    slow, fast = descend(p, 1.0, 1e-6, 20_000, "gap", zero), solved(p, 1.0, 1e-9)
    assert slow.met
    assert p.primal(slow.w, 1.0) == pytest.approx(p.primal(fast.w, 1.0), rel=1e-6)
    assert relative_gap(p.primal(slow.w, 1.0), p.dual(slow.a, slow.beta, 1.0)) <= 1.01e-6
    again = descend(p, 1.0, 1e-6, 20_000, "gap", slow)
    assert again.n_iter < slow.n_iter


def slow_accelerated(X, y, alpha, tol, stop):
    """The published iteration by the book: a bisection for the projection, L doubled from 1 / m."""
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
        values.append(g(x))
        change = abs(values[-1] - values[-2]) if len(values) > 1 else np.inf
        # The paper's step 16, or what its program does.
        if change <= tol if stop == "paper" else len(values) >= 10 and change <= abs(values[-2]) * tol:
            return Z.T @ x / (alpha * m), len(values)


@pytest.mark.parametrize("stop", ["paper", "authors"])
@pytest.mark.parametrize("make", [clear, bipartite])
def test_the_stopping_rules_of_the_paper_and_of_its_program(make, stop):
    X, y = make(90, 4, seed=3)
    model = TopPush(alpha=0.1, solver="accelerated", stop=stop, tol=1e-4).fit(X, y)
    w, n_iter = slow_accelerated(X, y, 0.1, 1e-4, stop)
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.coef_, w, rtol=1e-6, atol=1e-9)
    assert model.gap_ > 1e-4
