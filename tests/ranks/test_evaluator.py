"""All lists valued at once, against one list after the other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.statistics import parse

NAMES = ("dcg@3", "ndcg@4", "auc", "ap", "rr", "precision@2", "pauc@3", "window2@2")


@settings(deadline=None, max_examples=150)
@given(st.data(), st.sampled_from(NAMES), st.sampled_from(("pessimistic", "optimistic", "average")))
def test_each_list_has_the_value_it_has_alone(data, name, ties):
    n = data.draw(st.integers(1, 20))
    column = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    y, qid, scores = (np.array(data.draw(column)) for _ in range(3))
    y = np.minimum(y, 1) if parse(name).binary else y
    kind = data.draw(st.sampled_from((np.float64, np.int64, object)))
    scores = scores.astype(kind) if kind is not object else np.array([Fraction(int(s), 7) for s in scores])
    missed = {int(q): [1] for q in np.unique(qid) if data.draw(st.booleans())}
    lists = split(y, qid, ideal_gains=missed)
    found = Evaluator(parse(name), lists).values(scores, ties)
    for one, value in zip(lists, found, strict=True):
        try:
            alone = evaluate(
                name, y[one.rows], scores[one.rows], ties=ties,
                ideal_gains={0: missed[one.name]} if one.name in missed else None,
            )  # fmt: skip
        except InputError:  # nothing to order
            alone = None
        assert value == alone


def test_scores_of_other_lengths_are_refused() -> None:
    found = Evaluator(parse("auc"), split([1, 0, 1]))
    with pytest.raises(InputError, match="There are 3 labels and 2 scores"):
        found.values([1.0, 2.0], "pessimistic")


def test_a_list_without_a_value_may_have_a_length_that_the_statistic_does_not_serve() -> None:
    y, scores, qid = [1, 0, 0, 0, 0], [2.0, 1.0, 3.0, 2.0, 1.0], [0, 0, 1, 1, 1]
    assert evaluate([0.0, 1.0], y, scores, qid) == 1.0
    with pytest.raises(InputError):
        evaluate([0.0, 1.0], [1, 0, 1, 0, 0], scores, qid)
