"""Plain measures against all tie orders, scikit-learn and ir_measures."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import average_precision_score

from rerank.errors import InputError
from rerank.metrics import average_precision, ndcg, pos_at_top, precision_at, reciprocal_rank
from rerank.ranks import evaluate
from tests.oracles.tie_orders import labelled_scores, over_all_orders


def slow_pos_at_top(y, order):
    labels = [y[i] > 0 for i in order]
    return labels.index(False) / sum(labels) if False in labels else 1.0


def slow_average_precision(y, order):
    hits = [place for place, i in enumerate(order, start=1) if y[i]]
    return sum(k / place for k, place in enumerate(hits, start=1)) / len(hits)


def slow_reciprocal_rank(y, order):
    return 1 / next(place for place, i in enumerate(order, start=1) if y[i])


def slow_precision_at_3(y, order):
    return sum(y[i] > 0 for i in order[:3]) / 3


MEASURES = [
    (pos_at_top, slow_pos_at_top),
    (average_precision, slow_average_precision),
    (reciprocal_rank, slow_reciprocal_rank),
    (lambda y, scores, **options: precision_at(y, scores, 3, **options), slow_precision_at_3),
]


@pytest.mark.parametrize(("fast", "slow"), MEASURES, ids=["pos@top", "ap", "rr", "precision@3"])
@settings(deadline=None, max_examples=80)
@given(labelled_scores(largest_grade=2))
def test_tie_rules_are_worst_best_and_mean_over_all_orders(fast, slow, data):
    y, scores = data
    for ties, expected in over_all_orders(scores, lambda order: slow(y, order)).items():
        assert fast(y, scores, ties=ties) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    y, scores = [1, 1, 0, 1], [4, 3, 2, 1]
    assert pos_at_top(y, scores) == 2 / 3 and reciprocal_rank(y, scores) == 1
    assert average_precision(y, scores) == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert precision_at(y, scores, 2) == 1 and precision_at(y, scores, 10) == 0.3
    assert pos_at_top([1, 1], [0, 0]) == 1


def test_scikit_learn_and_ir_measures_agree_without_ties():
    rng = np.random.default_rng(2)
    qid, y, scores = rng.integers(0, 6, 90), (rng.random(90) < 0.3).astype(int), rng.permutation(90) / 3
    by_list = [average_precision_score(y[qid == q], scores[qid == q]) for q in range(6)]
    assert average_precision(y, scores, qid) == pytest.approx(np.mean(by_list), abs=1e-12)

    qrels = [ir_measures.Qrel(str(q), str(i), int(g)) for i, (q, g) in enumerate(zip(qid, y))]
    run = [ir_measures.ScoredDoc(str(q), str(i), float(s)) for i, (q, s) in enumerate(zip(qid, scores))]
    ours = {
        ir_measures.AP: average_precision(y, scores, qid),
        ir_measures.RR: reciprocal_rank(y, scores, qid),
        ir_measures.P @ 5: precision_at(y, scores, 5, qid),
        ir_measures.P @ 50: precision_at(y, scores, 50, qid),
        ir_measures.nDCG @ 5: ndcg(y, scores, 5, qid),
    }
    theirs = ir_measures.calc_aggregate(list(ours), qrels, run)
    assert theirs == {measure: pytest.approx(value, abs=1e-9) for measure, value in ours.items()}


def test_ndcg_is_the_statistic():
    y, scores = [3, 0, 1, 2], [1, 1, 3, 2]
    assert ndcg(y, scores, 2) == evaluate("ndcg@2", y, scores)
    options = {"ties": "average", "gain": "linear"}
    assert ndcg(y, scores, **options) == evaluate("ndcg", y, scores, **options)


def test_lists_without_a_relevant_item_follow_the_policy():
    y, scores, qid = [0, 1, 0, 0], [2, 1, 2, 1], [1, 1, 2, 2]
    for measure, value in ((reciprocal_rank, 0.5), (average_precision, 0.5), (pos_at_top, 0.0)):
        assert measure(y, scores, qid) == value
        assert measure(y, scores, qid, empty=0) == value / 2
        assert measure(y, scores, qid, empty=1) == (value + 1) / 2
    assert precision_at(y, scores, 2, qid, empty=1) == (0.5 + 1) / 2
    with pytest.raises(InputError, match="List 2 holds nothing"):
        average_precision(y, scores, qid, empty="error")


def test_an_unknown_rule_for_ties_is_refused():
    for measure in (pos_at_top, average_precision, reciprocal_rank):
        with pytest.raises(InputError, match="ties is 'interval'"):
            measure([1, 0], [1, 2], ties="interval")
