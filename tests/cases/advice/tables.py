"""Advice on tables and files: arrays, frames, CSV, svmlight, Parquet, TREC runs, paths."""

# ruff: noqa: E501 - messages stand here as they are written

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import scipy.sparse

from rerank import datasets
from rerank.io import (
    Table,
    fuse,
    read_csv,
    read_qrels,
    read_run,
    read_svmlight,
    read_table,
    write_csv,
    write_qrels,
    write_run,
    write_svmlight,
)
from rerank.io.columns import Kind
from rerank.io.meant import meant
from rerank.perturb import perturb_rows
from tests.cases.advice import FRAME, QID, Row, X, Y, command, fit, model_file, promised, same, table_file, write

WARDS, DAYS = [*"xy"] * 20, pd.date_range("2024-01-01", periods=40)


def with_hole(value=np.nan):
    hole = X.copy()
    hole[3, 1] = value
    return hole


def frame_with(**columns):
    return FRAME.assign(**columns)


def parquet(path, **columns):
    pyarrow.parquet.write_table(pa.table({"hit": Y, "a": X[:, 0], "b": X[:, 1]} | columns), path)
    return path


def with_cell(path, value, column="a", line=2):
    """A copy of the table's file with another value in one cell."""
    lines = Path(table_file()).read_text().splitlines()
    cells = lines[line - 1].split(",")
    cells[["hit", "a", "b"].index(column)] = value
    lines[line - 1] = ",".join(cells)
    return write(path, "\n".join(lines) + "\n")


def csv(text, **options):
    return read_csv(write("i.csv", text), **options)


def svm(text, **options):
    return read_svmlight(write("i.svm", text), **options)


def run(text):
    return read_run(write("r.run", text))


def qrels(text):
    return read_qrels(write("q", text))


def without_line(path, source, line=2):
    lines = Path(source).read_text().splitlines()
    return write(path, "\n".join(lines[: line - 1] + lines[line:]) + "\n")


SVM = "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.1 2:2\n"
IDEAL = '{"format": "exact-rerank ideal grades", "schema": 1, "grades": {"1": [1]}}'
RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\n"
GRADES = {"q1": {"d1": 1, "d2": 0}}


def tiny(**changes):
    return replace(Table(np.array([[1.0], [2.0]]), np.array([0.0, 1.0]), None, None, ("a",)), **changes)


class Remote:
    """A data frame of Dask, as far as that is looked at."""

    __module__ = "dask.dataframe"
    columns, dtypes, shape = FRAME.columns, FRAME.dtypes, (None, 2)

    def to_frame(self):
        return self

    def __getitem__(self, name):
        return FRAME[name]

    def compute(self):
        return FRAME


class OfRay:
    __module__ = "ray.data.dataset"

    def to_pandas(self):
        return FRAME


for one in (Remote, OfRay):
    one.__name__ = "DataFrame" if one is Remote else "Dataset"


ARRAYS = {
    "but a dense array is needed; pass X.toarray()": Row(
        lambda: perturb_rows(scipy.sparse.csr_array(X)),
        lambda: perturb_rows(scipy.sparse.csr_array(X).toarray()).shape == X.shape,
    ),
    "fill or drop them before fitting": Row(
        lambda: fit(with_hole(np.inf)), lambda: same(fit(np.where(np.isinf(with_hole(np.inf)), X, with_hole(np.inf))))
    ),
    "which are not reranked; fill them in, or name the columns to rerank with features=[...]": Row(
        lambda: fit(with_hole()),
        lambda: fit(np.nan_to_num(with_hole())).result_.value > 0 and fit(with_hole(), features=[0]).result_.value > 0,
    ),
    "whose rows are not in memory; pass X.to_pandas()": Row(
        lambda: fit(OfRay()), lambda: same(fit(OfRay().to_pandas()))
    ),
    "pass the frame that it computes (X.compute())": Row(lambda: fit(Remote()), lambda: same(fit(Remote().compute()))),
    "so there is nothing to tell apart; pass rows of at least two classes or grades": Row(
        lambda: fit(X, np.ones(40)), lambda: same(fit(X, Y))
    ),
    "but a weight cannot be negative; use 0 to leave a row out": Row(
        lambda: fit(X, sample_weight=-np.eye(40)[0]),
        lambda: fit(X, sample_weight=1 - np.eye(40)[0]).result_.value == fit(X[1:], Y[1:]).result_.value,
    ),
    **promised(
        lambda: same(fit(X, sample_weight=np.ones(40))),
        {
            "with all weights zero nothing counts; raise one above 0": lambda: fit(X, sample_weight=np.zeros(40)),
            "dimension(s), not one; pass one {} a row": lambda: fit(X, sample_weight=np.ones((40, 2))),
        },
    ),
    **promised(
        lambda: fit(X, qid=QID).result_.n_lists == 2,
        {
            "dimension(s), but one id a row is needed; pass shape": lambda: fit(X, qid=QID[:, None]),
            "pass one id a row": lambda: fit(X, qid=[0, 1]),
            "(None, NaN or inf) in row {}; give every row an id": lambda: fit(X, qid=np.where(QID, QID, np.nan)),
        },
    ),
    "these look like group sizes; pass np.repeat(np.arange(len(sizes)), sizes)": Row(
        lambda: fit(X, qid=[20, 20]), lambda: fit(X, qid=np.repeat(np.arange(2), [20, 20])).result_.n_lists == 2
    ),
    "but every {} must be a finite number; fill or drop that row": Row(
        lambda: fit(X, np.where(np.arange(40) == 2, np.nan, Y)),
        lambda: fit(np.delete(X, 2, 0), np.delete(Y, 2)).result_.value > 0,
    ),
    "Complex data not supported: pass real numbers": Row(
        lambda: fit(X.astype(complex)), lambda: same(fit(X.astype(complex).real))
    ),
    "holds dates, not numbers; convert them, to days for instance": Row(
        lambda: fit(np.array(["2020-01-01"] * 80, "datetime64[D]").reshape(40, 2)),
        lambda: fit(np.arange(80).reshape(40, 2)).result_.value >= 0,
    ),
    "while a minimum of 1 is required; pass a table that is not empty": Row(
        lambda: fit(np.empty((0, 2)), []), lambda: same(fit(X))
    ),
    "but every entry must be a number; convert, encode or drop that column": Row(
        lambda: fit(np.array([["x", 1.0]] * 40, object)), lambda: fit(X[:, 1:]).result_.value >= 0
    ),
    "A column-vector y was passed when a 1d array was expected; pass y.ravel()": Row(
        lambda: fit(X, Y[:, None]), lambda: same(fit(X, Y[:, None].ravel()))
    ),
}

FRAMES = {
    "{} among numbers, so that all of it is read as texts; if that is a gap, put NaN in its place": Row(
        lambda: meant(pd.DataFrame({"a": ["1", "-"]})), lambda: meant(pd.DataFrame({"a": [1.0, np.nan]})) == ()
    ),
    "is read as a text; if these are numbers, write them with digits and a decimal point alone": Row(
        lambda: meant(pd.DataFrame({"a": ["1,234.5", "12%"]})),
        lambda: meant(pd.DataFrame({"a": ["1234.5", ".12"]})) == (),
    ),
    "which is rounded to a double, as many whole numbers above 2^53 are; if these are names, make them texts": Row(
        lambda: meant(pd.DataFrame({"a": [2**53 + 1, 2**53 + 2]})),
        lambda: [meant(pd.DataFrame({"a": own})) for own in ([str(2**53 + 1)] * 2, [1, 2])] == [(), ()],
    ),
    "{}; if these are names, read them as texts (--texts).": Row(
        lambda: csv("hit,zip\n1,01\n0,02\n", label="hit", kinds={}),
        lambda: csv("hit,zip\n1,01\n0,02\n", label="hit", kinds={"zip": Kind(texts=True)}).notes == (),
    ),
    "X is a single column, but a table of rows and columns is needed; pass X.to_frame()": Row(
        lambda: fit(FRAME["a"]), lambda: fit(FRAME["a"].to_frame()).result_.value > 0
    ),
    "make all of them texts: X.columns = X.columns.astype(str)": Row(
        lambda: fit(FRAME.rename(columns={"b": 1})),
        lambda: same(fit(FRAME.set_axis(FRAME.rename(columns={"b": 1}).columns.astype(str), axis=1))),
    ),
    "of the fit; add what is missing, under the name it had": Row(
        lambda: fit(FRAME).rank(FRAME[["a"]]), lambda: len(fit(FRAME).rank(FRAME[["a"]].assign(b=X[:, 1]))) == 40
    ),
    "that no row of the fit had ({}), ranked as having none of its known texts; correct what is misspelt, or fit again": Row(
        lambda: fit(frame_with(ward=WARDS), first_stage="logistic").rank(frame_with(ward=["cellar", *WARDS[1:]])),
        lambda: len(fit(frame_with(ward=WARDS), first_stage="logistic").rank(frame_with(ward=WARDS))) == 40,
    ),
    "Give dates as numbers, such as days since the first of them.": Row(
        lambda: fit(frame_with(ward=WARDS, day=DAYS.astype(str)), first_stage="logistic"),
        lambda: fit(frame_with(ward=WARDS, day=(DAYS - DAYS[0]).days), first_stage="logistic"),
    ),
    "X has two columns {}; give every column its own name": Row(
        lambda: fit(FRAME.set_axis(["a", "a"], axis=1)), lambda: same(fit(FRAME.set_axis(["a", "b"], axis=1)))
    ),
    "fill or drop them, or leave the column out with features=[...]": Row(
        lambda: fit(frame_with(b=with_hole()[:, 1]), features=["a", "b"]),
        lambda: fit(frame_with(b=with_hole()[:, 1]), features=["a"]).result_.value > 0,
    ),
}

CSV = {
    "was read without labels; name the column that holds them with --label": Row(
        lambda: command("fit", table_file(), "--free", "--model", "m.json"), lambda: Path(model_file()).exists()
    ),
    "left out as a saved index, which is no feature; to have {}, name all columns to use with features (--features)": Row(
        lambda: csv(",hit,a\n0,1,5\n1,0,3\n2,1,4\n", label="hit"),
        lambda: (
            csv("Unnamed: 0,hit,a\n0,1,5\n1,0,3\n2,1,4\n", label="hit", features=["Unnamed: 0", "a"]).X.shape == (3, 2)
        ),
    ),
    "one column is given two roles ({}); name a column for each": Row(
        lambda: read_csv(table_file(), label="hit", qid="hit"),
        lambda: read_csv(table_file(), label="hit", qid="b").qid is not None,
    ),
    "stands over {}; give every column its own name": Row(
        lambda: csv("hit,a,a\n0,1,5\n", label="hit"), lambda: csv("hit,a,b\n0,1,5\n", label="hit").X.shape == (1, 2)
    ),
    "has {} characters; shorten it to at most {}": Row(
        lambda: csv(f"hit,{'a' * 10_001}\n0,1\n", label="hit"),
        lambda: csv(f"hit,{'a' * 10_000}\n0,1\n", label="hit").X.shape == (1, 1),
    ),
    "is named twice; name each column once": Row(
        lambda: read_csv(table_file(), label="hit", features=["a", "a"]),
        lambda: read_csv(table_file(), label="hit", features=["a"]).X.shape == (40, 1),
    ),
    "and no column was named as such; pass qid={} (--qid {}), or name the columns to use with features (--features)": Row(
        lambda: csv("hit,qid,a\n0,1,5\n1,1,3\n", label="hit"),
        lambda: (
            read_csv("i.csv", label="hit", qid="qid").qid.tolist() == ["1", "1"]
            and read_csv("i.csv", label="hit", features=["a"]).X.shape == (2, 1)
        ),
    ),
    "is empty; pass a CSV file whose first line names the columns": Row(
        lambda: csv(""), lambda: csv("a\n1\n").X.shape == (1, 1)
    ),
    "add a header line": Row(lambda: csv("1,2\n3,4\n"), lambda: csv("a,b\n1,2\n3,4\n").X.shape == (2, 2)),
    "pass delimiter={} (--delimiter {})": Row(
        lambda: csv("a;b\n1;2\n"), lambda: read_csv("i.csv", delimiter=";").X.shape == (1, 2)
    ),
    **promised(
        lambda: csv("a,b\n1,2\n").X.shape == (1, 2),
        {
            "has a header but no rows; pass a file with data": lambda: csv("a,b\n"),
            "pass a text file": lambda: (Path("i.csv").write_bytes(b"a,b\n1,\x00\n"), read_csv("i.csv"))[1],
        },
    ),
    "if labels are words, name the one to find: {}": Row(
        lambda: csv("hit,a\nyes,1\nno,2\n", label="hit"),
        lambda: read_csv("i.csv", label="hit", positive="yes").y.tolist() == [1, 0],
    ),
    "is not one character that separates; pass ',' or ';' for instance": Row(
        lambda: read_csv(table_file(), delimiter="ab"), lambda: read_csv(table_file(), delimiter=",").X.shape == (40, 3)
    ),
    "correct the column, or name the columns to use as features": Row(
        lambda: csv("hit,a,b\n0,x,1\n1,2,3\n", label="hit"),
        lambda: read_csv("i.csv", label="hit", features=["b"]).X.shape == (2, 1),
    ),
    "is empty, or has spaces at an end or a control character, which CSV does not keep; rename it": Row(
        lambda: write_csv("o.csv", tiny(feature_names=(" a",))),
        lambda: write_csv("o.csv", tiny(feature_names=("a",))) is None and Path("o.csv").exists(),
    ),
    "check its quotes": Row(lambda: csv('a,b\n"1,2\n'), lambda: csv('a,b\n"1",2\n').X.tolist() == [[1, 2]]),
    "which is not finite": Row(
        lambda: read_csv(with_cell("i.csv", "inf", "a"), label="hit"),
        lambda: len(read_csv(without_line("j.csv", "i.csv"), label="hit")) == 39,
    ),
    "fill the value in, or drop the row; a fit can do without the column, too": Row(
        lambda: read_csv(with_cell("i.csv", "", "a"), label="hit", features=["a", "b"]),
        lambda: (
            len(read_csv(without_line("j.csv", "i.csv"), label="hit", features=["a", "b"])) == 39
            and read_csv("i.csv", label="hit", features=["b"]).X.shape == (40, 1)
        ),
    ),
    "correct it, or leave that column out": Row(
        lambda: read_csv(with_cell("i.csv", "1.x", "a"), label="hit", features=["a", "b"]),
        lambda: read_csv("i.csv", label="hit", features=["b"]).X.shape == (40, 1),
    ),
    "save the file as UTF-8": Row(
        lambda: (Path("i.csv").write_bytes("a,ä\n1,2\n".encode("latin-1")), read_csv("i.csv"))[1],
        lambda: csv("a,ä\n1,2\n").feature_names == ("a", "ä"),
    ),
    "is damaged gzip ({}); take an undamaged copy": Row(
        lambda: (Path("i.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 999)[:40]), read_csv("i.csv.gz"))[1],
        lambda: (Path("i.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")), read_csv("i.csv.gz"))[1].X.shape == (1, 2),
    ),
    "Cannot read {}: {}; check the path.": Row(
        lambda: read_csv("nowhere.csv"), lambda: len(read_csv(table_file())) == 40
    ),
    "unpack it if you trust it, and pass that": Row(
        lambda: (Path("i.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9_000_000)), read_csv("i.csv.gz"))[1],
        lambda: (Path("i.csv").write_text("a,b\n" + "1,2\n" * 300), read_csv("i.csv"))[1].X.shape == (300, 2),
    ),
    "format that is read; save the table in one of {}": Row(
        lambda: read_table(write("i.xlsx", "a,b\n1,2\n")),
        lambda: read_table(write("i.csv", "a,b\n1,2\n")).X.shape == (1, 2),
    ),
    "is svmlight, which has no {}; leave that option out": Row(
        lambda: read_table(write("i.svm", SVM), label="hit"), lambda: read_table("i.svm").y.tolist() == [1, 0]
    ),
    "is a Parquet file, which has no delimiter; leave that option out": Row(
        lambda: read_table(parquet("i.parquet"), label="hit", delimiter=";"),
        lambda: len(read_table("i.parquet", label="hit")) == 40,
    ),
    "files hold finite numbers, so fill it in or drop the row": Row(
        lambda: write_csv("o.csv", tiny(X=np.array([[np.nan], [1]]))), lambda: write_csv("o.csv", tiny()) is None
    ),
    "is a finite number of 0 or more, so correct it": Row(
        lambda: write_csv("o.csv", tiny(y=np.array([-1.0, 1]))),
        lambda: write_csv("o.csv", tiny(y=np.array([0.0, 1]))) is None,
    ),
    "There is no data set {}; choose one of {}": Row(
        lambda: datasets.load("nothing"), lambda: len(datasets.load(datasets.names()[0])) > 0
    ),
}

LABELS = {
    "and 0 is what an irrelevant row is labelled; pass y - {}, or pos_label={} (--positive-label {}) where there are two classes": Row(
        lambda: fit(X, Y + 1), lambda: same(fit(X, Y + 1 - 1)) and same(fit(X, Y + 1, pos_label=2))
    ),
    "pos_label takes two, so pass grades from 0": Row(
        lambda: fit(X, Y + np.eye(40)[0] * 5, pos_label=1), lambda: fit(X, Y + np.eye(40)[0] * 5).result_.value > 0
    ),
    "name one of these, or give y as 0 and 1 without pos_label": Row(
        lambda: fit(X, Y, pos_label="no"), lambda: same(fit(X, Y, pos_label=1)) and same(fit(X, Y))
    ),
    "say which one is to be found: {}": Row(
        lambda: fit(X, np.where(Y, "yes", "no")), lambda: same(fit(X, np.where(Y, "yes", "no"), pos_label="yes"))
    ),
}

PARQUET = {
    "{}: column {} holds no numbers; convert it, or leave it out": Row(
        lambda: read_table(parquet("i.parquet", b=["x"] * 40), label="hit", features=["a", "b"]),
        lambda: read_table("i.parquet", label="hit", features=["a"]).X.shape == (40, 1),
    ),
    ("column 'b' holds no numbers", "name another one"): Row(
        lambda: read_table(parquet("i.parquet", b=["x"] * 40), label="hit", weight="b"),
        lambda: read_table("i.parquet", label="hit").y is not None,
    ),
    **promised(
        lambda: read_table(parquet("i.parquet"), label="hit").y is not None,
        {
            "column {} {}; fill it in or drop the row": lambda: read_table(
                parquet("i.parquet", hit=[None, *Y[1:].tolist()]), label="hit"
            ),
            "{}: column {} {}; correct it": lambda: read_table(parquet("i.parquet", hit=Y - 2), label="hit"),
        },
    ),
    "column {} is empty{}; fill it in.": Row(
        lambda: read_table(parquet("i.parquet", q=[" "] + ["u"] * 39), label="hit", qid="q"),
        lambda: read_table(parquet("i.parquet", q=["u"] * 40), label="hit", qid="q").qid is not None,
    ),
    "has no value in row {}; fill it in or drop the row": Row(
        lambda: read_table(
            parquet("i.parquet", b=pa.array([None, *X[1:, 1].tolist()])), label="hit", features=["a", "b"]
        ),
        lambda: read_table(parquet("i.parquet"), label="hit", features=["a", "b"]).X.shape == (40, 2),
    ),
    **promised(
        lambda: len(read_table(parquet("i.parquet"))) == 40,
        {
            "has columns but no rows; pass a file with data": lambda: (
                pyarrow.parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), "i.parquet"),
                read_table("i.parquet"),
            )[1],
            "is no Parquet file that can be read ({}); write it again": lambda: read_table(write("i.parquet", "a,b")),
        },
    ),
}

PATHS = {
    **promised(
        lambda: write_csv("o.csv", tiny()) is None,
        {
            "is a link that leads back to itself; choose another path": lambda: (
                os.symlink("l.csv", "l.csv"),
                write_csv("l.csv", tiny()),
            )[1],
            "is no regular file but a device, a pipe or a socket; give the path of a file": lambda: (
                os.mkfifo("p"),
                write_csv("p", tiny()),
            )[1],
        },
    ),
    "is a folder; give the path of a file": Row(
        lambda: (os.mkdir("d"), write_csv("d", tiny()))[1], lambda: write_csv("d/o.csv", tiny()) is None
    ),
    "holds a NUL character; choose another name": Row(
        lambda: write_csv("a\0b", tiny()), lambda: write_csv("ab", tiny()) is None
    ),
    "does not exist; make it, or write elsewhere": Row(
        lambda: command("fit", table_file(), "--free", "--label", "hit", "--model", "new/m.json"),
        lambda: (os.mkdir("new"), Path(model_file("new/m.json")).exists())[1],
    ),
    "is both read and written; write {} to another file": Row(
        lambda: command("fit", table_file(), "--free", "--label", "hit", "--model", "t.csv"),
        lambda: Path(model_file("o.json")).exists(),
    ),
    "is given for {} and for {}; write each to a file of its own": Row(
        lambda: command("fit", table_file(), "--free", "--label", "hit", "--model", "m.json", "--proof", "m.json"),
        lambda: Path(model_file("m.json", "--proof", "m.proof")).exists(),
    ),
    "belongs to the system and is no regular file; give the path of a file": Row(
        lambda: command("fit", table_file(), "--free", "--label", "hit", "--model", "/proc/self/environ"),
        lambda: Path(model_file()).exists(),
    ),
    **promised(
        lambda: len(read_csv(table_file())) == 40,
        {
            "it is a folder, a device or a pipe; pass a regular file": lambda: (os.mkdir("d.csv"), read_csv("d.csv"))[
                1
            ],
            "it holds a NUL character; check the path": lambda: read_csv("a\0b.csv"),
        },
    ),
}

SVMLIGHT = {
    "pass zero_based=True in Python if the file counts from 0, or add 1 to each": Row(
        lambda: svm("1 0:5\n0 0:4 1:2\n"),
        lambda: (
            read_svmlight("i.svm", zero_based=True).X.tolist()
            == read_svmlight(write("j.svm", "1 1:5\n0 1:4 2:2\n")).X.tolist()
        ),
    ),
    "give every row its qid": Row(
        lambda: svm("1 qid:1 1:5\n0 1:4\n"), lambda: svm("1 qid:1 1:5\n0 qid:1 1:4\n").qid is not None
    ),
    "keep one value for it": Row(lambda: svm("1 1:5 1:4\n"), lambda: svm("1 1:5\n").X.tolist() == [[5]]),
    "pass the file that belongs to the model, or a larger n_features": Row(
        lambda: svm(SVM, n_features=1), lambda: read_svmlight("i.svm", n_features=2).X.shape == (2, 2)
    ),
    **promised(
        lambda: len(svm(SVM)) == 2,
        {
            "is empty; pass a file with at least one row": lambda: svm(""),
            "has no feature in any row; pass a file with index:value pairs": lambda: svm("1\n0\n"),
        },
    ),
    "over {} cells as a dense table; choose fewer columns before reading it": Row(
        lambda: svm("1 1:1\n0 1:3\n", n_features=2_000_000_000), lambda: svm("1 1:1\n0 1:3\n").X.shape == (2, 1)
    ),
    "in a svmlight file; name its features f1, f2 and so on": Row(
        lambda: svm("1 1:1\n0 1:3\n", features=["a"]), lambda: svm("1 1:1\n0 1:3\n", features=["f1"]).X.shape == (2, 1)
    ),
    "write it as qid:7": Row(lambda: svm("1 qid: 1:5\n"), lambda: svm("1 qid:7 1:5\n").qid.tolist() == ["7"]),
    "write CSV instead": Row(
        lambda: write_svmlight("o.svm", tiny(qid=np.array(["u", "u"], object))),
        lambda: write_csv("o.csv", tiny(qid=np.array(["u", "u"], object))) is None,
    ),
    "is no whole number, as svmlight asks; {}": Row(
        lambda: write_svmlight("o.svm", tiny(qid=np.array(["u", "u"], object))),
        lambda: write_svmlight("o.svm", tiny(qid=np.array(["1", "1"], object))) is None,
    ),
    "is not one word, as a comment needs; {}": Row(
        lambda: write_svmlight("o.svm", tiny(ids=np.array(["u v", "w"], object))),
        lambda: write_csv("o.csv", tiny(ids=np.array(["u v", "w"], object))) is None,
    ),
}

RUNS = {
    "The grade {} in row {} is not a whole number up to {}; correct it": Row(
        lambda: write_qrels("q", ["q"], ["d"], [0.5]), lambda: write_qrels("q", ["q"], ["d"], [1]) is None
    ),
    **promised(
        lambda: len(run(RUN).docid) == 2,
        {
            "write it as: {}": lambda: run("q1 d1 1 t\n"),
            "is empty; pass a file with lines such as: {}": lambda: run(""),
            "already stands in line {}": lambda: run(RUN + "q1 Q0 d1 3 0.1 t\n"),
            "keep one of them": lambda: run(RUN + "q1 Q0 d1 3 0.1 t\n"),
        },
    ),
    **promised(
        lambda: write_run("r", ["q", "q"], ["d", "e"], [1.0, 2.0]) is None,
        {
            "documents for {} rows; pass one each": lambda: write_run("r", ["q"], ["d", "e"], [1.0, 2.0]),
            "keep one of them, or give each row an id of its own": lambda: write_run(
                "r", ["q", "q"], ["d", "d"], [1.0, 2.0]
            ),
        },
    ),
    "and a file without a line is no TREC file; give at least one": Row(
        lambda: write_run("r", [], [], []), lambda: write_run("r", ["q"], ["d"], [1.0]) is None
    ),
    "is not one word without spaces, as TREC files need; rename it": Row(
        lambda: write_run("r", ["q"], ["d e"], [1.0]), lambda: write_run("r", ["q"], ["de"], [1.0]) is None
    ),
    "begins with '#', as remarks of TREC files do; rename it": Row(
        lambda: write_run("r", ["#q"], ["d"], [1.0]), lambda: write_run("r", ["q"], ["#d"], [1.0]) is None
    ),
    ("and 3 in the lines above", "write every line alike"): Row(
        lambda: run("q1 d1 0.9\nq1 Q0 d2 2 0.5 t\n"), lambda: len(run("q1 d1 0.9\nq1 d2 0.5\n").docid) == 2
    ),
    "correct it, or exchange the files if this is a run": Row(
        lambda: qrels("q1 d1 0.9\n"), lambda: run("q1 d1 0.9\n").score.tolist() == [0.9] and qrels("q1 d1 1\n")
    ),
    "exchange the files, or {}": Row(lambda: qrels(RUN), lambda: len(qrels(QRELS).grade) == 2),
    "There is no run to join; pass at least one": Row(
        lambda: fuse({}), lambda: len(fuse({"a": read_run(write("a.run", RUN))})) == 2
    ),
    "holds grades of lists, and {} was read without lists; name the column of the list with qid (--qid)": Row(
        lambda: (
            write("i.csv", "hit,q,a\n1,1,5\n0,1,3\n"),
            write("i.csv.ideal.json", IDEAL),
            read_csv("i.csv", label="hit", features=["a"]),
        )[2],
        lambda: read_csv("i.csv", label="hit", qid="q").ideal_gains is not None,
    ),
    "holds no grades that can be used ({}); remove it, or convert the runs again": Row(
        lambda: (
            write("i.csv", "hit,q,a\n1,1,5\n0,1,3\n"),
            write("i.csv.ideal.json", "["),
            read_csv("i.csv", label="hit", qid="q"),
        )[2],
        lambda: (os.remove("i.csv.ideal.json"), read_csv("i.csv", label="hit", qid="q"))[1].qid is not None,
    ),
}

ROWS = ARRAYS | FRAMES | CSV | LABELS | PARQUET | PATHS | SVMLIGHT | RUNS
