"""Values and ties against definitions, enumerations of all tie orders, and other people's tools."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score, roc_auc_score

from rerank.errors import InputError
from rerank.ranks import count_empty, evaluate, gains, list_values, lost_counts, subranks, value_of_lost
from rerank.statistics import parse, presentation
from tests.oracles.tie_orders import STATISTICS, by_definition, labelled_scores, over_all_orders


@settings(deadline=None, max_examples=150)
@given(labelled_scores(), st.sampled_from(STATISTICS))
def test_tie_rules_are_worst_best_and_mean_over_all_orders(data, name):
    y, scores = data
    truth = over_all_orders(scores, lambda order: by_definition(name, y, order))
    for ties, expected in truth.items():
        assert evaluate(name, y, scores, ties=ties) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    low, high = evaluate(name, y, scores, ties="interval")
    assert [low, high] == [evaluate(name, y, scores, ties=ties) for ties in ("pessimistic", "optimistic")]


@settings(deadline=None, max_examples=100)
@given(labelled_scores(most=12), st.sampled_from(STATISTICS))
def test_the_value_is_the_sum_over_thresholds_of_lost_counts(data, name):
    y, scores = data
    statistic, worth = parse(name), gains(y)
    a = statistic.coefficients(len(y))
    levels = np.unique(worth[worth > 0])
    raw = sum(
        step * value_of_lost(lost_counts(scores, worth >= level), a)
        for level, step in zip(levels, np.diff(levels, prepend=0.0))
    )
    offset, scale = presentation(statistic, len(y), worth)
    assert evaluate(name, y, scores) == pytest.approx((raw - offset) / scale, rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(labelled_scores(most=12), st.sampled_from(STATISTICS), st.randoms(use_true_random=False))
def test_order_of_rows_and_increasing_maps_change_nothing(data, name, random):
    y, scores = data
    order = list(range(len(y)))
    random.shuffle(order)
    stretched = [math.exp(score) - 50 for score in scores]
    for ties in ("pessimistic", "optimistic", "average"):
        value = evaluate(name, y, scores, ties=ties)
        assert evaluate(name, [y[i] for i in order], [scores[i] for i in order], ties=ties) == value
        assert evaluate(name, y, stretched, ties=ties) == value
        assert evaluate(name, y, [Fraction(score) / 7 for score in scores], ties=ties) == value


@settings(deadline=None, max_examples=100)
@given(labelled_scores(largest_grade=1, most=15))
def test_scikit_learn_auc_is_ours_with_average_ties(data):
    y, scores = data
    assert evaluate("auc", y, scores, ties="average") == pytest.approx(roc_auc_score(y, scores), abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(labelled_scores(most=15), st.sampled_from([1, 3, None]))
def test_scikit_learn_dcg_is_ours_with_average_ties_and_linear_gain(data, k):
    y, scores = data
    for name, theirs in (("dcg", dcg_score), ("ndcg", ndcg_score)):
        ours = evaluate(name + (f"@{k}" if k else ""), y, scores, ties="average", gain="linear")
        assert ours == pytest.approx(theirs([y], [scores], k=k), abs=1e-12)


def test_integers_too_large_for_doubles_are_compared_exactly():
    big = 2**60
    assert subranks([big, big + 1]).tolist() == [0, 1]
    assert evaluate("auc", [1, 0], [10**30 + 1, 10**30]) == 1.0


def test_lists_are_averaged_by_weight_in_any_order_of_rows():
    y = [1, 0, 0, 1, 0, 1]
    scores = [2, 1, 5, 4, 3, 3]
    qid = ["b", "b", "a", "a", "a", "b"]  # "a": position 2 of 3; "b": both above the other
    a, b = evaluate("mrr", [0, 1, 0], [5, 4, 3]), evaluate("mrr", [1, 0, 1], [2, 1, 3])
    assert (a, b) == (0.5, 1.5)
    assert evaluate("mrr", y, scores, qid) == (a + b) / 2
    assert evaluate("mrr", y, scores, qid, query_weight={"b": 3}) == (a + 3 * b) / 4
    assert evaluate("mrr", y, scores, qid, query_weight=[3, 3, 1, 1, 1, 3]) == (a + 3 * b) / 4
    assert evaluate("mrr", y, scores, qid, query_weight={"a": 0, "b": 2}) == b


def test_a_row_weight_multiplies_its_gain():
    y, scores = [2, 0, 1, 0], [1, 2, 3, 4]
    weighted = evaluate("ndcg", y, scores, sample_weight=[0.5, 9, 2, 9])
    assert weighted == evaluate("ndcg", [1.5, 0, 2, 0], scores, gain="linear")
    assert evaluate("dcg", y, scores, sample_weight=[0, 1, 1, 1]) == evaluate("dcg", [0, 0, 1, 0], scores)


def test_lists_without_a_value_follow_the_policy_and_are_counted():
    y, scores, qid = [1, 0, 0, 0, 1, 1], [2, 1, 2, 1, 1, 2], [1, 1, 2, 2, 3, 3]
    # List 2 has no gain; list 3 no pair, which matters to AUC alone.
    assert count_empty("dcg", y, qid) == 1 and count_empty("auc", y, qid) == 2
    assert evaluate("auc", y, scores, qid) == 1
    assert evaluate("auc", y, scores, qid, empty=0) == pytest.approx(1 / 3)
    assert evaluate("auc", y, scores, qid, empty=1) == 1
    assert evaluate("ndcg", y, scores, qid, empty=0) == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="List 2 holds nothing to order"):
        evaluate("dcg", y, scores, qid, empty="error")
    with pytest.raises(InputError, match="No list with a weight"):
        evaluate("dcg", [0, 0], [1, 2])
    assert evaluate("dcg", [0, 0], [1, 2], empty=0) == 0


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([1, 0], [1, math.nan]), {}, "score of row 1 is nan"),
        (([1, 0], ["a", "b"]), {}, "must be real numbers"),
        (([1, math.nan], [1, 2]), {}, "label of row 1 is nan"),
        ((["x", "y"], [1, 2]), {}, "label must be a number"),
        (([1, 1000.5], [1, 2]), {}, "label of row 1 is 1000.5"),
        (([1, 0], [1, 2]), {"gain": "square"}, "'exponential' or 'linear'"),
        (([1, 0], [1, 2]), {"ties": "random"}, "ties is 'random'"),
        (([1, 0], [1, 2]), {"empty": "drop"}, "empty is 'drop'"),
        (([1, 0], [1, 2]), {"sample_weight": [1, -2]}, "sample_weight holds -2 in row 1"),
        (([1, 0], [1, 2], [4, 4]), {"query_weight": {4: -1}}, "weight of list 4"),
        (([1, 0], [1, 2], [4, 4]), {"query_weight": [1, 2]}, "weight of list 4"),
        (([1, 0], [1, 2], [4, 4]), {"query_weight": [1]}, "query_weight has shape"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, options, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate("dcg", *arguments, **options)


def test_the_largest_grade_still_has_a_gain():
    assert gains([1000, 1000.0, 0]).tolist() == [2.0**1000 - 1, 2.0**1000 - 1, 0]


BY_LIST = ("dcg@3", "ndcg@4", "auc", "ap", "rr", "precision@2", "pauc@3", "window2@2")


@settings(deadline=None, max_examples=200)
@given(st.data(), st.sampled_from(BY_LIST), st.sampled_from(("pessimistic", "optimistic", "average")))
def test_values_of_lists_are_those_of_each_alone(data, name, ties):
    n = data.draw(st.integers(1, 20))
    y, qid, scores = (np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(3))
    y = np.minimum(y, 1) if parse(name).binary else y
    kind = data.draw(st.sampled_from((np.float64, np.int64, object)))
    scores = scores.astype(kind) if kind is not object else np.array([Fraction(int(s), 7) for s in scores])
    missed = {int(q): [1] for q in np.unique(qid) if data.draw(st.booleans())}
    values = list_values(name, y, scores, qid, ties=ties, ideal_gains=missed)
    for own, value in zip(np.unique(qid).tolist(), values.tolist(), strict=True):
        alone, gone = qid == own, {0: missed[own]} if own in missed else None
        if math.isnan(value):
            with pytest.raises(InputError, match="mean is not defined"):
                evaluate(name, y[alone], scores[alone], ties=ties, ideal_gains=gone)
        else:
            assert value == evaluate(name, y[alone], scores[alone], ties=ties, ideal_gains=gone)
    if not np.isnan(values).all():
        mean = evaluate(name, y, scores, qid, ties=ties, ideal_gains=missed)
        assert np.nanmean(values) == pytest.approx(mean, rel=1e-12, abs=1e-12)


def test_a_list_without_a_value_may_have_a_length_that_the_statistic_does_not_serve() -> None:
    y, scores, qid = [1, 0, 0, 0, 0], [2.0, 1.0, 3.0, 2.0, 1.0], [0, 0, 1, 1, 1]
    assert evaluate([0.0, 1.0], y, scores, qid) == 1.0
    with pytest.raises(InputError):
        evaluate([0.0, 1.0], [1, 0, 1, 0, 0], scores, qid)
