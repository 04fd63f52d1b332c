"""Values of many weights against the evaluator, and logistic regression by the slopes of its loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import fsolve

from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.ranks.row_gains import gain_of
from rerank.reranker.blend import POOL, RIDGE, logistic
from rerank.reranker.fusion.points import Values, point, telling
from rerank.statistics import parse

STATISTICS = (
    "ndcg@10",
    "ndcg@3",
    "dcg@5",
    "precision@4",
    "recall@5",
    "success@2",
    "rr",
    "ap",
    "ndcg",
    "rbp@0.8",
    "auc",
)


def tables(seed, lists=6, runs=3, levels=4, longest=40):
    """Scores with many ties, grades, lists of 1 to ``longest`` rows in mixed order."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(lists), rng.integers(1, longest + 1, lists)))
    X = rng.integers(0, levels, (qid.size, runs)) / levels
    return X, rng.choice([0, 0, 0, 1, 2], qid.size).astype(float), qid, rng


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(STATISTICS))
def test_many_weights_are_worth_what_each_is_by_the_evaluator(seed, name):
    X, grades, qid, rng = tables(seed)
    missed = {int(number): [2.0, 1.0] for number in np.unique(qid)[:2]}
    evaluator = Evaluator(parse(name), split(grades, qid, gain=gain_of(name, "linear"), ideal_gains=missed))
    values, weights = Values(evaluator), rng.integers(0, 3, (4, 3)) / 2.0
    numbers = {one.name: number for number, one in enumerate(evaluator.lists)}
    found = values.of(X, weights)
    for own, one in zip(found, weights):
        # Scores are multiples of 1/8 here, which no rounding changes.
        wanted = np.array(evaluator.values(X @ one, "pessimistic"), dtype=float)
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-12)
    some = np.array(sorted(rng.permutation(list(numbers.values()))[:2]))
    np.testing.assert_array_equal(values.of(X, weights, some), found[:, some])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(("ndcg@3", "precision@2", "recall@4", "dcg@1", "ndcg")), st.integers(2, 6)
)
def test_rows_that_are_left_out_change_no_value_of_weights_that_are_not_negative(seed, name, levels):
    X, grades, qid, rng = tables(seed, lists=4, runs=2, levels=levels)
    evaluator = Evaluator(parse(name), split(grades, qid, gain="linear"))
    kept = telling(X, Values(evaluator))
    assert (np.diff(kept) > 0).all() and (name != "ndcg" or kept.size == qid.size)
    left = np.setdiff1d(np.arange(qid.size), kept)
    missed = {number: grades[left[(qid[left] == number) & (grades[left] > 0)]].tolist() for number in np.unique(qid)}
    fewer = Evaluator(parse(name), split(grades[kept], qid[kept], gain="linear", ideal_gains=missed))
    for weights in (*rng.integers(0, 4, (6, 2)), [0, 0], [1, 0], [0, 1]):
        whole, cut = (
            np.array(one.values(rows @ weights, "pessimistic"), dtype=float)
            for one, rows in ((evaluator, X), (fewer, X[kept]))
        )
        np.testing.assert_allclose(cut, whole, atol=1e-12)


def test_of_long_lists_few_rows_are_left():
    rng = np.random.default_rng(0)
    X, qid = rng.random((900, 2)), np.repeat(np.arange(3), 300)
    kept = telling(X, Values(Evaluator(parse("ndcg@10"), split((rng.random(900) < 0.05) * 1.0, qid, gain="linear"))))
    assert 30 < kept.size < 300


def test_rounding_makes_ties_of_sums_that_are_equal_but_for_rounding():
    X = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.0, 0.0, 0.0]])  # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1
    evaluator = Evaluator(parse("precision@1"), split([0.0, 1.0, 0.0], [0, 0, 0], gain="linear"))
    assert X[0].sum() != X[1].sum()
    assert Values(evaluator).of(X, np.ones((1, 3))).tolist() == [[0.0]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("positive", [True, False])
def test_logistic_regression_is_the_best_of_its_loss(seed, positive):
    """The loss is convex, so weights at which no allowed direction falls are its optimum."""
    rng = np.random.default_rng(seed)
    X = rng.random((200, 4)) * [1.0, 0.5, 2.0, 1.0]
    relevant = rng.random(200) < 1 / (1 + np.exp(-(X @ [3.0, 1.0, -2.0, 0.0] - 1)))
    found = logistic(X, relevant, positive)
    assert np.abs(found).sum() == pytest.approx(1) and (not positive or found.min() >= 0)
    A = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())

    def slope(given):
        off = 1 / (1 + np.exp(-(A @ (given[0] * found) + given[1]))) - relevant
        return A.T @ off + RIDGE * given[0] * found, off.sum()

    # The size that was divided away and the intercept, by the slopes along both.
    size = fsolve(lambda given: [found @ slope(given)[0], slope(given)[1]], [1.0, 0.0])
    slopes, _ = slope(size)
    assert size[0] > 0 and np.abs(slopes[found != 0]).max() < 1e-4
    assert (found != 0).all() or (positive and slopes[found == 0].min() > -1e-4)


def test_a_run_that_ranks_without_an_error_and_columns_that_say_nothing_have_finite_weights():
    relevant = np.array([True, True, False, False, False])
    assert logistic(np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), relevant) == pytest.approx([1.0])
    assert logistic(np.ones((5, 2)), relevant) == pytest.approx([0.5, 0.5])
    assert logistic(np.arange(10.0).reshape(5, 2), ~np.zeros(5, dtype=bool)) == pytest.approx([0.5, 0.5])
    assert logistic(-np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), relevant) == pytest.approx([1.0])  # held at 0


def test_points_learn_from_their_lists_alone():
    X, grades, qid, _ = tables(1, lists=8, levels=50)
    evaluator = Evaluator(parse("ndcg@5"), split(grades, qid, gain="linear"))
    values, lists = Values(evaluator), np.array([0, 2, 5])
    rows = np.isin(qid, lists)
    alone = logistic(X[rows], grades[rows] > 0)
    equal = np.full(3, 1 / 3)
    assert point("logistic alone", values, X, lists, equal) == pytest.approx(alone, abs=1e-6)
    pooled = point("logistic", values, X, lists, equal)
    assert pooled == pytest.approx((POOL * equal + 3 * alone) / (POOL + 3), abs=1e-6)
    means = np.nanmean(values.of(X, np.eye(3), lists), axis=1)
    assert point("single", values, X, lists, equal).tolist() == np.eye(3)[np.argmax(means)].tolist()
    assert point("given", values, X, lists, equal) is equal
