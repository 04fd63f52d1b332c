"""Pushes: the factorised loss against a double loop, stability, certified gaps, what p does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rerank.errors import InputError
from rerank.scorers import ExponentialPush, PNormPush
from rerank.scorers.data import RankingData, groups_of, weights_of
from rerank.scorers.push import push_loss, sides_of
from tests.cases.scorers import bipartite, utilities


def data_of(y, qid=None, weight=None):
    y = np.asarray(y, dtype=np.float64)
    return RankingData(np.zeros((y.size, 1)), y, groups_of(qid, y.size), weights_of(weight, y.size))


def loss_of(y, qid, weight, p):
    return push_loss(sides_of(data_of(y, qid, weight)), p, len(y))


def twin(y, scores, qid, weight, p):
    """``1/p log R`` with R summed pair by pair."""
    total, lists = 0.0, 0
    for q in set(qid):
        rows = [i for i in range(len(y)) if qid[i] == q]
        up, down = [i for i in rows if y[i] > 0], [i for i in rows if y[i] == 0]
        above, below = sum(weight[i] for i in up), sum(weight[k] for k in down)
        if above == 0 or below == 0:
            continue
        lists += 1
        for k in down:
            inner = sum(weight[i] / above * math.exp(scores[k] - scores[i]) for i in up)
            total += weight[k] / below * inner**p
    return math.log(total / lists) / p


def case(seed, n=25, lists=3):
    rng = np.random.default_rng(seed)
    y, qid = (rng.random(n) < 0.4).astype(float), rng.integers(0, lists, n)
    y[:2], qid[:2] = (0, 1), 0
    weight = rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    weight[:2] = 1
    return y, rng.standard_normal(n), qid, weight


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 4), st.sampled_from([1.0, 2.5, 8.0]))
@settings(deadline=None, max_examples=40)
def test_the_loss_is_the_sum_over_pairs(seed, n, lists, p):
    y, scores, qid, weight = case(seed, n, lists)
    value, slope = loss_of(y, qid, weight, p)(scores)
    assert value == pytest.approx(twin(y, scores, qid, weight, p), rel=1e-10, abs=1e-12)
    for j in range(min(n, 4)):
        e = 1e-5 * np.eye(n)[j]
        numeric = (twin(y, scores + e, qid, weight, p) - twin(y, scores - e, qid, weight, p)) / 2e-5
        assert slope[j] == pytest.approx(numeric, abs=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([1.0, 4.0]))
@settings(deadline=None, max_examples=25)
def test_whole_weights_are_repeated_rows(seed, p):
    y, scores, qid, _ = case(seed)
    times = np.random.default_rng(seed).integers(0, 4, y.size)
    times[:2] = 1
    again = np.repeat(np.arange(y.size), times)
    value, slope = loss_of(y, qid, times, p)(scores)
    whole, parts = loss_of(y[again], qid[again], None, p)(scores[again])
    assert value == pytest.approx(whole, rel=1e-11, abs=1e-13)
    np.testing.assert_allclose(slope, np.bincount(again, parts, minlength=y.size), atol=1e-12)


def test_scores_of_any_size_keep_the_loss_finite():
    y, scores, qid, weight = case(0)
    for p in (1.0, 50.0):
        value, slope = loss_of(y, qid, weight, p)(scores * 1e6)
        assert np.isfinite(value) and np.isfinite(slope).all()


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=25)
def test_the_loss_is_convex_and_0_at_0(seed, t):
    y, one, qid, weight = case(seed)
    loss = loss_of(y, qid, weight, 3.0)
    two = np.random.default_rng(seed + 1).standard_normal(one.size) * 3
    assert loss(np.zeros(one.size))[0] == pytest.approx(0, abs=1e-14)
    assert loss(t * one + (1 - t) * two)[0] <= t * loss(one)[0] + (1 - t) * loss(two)[0] + 1e-12


def test_the_gap_is_a_bound():
    X, y, qid = utilities(n=80, d=3, lists=4, levels=2, seed=3)
    found = minimize(
        lambda w: twin(y, X @ w, qid, np.ones(80), 4.0) + 0.005 * float(w @ w),
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    rough = PNormPush(alpha=0.01, tol=0.02).fit(X, y, qid)
    fine = PNormPush(alpha=0.01, tol=1e-9).fit(X, y, qid)
    assert fine.objective_ <= found.fun + 1e-10 and fine.gap_ < 1e-9
    assert 0 < (rough.objective_ - fine.objective_) / abs(fine.objective_) <= rough.gap_


def test_a_start_at_the_solution_saves_the_way_there():
    ranker = PNormPush(warm_start=True).fit(*bipartite())
    cold = ranker.n_iter_
    assert ranker.fit(*bipartite()).n_iter_ == 1 < cold


def test_p_of_1_is_the_exponential_push():
    X, y = bipartite()
    np.testing.assert_array_equal(
        PNormPush(p=1, alpha=0.1).fit(X, y).coef_, ExponentialPush(0.1).fit(X, y).coef_
    )


def test_a_larger_p_pushes_the_highest_competitor_lower():
    """By optimality: on the value of power p, the fit of power p beats the fit of power 1."""
    X, y = bipartite(n=300, share=0.2, seed=4)
    fits = {p: PNormPush(p=p, alpha=1e-6, tol=1e-9).fit(X, y).coef_ for p in (1.0, 16.0)}
    for p, other in ((1.0, 16.0), (16.0, 1.0)):
        loss = loss_of(y, None, None, p)
        assert loss(X @ fits[p])[0] < loss(X @ fits[other])[0] - 1e-6


def test_features_that_order_nothing_get_no_weight():
    X, y = bipartite()
    lists = np.arange(y.size) % 4
    X = np.column_stack([X, lists])  # constant inside each list
    assert ExponentialPush(tol=1e-9).fit(X, y, lists).coef_[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("p", [0.5, np.nan, np.inf])
def test_a_power_below_1_is_refused(p):
    with pytest.raises(InputError, match="p is .*at least 1"):
        PNormPush(p=p).fit(*bipartite())


def test_no_pair_is_refused():
    with pytest.raises(InputError, match="no pair to learn from"):
        ExponentialPush().fit(np.eye(4), [0, 0, 1, 1], qid=[0, 0, 1, 1])
    with pytest.raises(InputError, match="1 class only .0. in the rows with a weight above 0"):
        ExponentialPush().fit(np.eye(4), [0, 0, 1, 1], sample_weight=[1, 1, 0, 0])
