"""RoBiRank's compiled sums: products, pairs and interpolation against numbers of arbitrary range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.scorers.robirank.kernels import FEWEST, nodes_for, objective

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


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 30), min_size=1, max_size=4),
    st.sampled_from([0.0, 1e-6, 1.0, 20.0, 300.0, 5000.0]),
    WEIGHTS,
    st.sampled_from([0, PRODUCTS, PAIRS]),
)
@settings(deadline=None, max_examples=60)
def test_products_and_pairs_are_exact(seed, sizes, spread, weight, way):
    (value, slope), (wanted, right) = both(way, *case(seed, sizes, spread, weight))
    assert value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(slope, right, rtol=1e-10, atol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 400), st.sampled_from([0.0, 0.3, 3.0, 12.0]), WEIGHTS)
@settings(deadline=None, max_examples=40)
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
