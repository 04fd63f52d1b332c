"""Ranks, lost counts, exact numbers and numbered lists, against definitions and loops."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.ranks import (
    gains,
    lost_counts,
    number_lists,
    places_by_list,
    resolved_ranks,
    rows_by_list,
    subranks,
    value_of_lost,
)
from rerank.ranks.rationals import (
    as_integers,
    common_denominator,
    exact_sum,
    exact_total,
    from_text,
    is_closed,
    to_text,
    value_down,
)
from rerank.statistics import parse
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.oracles.tie_orders import STATISTICS, few_scores, labelled_scores

# Figure 2 of the paper; its row of labels is lost, so a 1 stands where a tie must have gone against it.
FIGURE_2 = [6.2, 6.2, 5.8, 4.6, 3.1, 3.1, 2.3, 1.7, 1.7]


FIGURE_2_LABELS = [0, 1, 1, 0, 0, 1, 0, 0, 1]


def test_figure_2():
    assert subranks(FIGURE_2).tolist() == [7, 7, 6, 5, 3, 3, 2, 0, 0]
    assert resolved_ranks(FIGURE_2, FIGURE_2_LABELS).tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]


@examples(100, st.lists(few_scores, min_size=1, max_size=9))
def test_subranks_count_what_is_strictly_below(scores):
    assert subranks(scores).tolist() == [sum(other < score for other in scores) for score in scores]


@examples(100, labelled_scores(largest_grade=1, most=9))
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


@examples(100, labelled_scores(largest_grade=1, most=9), st.sampled_from(STATISTICS))
def test_lemma_1_subranks_never_earn_more_than_resolved_ranks(data, name):
    y, scores = data
    a, positive = parse(name).coefficients(len(y)), np.array(y, dtype=bool)
    by_subrank = a[subranks(scores)][positive].sum()
    by_resolved = a[resolved_ranks(scores, y)][positive].sum()
    assert by_subrank <= by_resolved + 1e-12
    if len(set(scores)) == len(scores):
        assert by_subrank == by_resolved


margins = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3, 2)])


@examples(100, st.lists(st.tuples(few_scores, st.booleans()), min_size=1, max_size=10), margins)
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


def test_value_of_lost_by_hand():
    a = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert value_of_lost([0, 0], a) == 16 + 8
    assert value_of_lost([3, 1], a) == 8 + 1  # places 1 + 1 and 2 + 3
    assert value_of_lost([], a) == 0
    exact = value_of_lost([2], np.array([Fraction(1, 3)] * 3, dtype=object))
    assert exact == Fraction(1, 3) and isinstance(exact, Fraction)


FRACTIONS = st.fractions(max_denominator=10**6)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(FRACTIONS)
def test_text_is_read_back(exact):
    for number in (exact, exact * Fraction(10**5000 + 1, 3**9000)):
        assert from_text(to_text(number)) == number


@pytest.mark.parametrize("text", ["1/0", "1/-2", "", "0x1", "a half", "0x1/0x2/0x3"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):
        from_text(text)


@given(st.lists(DOUBLES, max_size=6))
def test_doubles_over_their_common_denominator(values):
    numerators, denominator = as_integers(np.array([values, values]))
    assert numerators.shape == (2, len(values))
    assert [Fraction(int(n), denominator) for n in numerators[1]] == [Fraction(v) for v in values]
    assert denominator == max([Fraction(v).denominator for v in values], default=1)


@given(st.lists(FRACTIONS, max_size=7))
def test_fractions_over_their_least_common_denominator(values):
    numerators, denominator = common_denominator(values)
    assert [Fraction(n, denominator) for n in numerators] == values
    assert denominator == 1 or all(
        any(v * (denominator // p) != int(v * (denominator // p)) for v in values)
        for p in (2, 3, 5, 7)
        if denominator % p == 0
    )


@given(st.lists(FRACTIONS, max_size=9))
def test_sums(terms):
    assert exact_sum(iter(terms)) == sum(terms, Fraction(0))


@given(FRACTIONS)
def test_values_are_rounded_down_and_bounds_up_to_neighbours(exact):
    low, high = value_down(exact), -value_down(-exact)
    assert Fraction(low) <= exact <= Fraction(high)
    assert high in (low, np.nextafter(low, np.inf))
    assert (low == high) == (Fraction(float(exact)) == exact)


def test_numbers_beyond_the_largest_double():
    huge = Fraction(10) ** 400
    assert value_down(huge) == np.finfo(float).max and value_down(-huge) == -np.inf
    assert (value_down(1 / huge), value_down(-1 / huge)) == (0.0, -5e-324)


@pytest.mark.parametrize(
    ("gap", "value", "summed", "closed"),
    [
        (1e-9, 0.0, 0.0, True),
        (1.1e-9, 0.0, 0.0, False),
        (1.5e-9, 1.0, 0.0, False),
        (1.5e-9, 1.6, 0.0, True),
        (1.5e-9, -1.6, 0.0, True),
        (1e-3, 1.0, 1e8, False),
        (1e-3, 1.0, 1e9, True),
        (1.1e-9, 1.0, 1100.0, True),
        (1.2e-9, 1.0, 1100.0, False),
        (-1.0, 0.0, 0.0, True),
    ],
)
def test_a_gap_is_closed_relative_to_the_value_or_to_what_was_summed_up(gap, value, summed, closed):
    assert is_closed(gap, value, summed) is closed


@given(st.lists(st.floats(-1e100, 1e100), max_size=50), st.integers(0, 50))
def test_an_exact_total_is_the_sum_of_fractions(values, place):
    x = np.array(values)
    assert exact_total(x) == sum(map(Fraction, values), Fraction(0))
    assert exact_total(x[:place]) + exact_total(x[place:]) == exact_total(x)


ids = st.one_of(
    st.lists(st.integers(-3, 3)),
    st.lists(st.booleans()),
    st.lists(st.sampled_from([0.5, -0.0, 0.0, 2.0, -1.5])),
    st.lists(st.sampled_from(["b", "a", "10", "9", ""])),
)


@examples(150, ids, st.booleans())
def test_numbers_and_names_by_hand(qid, as_objects):
    array = np.array(qid, dtype=object if as_objects else None)
    known, codes = number_lists(array)
    assert known == tuple(dict.fromkeys(qid)) and codes.dtype == np.intp and codes.shape == (len(qid),)
    assert [known[code] for code in codes] == qid
    found = [(name, rows.tolist()) for name, rows in rows_by_list(array, len(qid))]
    expected = [(name, [row for row, other in enumerate(qid) if other == name]) for name in sorted(set(qid))]
    assert found == expected and all(type(name) in (int, bool, float, str) for name, _ in found)


def test_any_hashable_value_is_an_id():
    qid = np.empty(4, dtype=object)
    qid[:] = [("a", 1), 7, "x", ("a", 1)]
    known, codes = number_lists(qid)
    assert known == (("a", 1), 7, "x") and codes.tolist() == [0, 1, 2, 0]


def test_without_ids_there_is_one_list():
    assert [(name, rows.tolist()) for name, rows in rows_by_list(None, 3)] == [(0, [0, 1, 2])]
    refuses("3 rows and qid has shape", list, rows_by_list([1, 2], 3))


def test_gains():
    assert gains([0, 1, 2, 3]).tolist() == [0, 1, 3, 7] and gains([0, 1, 2.5], "linear").tolist() == [0, 1, 2.5]
    assert gains([True, False]).tolist() == [1, 0] and gains([1.5]).tolist() == [2**1.5 - 1]
    assert gains([60]).tolist() == [2.0**60 - 1]


@examples(100, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1))
def test_places_by_hand(rows):
    scores = np.array([score for score, _ in rows], dtype=float)
    found = places_by_list(scores, np.array([name for _, name in rows]))
    for row, (score, name) in enumerate(rows):
        before = [k for k, (other, own) in enumerate(rows) if own == name and (-other, k) < (-score, row)]
        assert found[row] == len(before) + 1
