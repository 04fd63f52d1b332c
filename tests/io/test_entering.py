"""How tables of other programs enter the readers: saved indexes, decimals, signs and words as labels, gzip, runs."""

import decimal
import gzip
import re
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from rerank.errors import InputError, InputWarning
from rerank.io import lines, read_csv, read_table
from rerank.io.frames import numbers
from rerank.io.labels import TwoLabels, read_labels
from rerank.io.reader import column_names
from rerank.io.runs import run_of
from tests.cases.refuses import refuses

FRAME = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": [4, 5, 6], "y": [0, 1, 0]})


def saved(tmp_path, kind):
    """A file with an index, and the names of its columns."""
    path = tmp_path / f"{kind}.parquet"
    if kind == "anonymous":
        FRAME.iloc[[2, 0, 1]].to_parquet(path)
        return path, ["__index_level_0__"]
    if kind == "named":
        FRAME.rename_axis("patient").iloc[[2, 0, 1]].to_parquet(path)
        return path, ["patient"]
    if kind == "several":
        index = pd.MultiIndex.from_arrays([[7, 8, 9], [1, 2, 3]], names=["ward", None])
        FRAME.set_index(index).to_parquet(path)
        return path, ["ward", "__index_level_1__"]
    path = path.with_suffix(".csv")
    if kind == "csv":
        FRAME.to_csv(path)
        return path, ["Unnamed: 0"]
    if kind == "words":
        FRAME.set_index(pd.Index(["p", "", "q"])).to_csv(path)
        return path, ["Unnamed: 0"]
    FRAME.to_csv(path)
    pd.read_csv(path).to_csv(path)
    pd.read_csv(path).to_csv(path, index=False)
    return path, ["Unnamed: 0.1", "Unnamed: 0"]


@pytest.mark.parametrize("kind", ["anonymous", "named", "several", "csv", "words", "twice"])
def test_a_saved_index_is_no_feature_unless_it_is_named(tmp_path, kind):
    path, index = saved(tmp_path, kind)
    table = read_table(path, label="y")
    assert table.feature_names == ("a", "b")
    (note,) = table.notes
    assert all(repr(name) in note for name in index) and "--features" in note and note.endswith(".")
    assert set(column_names(path)) == {*index, "a", "b", "y"}
    if kind != "words":
        own = read_table(path, label="y", features=[*index, "a"])  # as the note says
        assert own.feature_names == (*index, "a") and own.notes == ()
        weighed = read_table(path, label="y", weight=index[0])
        assert weighed.feature_names == ("a", "b") and weighed.sample_weight.max() > 0
        assert read_table(path, label="y", qid=index[-1]).qid is not None
        assert len(read_table(path, label=index[0]).y) == 3
        assert read_table(path, label="y", id=index[0]).ids.size == 3


def test_an_index_of_plain_numbers_is_no_column_and_bad_metadata_is_passed_over(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")  # a RangeIndex stands in the metadata alone
    table = read_table(tmp_path / "t.parquet", label="y")
    assert table.feature_names == ("a", "b") and table.notes == ()
    FRAME.rename_axis("query_id").iloc[[1, 0, 2]].to_parquet(tmp_path / "q.parquet")
    refuses("'query_id' is called like the id of a list", read_table, tmp_path / "q.parquet", label="y")
    odd = b'{"index_columns": [["a"], {"kind": "range"}, 5]}'
    for meta in (b"{", b"[]", b'{"index_columns": 3}', odd, b"\xff"):
        odd = pa.table(FRAME).replace_schema_metadata({b"pandas": meta})
        parquet.write_table(odd, tmp_path / "o.parquet")
        assert read_table(tmp_path / "o.parquet", label="y").feature_names == ("a", "b")


D = decimal.Decimal


def _decimals_of_a_file(tmp_path, given):
    parquet.write_table(given, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", label="y", weight="w", qid="q")
    assert table.X[:, 0].tolist() == [1200, -300, 0, 500] and table.y.tolist() == [0, 1, 1, 0]
    assert table.sample_weight.tolist() == [100, 200, 0, 100] and len(set(table.qid)) == 4


DECIMALS = [pa.decimal128(10, 2), pa.decimal256(40, 2), pa.decimal128(7, -2)]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_decimals_are_numbers(tmp_path, kind):
    values = [D("1200"), D("-300"), D("0"), D("500")]
    own, weights = pa.array(values, kind), pa.array([D(100), D(200), D(0), D(100)], kind)
    label = pa.array([D(0), D(1), D(1), D(0)], pa.decimal128(3, 0))
    if kind.scale >= 0:  # Parquet has no negative scale
        _decimals_of_a_file(tmp_path, pa.table({"a": own, "y": label, "w": weights, "q": own}))
    holed = pa.array([*values, None], kind)
    wanted = [1200, -300, 0, 500, np.nan]
    for column in (
        holed,
        pa.chunked_array([holed]),
        pd.Series(pd.array(holed, dtype=pd.ArrowDtype(kind))),
        pd.Series(holed.to_pylist(), dtype=object),
        pl.Series([*values, None]),
        pl.Series([*values, None], dtype=pl.Object),
    ):
        np.testing.assert_array_equal(numbers(column), wanted)


def test_decimals_are_read_as_their_digits_read():
    digits = ["0.1", "123456789.123456789", "2.675", "-0.07"]
    column = pa.array([D(text) for text in digits], pa.decimal128(30, 12))
    assert numbers(column).tolist() == [float(text) for text in digits]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pd.Series([1, None], dtype="Int64"), [1, np.nan]),
        (pd.Series([1.5, pd.NA], dtype="Float32"), [1.5, np.nan]),
        (pd.Series([True, None], dtype="boolean"), [1, np.nan]),
        (pd.Series([1, pd.NA], dtype=object), [1, np.nan]),
        (pd.Series([np.int8(2), np.float16(0.5)], dtype=object), [2, 0.5]),
        (pd.Series(pd.array([True, None], dtype="bool[pyarrow]")), [1, np.nan]),
        (pa.array([1, None], pa.uint64()), [1, np.nan]),
        (pa.array(np.array([1, 2], np.float16)), [1, 2]),
        (pa.array([1.5, None, 1.5]).dictionary_encode(), [1.5, np.nan, 1.5]),
        (pa.chunked_array([pa.array([7, 8]).dictionary_encode()]), [7, 8]),
        (pa.nulls(2), None),
        (pa.array(["1", "2"]).dictionary_encode(), None),
        (pa.array([1, 2], pa.duration("s")), None),
        (pd.Series([np.timedelta64(1, "D")], dtype=object), None),
        (pd.Series([1 + 2j], dtype=object), None),
    ],
)
def test_what_is_a_number(values, wanted):
    found = numbers(values)
    assert (found is None) == (wanted is None)
    if wanted is not None:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", ["csv", "svm", "parquet"])
@pytest.mark.parametrize("signs", [(-1, 1, -1), (-1, -1, -1)])
def test_labels_of_minus_and_plus_one_are_read_by_every_reader(tmp_path, form, signs):
    path = tmp_path / f"t.{form}"
    if form == "csv":
        path.write_text("a,y\n" + "".join(f"{row},{sign}\n" for row, sign in enumerate(signs)))
    elif form == "svm":
        path.write_text("".join(f"{sign} 1:{row}\n" for row, sign in enumerate(signs)))
    else:
        parquet.write_table(pa.table({"a": [1, 2, 3], "y": list(signs)}), path)
    table = read_table(path, label=None if form == "svm" else "y")
    assert table.y.tolist() == [max(sign, 0) for sign in signs]
    assert table.notes == ("The labels -1 and 1 are read as 0 and 1.",)


@pytest.mark.parametrize("labels", [(-1, 0, 1), (-1, 2, 2), (-1.5, 1, 1)])
def test_other_negative_labels_are_refused_by_every_reader(tmp_path, labels):
    columns = {"a": [1, 2, 3], "y": pa.array(labels, pa.float64())}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"1,{label}\n" for label in labels))
    (tmp_path / "t.svm").write_text("".join(f"{label} 1:2\n" for label in labels))
    for name, options in (("t.parquet", {"label": "y"}), ("t.csv", {"label": "y"}), ("t.svm", {})):
        refuses("label", read_table, tmp_path / name, **options)


WORDS = [
    (["No", "Yes", "No"], "Yes"),
    (["Yes", "No"], "Yes"),
    (["negative", "positive"], "positive"),
    (["N", "Y"], "Y"),
    (["F", "T"], "T"),
    (["0", "1"], "1"),
]


@pytest.mark.parametrize(("words", "meant"), WORDS)
def test_the_advice_on_words_names_the_one_that_people_mean(tmp_path, words, meant):
    named = meant
    assert read_labels(words, len(words), named)[0].tolist() == [word == meant for word in words]
    parquet.write_table(pa.table({"a": range(len(words)), "y": words}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"1,{word}\n" for word in words))
    for name in ("t.parquet", "t.csv") if meant != "1" else ("t.parquet",):
        with pytest.raises(InputError) as refused:
            read_table(tmp_path / name, label="y")
        (named,) = re.findall(r" pos_label='(.*?)' \(--pos-label '\1'\)", str(refused.value))
        grades = read_table(tmp_path / name, label="y", pos_label=named).y
        assert grades.tolist() == [word == meant for word in words]


def test_the_advice_offers_both_words_where_none_is_meant_by_most(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,ham\n2,spam\n")
    refuses(r"pos_label='ham' \(--pos-label 'ham'\) or pos_label='spam'", read_csv, tmp_path / "t.csv", label="y")


def test_of_two_words_that_sorts_last_is_to_be_found_and_both_are_named():
    for words in (["ham", "spam", "spam"], ["dead", "alive", "dead"], np.array(["No", "Yes", "No"])):
        with pytest.warns(InputWarning, match=f"{max(words)}.*{min(words)}"):
            grades, labels = read_labels(words, 3)
        assert grades.tolist() == [word == max(words) for word in words]
        assert (labels.negative, labels.positive) == (min(words), max(words))
    refuses("3 labels", read_labels, ["a", "b", "c"], 3)
    refuses("say which one", read_labels, np.array(["a", 1], dtype=object), 2)
    assert read_labels([1, 2, 2], 3, pos_label=2)[0].tolist() == [0, 1, 1]


def test_the_older_name_of_the_label_to_find_is_taken_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,ham\n2,spam\n")
    with pytest.warns(FutureWarning, match="pos_label"):
        assert read_csv(tmp_path / "t.csv", label="y", positive="ham").y.tolist() == [1, 0]


def test_decimal_labels_are_numbers_and_signs_of_any_kind_are_mapped():
    for y in (
        [D(0), D(1)],
        pd.Series(pd.array(pa.array([D(0), D(1)]), dtype=pd.ArrowDtype(pa.decimal128(3, 0)))),
        pl.Series([D(0), D(1)]),
        pa.chunked_array([pa.array([D(0), D(1)])]),
    ):
        assert read_labels(y, 2)[0].tolist() == [0, 1]
    grades, labels = read_labels([D(-1), D(1)], 2)
    assert grades.tolist() == [0, 1] and labels == TwoLabels(-1, 1)


def test_grades_of_a_file_are_understood_by_a_model_of_words_or_signs():
    for labels in (TwoLabels("no", "yes"), TwoLabels(-1, 1)):
        assert labels.applied([0.0, 1.0, 0.0]).tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="the labels of this fit"):
        TwoLabels(1, 2).applied([0, 1])  # 1 is the irrelevant label


@pytest.mark.parametrize("row", [b"1,2\n", b"\n"])
def test_a_small_file_that_unpacks_to_many_rows_is_refused_at_once(tmp_path, row):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n") + gzip.compress(row * 10**5) * 1000)
    began = time.process_time()
    refuses("unpacks to more than .* unpack it", read_csv, tmp_path / "t.csv.gz")
    assert time.process_time() - began < 2


def test_lines_are_bounded_by_the_bytes_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINES", 10)
    text = b"a\n" + b"".join(b"%d\n" % number for number in np.random.default_rng(0).integers(0, 10**9, 3000))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    assert len(read_csv(tmp_path / "t.csv.gz")) == 3000  # as many lines as an honest file needs bytes for
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 3000))
    refuses("more than 10 lines", read_csv, tmp_path / "t.csv.gz")


def test_runs_come_from_any_frame():
    columns = {"qid": ["q", "q"], "docno": ["d", "e"], "score": [D("1.5"), D("2")]}
    for make in (pl.LazyFrame, pa.RecordBatch.from_pydict, pa.table, pl.DataFrame, pd.DataFrame):
        assert run_of(make(columns), "r").score.tolist() == [1.5, 2.0]
