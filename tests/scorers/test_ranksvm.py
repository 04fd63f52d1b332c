"""RankSVM: sums over pairs against a list of all pairs, optimality by other means, and the estimator."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from rerank.scorers import RankSVM
from rerank.scorers.base import RankingData, groups_of
from rerank.scorers.conversions import alpha_of_c, c_of_alpha, count_pairs
from rerank.scorers.ranksvm.estimator import longer, starts
from rerank.scorers.ranksvm.kernels import LEAF, make_nodes
from rerank.scorers.ranksvm.newton import DesignMatrix
from rerank.scorers.ranksvm.pairs import UtilityPairs, by_utility, list_weights
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.cases.scorers import bipartite, sparse, utilities


def coefficients(y, group, weight, average):
    """All c_ij (n, n): 0 unless y_i < y_j in one list."""
    c = ((y[:, None] < y) & (group[:, None] == group)) * weight[:, None] * weight
    per_list = np.array([c[group == g].sum() for g in range(group.max() + 1)])
    if average == "pairs":
        return c / per_list.sum()
    return c / np.where(per_list > 0, per_list, 1)[group][:, None] / (per_list > 0).sum()


def hinges(p):
    """(1 + p_i - p_j)_+ for all i, j, and where it is positive."""
    active = p - p[:, None] < 1
    return np.where(active, 1 + p[:, None] - p, 0), active


def naive(c, p, loss):
    """Loss and its slope in p."""
    h, active = hinges(p)
    if loss == "hinge":
        return (c * h).sum(), (c * active).sum(axis=1) - (c * active).sum(axis=0)
    return (c * h**2).sum(), 2 * ((c * h).sum(axis=1) - (c * h).sum(axis=0))


def case(n, lists, levels, scale, whole, seed):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n) if levels is None else rng.integers(0, levels, n).astype(float)
    y[:2] = -9, 9
    group = rng.integers(0, lists, n)
    group[:2] = 0
    group = np.unique(group, return_inverse=True)[1]
    weight = rng.integers(0, 4, n).astype(float)
    weight[:2] = 1
    p = scale * rng.standard_normal(n)
    return RankingData(None, y, group, weight), np.round(p) if whole else p


CASES = dict(
    n=st.integers(2, 120),
    lists=st.integers(1, 4),
    levels=st.one_of(st.none(), st.integers(1, 6)),
    scale=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    whole=st.booleans(),
    seed=st.integers(0, 10**6),
)


@examples(80, average=st.sampled_from(["queries", "pairs"]), **CASES)
def test_losses_and_slopes_equal_those_of_the_list_of_pairs(average, **of):
    data, p = case(**of)
    c = coefficients(data.y, data.group, data.weight, average)
    assert c.sum() == pytest.approx(1)
    active = UtilityPairs(data, average).at(p)
    for loss, (value, slope) in {"hinge": active.hinge, "squared": active.squared}.items():
        expected, gradient = naive(c, p, loss)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(slope, gradient, atol=1e-11 * max(1, np.abs(p).max()))


@examples(60, **CASES)
def test_product_with_the_hessian_equals_that_of_the_list_of_pairs(**of):
    data, p = case(**of)
    c = coefficients(data.y, data.group, data.weight, "queries") * hinges(p)[1]
    a = c + c.T
    pairs = UtilityPairs(data, "queries")
    u = np.random.default_rng(of["seed"] + 1).standard_normal(p.size)
    got = pairs.recorded(pairs.at(p)).hessian(u)
    np.testing.assert_allclose(got, 2 * (a.sum(axis=1) * u - a @ u), atol=1e-12)


@pytest.mark.parametrize("levels", [None, 2, 300])
def test_long_lists(levels):
    """Many nodes deep, and coarse records."""
    data, p = case(2000, 2, levels, 1.0, False, 5)
    c = coefficients(data.y, data.group, data.weight, "pairs")
    pairs = UtilityPairs(data, "pairs")
    active = pairs.at(p)
    value, slope = active.squared
    expected, gradient = naive(c, p, "squared")
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-14)
    a = c * hinges(p)[1]
    a = a + a.T
    record, u = pairs.recorded(active), np.random.default_rng(0).standard_normal(p.size)
    exact = u @ (2 * (a.sum(axis=1) * u - a @ u))
    assert 0.9 * exact <= u @ record.hessian(u) <= exact * (1 + 1e-12)
    np.testing.assert_allclose(record.hessian(np.ones(p.size)), 0, atol=1e-16)


def test_a_record_grows_finer_where_only_near_utilities_are_in_reach():
    n = 4000
    y = np.random.default_rng(0).permutation(n).astype(float)
    data = RankingData(None, y, np.zeros(n, np.int64), np.ones(n))
    pairs = UtilityPairs(data, "pairs")
    active = pairs.at(y / 10.5)
    parts = pairs.parts
    record = pairs.recorded(active)
    assert pairs.parts > parts
    assert record.degree.sum() >= 0.95 * (active.sums[0] + active.sums[1]).sum() > 0


@examples(60, parts=st.integers(1, 200), **CASES)
def test_nodes_cut_every_list_between_different_utilities(parts, **of):
    data, _ = case(**of)
    pairs = UtilityPairs(data, "pairs")
    nodes, size = make_nodes(pairs.first, pairs.after, pairs.start, parts)
    low, middle, high, side, at = nodes
    cut = middle > low
    assert size == (high - low)[cut].sum()
    assert (middle < high)[cut].all() and (pairs.first[middle[cut]] == middle[cut]).all()
    leaves = sorted(zip(low[~cut], high[~cut]))
    assert leaves[0][0] == 0 and leaves[-1][1] == data.y.size
    assert all(a[1] == b[0] for a, b in pairwise(leaves))
    if parts > data.y.size:
        several = pairs.first[high - 1] > low
        assert ((high - low)[~cut & several] <= LEAF).all()


def test_weight_of_all_pairs_of_each_list():
    y = np.array([1.0, 2, 2, 3, 5, 5])
    data = RankingData(None, y, np.array([0, 0, 0, 0, 1, 1]), np.array([1.0, 2, 1, 3, 1, 1]))
    assert list_weights(data, by_utility(data)).tolist() == [1 * 3 + 1 * 3 + 3 * 3, 0]


def test_no_pair_is_an_error():
    data = RankingData(None, np.array([0.0, 1, 1]), np.array([0, 1, 1]), np.ones(3))
    refuses("No list holds two rows", UtilityPairs, data, "queries")


def objective(X, y, qid, w, alpha, loss, average, weight=None):
    weight = np.ones(y.size) if weight is None else weight
    c = coefficients(y, groups_of(qid, y.size), weight, average)
    value, slope = naive(c, X @ w, loss)
    return value + alpha * w @ w, X.T @ slope + 2 * alpha * w


@pytest.mark.parametrize(
    ("alpha", "average", "levels"),
    [(1.0, "queries", None), (1e-2, "pairs", 2), (1e-4, "queries", 4), (1e-4, "pairs", None)],
)
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


def test_lists_are_not_compared_with_each_other():
    X, y, qid = utilities(n=100, lists=2)
    moved = y + np.where(qid == qid[0], 100, 0)
    np.testing.assert_array_equal(RankSVM().fit(X, y, qid).coef_, RankSVM().fit(X, moved, qid).coef_)
    assert not np.allclose(RankSVM().fit(X, y).coef_, RankSVM().fit(X, moved).coef_)


def test_only_the_order_of_utilities_matters():
    X, y, qid = utilities(n=100)
    np.testing.assert_array_equal(RankSVM().fit(X, y).coef_, RankSVM().fit(X, np.exp(y)).coef_)


def test_a_path_takes_half_the_steps_of_single_fits():
    X, y, qid = utilities(n=400, d=30, levels=3)
    alphas = np.logspace(0, -4, 10)
    path = RankSVM().path(X, y, alphas, qid)
    cold = [RankSVM(alpha).fit(X, y, qid) for alpha in alphas]
    assert path.n_iters.sum() <= 0.5 * sum(one.n_iter_ for one in cold)
    np.testing.assert_allclose(path.objectives, [one.objective_ for one in cold], rtol=2e-4)


def test_starts_are_a_parabola_and_a_line_in_log_alpha_and_the_last_solution():
    def curve(alpha, power):
        return np.array([1.0, 2.0, 3.0]) * np.log(alpha) ** power

    for power, exact in ((0, 2), (1, 1), (2, 0)):
        trail = ()
        for alpha in (1.0, 0.5, 0.2, 0.03):
            trail = longer(trail, alpha, curve(alpha, power))
        found = starts(trail, 0.01, 3)
        assert len(found) == 3
        np.testing.assert_allclose(found[exact], curve(0.01, power), rtol=1e-9)
    assert [alpha for alpha, _ in trail] == [0.03, 0.2, 0.5]
    assert [alpha for alpha, _ in longer(trail, 0.2, np.ones(3))] == [0.2, 0.03, 0.5]
    assert starts(trail, 0.03, 3) == [trail[0][1]]
    assert not starts((), 0.03, 3)[0].any()


def test_a_warm_start_from_the_solution_has_nothing_left_to_do():
    X, y = bipartite()
    ranker = RankSVM(1e-3, warm_start=True).fit(X, y)
    first, steps = ranker.coef_.copy(), ranker.n_iter_
    assert steps > 1
    ranker.fit(X, y)
    assert ranker.n_iter_ == 1
    np.testing.assert_array_equal(ranker.coef_, first)
    ranker.fit(X[:, :3], y)
    assert ranker.coef_.size == 3


def test_a_constant_matrix_gives_no_weights():
    assert not RankSVM().fit(np.ones((6, 2)), np.arange(6)).coef_.any()


def test_unused_columns_survive_a_path():
    X = sparse(100, 900, 3)
    y = np.asarray(X.sum(axis=1)).ravel()
    path = RankSVM().path(X, y, [1e-1, 1e-2])
    assert path.coefs.shape == (2, 900)


def test_conversions():
    y, qid, weight = [1, 2, 2, 5, 5], [0, 0, 0, 1, 1], [1, 1, 3, 1, 1]
    assert count_pairs(y) == 2 + 2 * 3
    assert count_pairs(y, qid) == 2
    assert count_pairs(y, qid, weight) == 4
    assert alpha_of_c(c_of_alpha(0.3, 17), 17) == pytest.approx(0.3)
    refuses("alpha is 0.0; it must be a number, above 0", c_of_alpha, 0.0)


def test_c_gives_the_objective_of_sums_over_pairs():
    X, y, _ = utilities(n=60)
    alpha = 1e-2
    C = c_of_alpha(alpha, count_pairs(y))
    fitted = RankSVM(alpha, average="pairs").fit(X, y)
    p, w = fitted.decision_function(X), fitted.coef_
    total = sum(max(0, 1 + p[i] - p[j]) ** 2 for i in range(60) for j in range(60) if y[i] < y[j])
    assert w @ w / 2 + C * total == pytest.approx(fitted.objective_ / (2 * alpha))


@pytest.mark.parametrize("offset", [0, 100, 3000])
def test_float32_rows_give_the_objective_and_the_gap_of_their_own_values(offset):
    X, y, qid = utilities(n=200, lists=4)
    X = (X + offset).astype(np.float32)
    narrow = RankSVM(1e-2, tol=1e-8).fit(X, y, qid)
    best = RankSVM(1e-2, tol=1e-10).fit(X.astype(float), y, qid)
    assert narrow.gap_ <= 1e-8
    assert narrow.objective_ <= best.objective_ * (1 + 1e-8)
    assert narrow.objective_ >= best.objective_ * (1 - best.gap_) - 1e-9


def test_a_step_of_one_unit_of_rounding_along_the_path_is_no_step():
    X, y, qid = utilities(n=200, lists=4)
    alphas = [1e-2, np.nextafter(1e-2, 0), 1e-3, np.nextafter(1e-3, 0), 1e-4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = RankSVM(tol=1e-4).path(X, y, alphas, qid)
    assert (path.gaps <= 1e-4).all()
