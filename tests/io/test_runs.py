"""Runs and judgements from dictionaries, data frames and files; fused runs given back; runs joined."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rerank.errors import InputError
from rerank.io import read_run, write_run
from rerank.io.fusion import join, judge
from rerank.io.runs import as_dict, as_frame, qrels_of, run_of

GIVEN = {"007": {"d1": 2.5, "d2": 1.0}, "q2": {"d1": -3.0}}
ROWS = [("007", "d1", 2.5), ("007", "d2", 1.0), ("q2", "d1", -3.0)]


def triples(run):
    return list(zip(run.qid.tolist(), run.docid.tolist(), run.score.tolist()))


def columns(*names):
    return dict(zip(names, map(list, zip(*ROWS))))


FRAMES = [
    pd.DataFrame(columns("qid", "docno", "score")),
    pd.DataFrame(columns("q_id", "doc_id", "score")),
    pl.DataFrame(columns("query_id", "doc_id", "score")),
    pa.table(columns("qid", "docid", "score")),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)
def test_data_frames_are_read_and_given_back_as_they_are(frame):
    assert triples(run_of(frame, "a")) == ROWS
    back = as_frame(*(np.array(each, dtype=object) for each in list(zip(*ROWS))[:2]), np.array([2.5, 1.0, -3.0]), frame)
    assert type(back) is type(frame) and triples(run_of(back, "a")) == ROWS
    assert list(getattr(back, "column_names", back.columns)) == list(getattr(frame, "column_names", frame.columns))


def test_dictionaries_files_and_other_objects_are_read(tmp_path):
    class Other:
        def to_dict(self):
            return GIVEN

    write_run(tmp_path / "a.run", *zip(*[row[:2] for row in ROWS]), [2.5, 1.0, -3.0])
    for source in (GIVEN, Other(), tmp_path / "a.run", str(tmp_path / "a.run"), read_run(tmp_path / "a.run")):
        assert triples(run_of(source, "a")) == ROWS
    assert triples(run_of({7: {np.int64(1): 2}}, "a")) == [("7", "1", 2.0)]


def test_judgements_are_read_from_every_form(tmp_path):
    grades = {"q1": {"d1": 2, "d2": 0}}
    (tmp_path / "q.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    frames = [pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], name: [2, 0]}) for name in ("label", "score")]
    for source in (grades, tmp_path / "q.txt", *frames):
        found = qrels_of(source)
        assert (found.qid.tolist(), found.docid.tolist(), found.grade.tolist()) == (["q1", "q1"], ["d1", "d2"], [2, 0])


NO_RUNS = [
    ({}, "is empty"),
    ({"q": 3}, "has a int for query 'q'"),
    ({"q": {"d": float("nan")}}, "no finite number for document 'd' of query 'q'"),
    ({"q": {"d": "high"}}, "is no number"),
    ({"q": {"d": np.array([1.0]), "e": np.array([2.0])}}, "is no number"),
    ({"q": {"d": 10**400}}, "is no number"),
    (pl.LazyFrame({"qid": ["q"], "docno": ["d"]}), "no column of scores"),
    ({1.5: {"d": 1.0}}, "has the id 1.5"),
    (pd.DataFrame({"qid": ["q"], "text": ["d"], "score": [1.0]}), "no column of documents"),
    ([1, 2], "is a list; give a path"),
]


@pytest.mark.parametrize(("source", "message"), NO_RUNS)
def test_what_is_no_run_is_refused_in_one_sentence(source, message):
    with pytest.raises(InputError, match=message) as refused:
        run_of(source, "bm25")
    assert "'bm25'" in str(refused.value) and "\n" not in str(refused.value)


def test_runs_are_joined_and_judged():
    joined = join({"a": run_of(GIVEN, "a"), "b": run_of({"007": {"d2": 9.0, "d3": 8.0}}, "b")})
    rows = {pair: row.tolist() for *pair, row in zip(joined.qid, joined.docid, joined.scores) for pair in [tuple(pair)]}
    assert rows.keys() == {("007", "d1"), ("007", "d2"), ("007", "d3"), ("q2", "d1")}
    assert rows["007", "d2"] == [1.0, 9.0] and np.isnan(rows["007", "d1"][1]) and np.isnan(rows["007", "d3"][0])
    known = judge(joined, qrels_of({"007": {"d3": 2, "d1": -1, "d9": 1, "d8": 0}, "q5": {"d1": 3}}))
    by_row = dict(zip(zip(joined.qid, joined.docid), known.grades.tolist()))
    assert by_row == {("007", "d1"): 0.0, ("007", "d2"): 0.0, ("007", "d3"): 2.0, ("q2", "d1"): 0.0}
    assert dict(zip(joined.qid, known.judged.tolist())) == {"007": True, "q2": False}
    assert known.missed == {"007": (1.0,), "q5": (3.0,)}


def test_the_time_for_relevant_documents_that_no_run_has_grows_with_their_number():
    joined = join({"a": run_of({"q": {"d": 1.0}}, "a")})
    seconds = []
    for count in (8_000, 64_000):
        qrels = qrels_of({"q": {f"d{number}": 1 for number in range(count)}})
        start = time.process_time()
        assert judge(joined, qrels).missed == {"q": (1.0,) * count}
        seconds.append(time.process_time() - start)
    assert seconds[1] < 32 * seconds[0]  # eight times as long; 64 times if each one copied those before it


def test_equal_scores_come_by_id_descending_as_trec_eval_has_them():
    ids = np.array(["a", "c", "b"], dtype=object)
    assert list(as_dict(np.array(["q"] * 3, dtype=object), ids, np.array([1.0, 1.0, 2.0]))["q"]) == ["b", "c", "a"]
