"""Every writer writes what its own reader takes, or refuses in one sentence before there is a file."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.io import (
    Run,
    Table,
    read_csv,
    read_qrels,
    read_run,
    read_svmlight,
    write_csv,
    write_qrels,
    write_run,
    write_svmlight,
)
from rerank.io.runs import as_dict, as_frame, run_of
from rerank.io.table import words

ODD = ["", " ", "a b", " a", "a\t", "a\n", "a\r", "a\rb", "\ufeffa", "a\0", "#a", "docid=a", ",", '"', "é", "7"]
ids = st.one_of(st.sampled_from(["a", "b", "c", "d10", "d9"]), st.sampled_from(ODD))
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(), st.sampled_from([0.1, 1 / 3, -0.0, 1e300, 1e-300]))
rows = st.lists(st.tuples(ids, ids, numbers), max_size=5)
many = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(path, write) -> bool:
    """Whether a file was made; a refusal is one sentence and leaves none."""
    path.unlink(missing_ok=True)
    try:
        write()
    except InputError as error:
        assert not path.exists() and "\n" not in str(error)
        return False
    return True


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
@many
@given(rows=rows)
def test_runs(tmp_path, name, rows):
    path = tmp_path / name
    qid, docid, score = (list(column) for column in zip(*rows)) if rows else ([], [], [])
    if not written(path, lambda: write_run(path, qid, docid, score)):
        pairs = list(zip(qid, docid))
        plain = all(word.split() == [word] and word[0] != "\ufeff" and "\0" not in word for word in qid + docid)
        plain = plain and not any(query.startswith("#") for query in qid)  # which begins a remark
        assert not (rows and plain and len(set(pairs)) == len(pairs) and np.isfinite(score).all())
        return
    found = read_run(path)
    assert dict(zip(zip(found.qid, found.docid), found.score)) == dict(zip(zip(qid, docid), score))
    for query in set(qid):  # best first; equal scores by id, descending
        own = found.qid == query
        keys = list(zip(found.score[own], found.docid[own]))
        assert keys == sorted(keys, reverse=True)


@many
@given(rows=rows)
def test_judgements(tmp_path, rows):
    path = tmp_path / "a.qrels"
    qid, docid, grade = (list(column) for column in zip(*rows)) if rows else ([], [], [])
    if written(path, lambda: write_qrels(path, qid, docid, grade)):
        found = read_qrels(path)
        assert list(zip(found.qid, found.docid, found.grade)) == list(zip(qid, docid, grade))


@pytest.mark.parametrize(("write", "name"), [(write_csv, "a.csv"), (write_svmlight, "a.svm"), (write_csv, "a.csv.gz")])
@many
@given(
    rows=st.lists(
        st.tuples(ids, st.one_of(ids, st.sampled_from(["1", "2", "007"])), *[numbers] * 2, *[st.floats(0, 9)] * 2),
        max_size=4,
    )
)
def test_tables(tmp_path, write, name, rows):
    """Every bit comes back; of svmlight a zero is left out, so its sign does not."""
    path = tmp_path / name
    names, lists, *columns = (list(column) for column in zip(*rows)) if rows else ([[]] * 6)
    first, second, y, weights = (np.array(column, dtype=float) for column in columns)
    table = Table(np.column_stack([first, second]), y, words(lists), words(names), ("f1", "f2"), weights)
    parts, read = ["X", "y", "sample_weight"], read_csv
    if write is write_svmlight:
        table, parts, read = replace(table, X=table.X + 0.0, sample_weight=None), ["X", "y"], read_svmlight
    if not written(path, lambda: write(path, table)):
        return
    roles = {"label": "target", "qid": "qid", "id": "id", "weight": "weight"}
    found = read(path, **roles if read is read_csv else {})
    for part in parts:
        assert getattr(found, part).tobytes() == getattr(table, part).tobytes()
    assert found.qid.tolist() == table.qid.tolist() and found.ids.tolist() == table.ids.tolist()


@many
@given(rows=rows)
def test_dictionaries_and_frames(rows):
    qid, docid, score = (list(column) for column in zip(*rows)) if rows else ([], [], [])
    given = Run(words(qid), words(docid), np.array(score, dtype=float), "a")
    try:
        run = run_of(given, "a")
    except InputError:
        assert not rows or len({row[:2] for row in rows}) < len(rows) or not np.isfinite(score).all()
        return
    if not rows:  # a run that was read may be empty; a dictionary of nothing is refused
        return
    wanted = dict(zip(zip(qid, docid), score))
    again = run_of(as_dict(run.qid, run.docid, run.score), "a")
    assert dict(zip(zip(again.qid, again.docid), again.score)) == wanted
    pandas = pytest.importorskip("pandas")
    frame = as_frame(run.qid, run.docid, run.score, pandas.DataFrame({"qid": [], "docno": []}))
    again = run_of(frame, "a")
    assert dict(zip(zip(again.qid, again.docid), again.score)) == wanted


def test_the_csv_of_a_ranking_can_be_read(tmp_path):
    path = tmp_path / "a.csv"
    write_csv(path, Table(np.array([[1.0]]), None, words(["q,1"]), words(['say "x"']), ("x",)))
    assert list(csv.reader(path.open())) == [["id", "qid", "x"], ['say "x"', "q,1", "1"]]
