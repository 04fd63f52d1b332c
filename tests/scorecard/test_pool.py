"""The pool is every card within some value of the best one, once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from tests.scorecard import oracle
from tests.scorecard.test_search import QUICK, SEEDS, fitted


def keys(pool, card, rows):
    """Questions and order of the rows of each card of a pool."""
    answers = np.array([oracle.answers(one, rows.X) for one in card.questions_])
    totals = [np.array(one.points) @ answers[list(one.members)] for one in pool.found]
    return [
        (one.members, tuple(np.unique(own, return_inverse=True)[1].tolist())) for one, own in zip(pool.found, totals)
    ]


@pytest.mark.parametrize(
    "rules, limits",
    [
        ({}, {}),
        ({"must": ["a"]}, {}),
        ({"together": ["c", "d"]}, {}),
        ({"one_per_column": "monotone"}, {}),
        ({"signs": {"a": 1}}, {}),
        ({}, {"cut": "top 9"}),
    ],
    ids=str,
)
@settings(max_examples=2, **QUICK)
@given(
    seed=SEEDS,
    delta=st.sampled_from([0.0, 0.0137, 0.21]),
    weights=st.sampled_from(["", "parts"]),
    stat=st.sampled_from(["auc", "auc", "ndcg@5"]),
)
def test_the_pool_is_every_card_near_the_best(rules, limits, seed, delta, weights, stat):
    rows = oracle.drawn(seed, weights, n=16)
    try:
        card = fitted(rows, stat, n_questions=3, points=2, **rules, **limits)
    except InputError:
        return
    pool = card.pool(delta)
    cards = oracle.enumerated(
        card.questions_, rows, stat, 3, 2, keeps=oracle.keeper(rows, **limits), idle=False, **rules
    )
    best = max(one.value for one in cards)
    near = [one for one in cards if float(best - one.value) <= delta + 1e-12]
    wanted = {(one.members, one.order) for one in near}
    found = keys(pool, card, rows)
    assert pool.complete and set(found) == wanted and len(found) == len(wanted) == len(pool)
    value = {(one.members, one.order): one.value for one in near}
    assert pool.values.tolist() == pytest.approx([float(value[key]) for key in found], abs=1e-12)
    assert (np.diff(pool.values) <= 1e-12).all()
    # Every vector of points belongs to one card, and the smallest one stands for it.
    vectors = {key: [one.points for one in near if (one.members, one.order) == key] for key in wanted}
    for one, key in zip(pool.found, found):
        assert one.vectors == len(vectors[key])
        assert sum(map(abs, one.points)) == min(sum(map(abs, own)) for own in vectors[key])
    assert pool.sets == len({one.members for one in near})
    asked = {question: (many, low, high) for question, many, low, high in pool.counts()}
    for j, question in enumerate(card.questions_):
        own = [card_.points[card_.members.index(j)] for card_ in pool.found if j in card_.members]
        assert asked.get(question) == ((len(own), min(own), max(own)) if own else None)


def test_a_pool_that_is_cut_says_so():
    card = fitted(oracle.drawn(2, n=30), n_questions=3, points=2)
    whole = card.pool(0.1)
    assert whole.complete and len(card.pool(0.1, most=len(whole))) == len(whole) and str(whole).count("these are all")
    assert card.pool(0.1, most=len(whole)).complete
    cut = card.pool(0.1, most=2)
    assert len(cut) == 2 and not cut.complete and cut.why == "it was cut at 2 cards" and cut.why in str(cut)
    for delta in (-1, "x", None):
        with pytest.raises(InputError, match="delta is .*; it must be a number, at least 0"):
            card.pool(delta)


def test_different_cards_and_the_one_that_a_person_chooses():
    rows = oracle.drawn(4, n=30)
    pool = fitted(rows, n_questions=3, points=2).pool(0.1)
    different = pool.different(4)
    assert different[0] == pool[0] and len(set(map(str, different))) == len(different) == min(4, len(pool))
    totals = np.array([card.total(rows.X) for card in (pool[i] for i in range(len(pool)))])
    like = np.corrcoef(totals)[0]
    assert np.corrcoef(different[1].total(rows.X), totals[0])[0, 1] == pytest.approx(np.nanmin(like))
    chosen = pool.choose(lambda card: max(map(abs, card.points)))
    assert max(map(abs, chosen.points)) == min(max(map(abs, pool[i].points)) for i in range(len(pool)))
    assert "<table" in pool._repr_html_()
