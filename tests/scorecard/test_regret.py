"""What a card in use lacks: its value, the best of its size and the number of better ones, as enumerated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.scorecard import Card, Scorecard
from tests.cases.refuses import refuses
from tests.scorecard import oracle
from tests.scorecard.test_search import QUICK, SEEDS

CARDS = [
    {"a >= 1": 1, "c = 1": -1},
    {"b >= 2": 2, "d = 1": 2},
    {"e = 1": -2},
    {"a >= 1": 1, "a >= 2": 2, "b >= 1": -1},
    {"a >= 2": 3, "d = 1": -2},  # 3 is beyond the points of the others
]


@settings(max_examples=12, **QUICK)
@given(
    seed=SEEDS,
    card=st.sampled_from(CARDS),
    stat=st.sampled_from(["auc", "auc", "dcg@6"]),
    lists=st.sampled_from([0, 2]),
)
def test_regret_is_the_lead_of_the_best_card_of_its_size(seed, card, stat, lists):
    rows = oracle.drawn(seed, lists=lists, n=24)
    scorecard = Scorecard(stat, points=2, validation=3)
    found = scorecard.regret(card, rows.X, rows.y, **rows.given)
    given = Card.of(card, list(rows.X))
    mine = oracle.value(stat, given.total(rows.X).tolist(), rows)
    questions = Scorecard(validation=None).fit(rows.X, rows.y).questions_
    points = 2 if max(card.values()) <= 2 else [-2, -1, 1, 2, 3]
    cards = oracle.enumerated(questions, rows, stat, len(card), points, idle=False)
    best = max(one.value for one in cards)
    better = {(one.members, one.order) for one in cards if float(one.value - mine) > 1e-12}
    assert found.value == pytest.approx(float(mine), abs=1e-12) and found.proved and found.counted
    assert 0 <= found.regret == pytest.approx(float(best - mine), abs=1e-9)
    assert found.best_value == pytest.approx(float(best), abs=1e-12) and found.better == len(better)
    if found.better:
        assert oracle.value(stat, found.best.total(rows.X).tolist(), rows) == pytest.approx(float(best), abs=1e-12)
        many = f"{len(better):,} cards are" if len(better) > 1 else "1 card is"
        assert f"proved. {many} better" in str(found)
    else:
        assert found.best == given.with_totals(given.total(rows.X), rows.y, 1.0 - rows.y)
        assert found.regret < 1e-9 and "no allowed card of" in str(found)


def test_a_common_divisor_and_questions_without_points_do_not_count():
    rows = oracle.drawn(6, n=30)
    small, large = (
        Scorecard(points=2, validation=2).regret(card, rows.X, rows.y)
        for card in ({"a >= 1": 1, "c = 1": -2}, {"a >= 1": 5, "c = 1": -10, "e = 1": 0})
    )
    assert (small.value, small.bound, small.better) == (large.value, large.bound, large.better)


def test_rules_hold_for_the_other_cards():
    rows = oracle.drawn(6, n=30)
    card = {"a >= 1": -1, "c = 1": 3}
    for rules in ({"signs": {"a": 1, "b": -1}}, {"never": ["d", "e"]}, {"bounds": {"b": [1]}}):
        best = Scorecard(points=3, validation=2, **rules).regret(card, rows.X, rows.y).best
        for question, point in zip(best.questions, best.points):
            assert question.column not in rules.get("never", ()) and (
                (str(question), point) in card.items() or point * rules.get("signs", {}).get(question.column, point) > 0
            )
            assert question.column != "b" or "bounds" not in rules or point == 1


def test_a_search_that_is_cut_gives_no_less_than_the_regret():
    rows = oracle.drawn(9, n=40)
    whole = Scorecard(validation=2).regret({"e = 1": 1, "b >= 1": -1}, rows.X, rows.y)
    cut = Scorecard(validation=2, time_limit=0.0).regret({"e = 1": 1, "b >= 1": -1}, rows.X, rows.y)
    assert cut.regret >= whole.regret > 0 and not cut.proved and "and none has more than" in str(cut)
    few = Scorecard(validation=2).regret({"e = 1": 1, "b >= 1": -1}, rows.X, rows.y, most=3)
    assert not few.counted and few.better == 3 < whole.better and "At least 3" in str(few)
    one = Scorecard(validation=2).regret({"e = 1": 1, "b >= 1": -1}, rows.X, rows.y, most=1)
    assert one.better == 1 and "At least 1 card is better." in str(one)


@pytest.mark.parametrize(
    "card, said",
    [
        ({}, "A card is a mapping of questions to points"),
        ({"a >= 1": 1.5}, "must be a whole number"),
        ({"age >= 1": 1}, "nearest"),
        ({f"a >= 0.{i}1": 1 for i in range(10)} | {f"b >= 0.{i}1": 1 for i in range(10)}, "number of questions"),
    ],
)
def test_what_is_no_card_is_refused(card, said):
    rows = oracle.drawn(0)
    refuses(said, Scorecard().regret, card, rows.X, rows.y)
