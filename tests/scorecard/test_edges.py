"""Limits that are just reached, cuts through tied rows, and names that say the same twice."""

import numpy as np
import pytest

from rerank.errors import InputError
from rerank.scorecard import Scorecard


def test_a_budget_in_shares_is_used_to_the_last_row():
    for flagged in range(1, 100):
        X, y = (np.arange(100)[:, None] < flagged).astype(float), np.arange(100) < 99
        card = Scorecard(n_questions=1, points=(1, 1), cut=flagged / 100, validation=None).fit(X, y)
        assert card.predict(X).sum() == flagged


def test_groups_without_rows_are_no_block_that_a_cut_flags():
    """Nobody answers yes to both; the first rows are five or ten that tie, and a budget of three flags none."""
    X = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [5, 5, 10], axis=0)
    y = np.repeat([1, 0], [10, 10])
    with pytest.raises(InputError, match="keeps cut='top 3'"):
        Scorecard(n_questions=2, points=(1, 2), cut="top 3", validation=None).fit(X, y)
    card = Scorecard(n_questions=2, points=(1, 2), cut="top 5", validation=None).fit(X, y)
    assert card.predict(X).sum() == 5 and card.verify().value == 1


X = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], 5, axis=0)
Y = np.repeat([1, 0, 0, 1], 5)


def test_a_column_and_its_question_together_count_once():
    card = Scorecard(n_questions=2, together=["x0", "x0 = 1", "x1"], validation=None).fit(X, Y)
    assert len(card.card_.questions) == 2


def test_a_rule_on_a_question_that_no_card_asks_says_so():
    with pytest.raises(InputError, match="which never excludes"):
        Scorecard(n_questions=2, never="x0 = 1", must="x0 = 1", validation=None).fit(X, Y)


def test_kinds_of_people_that_are_numbers_are_named_as_they_are_written():
    card = Scorecard(n_questions=1, constraints="3 of 2 among the first 10", validation=None)
    card.fit(X, Y, people=np.tile([1.0, 2.0], 10))
    assert float(card.verify().value) == card.result_.value
