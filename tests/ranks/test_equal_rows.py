"""Equal rows: found, merged, moved apart by a margin."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.perturb import duplicates, merge_duplicates, perturb_rows
from rerank.ranks.perturb import _apart
from rerank.ranks.positions import snap


def test_duplicates_by_hand():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, -0.0], [0.0, 1.0]])
    assert [group.tolist() for group in duplicates(X)] == [[0, 3]]
    assert [group.tolist() for group in duplicates(X, [0])] == [[0, 1, 3], [2, 4]]
    assert [group.tolist() for group in duplicates(X, [False, True])] == [[0, 2, 3], [1, 4]]
    assert [group.tolist() for group in duplicates(X, [])] == [[0, 1, 2, 3, 4]]
    assert [group.tolist() for group in duplicates(X, [0], qid=[1, 2, 1, 2, 1])] == [[1, 3], [2, 4]]
    assert duplicates(X[:1]) == []
    assert [group.tolist() for group in duplicates([[1.0], [0.0], [0.0], [1.0]])] == [[0, 3], [1, 2]]


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=9), st.sets(st.integers(0, 2)))
def test_duplicates_against_a_double_loop(rows, support):
    chosen = [tuple(row[j] for j in sorted(support)) for row in rows]
    expected = {tuple(k for k, other in enumerate(chosen) if other == row) for row in chosen}
    found = duplicates(np.array(rows, float), sorted(support))
    assert [tuple(group) for group in found] == sorted(group for group in expected if len(group) > 1)


@pytest.mark.parametrize(
    ("X", "sentence"), [([[1, math.nan]], "X holds NaN in row 0, column 1"), ([1, 2], "X has 1 dimension")]
)
def test_a_table_is_checked(X, sentence):
    with pytest.raises(InputError, match=sentence):
        duplicates(X)


groups_of_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=3, max_size=9)


@settings(deadline=None, max_examples=80)
@given(groups_of_rows, st.sampled_from([1e-4, 0.01, 0.1]), st.integers(0, 3))
def test_moved_rows_are_a_margin_apart_in_every_column(rows, epsilon, seed):
    X = np.array(rows, float) * [3.0, 100.0]
    equal = duplicates(X)
    assume(equal and np.ptp(X, axis=0).any() and max(map(len, equal)) * epsilon < 0.9)
    moved = perturb_rows(X, None, epsilon, random_state=seed)
    twins = {int(i) for group in equal for i in group}
    assert all(np.array_equal(moved[i], X[i]) for i in range(len(X)) if i not in twins)
    assert not duplicates(moved)
    assert np.all(moved.min(axis=0) >= X.min(axis=0)) and np.all(moved.max(axis=0) <= X.max(axis=0))
    for j in np.flatnonzero(np.ptp(X, axis=0)):
        span = Fraction(moved[:, j].max()) - Fraction(moved[:, j].min())
        for group in equal:
            for i in group:
                for k in group:
                    gap = abs(Fraction(moved[i, j]) - Fraction(moved[k, j]))
                    assert i == k or gap >= Fraction(epsilon) * span


def test_a_larger_size_spreads_wider():
    X = np.array([[0.0], [5.0], [5.0], [10.0]])
    assert np.ptp(perturb_rows(X, 0.2, 0.01)[1:3]) == pytest.approx(4.0)
    assert np.ptp(perturb_rows(X, None, 0.01)[1:3]) == pytest.approx(0.1)


def test_moves_that_would_do_harm_are_refused():
    X = np.array([[0.0], [1.0], [1.0], [1.0]])
    with pytest.raises(InputError, match=r"3 equal rows need at least 0\.01"):
        perturb_rows(X, 0.009, 0.01)
    with pytest.raises(InputError, match="at most 0.5"):
        perturb_rows(X, 0.6, 0.01)
    with pytest.raises(InputError, match="need at least 0.6"):
        perturb_rows(X, None, 0.6)
    with pytest.raises(InputError, match="All rows are equal"):
        perturb_rows(np.ones((2, 2)))
    with pytest.raises(InputError, match="epsilon is 0"):
        perturb_rows(X, None, 0.0)
    with pytest.raises(InputError, match="rounded to 2.-40 .* give 2e-12 or more"):
        perturb_rows(X, None, 1e-12)
    scores = snap(perturb_rows(X, None, 2e-12)[:, 0])  # the advice; the range is 1
    assert np.unique(scores).size == 4
    with pytest.raises(InputError, match="not a margin apart in double precision"):
        perturb_rows(4 * X + 1e16, None, 1e-4)


def test_moved_rows_do_not_fall_on_others():
    X = np.array([[0.0], [5.0], [5.0], [10.0]])
    taken = perturb_rows(X, None, 0.01)[1:2]
    with pytest.raises(InputError, match="larger size"):
        perturb_rows(np.vstack([X, taken]), None, 0.01)
    assert not duplicates(perturb_rows(np.vstack([X, taken]), 0.02, 0.01))


def test_rows_of_different_lists_and_rows_without_a_twin_stay():
    X = np.array([[0.0], [1.0], [1.0]])
    assert perturb_rows(X, qid=[1, 1, 2]).tolist() == X.tolist()
    assert perturb_rows(X[:2]).tolist() == X[:2].tolist()


def test_merging_keeps_conflicts():
    X = np.array([[1.0], [2.0], [1.0], [2.0], [3.0], [1.0]])
    merged = merge_duplicates(X, [1, 0, 1, 1, 0, 1])
    assert merged.rows.tolist() == [0, 1, 3, 4] and merged.counts.tolist() == [3, 1, 1, 1]
    assert [group.tolist() for group in merged.conflicts] == [[1, 3]]
    assert "2 rows merged" in str(merged) and "rows 1, 3 are one" in str(merged)
    by_list = merge_duplicates(X, [1, 0, 1, 1, 0, 1], qid=[1, 1, 1, 2, 2, 2])
    assert by_list.counts.tolist() == [2, 1, 1, 1, 1] and by_list.conflicts == []
    with pytest.raises(InputError, match="one per row"):
        merge_duplicates(X, [1, 0])


def test_rows_that_are_not_a_margin_apart_in_units_of_the_range_are_seen():
    moved, groups = np.array([[0.0], [0.01], [2.0]]), [np.array([0, 1])]
    assert _apart(moved, groups, np.array([0]), 0.004)
    for shift in (0.0, 1.0, -1.0):  # what counts is a difference
        assert not _apart(moved + shift, groups, np.array([0]), 0.0051)
        assert not _apart(moved + shift, groups, np.array([0]), 0.1)
