"""Rules, signs, bounds and points: the card is the best of those that keep them, and what leaves none is named."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.scorecard import Question, Scorecard
from tests.scorecard import oracle
from tests.scorecard.test_search import QUICK, SEEDS, fitted, is_best

RULES = [
    {"must": ["a"]},
    {"must": ["a >= 1", "c = 1"]},
    {"at_least_one": ["d = 1", "e"]},
    {"at_least_one": [["a", "b"], ["c", "d"]]},
    {"not_both": ["a", "c"]},
    {"not_both": [["a >= 1", "b >= 1"], ["d", "e", "c"]]},
    {"together": ["c", "d"]},
    {"together": [["a", "b"], ["d", "e"]]},
    {"together": ["a >= 1", "a >= 2", "b"]},
    {"max_columns": 1},
    {"max_columns": 2},
    {"max_total": 2},
    {"max_total": 3, "must": ["a"], "together": ["c", "d"]},
    {"one_per_column": True},
    {"one_per_column": "monotone"},
    {"must": ["b >= 2"], "not_both": ["b", "c"], "together": ["d", "e"], "max_columns": 3},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
@settings(max_examples=2, **QUICK)
@given(seed=SEEDS, stat=st.sampled_from(["auc", "dcg@6"]))
def test_the_card_is_the_best_that_keeps_a_rule(rules, seed, stat):
    rows = oracle.drawn(seed, n=24)
    card = fitted(rows, stat, n_questions=3, points=2, **rules)
    is_best(card, oracle.enumerated(card.questions_, rows, stat, 3, 2, **rules), rows)


@pytest.mark.parametrize(
    "options",
    [
        {"signs": {"a": 1, "b >= 1": -1}},
        {"bounds": {"a": [2], "c": (-1, 3)}},
        {"bounds": {"a": 1, "b": (1, 2)}, "signs": {"a": -1}},
        {"points": [5, 10]},
    ],
    ids=str,
)
@settings(max_examples=3, **QUICK)
@given(seed=SEEDS)
def test_the_card_is_the_best_with_points_as_allowed(options, seed):
    rows = oracle.drawn(seed, n=24)
    options = {"points": 2, **options}
    card = fitted(rows, n_questions=2, **options)
    is_best(card, oracle.enumerated(card.questions_, rows, "auc", 2, **options), rows)


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(seed=SEEDS, gone=st.sampled_from(["a", "c", "a >= 1", "a >= 0.5", "c >= 1", Question("d", "=", 1.0)]))
def test_what_is_never_asked_is_no_candidate(seed, gone):
    rows = oracle.drawn(seed)
    rows = oracle.Rows(rows.X.assign(f=rows.X["a"]), rows.y)  # the same answers under another name
    card = fitted(rows, never=[gone], n_questions=2)
    column, _, rest = str(gone).partition(" ")
    left = [one for one in card.questions_ if one.column == column]
    assert not left if column != "a" or not rest else [str(one) for one in left] == ["a >= 2"]
    assert column != "a" or any(one.column == "f" for one in card.questions_)
    assert rest or card.left_out_[column] == "never asked"


def test_a_question_is_known_by_its_answers():
    rows = oracle.drawn(1)
    for text in ("c = 1", "c >= 1", "c > 0", "c >= 0.3"):
        card = fitted(rows, must=[text, "c"], signs={text: -1}, n_questions=2)
        (points,) = (own for one, own in zip(card.card_.questions, card.card_.points) if one.column == "c")
        assert points < 0


WRONG = [
    ({"must": ["age"]}, "'age' is no column of X; did you mean"),
    ({"never": ["f >= 1"]}, "nearest"),
    ({"must": ["a >= 7"]}, "must names the question 'a >= 7', which never excludes or all rows answer alike"),
    ({"must": ["c"], "never": ["c"]}, "must names the column 'c', which gives no question: never asked; drop it"),
    ({"signs": ["a"]}, "signs is .*; give a mapping"),
    ({"signs": {"a": 2}}, "sign of 'a' is 2; it must be 1 or -1"),
    ({"signs": {"a": -1}, "points": [1, 2]}, "no points of the sign -1; widen points or bounds"),
    ({"points": 0}, "points is 0; it must be a whole number, from 1"),
    ({"points": [1.5]}, "A number of points is 1.5; it must be a whole number"),
    ({"n_questions": 0}, "n_questions is 0; it must be a whole number, from 1 to 15"),
    ({"max_columns": 0}, "max_columns is 0; it must be a whole number, at least 1"),
    ({"max_levels": 1}, "max_levels is 1"),
    ({"time_limit": -1}, "time_limit is -1; it must be a number, at least 0"),
    ({"validation": 1}, "validation is 1; it must be a whole number, from 2"),
    ({"one_per_column": "some"}, "it must be True, False or 'monotone'"),
    ({"thresholds": "median"}, "thresholds is 'median'; it must be 'quantiles', how many quantiles, or numbers"),
    ({"thresholds": {"g": [1]}}, "thresholds names the column 'g', and the nearest of X is"),
    ({"never": list("abcde")}, "X gives no question .*never asked.*; give a column that varies"),
    ({"validation": "folds"}, "validation is 'folds'; it must be a number of folds, 'bootstrap' or None"),
    ({"must": ["a", "c", "d"]}, r"No card of 2 questions keeps must=\['a', 'c', 'd'\]; loosen it"),
    ({"together": ["a", "b", "c"], "must": "a"}, "No card keeps all rules and constraints together"),
    ({"at_least_one": [["a"], ["b"], ["c"]]}, r"No card of 2 questions keeps at_least_one=\["),
    ({"max_columns": 1, "must": ["a", "b"]}, "No card keeps all rules and constraints together, though each alone"),
]


@pytest.mark.parametrize("options, said", WRONG, ids=lambda value: None if isinstance(value, str) else str(value))
def test_what_cannot_be_is_refused_in_a_sentence(options, said):
    rows = oracle.drawn(7, n=40)
    with pytest.raises(InputError, match=said) as raised:
        Scorecard(**{"n_questions": 2, "validation": None, **options}).fit(rows.X, rows.y)
    assert str(raised.value).endswith((".", "?")) and "\n" not in str(raised.value)


def test_a_column_and_its_question_together_count_once_and_a_question_that_no_card_asks_is_named():
    rows = oracle.drawn(7, n=40)
    card = fitted(rows, n_questions=2, must=["c"], together=["c", "c = 1", "d"])
    assert {one.column for one in card.card_.questions} == {"c", "d"}
    with pytest.raises(InputError, match="which never excludes"):
        fitted(rows, n_questions=2, never="c = 1", must="c = 1")


@pytest.mark.parametrize(
    "given, times", [({"b": 3, "g": 0.5}, (3, 0.5)), ({"g": 2}, (1, 2)), ("balanced", None)], ids=str
)
def test_a_class_weight_multiplies_the_weights_of_its_rows(given, times):
    rows = oracle.drawn(3, "whole", n=40)
    if times is None:
        times = [rows.weight.sum() / 2 / rows.weight[rows.y == side].sum() for side in (0, 1)]
    asked = dict(n_questions=2, points=2, validation=None, cut="top 40%", stat="precision@8")
    own = Scorecard(**asked, class_weight=given, pos_label="g")
    own.fit(rows.X, np.where(rows.y, "g", "b"), sample_weight=rows.weight)
    plain = Scorecard(**asked).fit(rows.X, rows.y, sample_weight=rows.weight * np.where(rows.y, times[1], times[0]))
    assert own.card_ == plain.card_ and own.result_.value == plain.result_.value == float(own.verify().value)
    with pytest.raises(InputError, match="give numbers for the labels b and g, 'balanced' or None"):
        own.set_params(class_weight={"x": 1}).fit(rows.X, np.where(rows.y, "g", "b"))
