"""Advice on tables and files: arrays, frames, CSV, svmlight, Parquet, TREC runs, paths."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from rerank.io import Table, read_csv, read_qrels, read_run, read_svmlight, read_table
from rerank.io.meant import meant
from tests.cases.advice import FRAME, Row, X, Y, fit, promised, same, write


def parquet(path, **columns):
    pyarrow.parquet.write_table(pa.table({"hit": Y, "a": X[:, 0], "b": X[:, 1]} | columns), path)
    return path


def csv(text, **options):
    return read_csv(write("i.csv", text), **options)


def svm(text, **options):
    return read_svmlight(write("i.svm", text), **options)


def run(text):
    return read_run(write("r.run", text))


def qrels(text):
    return read_qrels(write("q", text))


SVM = "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.1 2:2\n"
RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\n"


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
    **promised(
        lambda: same(fit(X, sample_weight=np.ones(40))),
        {"with all weights zero nothing counts; raise one above 0": lambda: fit(X, sample_weight=np.zeros(40))},
    )
}

FRAMES = {
    "which is rounded to a double, as many whole numbers above 2^53 are; if these are names, make them texts": Row(
        lambda: meant(pd.DataFrame({"a": [2**53 + 1, 2**53 + 2]})),
        lambda: [meant(pd.DataFrame({"a": own})) for own in ([str(2**53 + 1)] * 2, [1, 2])] == [(), ()],
    )
}

CSV = {
    "add a header line": Row(lambda: csv("1,2\n3,4\n"), lambda: csv("a,b\n1,2\n3,4\n").X.shape == (2, 2)),
    "check its quotes": Row(lambda: csv('a,b\n"1,2\n'), lambda: csv('a,b\n"1",2\n').X.tolist() == [[1, 2]]),
    "is svmlight, which has no {}; leave that option out": Row(
        lambda: read_table(write("i.svm", SVM), label="hit"), lambda: read_table("i.svm").y.tolist() == [1, 0]
    ),
}


SVMLIGHT = {
    "keep one value for it": Row(lambda: svm("1 1:5 1:4\n"), lambda: svm("1 1:5\n").X.tolist() == [[5]]),
    **promised(
        lambda: len(svm(SVM)) == 2,
        {
            "is empty; pass a file with at least one row": lambda: svm(""),
            "has no feature in any row; pass a file with index:value pairs": lambda: svm("1\n0\n"),
        },
    ),
    "write it as qid:7": Row(lambda: svm("1 qid: 1:5\n"), lambda: svm("1 qid:7 1:5\n").qid.tolist() == ["7"]),
}

RUNS = {
    **promised(lambda: len(run(RUN).docid) == 2, {"write it as: {}": lambda: run("q1 d1 1 t\n")}),
    "exchange the files, or {}": Row(lambda: qrels(RUN), lambda: len(qrels(QRELS).grade) == 2),
}

ROWS = ARRAYS | FRAMES | CSV | SVMLIGHT | RUNS
