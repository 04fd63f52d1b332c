"""Leads and their standard errors: by hand, by other formulas, and by the slow definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.ranks import evaluate
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.statistics import parse

grades = st.lists(st.integers(0, 1), min_size=12, max_size=12).filter(lambda y: 0 < sum(y) < 12)
scores = st.lists(st.integers(0, 5), min_size=12, max_size=12)


def lead_of(stat, y, own, other, qid=None, weight=None):
    lists = split(np.asarray(y, dtype=float), qid, sample_weight=weight)
    return Evaluator(parse(stat), lists).lead(np.asarray(own, dtype=float), np.asarray(other, dtype=float))


def test_hits_have_the_error_of_mcnemar():
    y = [1, 1, 0, 1, 0, 1, 0, 0]
    own, other = [8, 7, 6, 5, 4, 3, 2, 1], [1, 8, 2, 3, 7, 6, 5, 4]
    # The first four: own has rows 0, 1, 3; the other has 1, 5. Only one of the two has rows 0, 3 and 5.
    assert lead_of("precision@4", y, own, other) == (1.0, pytest.approx(math.sqrt(3)))


@given(grades, scores, scores)
@settings(max_examples=60, deadline=None)
def test_the_error_of_auc_is_that_of_delong(y, own, other):
    """By the components of all pairs, with ties counted half, and sums of squares (DeLong, DeLong and Clarke-Pearson).

    Components are taken about the lead of the pairs with ties as halves.
    """
    y, own, other = (np.asarray(one, dtype=float) for one in (y, own, other))

    def kernel(side):
        up, down = side[y > 0][:, None], side[y == 0][None]
        return (up > down) + 0.5 * (up == down)

    apart = kernel(own) - kernel(other)
    m, n = apart.shape
    rows, columns = apart.mean(axis=1), apart.mean(axis=0)
    expected = math.sqrt((rows**2).sum() / m**2 + (columns**2).sum() / n**2)
    lead, error = lead_of("auc", y, own, other)
    assert error == pytest.approx(expected, abs=1e-12)
    assert lead == pytest.approx(evaluate("auc", y, own) - evaluate("auc", y, other), abs=1e-12)


@given(grades, scores, scores, st.sampled_from(["precision@4", "dcg@5", "mrr", "recall@3"]))
@settings(max_examples=60, deadline=None)
def test_the_same_order_has_no_lead_and_no_error(y, own, other, stat):
    lead, error = lead_of(stat, y, own, own)
    assert lead == 0 and error == 0
    lead, error = lead_of(stat, y, own, other)
    back, same = lead_of(stat, y, other, own)
    assert lead == pytest.approx(-back) and error == pytest.approx(same)
    assert lead == pytest.approx(evaluate(stat, y, own) - evaluate(stat, y, other), abs=1e-12)
    assert error > 0 or lead == pytest.approx(0)


def test_dcg_without_ties_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, own, other = rng.integers(0, 2, 12), rng.permutation(12), rng.permutation(12)
        places = [np.argsort(np.argsort(-side)) for side in (own, other)]
        a, b = (np.where(place < 5, y / np.log2(place + 2.0), 0.0) for place in places)
        lead, error = lead_of("dcg@5", y, own, other)
        assert lead == pytest.approx((a - b).sum()) and error == pytest.approx(math.sqrt(((a - b) ** 2).sum()))


@pytest.mark.parametrize("stat", ["auc", "ndcg@3", "precision@2"])
def test_several_lists_have_the_error_of_paired_means(stat):
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(9), 7)
    y = np.tile([1, 1, 0, 0, 0, 0, 1], 9)
    own, other = y + rng.normal(size=63), rng.integers(0, 4, 63)  # with ties
    leads = np.array([
        evaluate(stat, y[qid == q], own[qid == q]) - evaluate(stat, y[qid == q], other[qid == q]) for q in range(9)
    ])
    lead, error = lead_of(stat, y, own, other, qid)
    assert lead == pytest.approx(leads.mean())
    assert error == pytest.approx(leads.std(ddof=1) / 3)


def test_weights_of_rows_count_as_gains_do_and_weight_0_takes_no_place():
    y, weight = np.array([1, 1, 0, 1, 0, 1]), np.array([2.0, 1.0, 1.0, 3.0, 1.0, 0.0])
    own, other = np.array([6, 5, 4, 1, 2, 7]), np.array([1, 5, 4, 6, 2, 7])
    # The first two: own rows 0 and 1, the other rows 3 and 1. Rows 0 and 3 differ, and earn their weights.
    lead, error = lead_of("precision@2", y, own, other, weight=weight)
    assert (lead, error) == (pytest.approx(-1.0), pytest.approx(math.sqrt(2**2 + 3**2)))


def test_one_of_several_lists_has_no_error_of_means():
    qid = np.array([0, 0, 0, 1, 1, 1])
    lead, error = lead_of("auc", [1, 0, 0, 0, 0, 0], [3, 2, 1, 3, 2, 1], [1, 2, 3, 1, 2, 3], qid)
    assert lead == 1.0 and math.isnan(error)
