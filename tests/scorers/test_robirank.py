"""RoBiRank: compiled sums against every pair, the objective against a double loop, optimality, its parameters."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import check_grad, minimize

from rerank.scorers import RoBiRank
from rerank.scorers.base import RankingData, groups_of, weights_of
from rerank.scorers.robirank.estimator import TABLE, discount_sum, loss_of
from rerank.scorers.robirank.kernels import FEWEST, nodes_for, objective
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.cases.scorers import utilities

PRODUCTS, PAIRS, INTERPOLATION = 1, 2, 3
WEIGHTS = st.sampled_from([1.0, 0.3, 5.0, "any"])


def naive(f, start, relevant, a, c):
    """``sum c log2 A`` and its gradient, every pair at once and nothing clever."""
    value, slope = 0.0, np.zeros(f.size)
    for lo, hi, k in zip(start, start[1:], relevant):
        s, w = f[lo:hi], a[lo:hi]
        t = s[None, :] - s[:k, None]
        A = np.logaddexp2(0, t) @ w
        part = w / (1 + np.exp2(np.minimum(-t, 1023)))
        q = c[lo : lo + k] / (np.log(2) * A)
        value += float(c[lo : lo + k] @ np.log2(A))
        slope[lo:hi] += q @ part
        slope[lo : lo + k] -= q * part.sum(axis=1)
    return value, slope


def case(seed, sizes, spread=4.0, weight=1.0):
    """Lists of random scores; ``weight`` is that of every row, or "any"."""
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(start[-1])
    relevant = np.array([rng.integers(1, size + 1) for size in sizes], dtype=np.int64)
    a = rng.uniform(0.2, 3, n) if weight == "any" else np.full(n, weight)
    return rng.standard_normal(n) * spread, start, relevant, a, rng.uniform(0, 1, n)


def both(way, *given):
    slope = np.full(given[0].size, np.nan)
    return (objective(*given, way, slope), slope), naive(*given)


@examples(
    60,
    st.integers(0, 10_000),
    st.lists(st.integers(1, 30), min_size=1, max_size=4),
    st.sampled_from([0.0, 1e-6, 1.0, 20.0, 300.0, 5000.0]),
    WEIGHTS,
    st.sampled_from([0, PRODUCTS, PAIRS]),
)
def test_products_and_pairs_are_exact(seed, sizes, spread, weight, way):
    (value, slope), (wanted, right) = both(way, *case(seed, sizes, spread, weight))
    assert value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(slope, right, rtol=1e-10, atol=1e-12)


@examples(40, st.integers(0, 10_000), st.integers(1, 400), st.sampled_from([0.0, 0.3, 3.0, 12.0]), WEIGHTS)
def test_interpolation_keeps_its_promise(seed, n, spread, weight):
    (value, slope), (wanted, right) = both(INTERPOLATION, *case(seed, [n], spread, weight))
    assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert np.abs(slope - right).max() <= 1e-8 * max(np.abs(right).max(), 1e-3)


def test_interpolation_where_one_row_is_far_above():
    """A = 1 for the first row while the sum at the others is in the thousands: the hardest relative error."""
    f, start, relevant, a, c = case(0, [2000], 3.0)
    f[0] = f.max() + 25
    (value, slope), (wanted, right) = both(INTERPOLATION, f, start, relevant, a, c)
    assert value == pytest.approx(wanted, rel=1e-9)
    assert np.abs(slope - right).max() <= 1e-8 * np.abs(right).max()


def test_more_nodes_for_a_wider_range():
    counts = [nodes_for(0.0, width, 100) for width in (0.0, 5.0, 20.0, 80.0)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    assert nodes_for(0.0, 0.0, 1) == FEWEST


def test_long_lists_are_interpolated_when_it_pays():
    """The default choice gives the bits of the way that it takes: interpolation for long lists, products else."""
    for sizes, way in (([1500], INTERPOLATION), ([40, 12], PRODUCTS)):
        given_ = case(1, sizes, 2.0)
        given_[2][:] = np.maximum(given_[2], np.array(sizes) // 2)
        (chosen, slope), _ = both(0, *given_)
        (named, same), _ = both(way, *given_)
        assert chosen == named and (slope == same).all()


def data_of(y, qid=None, weight=None, X=None):
    y = np.asarray(y, dtype=np.float64)
    X = np.zeros((y.size, 1)) if X is None else X
    return RankingData(X, y, groups_of(qid, y.size), weights_of(weight, y.size))


def twin(y, scores, qid):
    """Equation (11) as it is printed, with the ideal DCG of each list."""
    total = 0.0
    for q in set(qid):
        rows = [i for i in range(len(y)) if qid[i] == q]
        v = {i: 2.0 ** y[i] - 1 for i in rows}
        ideal = sum(g / math.log2(place + 2) for place, g in enumerate(sorted(v.values(), reverse=True)))
        if ideal == 0:
            continue
        for i in rows:
            beaten = sum(math.log2(1 + 2.0 ** (scores[j] - scores[i])) for j in rows if j != i)
            total += v[i] / ideal * math.log2(1 + beaten)
    return total


def graded(seed, n=40, lists=3, levels=4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, n).astype(float), rng.standard_normal(n) * 3, rng.integers(0, lists, n)


@examples(40, st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 4))
def test_the_objective_is_equation_11(seed, n, lists):
    y, scores, qid = graded(seed, n, lists)
    y[0], y[1], qid[0], qid[1] = 0, 1, 0, 0
    value, slope = loss_of(data_of(y, qid), "exponential")(scores)
    assert value == pytest.approx(twin(y, scores, qid), rel=1e-12)
    numeric = [(twin(y, scores + 1e-5 * e, qid) - twin(y, scores - 1e-5 * e, qid)) / 2e-5 for e in np.eye(n)[:4]]
    np.testing.assert_allclose(slope[:4], numeric, atol=1e-6)
    # Adding a constant to the scores of a list changes nothing, so its gradient sums to 0.
    np.testing.assert_allclose(np.bincount(qid, slope), 0, atol=1e-10)


def test_the_discount_of_whole_places_is_the_sum():
    whole = np.array([0.0, 1.0, 2.0, 7.0])
    by_hand = [sum(1 / math.log2(p + 1) for p in range(1, int(m) + 1)) for m in whole]
    np.testing.assert_allclose(discount_sum(whole), by_hand, rtol=1e-14)
    assert discount_sum(np.array([2.5]))[0] == pytest.approx(by_hand[2] + 0.5 / math.log2(4))


def test_the_discount_beyond_the_table_goes_on():
    far = float(4 * TABLE)
    exact = math.fsum(1 / math.log2(p + 1) for p in range(1, 4 * TABLE + 1))
    assert discount_sum(np.array([far]))[0] == pytest.approx(exact, abs=1e-6)
    # Weights of any size are taken: the sum of the discounts between two huge places is their integral.
    between = np.diff(discount_sum(np.array([1e9, 2e9])))[0]
    assert between == pytest.approx(quad(lambda p: 1 / math.log2(p + 1), 1e9, 2e9)[0], rel=1e-7)


def test_grades_that_overflow_a_power_of_two():
    y, scores, qid = graded(3)
    small = loss_of(data_of(y, qid), "exponential")
    large = loss_of(data_of(y + (y > 0) * 2000, qid), "exponential")
    assert np.isfinite(small(scores)[0]) and np.isfinite(large(scores)[0])
    # 2^(y + m) - 1 is 2^m (2^y) for large m: linear gains 2^y say the same.
    like = loss_of(data_of(np.where(y > 0, 2.0**y, 0), qid), "linear")
    assert large(scores)[0] == pytest.approx(like(scores)[0], rel=1e-12)


def test_the_fit_is_stationary_and_as_good_as_another_optimiser():
    X, y, qid = utilities(n=60, d=3, lists=4, levels=3)
    ranker = RoBiRank(0.5, tol=1e-10).fit(X, y, qid)

    def objective(w):
        return twin(y, X @ w, qid) + 0.25 * float(w @ w)

    assert ranker.objective_ == pytest.approx(objective(ranker.coef_), rel=1e-12)
    found = minimize(objective, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    assert ranker.objective_ <= found.fun + 1e-10

    data = data_of(y, qid, X=X)
    loss = loss_of(data, "exponential")
    w = np.array([0.3, -1.0, 0.2])
    assert check_grad(lambda w: loss(X @ w)[0], lambda w: X.T @ loss(X @ w)[1], w) < 1e-5
    assert np.abs(X.T @ loss(X @ ranker.coef_)[1] + 0.5 * ranker.coef_).max() < 1e-8


def test_starts_are_kept_and_the_best_is_taken():
    X, y, qid = utilities(n=120, d=4, lists=6, levels=3, seed=2)
    one = RoBiRank(0.1).fit(X, y, qid)
    many = RoBiRank(0.1, n_init=4, random_state=0).fit(X, y, qid)
    assert many.objectives_.shape == (4,) and many.objective_ == many.objectives_.min()
    assert many.objectives_[0] == one.objective_ == one.objectives_[0]
    again = RoBiRank(0.1, n_init=4, random_state=0).fit(X, y, qid)
    assert (again.coef_ == many.coef_).all()


def test_a_start_at_the_solution_saves_the_way_there():
    X, y, qid = utilities(n=120, d=4, lists=6, levels=3, seed=2)
    ranker = RoBiRank(0.1, warm_start=True).fit(X, y, qid)
    cold = ranker.n_iter_
    assert ranker.fit(X, y, qid).n_iter_ == 1 < cold
    path = RoBiRank().path(X, y, [1.0, 0.99], qid)
    assert path.n_iters[1] < RoBiRank(0.99).fit(X, y, qid).n_iter_


def test_lists_of_one_grade_each_and_negative_grades_are_refused():
    refuses("no pair to learn from", RoBiRank().fit, np.eye(4), [0, 0, 1, 1], qid=[0, 0, 1, 1])
    refuses("needs? grades >= 0", RoBiRank().fit, np.eye(4), [-1, 1, 1, -1])


def test_a_negative_grade_without_weight_is_not_there():
    X, y, qid = utilities(n=60, d=3, lists=3, levels=3)
    y[0], weight = -1, (np.arange(60) > 0).astype(float)
    fitted = RoBiRank(tol=1e-9).fit(X, y, qid, weight)
    np.testing.assert_allclose(fitted.coef_, RoBiRank(tol=1e-9).fit(X[1:], y[1:], qid[1:]).coef_, atol=1e-7)
