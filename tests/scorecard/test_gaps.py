"""Gaps, codes for gaps, groups of levels and ranges: what is asked, and what a card of it gives each row."""

import json
import shlex
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from rerank.scorecard import Card, Question, Scorecard
from tests.cases.refuses import refuses
from tests.cli.commands import run
from tests.scorecard.oracle import pools, wilson

CODE = 999999.0


def applicants(seed, n=400):
    """Numbers with gaps that are as risky as high values, a text of six levels of which three are risky, and an age
    whose middle is.
    """
    rng = np.random.default_rng(seed)
    lab = rng.normal(size=n).round(2)
    gap = rng.random(n) < 0.3
    frame = pd.DataFrame(
        {"lab": np.where(gap, np.nan, lab), "reg": rng.choice(list("ABCDEF"), n), "age": rng.integers(18, 80, n)}
    )
    frame.loc[::37, "reg"] = None
    risk = np.where(gap, 2.0, 2 * lab) + 1.5 * frame["reg"].isin(["B", "D", "F"]) + 1.5 * frame["age"].between(30, 54)
    return frame, (risk + rng.normal(size=n) > 2.5).to_numpy().astype(int)


def answer(question, value):
    """The answer of one value, in plain Python."""
    if value is None or value != value:
        return question.sign == "is missing"
    if question.sign in ("is missing", "in", "within", "="):
        if question.sign == "within":
            return question.value[0] <= value < question.value[1]
        return value in question.value if question.sign == "in" else value == question.value
    return value >= question.value if question.sign == ">=" else value < question.value


def answers(questions, frame, special=()):
    """Answers (questions, n), in plain Python."""
    codes = {one.column: one.value for one in special}
    columns = {name: frame[name].astype(object).tolist() for name in frame}
    return np.array(
        [
            [answer(one, None if own in codes.get(one.column, ()) else own) for own in columns[one.column]]
            for one in questions
        ]
    )


def rises_or_falls(asked):
    """Whether points of questions, the gaps' aside, have one sign, and rise or fall with the values of each column."""
    for name in {question.column for question, _ in asked}:
        own = [(question, points) for question, points in asked if question.column == name]
        if len({points > 0 for _, points in own}) > 1:
            return False
        if name != "reg":
            at = [sum(p for q, p in own if answer(q, value)) for value in np.linspace(-9, 99, 500).tolist()]
            if sorted(at) not in (at, at[::-1]):
                return False
    return True


def best(questions, yes, y, points, keeps):
    """The largest AUC of all cards of one and two questions."""
    found, every = {}, [own for own in range(-2, 3) if own] if points is None else range(1, 4)
    for size in (1, 2):
        for members in combinations(range(len(questions)), size):
            for own in product(every, repeat=size):
                if keeps([(questions[j], p) for j, p in zip(members, own)]):
                    total = np.array(own) @ yes[list(members)]
                    found.setdefault(np.unique(total, return_inverse=True)[1].tobytes(), total)
    above = [np.sign(total[y == 1][:, None] - total[y == 0]) for total in found.values()]
    return max(float((1 + one).mean()) / 2 for one in above)


KINDS = [
    {},
    {"both_ways": False},
    {"both_ways": True},
    {"groups": True, "ranges": True, "min_rows": 0.2, "points": (1, 3)},
    {"one_per_column": "monotone", "groups": True, "ranges": True},
    {"special": {"lab": [CODE], "reg": ["E"]}, "groups": True},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_card_is_the_best_and_the_same_in_every_form(options, tmp_path):
    frame, other = applicants(3, 90)[0], applicants(5)[0]
    y = applicants(3, 90)[1]
    if "special" in options:
        frame, other = (one.fillna({"lab": CODE}) for one in (frame, other))
    asked = {"n_questions": 2, "points": 2, "thresholds": 2, "validation": None, **options}
    est = Scorecard(**asked).fit(frame, y)
    codes = [Question(name, "in", tuple(own)) for name, own in options.get("special", {}).items()]
    yes = answers(est.questions_, frame, codes)
    assert (yes.sum(axis=1) >= (18 if options.get("min_rows") else 1)).all() and len(set(map(bytes, yes))) == len(yes)
    keeps = rises_or_falls if "one_per_column" in options else lambda asked: True
    wanted = best(est.questions_, yes, y, options.get("points"), keeps)
    assert est.result_.value == pytest.approx(wanted, abs=1e-12) and float(est.verify().value) == est.result_.value
    est.card_.save(tmp_path / "card.json", est.result_)
    read, points = Card.of(tmp_path / "card.json"), np.array(est.card_.points)
    again = points @ answers(read.questions, other, read.special)
    assert read == est.card_ and again.tolist() == read.total(other).tolist() == est.total(other).tolist()
    other.to_csv(tmp_path / "rows.csv", index=False)
    run("card", "apply", tmp_path / "card.json", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["total"].tolist() == again.tolist()


def test_a_gap_sides_with_neither():
    """Gaps that are risky like high values, and codes for them: the best single question has them beside these."""
    frame, y = applicants(1)
    card = {
        own: Scorecard(n_questions=1, validation=None, both_ways=own).fit(frame[["lab"]], y) for own in (False, "gaps")
    }
    assert card["gaps"].result_.value > card[False].result_.value + 0.05
    assert card["gaps"].card_.questions[0].sign == "<" and card["gaps"].card_.points[0] < 0
    coded = frame[["lab"]].fillna(CODE)
    told = Scorecard(n_questions=2, validation=None).fit(coded.assign(age=frame["age"]), y).result_.notes
    assert len(told) == 1 and "'lab' holds 999999 in" in told[0] and "special={'lab': [999999]}" in told[0]
    special = Scorecard(n_questions=1, validation=None, special={"lab": [999999]}).fit(coded, y)
    assert special.result_.value == card["gaps"].result_.value and not special.result_.notes


def test_what_is_new_when_a_card_is_applied_is_said_once_with_its_rows(tmp_path):
    frame, y = applicants(2)
    frame.assign(y=y).to_csv(tmp_path / "old.csv", index=False)
    frame.head(30).assign(reg=["Z"] * 3 + ["A"] * 27, age=[None] + [20] * 29).to_csv(tmp_path / "new.csv", index=False)
    card, where = tmp_path / "card.json", ("--label", "y", "--must", "reg", "--must", "age", "--validation", "none")
    run("card", "fit", tmp_path / "old.csv", "-o", card, *where, "--groups", "--questions", 2)
    said = run("card", "apply", card, tmp_path / "new.csv").stderr
    assert said.count("levels that the rows of the fit did not have, 'Z', in 3 rows (0, 1, 2)") == 1
    assert said.count("Rows that miss a value the card asks for: 1 (0)") == 1
    rows, own = [[20.0, 1.0], [np.nan, 2.0]], Card.of({"x0 >= 18": 1})  # without names, as for a total
    assert own.gaps(rows) == 1 and "asks for: 1 (b)" in own.told(rows, {}, "ab")[0]


def test_files_of_earlier_schemas_ask_as_they_did(tmp_path):
    frame, y = applicants(4)
    est = Scorecard(n_questions=2, points=2, both_ways=False, validation=None).fit(frame, y)
    body = json.loads(est.card_.to_json(est.result_))
    del body["digest"]
    for total, (p, q) in zip(body["totals"], pools(est.card_.totals)):
        total["low"], total["high"] = wilson(p / (p + q), p + q)
    body["fit"].pop("levels", None)
    gone = ("both_ways", "ranges", "groups", "min_rows", "special", "max_total", "class_weight")
    body["fit"]["asked"] = {name: own for name, own in body["fit"]["asked"].items() if name not in gone}
    (tmp_path / "card.json").write_text(json.dumps({**body, "schema": 2}))
    frame.assign(y=y).to_csv(tmp_path / "old.csv", index=False)
    assert (Card.of(tmp_path / "card.json").total(frame) == est.total(frame)).all()
    told = run("verify", tmp_path / "card.json", tmp_path / "old.csv", "--label", "y", code=None)
    assert "no allowed card has more" in told.stdout, told.stdout


def test_options_of_a_command_reach_the_fit(tmp_path):
    frame, y = applicants(6)
    frame.fillna({"lab": CODE}).assign(y=np.where(y, "bad", "good")).to_csv(tmp_path / "a.csv", index=False)
    more = """--special lab=999999 --min-rows 20 --ranges --groups --monotone --max-total 4 --class-weight bad=3
        --pos-label bad --validation none --label y"""
    card = tmp_path / "c.json"
    run("card", "fit", tmp_path / "a.csv", "-o", card, *shlex.split(more))
    est = Scorecard(
        special={"lab": [CODE]},
        min_rows=20,
        ranges=True,
        groups=True,
        one_per_column="monotone",
        max_total=4,
        class_weight={1: 3},
        validation=None,
    ).fit(frame.fillna({"lab": CODE}), y)
    assert Card.of(card) == est.card_


@pytest.mark.parametrize(
    "options, said",
    [
        ({"special": [3]}, "special is .*; give a mapping of columns to codes"),
        ({"special": {"labs": [3]}}, "special names the column 'labs', and the nearest of X is 'lab'"),
        ({"both_ways": "up"}, "both_ways is 'up'; it must be True, False or 'gaps'"),
        ({"min_rows": 399}, "X gives no question"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(options, said):
    refuses(said, Scorecard(validation=None, **options).fit, *applicants(1))
