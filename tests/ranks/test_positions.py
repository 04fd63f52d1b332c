"""Ranks, lost counts and the value of lost counts, against definitions and loops."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.ranks import lost_counts, resolved_ranks, subranks, value_of_lost
from rerank.statistics import parse
from tests.oracles.tie_orders import STATISTICS, few_scores, labelled_scores

# Figure 2 of the paper; its row of labels is lost, so a 1 stands where a tie must have gone against it.
FIGURE_2 = [6.2, 6.2, 5.8, 4.6, 3.1, 3.1, 2.3, 1.7, 1.7]
FIGURE_2_LABELS = [0, 1, 1, 0, 0, 1, 0, 0, 1]


def test_figure_2():
    assert subranks(FIGURE_2).tolist() == [7, 7, 6, 5, 3, 3, 2, 0, 0]
    assert resolved_ranks(FIGURE_2, FIGURE_2_LABELS).tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]


@settings(deadline=None, max_examples=100)
@given(st.lists(few_scores, min_size=1, max_size=9))
def test_subranks_count_what_is_strictly_below(scores):
    assert subranks(scores).tolist() == [sum(other < score for other in scores) for score in scores]


@settings(deadline=None, max_examples=100)
@given(labelled_scores(largest_grade=1, most=9))
def test_resolved_ranks_satisfy_the_constraints_of_the_program(data):
    y, scores = data
    n, r = len(y), resolved_ranks(scores, y)
    z = [[int(scores[i] > scores[k]) for k in range(n)] for i in range(n)]
    assert sorted(r) == list(range(n)) and np.all(r >= subranks(scores))
    for i in range(n):
        for k in range(n):
            if i != k:
                assert r[i] - r[k] >= 1 + n * (z[i][k] - 1)  # (16)
            if y[i] and not y[k]:
                assert r[k] - r[i] >= 1 - n * z[i][k]  # (17)
            if y[i] == y[k] and i < k:
                assert r[k] - r[i] >= 1 - n * (z[i][k] + z[k][i])  # (18), (19)


@settings(deadline=None, max_examples=100)
@given(labelled_scores(largest_grade=1, most=9), st.sampled_from(STATISTICS))
def test_lemma_1_subranks_never_earn_more_than_resolved_ranks(data, name):
    y, scores = data
    a, positive = parse(name).coefficients(len(y)), np.array(y, dtype=bool)
    by_subrank = a[subranks(scores)][positive].sum()
    by_resolved = a[resolved_ranks(scores, y)][positive].sum()
    assert by_subrank <= by_resolved + 1e-12
    if len(set(scores)) == len(scores):
        assert by_subrank == by_resolved


margins = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3, 2)])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(few_scores, st.booleans()), min_size=1, max_size=10), margins)
def test_lost_counts_against_a_double_loop(items, margin):
    exact = [Fraction(score) for score, _ in items]
    scores = np.array(exact, dtype=object)
    mask = [positive for _, positive in items]
    expected = [
        sum((a - b < margin if margin else b >= a) for b, other in zip(exact, mask) if not other)
        for a, positive in zip(exact, mask)
        if positive
    ]
    assert lost_counts(scores, mask, margin).tolist() == expected
    assert lost_counts([float(s) for s in exact], mask, float(margin)).tolist() == expected


def test_a_difference_equal_to_the_margin_is_won():
    scores = np.array([Fraction(3, 10), Fraction(2, 10)], dtype=object)
    assert lost_counts(scores, [True, False], Fraction(1, 10)).tolist() == [0]
    assert lost_counts(scores, [True, False], Fraction(1, 10) + Fraction(1, 10**30)).tolist() == [1]
    # Without a margin only a tie is lost.
    assert lost_counts([0.5, 0.25, 0.5, 0.25], [True, True, False, False]).tolist() == [1, 2]


def test_value_of_lost_by_hand():
    a = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert value_of_lost([0, 0], a) == 16 + 8
    assert value_of_lost([3, 1], a) == 8 + 1  # places 1 + 1 and 2 + 3
    assert value_of_lost([], a) == 0
    exact = value_of_lost([2], np.array([Fraction(1, 3)] * 3, dtype=object))
    assert exact == Fraction(1, 3) and isinstance(exact, Fraction)
