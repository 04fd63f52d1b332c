"""RoBiRank: the objective against a double loop, weights as repeated rows, optimality, its parameters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning

from rerank.errors import InputError
from rerank.scorers import RoBiRank
from rerank.scorers.base import RankingData, groups_of, weights_of
from rerank.scorers.robirank.estimator import TABLE, discount_sum, gain_lists, loss_of
from tests.cases.scorers import utilities


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


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_the_objective_is_equation_11(seed, n, lists):
    y, scores, qid = graded(seed, n, lists)
    y[0], y[1], qid[0], qid[1] = 0, 1, 0, 0
    value, slope = loss_of(gain_lists(data_of(y, qid), "exponential"), n)(scores)
    assert value == pytest.approx(twin(y, scores, qid), rel=1e-12)
    numeric = [
        (twin(y, scores + 1e-5 * e, qid) - twin(y, scores - 1e-5 * e, qid)) / 2e-5 for e in np.eye(n)[:4]
    ]
    np.testing.assert_allclose(slope[:4], numeric, atol=1e-6)
    # Adding a constant to the scores of a list changes nothing, so its gradient sums to 0.
    np.testing.assert_allclose(np.bincount(qid, slope), 0, atol=1e-10)


@given(st.integers(0, 10_000), st.sampled_from(["exponential", "linear"]))
@settings(deadline=None, max_examples=25)
def test_whole_weights_are_repeated_rows(seed, gains):
    y, scores, qid = graded(seed)
    times = np.random.default_rng(seed).integers(0, 4, y.size)
    times[:2], y[:2], qid[:2] = 1, (0, 1), 0
    again = np.repeat(np.arange(y.size), times)
    value, slope = loss_of(gain_lists(data_of(y, qid, times), gains), y.size)(scores)
    whole, parts = loss_of(gain_lists(data_of(y[again], qid[again]), gains), again.size)(scores[again])
    assert value == pytest.approx(whole, rel=1e-12)
    np.testing.assert_allclose(slope, np.bincount(again, parts, minlength=y.size), atol=1e-11)


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
    small = loss_of(gain_lists(data_of(y, qid), "exponential"), y.size)
    large = loss_of(gain_lists(data_of(y + (y > 0) * 2000, qid), "exponential"), y.size)
    assert np.isfinite(small(scores)[0]) and np.isfinite(large(scores)[0])
    # 2^(y + m) - 1 is 2^m (2^y) for large m: linear gains 2^y say the same.
    like = loss_of(gain_lists(data_of(np.where(y > 0, 2.0**y, 0), qid), "linear"), y.size)
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
    loss = loss_of(gain_lists(data, "exponential"), y.size)
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


def test_lists_without_a_gain_say_nothing():
    X, y, qid = utilities(n=80, d=3, lists=4, levels=3)
    y[qid == 7] = 0
    with_list = RoBiRank(tol=1e-9).fit(X, y, qid)
    without = RoBiRank(tol=1e-9).fit(X[qid != 7], y[qid != 7], qid[qid != 7])
    np.testing.assert_allclose(with_list.coef_, without.coef_, atol=1e-7)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([-1, 1, 1, -1], {}, "needs? grades >= 0"),
        ([0, 1, 1, 0], {"gains": "quadratic"}, "gains is 'quadratic'"),
        ([0, 1, 1, 0], {"n_init": 0}, "n_init is 0"),
        ([0, 1, 1, 0], {"tol": 0.0}, "tol is 0.0"),
        ([0, 1, 1, 0], {"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_what_it_refuses(y, options, message):
    with pytest.raises(InputError, match=message):
        RoBiRank(**options).fit(np.eye(4), y)


def test_lists_of_one_grade_each_are_refused():
    with pytest.raises(InputError, match="no pair to learn from"):
        RoBiRank().fit(np.eye(4), [0, 0, 1, 1], qid=[0, 0, 1, 1])


def test_a_negative_grade_without_weight_is_not_there():
    X, y, qid = utilities(n=60, d=3, lists=3, levels=3)
    y[0], weight = -1, (np.arange(60) > 0).astype(float)
    fitted = RoBiRank(tol=1e-9).fit(X, y, qid, weight)
    np.testing.assert_allclose(fitted.coef_, RoBiRank(tol=1e-9).fit(X[1:], y[1:], qid[1:]).coef_, atol=1e-7)


def test_too_few_iterations_are_announced():
    X, y, qid = utilities(n=60, d=4, lists=3, levels=3)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        RoBiRank(1e-3, max_iter=2).fit(X, y, qid)
