"""A table with hostile names and entries, and cards of its columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from rerank.scorecard import Card, Question

MARKUP = 'it\'s "q", a|b <i>*x*</i> `y` = &amp; \\ [z](u) $1$'
ENDS = "line\nend\tand tab"
TEXTS = [
    "O'Brien",
    'say "hi"',
    "a,b;c",
    "line\nend",
    "tab\there",
    "Ünï 日本 🙂",
    "-- drop",
    "=1+1",
    "@SUM(A1)",
    "male",
    "Male",
    "MALE",
    "NULL",
    "null",
    "nan",
    "inf",
    "None",
    "x" * 300,
    '"' * 200,
    "100%",
    "back\\slash",
    "{x}",
    "?",
    ":name",
    "'quoted'",
    '"quoted"',
    "age >= 3",
    "is missing",
    " blank ",
    "<script>",
    "1_000",
    "True",
]
CODES = ["7", "07", "7.0", "1e3", "x", "-0", "60.5"]
"""Digits in a column of texts."""

NUMBERS = [0.0, 1.0, -1.0, 7.0, 60.0, 60.5, 0.1 + 0.2, 0.3, -2.5e-7, 1e20, 123456789012345.0]


def table(n=36, seed=0):
    """Rows with gaps in each column; the texts stand once each at least."""
    rng = np.random.default_rng(seed)

    def gappy(values, share=0.2):
        return np.where(rng.random(n) < share, None, np.array(values, dtype=object))

    return pd.DataFrame(
        {
            "age": pd.Series(gappy(rng.choice(NUMBERS, n)), dtype=float),
            "select": rng.choice(NUMBERS, n),
            "flag": rng.random(n) < 0.5,
            "maybe": pd.Series(gappy(rng.random(n) < 0.5), dtype="boolean"),
            MARKUP: pd.Series([*TEXTS, *[None] * (n - len(TEXTS))], dtype=object),
            ENDS: pd.Series(gappy(rng.choice(CODES, n)), dtype=object),
            "Größe ≥ 3": pd.Series(gappy(rng.choice(TEXTS[:6], n)), dtype=object),
            "empty": pd.Series([None] * n, dtype=object),
        }
    )


def questions():
    numbers = st.builds(
        Question,
        st.sampled_from(["age", "select"]),
        st.sampled_from([">=", "<=", ">", "<", "="]),
        st.sampled_from(NUMBERS),
    )
    truths = st.builds(Question, st.sampled_from(["flag", "maybe"]), st.just("="), st.sampled_from([0.0, 1.0]))
    texts = st.builds(
        Question, st.sampled_from([MARKUP, "Größe ≥ 3"]), st.just("="), st.sampled_from([*TEXTS[:-1], "absent"])
    )
    codes = st.builds(Question, st.just(ENDS), st.just("="), st.sampled_from([*CODES, 7.0, 60.5, 8.0]))
    digits = st.builds(Question, st.just("age"), st.just("="), st.sampled_from(["7", "60.5", "x"]))
    groups = st.one_of(
        st.builds(
            Question, st.just("select"), st.just("in"), st.lists(st.sampled_from(NUMBERS), min_size=1).map(tuple)
        ),
        st.builds(
            Question,
            st.sampled_from([MARKUP, "Größe ≥ 3"]),
            st.just("in"),
            st.lists(st.sampled_from(TEXTS[:-1]), min_size=1, max_size=4).map(tuple),
        ),
        st.builds(Question, st.just(ENDS), st.just("in"), st.sampled_from([("7", "07"), (7.0, "x"), (60.5, "1e3")])),
    )
    ranges = st.builds(
        Question,
        st.sampled_from(["age", "select"]),
        st.just("within"),
        st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2, unique=True).map(lambda own: tuple(sorted(own))),
    )
    gaps = st.builds(Question, st.sampled_from(list(table().columns)), st.just("is missing"))
    return st.one_of(numbers, truths, texts, codes, digits, gaps, groups, ranges)


CODED = (Question("age", "in", (60.0, -1.0)), Question(MARKUP, "in", ("NULL", "male")), Question(ENDS, "in", ("07",)))


def cards(special=((), (), CODED)):
    """Cards of one to eight different questions, some with codes for gaps."""
    asked = st.lists(st.tuples(questions(), st.integers(-12, 12)), min_size=1, max_size=8, unique_by=lambda own: own[0])
    return st.builds(
        lambda own, codes: Card(tuple(one for one, _ in own), tuple(points for _, points in own), special=codes),
        asked,
        st.sampled_from(special),
    )


@pytest.fixture(scope="module")
def sheet():
    """What a formula makes of rows of cells, by an evaluator of Excel's language."""
    formulas = pytest.importorskip("formulas")
    from schedula import EMPTY

    def totals(text, cells, rows):
        compiled = formulas.Parser().ast(text)[1].compile()
        found = []
        for row in rows:
            by_cell = {cell.replace("$", ""): EMPTY if value is None else value for cell, value in zip(cells, row)}
            found.append(float(np.asarray(compiled(*(by_cell[name] for name in compiled.inputs))).ravel()[0]))
        return found

    return totals
