"""A card in other languages gives the totals of the card: SQL, Python, formulas and Markdown, each read by another."""

import math
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from rerank.errors import InputError
from rerank.scorecard import Card, Question
from tests.cases.refuses import refuses
from tests.scorecard.export_cases import cards, table
from tests.scorecard.export_cases import sheet as sheet

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def rows_of(frame):
    """Rows as lists of plain values, None where one is missing."""
    columns = [[None if missing(value) else value for value in frame[name].astype(object)] for name in frame.columns]
    plain = [[bool(value) if isinstance(value, np.bool_) else value for value in column] for column in columns]
    return list(zip(*plain))


FRAME = table()
ROWS = rows_of(FRAME)


@pytest.fixture(scope="module")
def database():
    kinds = {"age": "REAL", "select": "REAL", "flag": "INTEGER", "maybe": "INTEGER"}
    name = '"a ""table"" of \'rows\'"'
    with sqlite3.connect(":memory:") as base:
        columns = ('"' + column.replace('"', '""') + '" ' + kinds.get(column, "TEXT") for column in FRAME.columns)
        base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * FRAME.shape[1])})", ROWS)
        yield base, "a \"table\" of 'rows'", name


def of_database(database, card):
    base, name, quoted = database
    plain = base.execute(f"SELECT {card.to_sql()} FROM {quoted} ORDER BY rowid").fetchall()
    named = base.execute(f"SELECT {card.to_sql(name)} FROM {quoted} ORDER BY rowid").fetchall()
    assert plain == named
    return [total for (total,) in plain]


@few
@given(cards())
def test_sqlite_gives_the_totals_of_the_card(database, card):
    assert of_database(database, card) == card.total(FRAME).tolist()


def test_sql_has_no_word_for_truth_and_no_nul():
    refuses("ask flag = 1", Card.of({"flag = True": 1}).to_sql)
    for card in (Card.of([(Question("a\0", ">=", 1), 1)]), Card.of([(Question("a", "=", "\ud800"), 1)])):
        refuses("no text of SQL", card.to_sql)


def of_python(card, rows):
    space = {}
    exec(card.to_python(), space)
    assert "import" not in card.to_python() or any("import" in str(one) for one in card.questions)
    return [space["total"](row) for row in rows]


@few
@given(cards())
def test_python_gives_the_totals_of_the_card(card):
    names = list(FRAME.columns)
    filled = [dict(zip(names, row)) for row in ROWS]
    without = [{name: value for name, value in row.items() if value is not None} for row in filled]
    with_nan = [{name: math.nan if value is None else value for name, value in row.items()} for row in filled]
    for rows in (filled, without, with_nan):
        assert of_python(card, rows) == card.total(FRAME).tolist()


def test_a_function_compares_no_text_with_a_number():
    with pytest.raises(TypeError):
        of_python(Card.of({"age >= 60": 3}), [{"age": "61"}])


@settings(few, max_examples=15)
@given(cards())
def test_a_formula_gives_the_totals_of_the_card(sheet, card):
    used = list(dict.fromkeys(one.column for one in card.questions))
    places = [list(FRAME.columns).index(name) for name in used]
    rows = [[row[place] for place in places] for row in ROWS]
    assert sheet(card.to_formula(), [f"{letter}2" for letter in "ABCDEFGH"], rows) == card.total(FRAME).tolist()


def test_a_formula_reads_the_cells_that_it_is_told(sheet):
    card = Card.of({"age >= 60": 1, "sex = male": 2})
    rows = [(61, "male"), (59, "male"), (60, "Male")]
    for columns, cells in (
        (["id", "sex", "age"], ["C9", "B9"]),
        ({"age": "$AB$12", "sex": "D3"}, ["AB12", "D3"]),
        ([f"x{k}" for k in range(700)] + ["age", "sex"], ["ZY9", "ZZ9"]),
    ):
        assert sheet(card.to_formula(columns, row=9), cells, rows) == [3, 2, 1]


def test_a_text_where_a_formula_compares_numbers_is_an_error_of_the_sheet(sheet):
    formula = Card.of({"age >= 60": 3}).to_formula()
    assert sheet(formula, ["A2"], [("61",), ("",)]) == [3, 0]
    with pytest.raises((ValueError, TypeError)):
        sheet(formula, ["A2"], [("old",)])


def test_a_formula_holds_no_line_end_and_no_long_text(sheet):
    texts = ["line\nend", "tab\there", '"' * 200, "x" * 300]
    card = Card(tuple(Question("a", "=", text) for text in texts), (1, 2, 4, 8))
    formula = card.to_formula()
    literals = re.findall(r'"((?:[^"]|"")*)"', formula)
    assert formula.isprintable() and max(map(len, literals)) <= 255 and "x" * 128 not in formula
    assert sheet(formula, ["A2"], [(text,) for text in texts]) == [1, 2, 4, 8]


def test_a_formula_needs_a_cell_for_each_column():
    card = Card.of({"age >= 60": 3})
    for columns, said in (
        ({"ages": "B2"}, "nearest column that has is 'ages'"),
        ({}, "'none'"),
        ({"age": "2B"}, "is no cell"),
        ({"age": "A1)+(B1"}, "is no cell"),
        ("age", "is the text"),
    ):
        refuses(said.replace("(", r"\("), card.to_formula, columns)
    refuses("row", card.to_formula, ["age"], row=0)
    with pytest.raises(InputError, match="takes? 8192|take 8192"):
        Card(tuple(Question("a", "=", f"{k}" * 300) for k in range(40)), (1,) * 40).to_formula()


def tables_of(text):
    """Cells of each table of a page in Markdown, as its reader sees them."""
    found, inside = [], False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        inside = (inside or token.type == "table_open") and token.type != "table_close"
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "text_special"}, token.content
            if inside:
                found[-1][-1].append("".join(child.content for child in token.children))
    return found


@few
@given(cards())
def test_markdown_shows_questions_and_points_and_no_markup(card):
    (head, *lines), *others = tables_of(card.to_markdown())
    assert head == ["question", "points"] and others == []
    read = Card.of([(question, int(points)) for question, points in lines], list(FRAME.columns))
    read = replace(read, special=card.special)  # they stand below the table
    assert read.points == card.points and read.total(FRAME).tolist() == card.total(FRAME).tolist()


def test_markdown_has_the_risks_and_the_cuts_of_a_card_that_was_fitted():
    card = Card.of({"age >= 1": 2}).with_totals(
        np.array([2, 2, 0, 0]), np.array([1.0, 1, 0, 1]), np.array([0.0, 0, 1, 0])
    )
    _, risks, cuts = tables_of(card.to_markdown())
    assert [row[:3] for row in risks] == [["total", "rows", "relevant"], ["2", "2", "2"], ["0", "2", "1"]]
    assert cuts[0][0] == "flagged from" and {row[0] for row in cuts[1:]} <= {"2", "0"}


@few
@given(cards())
def test_a_question_reads_back_from_its_text(card):
    for columns in ((), list(FRAME.columns)):
        assert tuple(Question.read(str(one), columns) for one in card.questions) == card.questions


def test_points_of_zero_are_left_out_and_a_card_of_them_is_0(database, sheet):
    card = Card.of({"age >= 60": 0, "select >= 60": 3})
    assert "age" not in card.to_sql() and "age" not in card.to_python() and "A2" not in card.to_formula()
    nothing = Card.of({"age >= 60": 0})
    assert of_database(database, nothing) == [0] * len(ROWS) == of_python(nothing, [{}] * len(ROWS))
    assert nothing.to_formula() == "=0"


@pytest.mark.parametrize("cut", [None, 2])
def test_a_workbook_has_totals_risks_and_flags_of_the_card(tmp_path, cut):
    """Its formulas computed anew by an evaluator of Excel's language."""
    formulas = pytest.importorskip("formulas")
    asked = {"age >= 60": 3, "0 <= select < 61": -2, "Größe ≥ 3 in 'male', O'Brien": 1, "=1+1 = x": 5}
    frame = FRAME.head(9)[["age", "select", "Größe ≥ 3"]].assign(**{"=1+1": ["x", "=1+1", None] * 3})
    card = Card.of([(Question.read(one, list(frame)), own) for one, own in asked.items()])
    total = card.total(frame)
    card = replace(card.with_totals(total, np.arange(9) % 2 * 1.0, np.arange(1, 10) % 2 * 1.0), cut=cut)
    card.to_excel(tmp_path / "card.xlsx", frame)
    model = formulas.ExcelModel().loads(str(tmp_path / "card.xlsx")).finish(circular=False).calculate()
    cells = {str(name).rpartition("!")[2].strip("'"): own for name, own in model.items() if "]ROWS" in str(name)}
    found = np.array([[cells[f"{place}{row}"].value[0, 0] for place in "EFG"] for row in range(2, 11)], np.float64)
    assert found[:, 0].tolist() == total.tolist() and found[:, 2].tolist() == card.flags(total).tolist()
    np.testing.assert_allclose(found[:, 1], card.risk(total), rtol=1e-14)
    card.to_excel(tmp_path / "empty.xlsx")
    refuses("names no workbook", card.to_excel, tmp_path / "card.xls")
    refuses("has no column 'select'", card.to_excel, tmp_path / "card.xlsx", frame[["age"]])
