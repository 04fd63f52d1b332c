"""Questions of tables of every kind, and their answers."""

import datetime
import math
from operator import eq, ge, lt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError, LeakWarning
from rerank.scorecard import Card, Question, Scorecard
from tests.cases.examples import SEEDS, examples

pd = pytest.importorskip("pandas")

N = 30
Y = np.arange(N) % 4 < 2
NUMBERS = [None if i % 7 == 3 else float(i * i % 23) for i in range(N)]
WORDS = [None if i % 5 == 2 else "north" if i % 3 == 0 else "south" for i in range(N)]
TRUTH = [i % 4 == 1 for i in range(N)]


def arrow():
    return pytest.importorskip("pyarrow").table({"n": NUMBERS, "w": WORDS, "t": TRUTH})


def polars():
    return pytest.importorskip("polars").DataFrame({"n": NUMBERS, "w": WORDS, "t": TRUTH})


PANDAS = {"n": NUMBERS, "w": WORDS, "t": TRUTH}
TABLES = {
    "pandas": lambda: pd.DataFrame(PANDAS),
    "objects": lambda: pd.DataFrame(PANDAS, dtype=object),
    "nullable": lambda: pd.DataFrame(PANDAS).astype({"n": "Float64", "w": "string", "t": "boolean"}),
    "categories": lambda: pd.DataFrame(PANDAS).astype({"w": "category"}),
    "NA and NaN": lambda: pd.DataFrame(
        {
            "n": [math.nan if one is None else one for one in NUMBERS],
            "w": pd.Series([pd.NA if one is None else one for one in WORDS], dtype=object),
            "t": TRUTH,
        }
    ),
    "polars": polars,
    "polars categories": lambda: polars().cast({"w": pytest.importorskip("polars").Categorical}),
    "arrow": arrow,
    "arrow in pandas": lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "arrow categories": lambda: arrow().set_column(1, "w", arrow()["w"].dictionary_encode()),
}


@pytest.mark.parametrize("kind", TABLES)
def test_questions_and_answers_do_not_depend_on_the_package(kind):
    table = TABLES[kind]()
    card = Scorecard(n_questions=2, validation=None).fit(table, Y)
    plain = Scorecard(n_questions=2, validation=None).fit(TABLES["pandas"](), Y)
    assert list(map(str, card.questions_)) == list(map(str, plain.questions_)) and not card.left_out_
    assert {str(one) for one in card.questions_} >= {"n is missing", "w = north", "w = south", "w is missing", "t = 1"}
    assert str(card.card_) == str(plain.card_)
    for question in card.questions_:
        value = {"n": NUMBERS, "w": WORDS, "t": TRUTH}[question.column]
        wanted = [
            one is None
            if question.sign == "is missing"
            else one is not None and {">=": ge, "<": lt, "=": eq}[question.sign](one, question.value)
            for one in value
        ]
        assert question.answers(table).tolist() == wanted
    assert (card.predict(table) == plain.predict(TABLES["pandas"]())).all()


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(
        st.floats(-1e12, 1e12, allow_subnormal=False) | st.integers(-50, 50).map(float) | st.just(math.nan),
        min_size=12,
        max_size=60,
    ),
    many=st.integers(1, 9),
)
def test_thresholds_are_round_numbers_in_gaps_of_the_data(values, many):
    column = np.array(values)
    y = np.arange(len(values)) % 2
    levels = np.unique(column[~np.isnan(column)])
    if len(levels) < 11:
        return
    card = Scorecard(n_questions=1, thresholds=many, validation=None).fit(column[:, None], y)
    cuts = [one.value for one in card.questions_ if one.sign == ">="]
    assert 1 <= len(cuts) <= many
    seen = np.sort(column[~np.isnan(column)])
    below = {levels[levels < cut].max() for cut in cuts}
    quantiles = seen[(np.arange(1, many + 1) / (many + 1) * (len(seen) - 1)).astype(int)]
    assert below == set(quantiles.tolist()) - {levels[-1]}
    for cut in cuts:
        low, high = levels[levels < cut].max(), levels[levels >= cut].min()
        assert low < cut <= high
        # No number of fewer digits lies in the gap.
        digits = len(repr(cut).split("e")[0].strip("-0.").replace(".", "").rstrip("0"))
        shorter = [float(f"{one:.{digits - 2}e}") for one in (low, high, (low + high) / 2)] if digits > 1 else []
        assert not any(low < one <= high for one in shorter)
    assert ("x0 is missing" in map(str, card.questions_)) == bool(np.isnan(column).any())


@pytest.mark.parametrize(
    "options, column, wanted",
    [
        ({}, [0, 1] * 10, ["x = 1"]),
        ({}, [3, 7] * 10, ["x = 7"]),
        ({}, [1, 2, 3, 4] * 5, ["x >= 2", "x >= 3", "x >= 4"]),
        ({"max_levels": 3}, [1, 2, 3, 4] * 5, ["x >= 2", "x >= 3", "x >= 4"]),
        ({"max_levels": 3, "thresholds": 1}, [1, 2, 3, 4] * 5, ["x >= 3"]),
        ({"thresholds": {"x": [2.5, 1.5, 99]}}, [1, 2, 3, 4] * 5, ["x >= 1.5", "x >= 2.5"]),
        ({"thresholds": 0}, list(range(20)), []),
        ({}, ["a", "b"] * 10, ["x = a"]),  # b is asked by no
        ({}, ["a", "b", "c", "c"] * 5, ["x = a", "x = b", "x = c"]),
        ({}, ["1", "2", "2", "1"] * 5, 1),
        ({}, [True, False] * 10, ["x = 1"]),
    ],
    ids=str,
)
def test_questions_of_a_column(options, column, wanted):
    y = np.arange(20) % 3 == 1
    table = pd.DataFrame({"x": column, "other": np.arange(20) % 7 < 3})
    card = Scorecard(n_questions=1, validation=None, **options).fit(table, y)
    found = [str(one) for one in card.questions_ if one.column == "x"]
    if isinstance(column[0], str):
        # Of two levels one question is the other one's no, and both stay: their signs differ.
        assert {one.split(" = ")[1].strip("'") for one in found} == set(column)
    else:
        assert found == wanted


def test_columns_without_questions_are_named_with_a_reason():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(N)]
    table = pd.DataFrame(
        {
            "date": days,
            "time": pd.to_datetime(days),
            "zone": pd.to_datetime(days).tz_localize("UTC"),
            "wait": pd.to_timedelta(range(N), unit="D"),
            "same": 3,
            "word": "w",
            "empty": [None] * N,
            "name": [f"n{i}" for i in range(N)],
            "list": [[i] for i in range(N)],
            "n": range(N),
            "twin": range(N),
        }
    )
    card = Scorecard(n_questions=1, validation=None).fit(table, Y)
    assert {one.column for one in card.questions_} == {"n"}
    assert set(card.left_out_) == set(table) - {"n"}
    for names, reason in (
        (("date", "time", "zone", "wait"), "dates; give them as numbers, such as days since the first of them"),
        (("same", "word"), "constant"),
        (("empty",), "no value"),
        (("name",), "nearly a text for each row"),
        (("list",), "no numbers or texts"),
        (("twin",), "columns before it"),
    ):
        assert all(reason in card.left_out_[name] for name in names)
    with pytest.raises(InputError, match=r"X gives no question .*'same': constant.*; give a column that varies"):
        Scorecard().fit(table[["same", "word"]], Y)
    with pytest.raises(InputError, match="Column 'n' holds inf; give finite numbers, or leave the entry empty"):
        Scorecard().fit(table.assign(n=[math.inf] + [1.0] * (N - 1)), Y)


def test_rare_texts_give_no_question_and_unseen_ones_answer_no():
    words = ["often"] * 400 + ["less"] * 190 + ["rare"] * 9 + ["once"]
    y = np.arange(600) % 2
    table = pd.DataFrame({"w": words})
    card = Scorecard(n_questions=2, validation=None).fit(table, y)
    assert {str(one) for one in card.questions_} == {"w = often", "w = less"}
    other = pd.DataFrame({"w": ["new", None, "often"]})
    assert card.total(other).tolist() == [
        0,
        0,
        dict(zip(map(str, card.card_.questions), card.card_.points)).get("w = often", 0),
    ]


def test_a_table_needs_the_columns_of_the_card_and_no_others():
    card = Scorecard(n_questions=1, validation=None).fit(TABLES["pandas"](), Y)
    (question,) = card.card_.questions
    own = TABLES["pandas"]()[[question.column]]
    assert (card.total(own.assign(more=1)) == card.total(TABLES["pandas"]())).all()
    with pytest.raises(
        InputError, match=f"X has no column '{question.column}', which the card asks about; the nearest is"
    ):
        card.predict(own.rename(columns={question.column: "other"}))
    with pytest.raises(InputError, match="Column 'a' holds texts, and the card asks whether a >= 1; give numbers"):
        Card((Question("a", ">=", 1),), (1,)).total(pd.DataFrame({"a": ["x", "y"]}))
    gaps = pd.DataFrame({"a": [None, math.nan, 2.0]})
    for sign, wanted in ((">=", [0, 0, 1]), ("<", [0, 0, 0]), ("is missing", [1, 1, 0])):
        assert Card((Question("a", sign, 1),), (1,)).total(gaps).tolist() == wanted


@pytest.mark.parametrize("given", [("a", "=>", 1), ("a", ">=", "x"), ("a", ">=", None), ("a", "=", math.nan)], ids=str)
def test_what_is_no_question_is_refused(given):
    with pytest.raises(InputError):
        Question(*given)


@examples(15, SEEDS)
def test_points_of_one_sign_ask_both_ways_and_lose_nothing(seed):
    """Where no value is missing, points below 0 of a question are points above 0 of its opposite."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, 40), rng.integers(0, 4, 40), rng.normal(size=40).round(1)])
    y = rng.random(40) < 1 / (1 + np.exp(X[:, 2] - X[:, 0]))
    y[:2] = 0, 1
    either, above = (Scorecard(n_questions=2, points=own, validation=None).fit(X, y) for own in (3, (1, 3)))
    assert above.result_.value == either.result_.value and min(above.card_.points) > 0
    assert {question.sign for question in above.questions_} == {">=", "<", "="}


def test_a_saved_index_is_no_question_and_a_copy_of_the_label_is_named(tmp_path):
    table = pd.DataFrame({"Unnamed: 0": range(N), "a": np.arange(N) * 7 % 11, "again": np.where(Y, "y", "n")})
    with pytest.warns(LeakWarning, match="'again' is the label again"):
        card = Scorecard(n_questions=1, validation=None).fit(table, Y)
    assert {question.column for question in card.questions_} == {"a", "again"}
    assert card.predict(table).tolist() == Y.tolist()


def test_the_column_of_the_lists_gives_no_question_of_an_array():
    X = np.column_stack([np.arange(N) % 2, np.arange(N) % 5, np.arange(N) * 7 % 11]).astype(float)
    card = Scorecard("ndcg@3", n_questions=1, validation=None).fit(X, Y, qid="x0", people="x1")
    assert {question.column for question in card.questions_} == {"x2"}
    assert card.predict(X).shape == (N,) and card.verify().value == card.result_.value
