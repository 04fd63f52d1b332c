"""Sound tables, runs and judgements for `tests.cases.fuzz`, and the functions that read them."""

import io
from pathlib import Path

import numpy as np

from rerank import io as tables


def csv() -> list[bytes]:
    """With every role, quotes, another delimiter, words and True."""
    return [
        b"id,q,age,name,year,w,died\np1,a,30,Ann,58.5,1,0\np2,a,31,Bob,1e2,2,1\n\np3,b,-3,Cy,0,0,2\n",
        b'\xef\xbb\xbf"a ""x""",q,w,died,id\r\n"1",2,1,0,x\r\n" 3 ","4",2,1,y\r\n',
        b"flag,q,w,died,id\nTrue,1,1,False,a\nFalse,1,1,True,b\n",
        b"a;b\n1;2\n",
    ]


def read_csv(path: Path) -> None:
    """As a command does it: with the roles, then without."""
    from rerank.io.reader import column_names

    column_names(path)
    for roles in ({"label": "died", "qid": "q", "id": "id", "weight": "w"}, {}):
        table = tables.read_csv(path, **roles)
        assert np.isfinite(table.X).all() and table.X.shape == (len(table), len(table.feature_names))


def svmlight() -> list[bytes]:
    return [
        b"0 qid:1 1:2.5 3:1e-3 # docid = a\n2 qid:1 2:7 # docid = b\n1 qid:2 1:1 2:1 3:1 # docid = c\n",
        b"1 1:1 2:2\n0 2:3\n\n# only a comment\n1 4:1\n",
    ]


def read_svmlight(path: Path) -> None:
    for options in ({}, {"zero_based": True}, {"n_features": 3}):
        table = tables.read_svmlight(path, **options)
        assert np.isfinite(table.X).all()


def ideal() -> list[bytes]:
    return [b'{"format": "exact-rerank ideal grades", "schema": 1, "grades": {"q1": [2, 1.5], "q2": [1]}}']


def read_ideal(path: Path) -> None:
    from rerank.io import ideal

    path.with_name("table.csv.ideal.json").write_bytes(path.read_bytes())
    ideal.read(path.with_name("table.csv"))


def run() -> list[bytes]:
    return [b"q1 Q0 d1 1 3.5 sys\nq1 Q0 d2 9 -1e-3 sys\n\nq2 Q0 d1 1 7 sys\n"]


def read_run(path: Path) -> None:
    found = tables.read_run(path)
    tables.fuse({"a": found}, tables.read_qrels(_beside(path, qrels()[0])))


def qrels() -> list[bytes]:
    return [b"q1 0 d1 0\nq1 0 d3 2\nq2 0 d1 1\nq3 0 d9 1\nq1 0 d2 -1\n"]


def read_qrels(path: Path) -> None:
    found = tables.read_qrels(path)
    tables.fuse({"a": tables.read_run(_beside(path, run()[0]))}, found)


def _beside(path: Path, content: bytes) -> Path:
    other = path.with_name("other")
    other.write_bytes(content)
    return other


def parquet() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"id": ["a", "b"], "q": ["1", "1"], "x": [1.5, 2.0], "n": [1, 2], "f": [True, False]}
    columns |= {"died": [0, 1], "w": [1, 2]}
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, compression="none")
    return [out.getvalue()]


def read_parquet(path: Path) -> None:
    tables.read_table(path, label="died", qid="q", id="id", weight="w")
