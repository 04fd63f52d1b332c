"""Monotone transforms: monotone, 0 stays 0, dense as sparse, the definitions of the three kinds."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse

from rerank.scorers import MonotoneTransform
from rerank.scorers.transform import KINDS
from tests.cases.examples import examples

EVERY = pytest.mark.parametrize("kind", KINDS)


def columns(seed, n=40, d=3):
    """Continuous, whole and constant columns with many zeros."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(n), rng.integers(-2, 3, n), np.full(n, 3.0)])[:, :d]
    return X * (rng.random((n, d)) < 0.6)


@EVERY
@examples(20, seed=st.integers(0, 10_000), narrow=st.booleans())
def test_monotone_and_0_at_0(kind, seed, narrow):
    X = columns(seed).astype(np.float32 if narrow else np.float64)
    new = np.sort(np.random.default_rng(seed).standard_normal((50, 3)) * 3, axis=0).astype(X.dtype)
    new[25] = 0
    new = np.sort(new, axis=0)
    mapped = MonotoneTransform(kind).fit(X).transform(new)
    assert mapped.dtype == X.dtype and (np.diff(mapped, axis=0) >= 0).all()
    assert (mapped[new == 0] == 0).all() and ((mapped * new) >= 0).all()


@EVERY
@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array])
def test_sparse_gives_the_numbers_of_dense_and_stays_sparse(kind, form):
    X, new = columns(1), columns(2)
    stored = form(new)
    before = stored.copy()
    dense = MonotoneTransform(kind).fit(X).transform(new)
    mapped = MonotoneTransform(kind).fit(form(X)).transform(stored)
    assert issparse(mapped) and mapped.nnz <= stored.nnz and mapped.format == stored.format
    np.testing.assert_array_equal(mapped.toarray(), dense)
    assert (stored != before).nnz == 0


@EVERY
def test_entries_stored_twice_count_once(kind):
    X = csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    same = np.array([[3.0, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(
        MonotoneTransform(kind).fit(X).transform(X).toarray(), MonotoneTransform(kind).fit_transform(same)
    )
    assert X.nnz == 3


@EVERY
def test_stored_zeros_are_zeros(kind):
    X = np.array([[0.0, 1.0], [0.0, -1.0], [2.0, 0.0], [3.0, 5.0]])
    # Of the two zeros of the first column one is stored; so is none of the second.
    stored = csc_array(([0.0, 2.0, 3.0, 1.0, -1.0, 5.0], [0, 2, 3, 0, 1, 3], [0, 3, 6]), shape=(4, 2))
    assert stored.nnz == 6 and (stored.toarray() == X).all()
    mapped = MonotoneTransform(kind).fit(stored).transform(X)
    np.testing.assert_array_equal(mapped, MonotoneTransform(kind).fit_transform(X))


def test_the_signed_logarithm_is_log_of_x_plus_offset_moved():
    x = np.linspace(0, 5, 20)[:, None]
    mapped = MonotoneTransform(offset=0.1).fit_transform(x)
    np.testing.assert_allclose(mapped, np.log(x + 0.1) - np.log(0.1))
    np.testing.assert_array_equal(MonotoneTransform(offset=0.1).fit_transform(-x), -mapped)


@examples(20, st.integers(0, 10_000))
def test_ranks_are_shares_of_rows_below_and_at(seed):
    X, new = columns(seed), columns(seed + 1)

    def share(column, x):
        return np.mean([(v < x) + 0.5 * (v == x) for v in column])

    mapped = MonotoneTransform("ranks").fit(X).transform(new)
    for i in range(0, 40, 7):
        for j in range(3):
            wanted = share(X[:, j], new[i, j]) - share(X[:, j], 0.0)
            assert mapped[i, j] == pytest.approx(wanted, abs=1e-12)


@EVERY
def test_only_the_order_counts_for_ranks_and_bins(kind):
    X = np.abs(columns(5))
    mapped = [MonotoneTransform(kind, n_bins=5).fit_transform(z) for z in (X, X**3)]
    assert (mapped[0] == mapped[1]).all() == (kind != "signed_log")


def test_bins_hold_about_the_same_number_of_rows():
    x = np.random.default_rng(0).permutation(1000).astype(float)[:, None]
    mapped = MonotoneTransform("quantile_bins", n_bins=8).fit_transform(x)
    levels, counts = np.unique(mapped, return_counts=True)
    assert levels.size == 8 and np.abs(counts - 125).max() <= 1
    np.testing.assert_allclose(np.diff(levels), 1 / 8)
