"""Files of cards: what is written reads back as it was, and what is no card is refused in one sentence."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rerank.errors import InputError
from rerank.scorecard import Card, Question, Scorecard
from tests.cases.refuses import refuses
from tests.scorecard.export_cases import cards, table

few = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FRAME = table()


def fitted():
    rng = np.random.default_rng(3)
    total = rng.integers(-4, 9, 200)
    relevant = (rng.random(200) < (total + 5) / 15).astype(float) * 0.1
    plain = Card((Question("age", ">=", 60.0), Question("sex", "=", "male")), (3, -2), cut=4)
    return plain.with_totals(total, relevant, 0.1 - relevant)


@few
@given(cards())
def test_a_card_reads_back_from_its_files(tmp_path, card):
    card.save(tmp_path / "card.json")
    assert Card.of(tmp_path / "card.json") == card == Card.of(str(tmp_path / "card.json"), ["other"])
    if card.special:
        refuses("which CSV does not hold; write a .json", card.save, tmp_path / "card.csv")
        card = replace(card, special=())
    card.save(tmp_path / "card.csv")
    for columns in ((), list(FRAME.columns)):
        read = Card.of(tmp_path / "card.csv", columns)
        assert read == card


def test_a_fitted_card_keeps_every_bit_of_its_risks_and_its_cut(tmp_path):
    card = fitted()
    card.save(tmp_path / "card.json")
    assert (tmp_path / "card.json").read_text() == card.to_json()
    read = Card.of(tmp_path / "card.json")
    assert read == card and str(read) == str(card) and len(read.totals) > 5
    everything = np.arange(-9, 12)
    np.testing.assert_array_equal(read.risk(everything), card.risk(everything))
    np.testing.assert_array_equal(read.flags(everything), card.flags(everything))


def test_the_fit_is_beside_the_card_for_people(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    est = Scorecard(n_questions=2, points=2, validation=3).fit(X, X[:, 0] + rng.normal(size=80) > 0)
    est.card_.save(tmp_path / "card.json", est.result_)
    fit = json.loads((tmp_path / "card.json").read_text())["fit"]
    asked = fit.pop("asked")
    assert asked["n_questions"] == 2 and asked["points"] == [-2, -1, 1, 2] and asked["columns"] == ["x0", "x1", "x2"]
    assert fit == {
        "statistic": "auc",
        "value": est.result_.value,
        "bound": est.result_.bound,
        "status": "optimal",
        "corrected": est.result_.corrected,
    }
    assert Card.of(tmp_path / "card.json") == est.card_


def test_a_csv_of_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "card.csv"
    path.write_bytes(
        b'\xef\xbb\xbfQuestion, points\r\n age >= 60 ,+3\r\n\r\n"sex = a, b",-2\r\nincome is missing, 1\r\n'
    )
    card = Card.of(path)
    assert card == Card.of({"age >= 60": 3, "sex = a, b": -2, "income is missing": 1})


def test_a_spreadsheet_takes_no_question_for_a_formula(tmp_path):
    card = Card((Question("=SUM(A1)", ">=", 3.0), Question("-x", "is missing"), Question("@a", "=", "b")), (1, 2, 3))
    lines = card.to_csv().splitlines()
    assert all(line[0] in "'\"" for line in lines[1:])
    card.save(tmp_path / "card.csv")
    assert Card.of(tmp_path / "card.csv") == card


@pytest.mark.parametrize("text", ["a\rb", "a\0b", "\udc80"])
def test_a_text_that_csv_loses_is_kept_by_json(tmp_path, text):
    card = Card((Question("a", "=", text),), (1,))
    refuses("CSV loses", card.save, tmp_path / "card.csv")
    card.save(tmp_path / "card.json")
    assert Card.of(tmp_path / "card.json") == card


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with nothing"),
        ("question;points\nage >= 60;3\n", "the first line of a card is question,points"),
        ("question,points\nage >= 60\n", "line 2: there are 1 cells; give a question and its points"),
        ("question,points\nage >= 60,3.5\n", "line 2: the points are '3.5'; give a whole number"),
        ("question,points\nage >= 60,12345678\n", "line 2: the points are '12345678'"),
        ("question,points\nage >= 60,2000000\n", "must be a whole number, from -1000000 to 1000000"),
        ("question,points\nage >= old,3\n", "line 2: The question 'age' >= 'old' compares with no number"),
        ("question,points\nage >= 60,3\nage >= 60.0,3\n", "line 3: the question 'age >= 60' is there twice"),
        ("question,points\n" + "x" * 10_001 + " >= 1,3\n", "more than 1000 questions of 10000 signs"),
        ("question,points\n" + "".join(f"a >= {k},1\n" for k in range(1001)), "line 1002: the card has more than"),
        ('question,points\n"age >= 60,3\n', "the line is not CSV"),
        ("question,points\nage >= 60,٣\n", "the points are"),
    ],
)
def test_what_is_no_card_in_csv(tmp_path, text, said):
    (tmp_path / "card.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)) as error:
        Card.of(tmp_path / "card.csv")
    assert "\n" not in str(error.value)


def changed(**new):
    def change(body):
        return {**body, **new}

    return change


def deeper(name, place, **new):
    def change(body):
        own = list(body[name])
        own[place] = {**own[place], **new}
        return {**body, name: own}

    return change


def without(name):
    return lambda body: {key: value for key, value in body.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: [body], "it does not say that its format is"),
        (changed(format="exact-rerank model"), "it does not say that its format is"),
        (changed(schema=5), "its schema is '5', and 1 to 4 are read"),
        (changed(pooled=1), "whether intervals are those of pools is neither true nor false"),
        (changed(schema=True), "its schema is 'True'"),
        (without("cut"), "the card lacks 'cut'"),
        (changed(extra=1), "the card has 'extra', which no card has"),
        (changed(questions={}), "questions is no list"),
        (changed(questions=[]), "has 0 questions"),
        (changed(questions=[3]), "question 1 is no object"),
        (lambda body: changed(questions=body["questions"] * 501)(body), "questions is no list of at most 1000"),
        (lambda body: changed(questions=body["questions"] * 2)(body), "question 3 is there twice"),
        (deeper("questions", 0, more=1), "question 1 has 'more'"),
        (deeper("questions", 0, column=3), "the column of question 1 is no text"),
        (deeper("questions", 0, column="x" * 10_001), "is no text of at most 10000"),
        (deeper("questions", 0, sign="~"), "the sign '~'"),
        (deeper("questions", 0, value=True), "the value of question 1 is neither"),
        (deeper("questions", 0, value="60"), "compares with no number"),
        (deeper("questions", 0, value=10**400), "the value of question 1 is no finite number"),
        (deeper("questions", 1, sign="is missing"), "question 2 asks whether a value is missing"),
        (deeper("questions", 0, points=2.5), "the points of question 1 is no whole number"),
        (deeper("questions", 0, points=True), "the points of question 1 is no whole number"),
        (deeper("questions", 0, points=10**7), "the points of question 1 is no whole number"),
        (changed(cut=1.5), "the cut is no whole number"),
        (changed(totals=3), "totals is no list"),
        (deeper("totals", 0, total=1.5), "total 1 is no whole number"),
        (deeper("totals", 0, risk="high"), "risk of total 1 is no finite number"),
        (deeper("totals", 0, risk=1.5), "shares are from 0 to 1"),
        (deeper("totals", 0, low=0.9, high=0.1), "shares are from 0 to 1"),
        (deeper("totals", 0, relevant=-1), "counts are not negative"),
        (deeper("totals", 0, relevant=0, other=0), "one is above 0"),
        (deeper("totals", 1, total=99), "do not fall"),
        (changed(fit={}), "fit lacks 'statistic'"),
        (changed(fit=dict(statistic="auc", value="1", bound=1, status="optimal", corrected=None)), "value of the fit"),
        (changed(fit=dict(statistic="auc", value=1, bound=1, status="proved", corrected=None)), "the status of the"),
        (changed(fit=dict(statistic=1, value=1, bound=1, status="optimal", corrected=None)), "the statistic of"),
    ],
)
def test_what_is_no_card_in_json(tmp_path, change, said):
    body = json.loads(fitted().to_json())
    del body["digest"]
    body = change(body)
    (tmp_path / "card.json").write_text(json.dumps(body))
    with pytest.raises(InputError, match=re.escape(said)) as error:
        Card.of(tmp_path / "card.json")
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_changed_file_is_refused_unless_its_digest_goes_and_earlier_files_have_none(tmp_path):
    body = json.loads(fitted().to_json())
    body["questions"][0]["points"] = 5
    path = tmp_path / "card.json"
    path.write_text(json.dumps(body))
    refuses("the digest does not match", Card.of, path)
    del body["digest"]
    for schema in (1, 2, 3, 4):
        path.write_text(json.dumps({**body, "schema": schema}))
        assert Card.of(path).points == (5, -2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"cut": 4', '"cut": NaN', "NaN is not a JSON number"),
        ('"cut": 4', '"cut": 1e999', "the cut is no whole number"),
        ('"cut": 4', '"cut": 4, "cut": 5', "the name 'cut' appears twice"),
        ('"cut": 4', '"cut": ' + "[" * 100_000 + "]" * 100_000, "too deeply nested"),
        ('"cut": 4', '"cut": 4' + "," * (2**22 + 1), "parts, and at most"),
        ('"cut": 4', '"cut": 4' + " " * 9 * 2**20, "larger than"),
        ('"cut": 4', '"cut": 4,', "is no card"),
        ('"cut": 4', '"cut": ' + "9" * 5000, "is no card"),
    ],
)
def test_damaged_json_is_refused(tmp_path, old, new, said):
    text = fitted().to_json()
    assert text.count(old) == 1
    (tmp_path / "card.json").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=re.escape(said)) as error:
        Card.of(tmp_path / "card.json")
    assert len(str(error.value)) < 400


def test_what_cannot_be_read_or_written_is_said(tmp_path):
    (tmp_path / "a.json").mkdir()
    for act in (Card.of, fitted().save):
        refuses("folder", act, tmp_path / "a.json")
    (tmp_path / "b.csv").write_bytes(b"question,points\n" + b"a >= 1,1\n" * 10**6)
    (tmp_path / "c.json").write_bytes(b"\xff\xfe")
    for name, said in (("b.csv", "larger than"), ("c.json", "is no card"), ("none.json", "Cannot read")):
        refuses(said, Card.of, tmp_path / name)


@pytest.mark.parametrize(
    "question",
    [
        Question("a", "=", "1.0"),
        Question("a", "=", "nan"),
        Question("a", "=", ""),
        Question("a", "=", " x"),
        Question("a", "=", "'x'"),
        Question("a = b", "=", "c = d"),
        Question('"q"', ">=", 3.0),
        Question("a\nb", "is missing"),
        Question("a", "=", "x is missing"),
        Question("", "is missing"),
    ],
    ids=str,
)
def test_odd_questions_stand_in_quotes(question):
    assert Question.read(str(question)) == question == Question.read(str(question), [question.column, "b"])


def test_a_question_about_truth_is_asked_in_words():
    import pandas as pd

    for flag in ([True, False, True], pd.array([True, None, True], dtype="boolean"), [1, 0, 1]):
        frame = pd.DataFrame({"flag": flag, "word": ["True", "true", None]})
        assert Question.read("flag = True").answers(frame).tolist() == [True, False, True]
        assert Question.read("word = True").answers(frame).tolist() == [True, False, False]
    assert Question.read("flag = no").answers(frame).tolist() == [False] * 3
    assert Question.read("a == 3") == Question("a", "=", 3.0)
