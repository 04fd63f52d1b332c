"""Advice on paths that cannot be written, on cells of tables, on runs, and on what is gone."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from sklearn.svm import LinearSVC

from rerank import Reranker, RerankerCV, load, scorers
from rerank.io import read_csv, read_qrels, read_run, read_svmlight, read_table, write_csv
from rerank.problem import Problem, problem_of
from rerank.ranks.runs import run_values
from rerank.scorers import RankSVM, TopPush
from rerank.search import solve
from rerank.statistics import parse
from tests.cases.advice import FRAME, Row, X, Y, command, fit, model_file, same, succeeds, table_file, write
from tests.cases.advice.rooms import GRADES, OTHER, RUN, fuse
from tests.cases.advice.tables import parquet, tiny


@contextmanager
def refused(name: str, reason: int) -> Iterator[None]:
    """The system refuses a call of ``os``."""
    with mock.patch(f"os.{name}", side_effect=OSError(reason, os.strerror(reason))):
        yield


def audited(folder, refuse=None):
    fused = fuse(proof=True)
    if refuse is None:
        fused.save_audit(folder)
    else:
        with refused("replace", refuse):
            fused.save_audit(folder)
    return sorted(os.listdir(folder)) == ["fit.proof", "model.json", "table.csv"]


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


@contextmanager
def folder_that_is_gone() -> Iterator[None]:
    """The block runs in a folder that was removed."""
    here = os.getcwd()
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir(f"{here}/gone")
    try:
        yield
    finally:
        os.chdir(here)


def fit_from_nowhere(model):
    table = os.path.abspath(table_file())
    with folder_that_is_gone():
        own = ("--label", "hit", "--first-stage", "none", "--solver", "search", "--model", model)
        return command("fit", table, "--free", *own)


PATHS = {
    ("Cannot write no/o.csv: No such file or directory", "choose a folder that can be written"): Row(
        lambda: written("no/o.csv"), lambda: written("o.csv")
    ),
    ("Cannot write no/audit: No such file or directory", "choose a folder that can be written"): Row(
        lambda: audited("no/audit"), lambda: audited("audit")
    ),
    ("table.csv: Device or resource busy", "choose another path"): Row(
        lambda: audited("audit", errno.EBUSY), lambda: audited("other")
    ),
    ("File name too long", "choose another path"): Row(lambda: written("o" * 300), lambda: written("o")),
    "is where {} goes; give the path of another file": Row(
        lambda: written("o.csv", to="o.csv"), lambda: written("o.csv", to="p.csv")
    ),
    "rerank: The system refused this{}: {}; change that, or use other paths": Row(
        lambda: fit_from_nowhere("m.json"),
        lambda: (
            fit_from_nowhere(os.path.abspath("m.json")).exit_code in (0, 3)
            and Path("m.json").exists()
            and Path(model_file("n.json")).exists()
        ),
    ),
}


def days(**options):
    return fit(FRAME.assign(b=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(40), "D")), **options)


def worded(**options):
    return fit(FRAME.assign(b=np.where(X[:, 1] > 0, "up", "down")), **options)


def of_file(path="x.parquet", *columns):
    """A table of numbers in a file, as a data set of pyarrow."""
    pyarrow.parquet.write_table(pa.Table.from_pandas(FRAME), path)
    return pyarrow.dataset.dataset(path)


def large(path="large.parquet", columns=130):
    """A file of a million rows, which are all alike."""
    values, written = pa.array(np.zeros(1 << 20, np.int8)), {"use_dictionary": False, "write_statistics": False}
    pyarrow.parquet.write_table(pa.table({f"c{k}": values for k in range(columns)}), path, **written)
    return path


def nested(path="nested.parquet"):
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0], "l": [[1], [2]], "q": ["u", "v"]}), path)
    return path


def first_rows(source, path="few.parquet"):
    few = next(pyarrow.parquet.ParquetFile(source).iter_batches(9))
    pyarrow.parquet.write_table(pa.Table.from_batches([few]), path)
    return path


TABLES = {
    "X is {}; pass the table of a file, such as pyarrow.dataset.dataset(path)": Row(
        lambda: (of_file("x.parquet"), fit("x.parquet"))[1], lambda: same(fit(of_file()))
    ),
    ("Column 'b' holds dates or times, not numbers", "convert it, to days for instance"): Row(
        lambda: days(features=["a", "b"]),
        lambda: fit(FRAME.assign(b=np.arange(40)), features=["a", "b"]).result_.value > 0 and days(features=["a"]),
    ),
    ("Column 'b' holds no numbers", "encode it"): Row(
        lambda: worded(features=["a", "b"]),
        lambda: fit(FRAME.assign(b=X[:, 1] > 0), features=["a", "b"]).result_.value > 0 and worded(features=["a"]),
    ),
    ("'1=0.5' is not index:value", "correct it"): Row(
        lambda: read_svmlight(write("i.svm", "1 1=0.5\n")),
        lambda: read_svmlight(write("i.svm", "1 1:0.5\n")).X.tolist() == [[0.5]],
    ),
    ("the grade '0.5' is not a whole number up to", "correct it"): Row(
        lambda: read_qrels(write("q", "q1 0 d1 0.5\n")),
        lambda: read_qrels(write("q", "q1 0 d1 1\n")).grade.tolist() == [1],
    ),
    "column 'q' is empty; fill it in": Row(
        lambda: read_csv(write("i.csv", "hit,q,a\n1,,5\n0,1,3\n"), label="hit", qid="q"),
        lambda: read_csv(write("i.csv", "hit,q,a\n1,1,5\n0,1,3\n"), label="hit", qid="q").qid.tolist() == ["1", "1"],
    ),
    ("holds inf, which is not finite", "fill it in or drop the row"): Row(
        lambda: read_csv(write("i.csv", "hit,a\n1,inf\n0,3\n"), label="hit"),
        lambda: (
            len(read_csv(write("i.csv", "hit,a\n1,4\n0,3\n"), label="hit")) == 2
            and len(read_csv(write("i.csv", "hit,a\n0,3\n"), label="hit")) == 1
        ),
    ),
    "holds lists or records; name another one": Row(
        lambda: read_table(nested(), qid="l"), lambda: read_table(nested(), qid="q").X.shape == (2, 1)
    ),
    (
        "has {} rows of {} features, with texts over {} cells; choose fewer columns with features",
        "or write the rows that count, or a sample, to a file of their own",
    ): Row(
        lambda: read_table(large()),
        lambda: (
            read_table("large.parquet", features=["c0"]).X.shape == (1 << 20, 1)
            and len(read_table(first_rows("large.parquet"))) == 9
        ),
    ),
}


def without(row_number, path="less.csv"):
    """The table's file without one of its rows."""
    lines = Path("t.csv").read_text().splitlines()
    return write(path, "\n".join(lines[:row_number] + lines[row_number + 1 :]) + "\n")


def oversized(path="o.json"):
    """A file of 65 MB without content."""
    write(path, "")
    os.truncate(path, 65 << 20)
    return path


def problem(**options):
    """The problem of a fit with a radius: a score, and two columns that correct it."""
    made = problem_of(np.column_stack([X[:, 1], X]), Y, parse("auc"))
    return Problem.build(made.X, made.lists, **options)


FIT = ("--solver", "search", "--model", "m.json")
STRANGERS = {"q1": {"x1": 1.0, "x2": 0.5}, "q2": {"x3": 1.0}}


def frame_of(run, score=float):
    rows = [(query, document, score(value)) for query, own in run.items() for document, value in own.items()]
    return pd.DataFrame(rows, columns=["qid", "docid", "score"])


def judged_notes(run):
    return run_values(run, GRADES, ["ap"], strangers=True)


def squared(first_stage=None, **options):
    """A choice among corrections of a score, where squares of the columns tell more than it does."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 2))
    score = 0.2 * table[:, 0] + rng.normal(size=600)
    given = score if first_stage is None else first_stage
    base = Reranker("precision@30", first_stage=given, solver="search", node_limit=0)
    made = RerankerCV(base, cv=3, n_repeats=1, **options)
    return made.fit(table, (table[:, 0] ** 2 > 2.2).astype(int))


def by_score(largest):
    """A fit of a shortlist by scores that go up to a number."""
    table = FRAME.assign(s=np.linspace(0.7, 1.0, 40) * largest)
    return fit(table, first_stage="s", n_candidates=12, features=["a", "b"])


MODELS = {
    "and scores above them would overflow; divide them by a constant": Row(
        lambda: by_score(1.7e308), lambda: by_score(1.7e308 / 1e300).result_.value == by_score(1.0).result_.value
    ),
    "is larger than {} bytes; pass another file": Row(
        lambda: load(oversized()), lambda: load(model_file()).result_.value > 0
    ),
    "holds out-of-fold scores of {} rows, and the table has {}; give the table of the fit": Row(
        lambda: (
            succeeds("fit", table_file(), "--free", "--label", "hit", "--cross-fit", 2, "--radius", 1, *FIT),
            command("verify", "m.json", without(3)),
        )[1],
        lambda: succeeds("verify", "m.json", "t.csv", code=3),
    ),
    "limits must be two arrays of {} numbers for a score and at least one column to correct it, without signs": Row(
        lambda: problem(limits=([1, -1, 0], [1, 1]), signs=[0, 0, 1]),
        lambda: solve(problem(limits=([1, -1, 0], [1, 1, 1])), 20.0).value > 0,
    ),
    "give a sign as a limit of 0": Row(
        lambda: problem(limits=([1, -1, -1], [1, 1, 1]), signs=[0, 0, 1]),
        lambda: solve(problem(limits=([1, -1, 0], [1, 1, 1])), 20.0).weights[2] >= 0,
    ),
    "alone has {} more than what was taken: compare it before you trust this score": Row(
        lambda: squared(safeguard=np.inf).report(),
        lambda: squared("logistic+squares", grid={"radius": [0.0]}, safeguard=-np.inf).report(),
    ),
}

GONE = {
    "it is a baseline in benchmarks/baselines.py; use RankSVM, or TopPush for the first places": Row(
        lambda: scorers.PNormPush,
        lambda: bool(RankSVM().fit(X, Y).coef_.any() and TopPush().fit(X, X[:, 0] > 1).coef_.any()),
    ),
    "it is a baseline, PNormPush(p=1) in benchmarks/baselines.py; use RankSVM": Row(
        lambda: scorers.ExponentialPush, lambda: bool(RankSVM().fit(X, Y).coef_.any())
    ),
    "use scikit-learn's LinearSVC with class_weight": Row(
        lambda: scorers.CostSensitiveSVM,
        lambda: fit(X, first_stage=LinearSVC(class_weight="balanced")).result_.value > 0,
    ),
}

RUNS = {
    "runs is a {}; give a mapping from names to runs": Row(
        lambda: fuse().fuse([RUN, OTHER]), lambda: fuse().fuse({"a": RUN, "b": OTHER})["q1"].keys() == {"d1", "d2"}
    ),
    "holds a score that is no number; give finite numbers": Row(
        lambda: fuse({"a": {"q1": {"d1": "high"}}, "b": OTHER}),
        lambda: fuse({"a": {"q1": {"d1": 0.9}}, "b": OTHER}).result_.value > 0,
    ),
    "holds scores that are no numbers; give finite numbers": Row(
        lambda: fuse({"a": frame_of(RUN, lambda score: "high"), "b": frame_of(OTHER)}),
        lambda: fuse({"a": frame_of(RUN), "b": frame_of(OTHER)}).result_.value == fuse().result_.value,
    ),
    "has document {} of query {} twice; keep one of them": Row(
        lambda: fuse({"a": {"q1": {"1": 0.9, 1: 0.5}}, "b": OTHER}),
        lambda: fuse({"a": {"q1": {"1": 0.9, "d1": 0.5}}, "b": OTHER}),
    ),
    "in each query, so it is read as ranks, 1 the best; if these are scores, write the lines": Row(
        lambda: read_run(write("a.run", "q d1 1\nq d2 2\n")),
        lambda: read_run(write("a.run", "q Q0 d1 2 1 s\nq Q0 d2 1 2 s\n")).score.tolist() == [1.0, 2.0],
    ),
    ("judged documents occur in the run", "{}; check that their ids are spelled alike."): Row(
        lambda: judged_notes(STRANGERS), lambda: judged_notes(RUN).n_known > 0
    ),
    "is kept: no option had the time to be tried on held-out queries; raise time_limit": Row(
        lambda: fuse(cv=2, time_limit=1e-9), lambda: fuse(cv=2, time_limit=20.0).evidence_ is not None
    ),
}


def judgements(n, path="q.txt"):
    """A file of judgements where numpy finds no memory for more than twenty of them."""
    real = np.array

    def allocate(first, *rest, **options):
        if np.size(first) > 20:
            raise MemoryError(f"Unable to allocate {np.size(first)} entries")
        return real(first, *rest, **options)

    write(path, "".join(f"q{k} 0 d 1\n" for k in range(n)))
    with mock.patch.object(np, "array", allocate):
        return read_qrels(path)


@contextmanager
def without_docstrings() -> Iterator[None]:
    """As python -OO runs."""
    flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if name[0] != "_"}
    with mock.patch.object(sys, "flags", SimpleNamespace(**flags | {"optimize": 2})):
        yield


def fit_without_docstrings(**options):
    fit(X, **options)  # what it imports is imported before
    with without_docstrings():
        return fit(X, **options)


def without_pyarrow(path):
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
        return read_table(path, label="hit")


MACHINES = {
    "{} needs more memory than there is; pass a smaller file": Row(
        lambda: judgements(40), lambda: len(judgements(20).grade) == 20
    ),
    "is a Parquet file, which pyarrow reads; pip install 'exact-rerank[parquet]', or save the table as CSV": Row(
        lambda: without_pyarrow(parquet("i.parquet")),
        lambda: len(read_table("i.parquet", label="hit")) == len(without_pyarrow(table_file())) == 40,
    ),
    "{}; run Python without that option; only solver='search' needs no program": Row(
        lambda: fit_without_docstrings(solver="highs", presolve=False),
        lambda: (
            fit(X, solver="highs", presolve=False).result_.value > 0 and same(fit_without_docstrings(solver="search"))
        ),
    ),
    "sums of such numbers are inexact or infinite; divide all of them by a constant.": Row(
        lambda: fit(FRAME, sample_weight=np.full(Y.size, 1e308)),
        lambda: fit(FRAME, sample_weight=np.full(Y.size, 1e308) / 1e300).result_.value > 0,
    ),
}
ROWS = PATHS | TABLES | MODELS | GONE | RUNS | MACHINES
