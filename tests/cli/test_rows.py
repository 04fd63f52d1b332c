"""``rerank rank`` and ``rerank report`` show the columns of the file beside each row."""

import csv
from pathlib import Path

import numpy as np
import pytest

from rerank import load
from rerank.io import read_table
from tests.cli.commands import answer, run
from tests.cli.test_reporting import listed

PEOPLE = [f"person {k}" for k in range(40)]


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A table with names, a column whose name is a formula, and rows of weight 0 between the others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2)).round(3)
    weight = np.where(np.arange(40) % 5 == 0, 0, 1)
    y = (X.sum(axis=1) + rng.normal(size=40) > 0.5).astype(int)
    columns = {"who": PEOPLE, "a": X[:, 0], "=b": X[:, 1], "hit": y, "w": weight}
    with open("t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), "t.parquet")
    options = ["--label=hit", "--weight=w", "--features=a,=b", "--free", "--radius=0", "--stat=precision@5"]
    run("fit", "t.csv", *options, "--model", "m.json", code=None)
    return columns


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_a_row_stands_with_its_cells(people, file):
    found = answer(run("rank", "m.json", file, "--columns", "who,=b", "--json"))["rows"]
    places = load("m.json").rank(read_table(file, features=["a", "=b"]).X)
    assert [row["columns"]["who"] for row in found] == [PEOPLE[k] for k in np.argsort(places)[:10]]
    assert all(float(row["columns"]["=b"]) == people["=b"][int(row["id"])] for row in found)
    run("rank", "m.json", file, "--columns", "who", "--output", "list.csv")
    written = list(csv.DictReader(Path("list.csv").read_text().splitlines()))
    assert len(written) == 40 and all(row["who"] == PEOPLE[int(row["id"])] for row in written)
    printed = run("rank", "m.json", file).stdout.splitlines()  # without being asked the columns of the model
    assert printed[0].split()[-2:] == ["a", "=b"]  # in digits that a person reads
    assert printed[1].split()[-2] == f"{people['a'][int(found[0]['id'])]:.6g}"
    run("report", "m.json", file, "--columns", "who")  # rows of weight 0 are no rows of the page
    page = listed()
    assert len(page) == 10 and all(PEOPLE[int(row["id"])] == row["who"] and int(row["id"]) % 5 for row in page)
    assert "nearest: 'who'" in run("rank", "m.json", file, "--columns", "wo", code=2).stderr
    assert "a run holds no columns" in run("rank", "m.json", file, "--columns=a", "--output=x.run", code=2).stderr
