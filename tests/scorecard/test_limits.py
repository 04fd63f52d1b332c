"""Constraints at a cut, between kinds of people and among the first rows: enumerated in fractions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.scorecard import Scorecard
from tests.cases.refuses import refuses
from tests.scorecard import oracle
from tests.scorecard.test_search import QUICK, SEEDS, fitted, is_best

# What a user writes, and the same for the oracle.
LIMITS = [
    ({"cut": "top 6"}, {"cut": "top 6"}),
    ({"cut": 0.35}, {"cut": 0.35}),
    ({"constraints": "sensitivity >= 0.55"}, {"sensitivity": "0.55"}),
    ({"constraints": ["sensitivity >= 70%", "sensitivity >= 0.2"], "cut": "free"}, {"sensitivity": "0.7"}),
    ({"constraints": ["sensitivity => 5e-1", "flagged  ≤ 40%"]}, {"sensitivity": "0.5", "flagged": "0.4"}),
    ({"constraints": ["flagged <= 0.29", "flagged <= 1"], "cut": 0.5}, {"flagged": "0.29", "cut": 0.5}),
    ({"constraints": ["flagged gap <= 0.1", "sensitivity >= 0.3"]}, {"flagged_gap": "0.1", "sensitivity": "0.3"}),
    ({"constraints": ["sensitivity gap <= 20%"], "cut": "top 8"}, {"sensitivity_gap": "0.2", "cut": "top 8"}),
    ({"constraints": ["specificity >= 0.7", "precision >= 40%"]}, {"specificity": "0.7", "precision": "0.4"}),
    (
        {"constraints": ["precision >= 0.6", "specificity >= .3"], "cut": 0.4},
        {"precision": "0.6", "specificity": "0.3", "cut": 0.4},
    ),
    ({"constraints": ["auc inside >= 0.6"]}, {"auc_inside": "0.6"}),
    ({"constraints": ["at least 2 of A among the  first 6"]}, {"quota": (2, "A", 6)}),
    (
        {"constraints": ["1 of A among the first 5", "3 of A among the first 5", "sensitivity >= 50%"], "cut": "top 9"},
        {"quota": (3, "A", 5), "sensitivity": "0.5", "cut": "top 9"},
    ),
]


@pytest.mark.parametrize("options, same", LIMITS, ids=lambda value: str(value))
@settings(max_examples=3, **QUICK)
@given(seed=SEEDS, weights=st.sampled_from(["", "", "parts"]), kinds=st.sampled_from([2, 3]))
def test_the_card_is_the_best_that_keeps_a_limit(options, same, seed, weights, kinds):
    rows = oracle.drawn(seed, weights, kinds=kinds, n=20)
    keeps = oracle.keeper(rows, **same)
    questions = fitted(rows, n_questions=2, points=2).questions_
    cards = oracle.enumerated(questions, rows, "auc", 2, 2, keeps=keeps)
    if not cards:
        refuses("No card", fitted, rows, n_questions=2, points=2, **options)
        return
    card = fitted(rows, n_questions=2, points=2, **options)
    is_best(card, cards, rows)
    cut = card.card_.cut
    assert (cut is None) == (same.keys() <= {"auc_inside", "quota"})
    if cut is not None:  # the rows that it flags are those of a cut that keeps the limits
        flagged = card.total(rows.X) >= cut
        assert (card.predict(rows.X) == flagged).all() and flagged.any()
        alone = oracle.keeper(rows, **{**same, "cut": "free", "quota": None})
        assert alone((flagged + 0).tolist())


def test_a_limit_holds_at_its_own_share():
    # 11 of 20 relevant rows are .55 of them, and .55 times 20 is above 11 as a double; 29 of 100 rows are .29.
    X = np.zeros((100, 1))
    X[:11] = X[20:38] = 1
    y = np.arange(100) < 20
    for options in ({"constraints": ["sensitivity >= 0.55", "flagged <= 0.29"]}, {"cut": 0.29}, {"cut": "top 29%"}):
        card = Scorecard(n_questions=1, points=[1], validation=None, **options).fit(X, y)
        assert card.predict(X).sum() == 29
    for text in ("sensitivity >= 0.5500001", "flagged <= 28.9%"):
        with pytest.raises(InputError, match="No card .*; loosen"):
            Scorecard(n_questions=1, points=[1], constraints=[text, "flagged <= 0.9"]).fit(X, y)


WRONG = [
    ({"constraints": ["sensitivity >= 1.2.3"]}, "cannot be read; write one such as"),
    ({"constraints": ["at most 2 of A among the first 6"]}, "cannot be read; write one such as"),
    ({"constraints": 0.8}, "constraints is 0.8; give"),
    ({"cut": "top"}, "cut is 'top'; it must be 'top N', a share such as 0.1, or 'free'"),
    ({"cut": 1.5}, "cut is 1.5; it must be"),
    ({"cut": "top 0"}, "No card of 2 questions keeps cut='top 0'; loosen it"),
    ({"constraints": ["25 of A among the first 20"]}, "No card of 2 questions keeps the constraint '25 of A"),
]


@pytest.mark.parametrize("options, said", WRONG, ids=lambda value: None if isinstance(value, str) else str(value))
def test_what_cannot_be_is_refused_in_a_sentence(options, said):
    rows = oracle.drawn(7, kinds=2, n=40)
    refuses(said, fitted, rows, n_questions=2, **options)


@pytest.mark.parametrize("text", ["flagged gap <= 0.2", "auc inside >= 0.5", "2 of A among the first 9"])
def test_limits_of_kinds_need_people(text):
    rows = oracle.drawn(7)
    refuses("pass people=", fitted, rows, constraints=[text])


def test_a_free_cut_and_columns_of_people_and_lists():
    rows = oracle.drawn(8, kinds=2, lists=2, n=40)
    table = rows.X.assign(kind=rows.people, list=rows.qid)
    options = dict(n_questions=2, cut="free", constraints=["flagged gap <= 0.3"], validation=None)
    by_name = Scorecard(**options).fit(table, rows.y, "list", people="kind")
    apart = Scorecard(**options).fit(rows.X, rows.y, rows.qid, people=rows.people)
    assert str(by_name.card_) == str(apart.card_) and by_name.card_.cut == apart.card_.cut
    assert {one.column for one in by_name.questions_} == set("abcde")
    # Of cuts that keep the limits it is the one with the largest sensitivity less share of the others flagged.
    totals, y = apart.total(rows.X), rows.y
    keeps = oracle.keeper(rows, cut="free", flagged_gap="0.3")

    def balance(cut: int) -> float:
        return (totals >= cut)[y == 1].mean() - (totals >= cut)[y == 0].mean()

    legal = [cut for cut in set(totals.tolist()) if keeps((totals >= cut).astype(int).tolist()) or cut == min(totals)]
    assert balance(apart.card_.cut) == max(map(balance, legal))


def test_a_budget_in_shares_is_used_to_the_last_row():
    for flagged in range(1, 100):
        X, y = (np.arange(100)[:, None] < flagged).astype(float), np.arange(100) < 99
        card = Scorecard(n_questions=1, points=(1, 1), cut=flagged / 100, validation=None).fit(X, y)
        assert card.predict(X).sum() == flagged


def test_groups_without_rows_are_no_block_that_a_cut_flags():
    """Nobody answers yes to both; the first rows are five or ten that tie, and a budget of three flags none."""
    X, y = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [5, 5, 10], axis=0), np.repeat([1, 0], [10, 10])
    refuses("keeps cut='top 3'", Scorecard(n_questions=2, points=(1, 2), cut="top 3", validation=None).fit, X, y)
    card = Scorecard(n_questions=2, points=(1, 2), cut="top 5", validation=None).fit(X, y)
    assert card.predict(X).sum() == 5 and card.verify().value == 1


def test_kinds_of_people_that_are_numbers_are_named_as_they_are_written():
    rows = oracle.drawn(3, n=20)
    card = Scorecard(n_questions=1, constraints="3 of 2 among the first 10", validation=None)
    card.fit(rows.X, rows.y, people=np.tile([1.0, 2.0], 10))
    assert float(card.verify().value) == card.result_.value
