"""Advice on paths that cannot be written, on cells of tables, on runs, and on what is gone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from rerank import scorers
from rerank.io import read_csv, read_table, write_csv
from rerank.scorers import RankSVM
from tests.cases.advice import FRAME, Row, X, Y, fit, table_file
from tests.cases.advice.tables import parquet, tiny


@contextmanager
def output_to(path) -> Iterator[None]:
    """The standard output of this process goes to a file."""
    kept, file = os.dup(1), os.open(path, os.O_RDWR | os.O_CREAT)
    os.dup2(file, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept), os.close(file)


def written(path, to=None) -> bool:
    if to is None:
        write_csv(path, tiny())
    else:
        with output_to(to):
            write_csv(path, tiny())
    return len(read_csv(path, label="target")) == 2


PATHS = {
    ("Cannot write no/o.csv: No such file or directory", "choose a folder that can be written"): Row(
        lambda: written("no/o.csv"), lambda: written("o.csv")
    )
}


def by_score(largest):
    """A fit of a shortlist by scores that go up to a number."""
    table = FRAME.assign(s=np.linspace(0.7, 1.0, 40) * largest)
    return fit(table, first_stage="s", n_candidates=12, features=["a", "b"])


MODELS = {
    "and scores above them would overflow; divide them by a constant": Row(
        lambda: by_score(1.7e308), lambda: by_score(1.7e308 / 1e300).result_.value == by_score(1.0).result_.value
    )
}

GONE = {
    "it is a baseline, PNormPush(p=1) in benchmarks/baselines.py; use RankSVM": Row(
        lambda: scorers.ExponentialPush, lambda: bool(RankSVM().fit(X, Y).coef_.any())
    )
}


def without_pyarrow(path):
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
        return read_table(path, label="hit")


MACHINES = {
    "is a Parquet file, which pyarrow reads; pip install 'exact-rerank[parquet]', or save the table as CSV": Row(
        lambda: without_pyarrow(parquet("i.parquet")),
        lambda: len(read_table("i.parquet", label="hit")) == len(without_pyarrow(table_file())) == 40,
    )
}
ROWS = PATHS | MODELS | GONE | MACHINES
