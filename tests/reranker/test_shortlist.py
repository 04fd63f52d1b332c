"""Head and tail: who is in, where ties go, and one score that keeps both orders."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rerank.ranks import number_lists
from rerank.ranks.positions import snap
from rerank.reranker.training import cut, list_heads, shortlist, stack

scores = st.integers(-3, 3).map(float)


def slow_head(own, k):
    """Rows with fewer than k rows strictly above them."""
    return [i for i, s in enumerate(own) if sum(other > s for other in own) < k]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(scores, st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20), st.integers(1, 8))
def test_head_and_tail_of_every_list(rows, k):
    first = np.array([row[0] for row in rows])
    gains = np.array([float(row[1]) for row in rows])
    _, qid = number_lists(np.array([row[2] for row in rows]))
    short = shortlist(first, gains, qid, k)
    tied = 0
    for head, tail in zip(short.heads, short.tails, strict=True):
        members = np.flatnonzero(qid == qid[head[0]])
        assert sorted([*head, *tail]) == members.tolist()
        expected = members[slow_head(first[members], k)]
        assert sorted(head) == expected.tolist()
        tied += max(0, expected.size - k)
        assert np.all(np.diff(first[head]) <= 0) and np.all(np.diff(first[tail]) <= 0)
        # Equal scores of the tail are read against the gain.
        for a, b in pairwise(tail):
            assert first[a] > first[b] or gains[a] <= gains[b]
    assert short.n_tied == tied
    is_head, _ = list_heads(first, qid, k)
    assert np.array_equal(np.flatnonzero(is_head), short.rows)


def test_threshold_of_several_lists_admits_as_many_rows_as_the_heads_hold():
    first = np.array([9.0, 8, 7, 3, 2, 1])
    qid = np.array([0, 0, 0, 1, 1, 1])
    short = shortlist(first, np.zeros(6), qid, 2)
    assert short.rows.tolist() == [0, 1, 3, 4]
    assert np.sum(first >= short.threshold) == 4


finite = st.floats(-1e12, 1e12)


@settings(deadline=None, max_examples=200)
@given(
    hnp.arrays(np.float64, 12, elements=finite),
    hnp.arrays(np.float64, 12, elements=st.floats(-6, 6)),
    st.integers(1, 12),
)
def test_stacked_scores_keep_both_orders_and_put_the_head_on_top(first, second, k):
    threshold = cut(first, k)
    is_head = first >= threshold
    second = snap(second)
    one = stack(first, second, is_head, threshold, 5)
    assert np.array_equal(one[~is_head], first[~is_head])
    if not is_head.all():
        assert one[is_head].min() > one[~is_head].max()
    for a in np.flatnonzero(is_head):
        for b in np.flatnonzero(is_head):
            assert (one[a] < one[b]) == (second[a] < second[b])


@pytest.mark.parametrize("threshold", [-5.0, 0.0, 1e-300, 0.7, 1.0, 3.0, 2.0**60, 1e200])
def test_far_outside_the_training_range_the_head_stays_above_the_tail(threshold):
    below = np.nextafter(threshold, -math.inf)
    first = np.array([below, threshold, threshold, threshold])
    second = np.array([0.0, -1e9, -1e3, 1e9])
    one = stack(first, second, first >= threshold, threshold, 3)
    assert one[0] == below and np.all(one[1:] > below)
    assert np.all(np.diff(one[1:]) > 0)
