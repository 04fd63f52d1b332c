"""The sums over pairs against a list of all pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.scorers.base import RankingData
from rerank.scorers.ranksvm.kernels import LEAF, make_nodes
from rerank.scorers.ranksvm.pairs import Pairs, by_utility, list_weights


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


@settings(max_examples=80, deadline=None)
@given(average=st.sampled_from(["queries", "pairs"]), **CASES)
def test_losses_and_slopes_equal_those_of_the_list_of_pairs(average, **of):
    data, p = case(**of)
    c = coefficients(data.y, data.group, data.weight, average)
    assert c.sum() == pytest.approx(1)
    active = Pairs(data, average).at(p)
    for loss, (value, slope) in {"hinge": active.hinge, "squared": active.squared}.items():
        expected, gradient = naive(c, p, loss)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(slope, gradient, atol=1e-11 * max(1, np.abs(p).max()))


@settings(max_examples=60, deadline=None)
@given(**CASES)
def test_product_with_the_hessian_equals_that_of_the_list_of_pairs(**of):
    data, p = case(**of)
    c = coefficients(data.y, data.group, data.weight, "queries") * hinges(p)[1]
    a = c + c.T
    pairs = Pairs(data, "queries")
    u = np.random.default_rng(of["seed"] + 1).standard_normal(p.size)
    got = pairs.recorded(pairs.at(p)).hessian(u)
    np.testing.assert_allclose(got, 2 * (a.sum(axis=1) * u - a @ u), atol=1e-12)


@pytest.mark.parametrize("levels", [None, 2, 7, 300])
def test_long_lists(levels):
    """Many nodes deep, and coarse records."""
    data, p = case(3000, 2, levels, 1.0, False, 5)
    c = coefficients(data.y, data.group, data.weight, "pairs")
    pairs = Pairs(data, "pairs")
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
    pairs = Pairs(data, "pairs")
    active = pairs.at(y / 10.5)
    parts = pairs.parts
    record = pairs.recorded(active)
    assert pairs.parts > parts
    assert record.degree.sum() >= 0.95 * (active.sums[0] + active.sums[1]).sum() > 0


@settings(max_examples=60, deadline=None)
@given(parts=st.integers(1, 200), **CASES)
def test_nodes_cut_every_list_between_different_utilities(parts, **of):
    data, _ = case(**of)
    pairs = Pairs(data, "pairs")
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
    with pytest.raises(InputError, match="No list holds two rows"):
        Pairs(data, "queries")
