"""Statistics of lists of another length: averages over random sub-lists, by counting them all."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.statistics import AUC, DCG, InLists, Precision, Window, fitted_statistic, parse

BY_PLACE = [DCG(2), DCG(), Precision(2), Window(2)]


@pytest.mark.parametrize("statistic", BY_PLACE, ids=str)
@pytest.mark.parametrize("n, m", [(6, 3), (8, 5), (7, 6)])
def test_a_shorter_list_is_each_row_kept_with_its_share(statistic, n, m):
    """The number of the p - 1 rows above that are kept is binomial; counted here over all subsets of them."""
    rho, places = m / n, statistic.coefficients(m)[::-1]
    for p in range(1, n + 1):
        expected = 0.0
        for j in range(p):
            kept = sum(1 for _ in combinations(range(p - 1), j))
            assert kept == comb(p - 1, j)
            expected += kept * rho**j * (1 - rho) ** (p - 1 - j) * places[min(j, m - 1)]
        assert InLists(statistic, m).coefficients(n)[::-1][p - 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("statistic", [*BY_PLACE, DCG(10)], ids=str)
def test_a_much_shorter_list_is_the_binomial_mean(statistic):
    n, m = 900, 60
    kept = binom.pmf(np.arange(n)[None], np.arange(n)[:, None], m / n)  # by place, of the rows above it
    places = np.pad(statistic.coefficients(m)[::-1], (0, n - m), mode="edge")
    np.testing.assert_allclose(InLists(statistic, m).coefficients(n)[::-1], kept @ places, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("statistic", BY_PLACE, ids=str)
@pytest.mark.parametrize("n, m", [(3, 6), (2, 8), (5, 5), (4, 6)])
def test_a_longer_list_gives_each_place_the_mean_of_those_it_stands_for(statistic, n, m):
    found = InLists(statistic, m).coefficients(n)[::-1]
    fine = np.repeat(statistic.coefficients(m)[::-1], n)  # n m cells: a place of the short list is m of them
    np.testing.assert_allclose(found, fine.reshape(n, m).mean(axis=1), atol=1e-12)


@given(st.sampled_from(BY_PLACE), st.integers(1, 40), st.integers(1, 40))
def test_coefficients_never_fall_with_the_rank(statistic, n, m):
    a = InLists(statistic, m).coefficients(n)
    assert a.shape == (n,) and np.all(np.diff(a) >= 0) and np.all(a >= 0)


@pytest.mark.parametrize("statistic", [InLists(DCG(10), 500), InLists(Precision(5), 7)])
def test_names_are_read_back(statistic):
    assert parse(statistic.name) == statistic and parse(str(statistic)).coefficients(9).size == 9


@pytest.mark.parametrize("name", ["recall@5", "ndcg@5", "recall@20%", "ndcg@20%"])
@pytest.mark.parametrize("rows", [10, 20, 40])
def test_shares_stay_shares(name, rows):
    statistic = parse(f"{name} in lists of {rows}")
    assert 0.5 < evaluate(statistic, [1, 1, 1] + 17 * [0], np.arange(20)[::-1]) <= 1.0


def test_auc_is_the_same_in_lists_of_every_length():
    with pytest.raises(InputError, match="in lists of every length; write 'auc'.$"):
        parse("auc in lists of 10")


def test_what_is_fitted():
    assert fitted_statistic(DCG(10), None, None) == DCG(10)
    assert fitted_statistic(DCG(10), 2.0, None) == Window(10)
    assert fitted_statistic(Precision(9), 1.5, 300) == InLists(Window(9, 1.5), 300)
    assert fitted_statistic(AUC(), None, 300) == AUC()
    with pytest.raises(InputError, match="no depth"):
        fitted_statistic(AUC(), 2.0, None)
    with pytest.raises(InputError, match="coefficients of stat are for lists of 3"):
        fitted_statistic(parse([0.0, 1.0, 2.0]), None, 10)


def test_a_thinned_name_says_what_to_write():
    with pytest.raises(InputError, match="there is no thinning any more; write 'dcg@10'.$") as told:
        parse("DCG@10 thinned to 0.8")
    assert parse(str(told.value).split("'")[-2]) == DCG(10)
