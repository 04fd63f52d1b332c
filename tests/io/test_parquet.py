"""Parquet tables: the same roles as in CSV, and one sentence for what cannot be read."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rerank.errors import InputError
from rerank.io import parquet as parquet_table
from rerank.io import read_table
from rerank.io.reader import column_names
from tests.cases.refuses import refuses


@pytest.fixture
def file(tmp_path):
    def make(file="t.parquet", /, **columns):
        parquet.write_table(pa.table(columns), tmp_path / file)
        return tmp_path / file

    return make


GOOD = {
    "id": ["p1", "p2", "p3"],
    "q": ["a", "a", "b"],
    "age": [30, 31, -3],
    "year": pa.array([58.5, 100, 0], pa.float32()),
    "flag": [True, False, True],
    "name": ["Ann", "Bob", "Cy"],
    "day": pa.array([0, 1, 2], pa.date32()),
    "w": [1.0, 2.0, 0.0],
    "died": pa.array([0, 0, 2], pa.int8()),
}


def test_every_role_is_read_and_other_columns_are_left_out_aloud(file):
    table = read_table(file(**GOOD), label="died", qid="q", id="id", weight="w")
    assert table.feature_names == ("age", "year", "flag")
    np.testing.assert_array_equal(table.X, [[30, 58.5, 1], [31, 100, 0], [-3, 0, 1]])
    assert table.y.tolist() == [0, 0, 2] and table.sample_weight.tolist() == [1, 2, 0]
    assert table.qid.tolist() == ["a", "a", "b"] and table.ids.tolist() == ["p1", "p2", "p3"]
    assert table.notes == ("Left out because they hold no numbers: 'name', 'day'.",)
    assert column_names(file(**GOOD)) == list(GOOD)


def test_labels_may_be_words_and_lists_numbers(file):
    path = file("t.pq", a=[1.0, 2.0], ok=["yes", "no"], query=[7, 8])
    table = read_table(path, label="ok", pos_label="yes", qid="query")
    assert table.y.tolist() == [1, 0] and table.qid.tolist() == ["7", "8"]
    many = pa.array(["x", "y"]).dictionary_encode()
    assert read_table(file(a=[1, 2], b=many), label="b", pos_label="y").y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"a": [1.0, None]}, {}, "'a' has no value in row 1"),
        ({"a": [1.0, float("nan")]}, {}, "'a' holds nan in row 1"),
        ({"a": [1.0, float("inf")]}, {}, "'a' holds inf in row 1"),
        ({"a": ["x", "y"]}, {}, "no numeric column left"),
        ({"a": [1, 2], "b": ["x", "y"]}, {"label": "b"}, "'b' holds no numbers.*--pos-label"),
        ({"a": [1, 2], "b": ["x", "y"]}, {"label": "b", "pos_label": "z"}, "no row has 'z'"),
        ({"a": [1, 2], "b": [2, -1]}, {"label": "b"}, "'b' holds -1 in row 1, but a label is 0 or more"),
        ({"a": [1, 2], "b": ["", "x"]}, {"qid": "b"}, "'b' is empty in row 0"),
        ({"a": [1, 2], "QueryId": [1, 1]}, {}, "'QueryId' is called like the id of a list"),
        ({"a": [1, 2]}, {"delimiter": ";"}, "no delimiter"),
        ({"a": [1, 2], "l": [[1], [2]]}, {"features": ["l"]}, "'l' holds no numbers"),
    ],
)
def test_bad_tables_are_one_sentence(file, columns, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read_table(file(**columns), **options)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_text_of_many_rows_is_held_once_and_what_is_too_large_is_not_read(tmp_path, monkeypatch):
    """A file of 11 kB took 4 GB, for a text that 4,000 rows share."""
    text, n = "x" * 100_000, 1000
    columns = {"a": range(n), "t": [text] * n, "u": [f"{j}" for j in range(n)], "l": [[1]] * n}
    parquet.write_table(pa.table(columns), tmp_path / "t.pq", compression="zstd")
    held = read_table(tmp_path / "t.pq", qid="u", kinds={}).X.columns
    assert set(held["t"]) == {text} and len({id(one) for one in held["t"]}) == 1 and set(held["l"]) == {()}
    monkeypatch.setattr(parquet_table, "MAX_CELLS", 40_000)
    assert read_table(tmp_path / "t.pq").X.shape == (n, 1)  # no text is read
    refuses("texts over 40000 cells", read_table, tmp_path / "t.pq", kinds={})
    refuses("'l' holds lists or records", read_table, tmp_path / "t.pq", qid="l")


def test_files_that_are_none(tmp_path, file):
    whole = file(**GOOD).read_bytes()
    damaged = whole[:40] + b"\xff" * 30 + whole[70:]
    for body in (b"", b"PAR1", whole[:-30], b"PAR1" + bytes(100) + b"PAR1", damaged):
        (tmp_path / "bad.parquet").write_bytes(body)
        with pytest.raises(InputError):
            read_table(tmp_path / "bad.parquet", label="died", qid="q", id="id", weight="w")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.gz"])
def test_other_formats_are_refused_with_what_is_read(tmp_path, name):
    told = r"format that is read; save the table in one of \.csv, \.tsv, \.parquet"
    with pytest.raises(InputError, match=told):
        read_table(tmp_path / name)
