"""Grades of relevant documents that are no rows: written beside a table, read back, refused when damaged."""

import json
import os

import numpy as np
import pytest

from rerank.io import Table, read_csv, read_svmlight, write_csv, write_svmlight
from tests.cases.refuses import refuses

GRADES = {"1": (2.0, 1.0), "9": (0.5,)}
TABLE = Table(
    np.array([[1.0, 2.0], [3.0, 4.0]]),
    np.array([1.0, 0.0]),
    np.array(["1", "2"], object),
    None,
    ("f1", "f2"),
    ideal_gains=GRADES,
)
FORMATS = {
    "csv": (write_csv, lambda path: read_csv(path, label="target", qid="qid")),
    "svm": (write_svmlight, read_svmlight),
}


@pytest.mark.parametrize("form", FORMATS)
def test_grades_go_with_the_table(tmp_path, form):
    write, read = FORMATS[form]
    path = tmp_path / f"t.{form}"
    write(path, TABLE)
    back = read(path)
    assert back.ideal_gains == GRADES and back.X.tolist() == TABLE.X.tolist()
    assert "3 relevant documents" in back.notes[-1] and "they count in the ideal" in back.notes[-1]
    body = json.loads((tmp_path / f"t.{form}.ideal.json").read_text())
    assert body == {"format": "exact-rerank ideal grades", "schema": 1, "grades": {"1": [2, 1], "9": [0.5]}}
    # A later table in the same place does not inherit them.
    write(path, Table(TABLE.X, TABLE.y, TABLE.qid, None, TABLE.feature_names))
    assert read(path).ideal_gains is None and os.listdir(tmp_path) == [f"t.{form}"]


GOOD = {"format": "exact-rerank ideal grades", "schema": 1, "grades": {"1": [1]}}


GRADES_THAT_ARE_NONE = [[1], {"1": 1}, *({"1": [grade]} for grade in (-1, 0, True, "1", float("nan"), 10**400))]
BODIES = [[], {}, GOOD | {"format": "x"}, GOOD | {"schema": 2}, GOOD | {"schema": True}, GOOD | {"more": 1}]


@pytest.mark.parametrize("body", [*BODIES, *(GOOD | {"grades": grades} for grades in GRADES_THAT_ARE_NONE)])
def test_damaged_grades_are_refused_and_never_replaced_or_removed(tmp_path, body):
    write_csv(tmp_path / "t.csv", TABLE)
    beside = tmp_path / "t.csv.ideal.json"
    beside.write_text(json.dumps(body))
    for act in (
        lambda: read_csv(tmp_path / "t.csv", label="target", qid="qid"),
        lambda: write_csv(tmp_path / "t.csv", TABLE),
        lambda: write_csv(tmp_path / "t.csv", Table(TABLE.X, None, None, None, ("a", "b"))),
    ):
        refuses(r"ideal\.json holds no grades", act)
    assert beside.read_text() == json.dumps(body)
    beside.unlink()
    assert read_csv(tmp_path / "t.csv", label="target", qid="qid").X.tolist() == TABLE.X.tolist()


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[" * 10**5, b"[" + b"[]," * 2**21, b"9" * 10_000])
def test_other_files_there_are_refused(tmp_path, raw):
    write_csv(tmp_path / "t.csv", TABLE)
    (tmp_path / "t.csv.ideal.json").write_bytes(raw)
    refuses("holds no grades", read_csv, tmp_path / "t.csv", label="target", qid="qid")
