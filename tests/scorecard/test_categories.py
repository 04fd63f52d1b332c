"""A category is known by the values of its levels, whatever type they have in files, with gaps, and in exports."""

import io
import sqlite3
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.scorecard import Card, Question, Scorecard
from rerank.scorers import TableLogistic
from rerank.scorers.encoding import TextLevels
from tests.scorecard.export_cases import sheet as sheet

pd = pytest.importorskip("pandas")

CODES = np.random.default_rng(3).integers(0, 4, 120)
Y = (np.random.default_rng(4).random(120) < 0.2 + 0.2 * CODES).astype(int)
GAPS = np.arange(120) % 9 == 4

LEVELS = {
    "whole": [1, 2, 5, 7],
    "large": [10**15, 2 * 10**15, 10**16, 3 * 10**17],
    "beyond doubles": [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3],
    "float": [1.0, 2.5, 0.1, 1e-7],
    "single": list(np.array([0.1, 0.7, 2.5, 3.0], dtype=np.float32)),
    "decimal": [Decimal("1.10"), Decimal("2"), Decimal("0.30"), Decimal("7.0")],
    "truth": [True, False, True, False],
    "texts": ["1.1", "1.10", "a", "b"],
    "digits": ["1", "2", "03", "3"],
    "texts and whole": ["x", 1, 2, 7],
    "texts and floats": ["x", 1.0, 2.5, 7.0],
    "texts and truth": ["perhaps", True, False, "never"],
}


def column(levels, gaps, dtype):
    values = np.array([levels[code] for code in CODES], dtype=object)
    values[GAPS & gaps] = None
    return pd.DataFrame({"g": pd.Series(values, dtype=object).astype(dtype)})


def worded(levels):
    return any(isinstance(one, str) for one in levels)


def forms(levels, gaps):
    """The same values as another program has them."""
    frame = column(levels, gaps, "category")
    csv = frame.to_csv(index=False)
    yield "text" if worded(levels) else "csv", pd.read_csv(io.StringIO(csv), dtype=str if worded(levels) else None)
    yield "object", column(levels, gaps, object)
    if not worded(levels) and max(levels) < 2**53:
        yield "decimal", column([Decimal(str(one * 1)) for one in levels], gaps, "category")
        yield "float with a gap", column(list(map(float, levels)), gaps, object).astype(float)
        yield "float category", column(list(map(float, levels)), gaps, object).astype(float).astype("category")


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", LEVELS)
def test_equal_values_have_equal_totals_and_scores(kind, gaps, tmp_path):
    levels = LEVELS[kind]
    if kind == "beyond doubles" and gaps:
        return  # pandas reads such a column as floats
    frame = column(levels, gaps, "category")
    card = Scorecard("auc", n_questions=3, validation=None).fit(frame, Y).card_
    stage = TableLogistic().fit(frame, Y)
    totals, scores = card.total(frame), stage.decision_function(frame)
    assert (
        np.unique(totals).size > 1
        and np.unique(scores).size == pd.Series(CODES[~GAPS]).map(dict(enumerate(map(str, levels)))).nunique() + gaps
    )
    card.save(tmp_path / "card.json")
    again = TableLogistic.from_dict(stage.to_dict())
    for name, other in forms(levels, gaps):
        assert (Card.of(tmp_path / "card.json").total(other) == totals).all(), name
        assert (again.decision_function(other) == scores).all(), name
        space = {}
        exec(card.to_python(), space)
        assert [space["total"](row) for row in other.to_dict("records")] == totals.tolist(), name
        if name in ("csv", "text") and kind != "texts and truth":  # of which SQL has no word
            with sqlite3.connect(":memory:") as base:
                other.to_sql("t", base, index=False)
                found = base.execute(f"SELECT {card.to_sql()} FROM t ORDER BY rowid").fetchall()
            assert [total for (total,) in found] == totals.tolist()


@pytest.mark.parametrize("kind", [kind for kind in LEVELS if kind != "beyond doubles"])  # which no cell holds
def test_a_formula_gives_the_totals_of_python_on_cells_of_numbers_and_of_texts(kind, sheet):
    frame = column(LEVELS[kind], True, "category")
    card = Scorecard("auc", n_questions=3, validation=None).fit(frame, Y).card_
    space = {}
    exec(card.to_python(), space)
    values = [*LEVELS[kind], None]
    wanted = [space["total"]({"g": value}) for value in values]
    assert len(set(wanted)) > 1 and wanted == card.total(pd.DataFrame({"g": pd.Series(values, dtype=object)})).tolist()
    cells = [float(value) if isinstance(value, Decimal | np.float32) else value for value in values]
    assert sheet(card.to_formula(), ["A2"], [(cell,) for cell in cells]) == wanted


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**62), 2**62), min_size=2, max_size=6)
)
def test_a_number_is_one_level_in_every_type(values):
    every = [*values, *map(float, values), *map(Decimal, values), *map(np.float64, values)]
    card = [Card((Question("g", "=", one),), (1,)) for one in values]
    for frame in (pd.DataFrame({"g": pd.Series(every, dtype=object)}), pd.DataFrame({"g": pd.Categorical(values)})):
        for own, value in zip(card, values):
            wanted = [Fraction(one) == Fraction(value) for one in frame["g"].astype(object)]
            assert own.total(frame).tolist() == wanted


def test_a_text_is_no_other_text_and_files_of_earlier_versions_name_numbers_by_texts():
    versions = pd.DataFrame({"g": ["1.1", "1.10", "1", "01", "1.0"]})
    assert Card.of([(Question("g", "=", "1.1"), 1)]).total(versions).tolist() == [1, 0, 0, 0, 0]
    assert Card.of([(Question("g", "=", 1), 1)]).total(versions).tolist() == [0, 0, 1, 0, 0]
    body = TableLogistic().fit(column(LEVELS["float"], False, "category"), Y).to_dict()
    numbers = body["columns"][0]["levels"]
    names = sorted(map(str, numbers))
    old = [TableLogistic.from_dict({**body, "columns": [{**body["columns"][0], "levels": names}]})]
    order = [names.index(str(one)) for one in numbers]
    old[0].coef_, old[0].centre_, old[0].scale_ = (
        np.take(part, np.argsort(order), axis=-1) for part in (old[0].coef_, old[0].centre_, old[0].scale_)
    )
    frame = column(LEVELS["float"], False, "category")
    assert isinstance(old[0].rules_[0], TextLevels) and "1.0" in names
    np.testing.assert_allclose(old[0].decision_function(frame), TableLogistic.from_dict(body).decision_function(frame))


def test_a_category_of_numbers_is_compared_and_texts_are_refused_where_no_level_is_a_number(tmp_path):
    grades = pd.DataFrame({"g": pd.Categorical([1, 2, 3, None])})
    assert Card.of({"g >= 2": 1}).total(grades).tolist() == [0, 1, 1, 0]
    words = TableLogistic().fit(column(["a", "b", "c", "d"], False, "category"), Y)
    with pytest.raises(InputError, match="held texts at the fit and holds numbers now"):
        words.decision_function(pd.DataFrame({"g": [1.0, 2.0]}))
    path = tmp_path / "t.csv"
    path.write_text("g\n0.7\n0.1\n0.30000001\n")
    single = pd.DataFrame({"g": np.array([0.7, 0.1, 0.30000001] * 40, dtype=np.float32)})
    for most in (2, 10):
        card = Scorecard("auc", n_questions=2, max_levels=most, validation=None).fit(single, Y).card_
        assert (card.total(pd.read_csv(path)) == card.total(single)[:3]).all()
