"""Exact numbers: round trips, sums, the side to which a number is rounded, and what counts as closed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.ranks.rationals import (
    as_integers,
    bound_up,
    common_denominator,
    exact_sum,
    exact_total,
    from_text,
    is_closed,
    to_text,
    value_down,
)

FRACTIONS = st.fractions(max_denominator=10**6)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(FRACTIONS)
def test_text_is_read_back(exact):
    assert from_text(to_text(exact)) == exact


@pytest.mark.parametrize("text", ["1/0", "1/-2", "", "0x1", "a half", "0x1/0x2/0x3"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):
        from_text(text)


def test_text_of_long_numbers_is_read_back():
    exact = Fraction(10**5000 + 1, 3**9000)
    assert from_text(to_text(exact)) == exact


@given(st.lists(DOUBLES, max_size=6))
def test_doubles_over_their_common_denominator(values):
    numerators, denominator = as_integers(np.array(values))
    assert [Fraction(int(n), denominator) for n in numerators] == [Fraction(v) for v in values]
    assert denominator == max([Fraction(v).denominator for v in values], default=1)


def test_a_table_keeps_its_shape():
    numerators, denominator = as_integers(np.array([[0.5, 0.25], [3.0, 0.0]]))
    assert numerators.tolist() == [[2, 1], [12, 0]] and denominator == 4


@given(st.lists(FRACTIONS, max_size=7))
def test_fractions_over_their_least_common_denominator(values):
    numerators, denominator = common_denominator(values)
    assert [Fraction(n, denominator) for n in numerators] == values
    assert denominator == 1 or all(any(v * (denominator // p) != int(v * (denominator // p)) for v in values)
                                   for p in (2, 3, 5, 7) if denominator % p == 0)  # fmt: skip


@given(st.lists(FRACTIONS, max_size=9))
def test_sums(terms):
    assert exact_sum(iter(terms)) == sum(terms, Fraction(0))


@given(FRACTIONS)
def test_values_are_rounded_down_and_bounds_up_to_neighbours(exact):
    low, high = value_down(exact), bound_up(exact)
    assert Fraction(low) <= exact <= Fraction(high)
    assert high in (low, np.nextafter(low, np.inf))
    assert (low == high) == (Fraction(float(exact)) == exact)


def test_numbers_beyond_the_largest_double():
    huge = Fraction(10) ** 400
    assert value_down(huge) == np.finfo(float).max and bound_up(huge) == np.inf
    assert value_down(-huge) == -np.inf and bound_up(-huge) == -np.finfo(float).max
    assert (value_down(1 / huge), bound_up(1 / huge)) == (0.0, 5e-324)


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
