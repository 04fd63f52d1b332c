"""``--weight`` and ``--groups`` of the command line: rows of weight 0 are not there, and folds keep groups whole."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rerank.io import read_table
from tests.cli.commands import NAMES, OPEN, answer, fit, noisy, run


def write(name, X, y, **columns):
    pd.DataFrame(dict(zip(NAMES, X.T)) | {"hit": y} | columns).to_csv(name, index=False)


@pytest.fixture
def tables(folder):
    X, y = noisy(0)
    weight = (np.arange(y.size) % 4 > 0).astype(int)
    X[weight == 0] *= 50
    write("whole.csv", X, y, w=weight)
    write("some.csv", X[weight > 0], y[weight > 0], w=weight[weight > 0])
    return np.flatnonzero(weight)


@pytest.mark.parametrize("extra", [(), ("--holdout", 0.4), ("--cv", 2)])
def test_fit_and_score_of_a_table_with_weights_of_0(tables, extra):
    found = {}
    for name in ("whole", "some"):
        options = ("--weight", "w", "--json", "--model", f"{name}.json", *extra)
        found[name] = answer(fit(*options, data=f"{name}.csv", code=None))
        found[name]["score"] = run("score", f"{name}.json", "whole.csv", "--weight", "w", "--json").stdout
        found[name]["checks"] = run("verify", f"{name}.json", "whole.csv", code=None).exit_code
        del found[name]["model"], found[name]["seconds"]
    assert found["whole"] == found["some"] and found["whole"]["checks"] in (0, 3)


def test_a_report_names_rows_as_the_file_counts_them(tables):
    fit("--weight", "w", data="whole.csv", code=None)
    run("report", "m.json", "whole.csv")
    page = Path("report.html").read_text(encoding="utf-8")
    assert f"of {tables.size} rows" in page and "of 50 rows" not in page
    ranked = answer(run("rank", "m.json", "whole.csv", "--json", "--top", 0))["rows"]
    assert len(ranked) == 50  # rows to rank are all there
    first = next(row["id"] for row in ranked if int(row["id"]) in tables)
    assert f">{first}<" in page


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_groups(folder, format):
    X, y = noisy(0)
    people = np.array([f"p{row // 5}" for row in range(y.size)])
    write("data.csv", X, y, person=people)
    data = "data.csv"
    if format == "parquet":
        csv, parquet = (pytest.importorskip(f"pyarrow.{module}") for module in ("csv", "parquet"))
        data = "data.parquet"
        parquet.write_table(csv.read_csv("data.csv"), data)
    assert read_table(data, label="hit", groups="person").groups.tolist() == people.tolist()
    body = answer(fit("--groups", "person", "--radius", 0.1, "--json", data=data, code=None))
    assert body["grouped"] and body["folds"] == 5
    run("verify", "m.json", data, "--label", "hit", code=OPEN)
    run("rank", "m.json", data)
    done = fit("--groups", "person", "--cv", 2, "--holdout", 0.4, data=data, code=None)
    assert "Held out 25 rows" in done.stdout or "Held out 20 rows" in done.stdout
    done = fit("--groups", "persons", data=data, code=2)
    assert "no column 'persons'; nearest: 'person'" in done.stderr
