"""Tables with texts and gaps: the commands do with a file what Python does with a data frame."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rerank import Reranker, load
from rerank.errors import InputWarning
from rerank.io import read_table
from rerank.io.columns import ColumnKind
from rerank.io.frames import Frame
from rerank.scorers import TableLogistic
from tests.cli.commands import answer, run

OPTIONS = {"stat": "precision@20", "solver": "search", "node_limit": 50, "radius": 0.3, "margin": 0.1}


def machines(seed: int = 0, n: int = 200) -> pd.DataFrame:
    """Numbers, booleans and texts, with gaps in some; a name for each row, and few dates."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "name": [f"machine {seed}-{row}" for row in range(n)],
            "age": rng.integers(1, 30, n),
            "maker": rng.choice(["Abel, Inc", "Bach", "none", "Ümit"], n, p=[0.4, 0.3, 0.25, 0.05]),
            "load": rng.normal(size=n).round(3),
            "heat": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(3)),
            "hall": rng.choice(["x", "y", None], n),
            "old": rng.random(n) < 0.4,
        }
    )
    risk = frame["age"] / 20 + (frame["maker"] == "Bach") + frame["load"] * frame["old"] + frame["heat"].fillna(0)
    return frame.assign(failed=(risk + rng.normal(size=n) > 2).astype(int))


@pytest.fixture(params=["csv", "parquet"])
def files(request, folder):
    """A table to learn from and one of rows to come, and what pandas makes of a file."""
    names = f"t.{request.param}", f"new.{request.param}"
    for seed, name in enumerate(names):
        frame = machines(seed)
        frame.to_csv(name, index=False) if request.param == "csv" else frame.to_parquet(name, index=False)
    return *names, getattr(pd, f"read_{request.param}")


def fit(table, *more, code=None):
    given = [word for name, value in OPTIONS.items() for word in ("--" + name.replace("_", "-"), value)]
    return run("fit", table, "--free", "--label", "failed", "--model", "m.json", *given, *more, code=code)


def test_a_file_with_texts_and_gaps_is_fitted_and_ranked_as_in_python(files):
    known, new, read = files
    done = fit(known)
    frame, to_come = read(known), read(new)
    est = Reranker(random_state=0, **OPTIONS).fit(frame.drop(columns="failed"), frame["failed"])
    ours = load("m.json")
    assert isinstance(ours.first_stage_, TableLogistic)
    assert ours.result_.weights.tobytes() == est.result_.weights.tobytes()
    assert ours.result_.left_out == est.result_.left_out == ("name",)
    learned = next(note for note in est.result_.notes if "learned from" in note)
    assert "4 of numbers, 2 of text; left out: name" in learned and learned in done.stdout

    rows = answer(run("rank", "m.json", new, "--top", 0, "--json"))["rows"]
    X = to_come.drop(columns="failed")
    order = np.argsort(est.rank(X))
    assert [int(row["id"]) for row in rows] == order.tolist()
    assert [row["score"] for row in rows] == est.decision_function(X)[order].tolist()
    told = answer(run("score", "m.json", new, "--json"))
    assert told["value"] == est.score(X, to_come["failed"])
    run("verify", "m.json", known, code=(0, 3))  # 3: a proof that was not asked for
    run("report", "m.json", known, "--output", "page.html")
    assert "the same" in Path("page.html").read_text()


def test_programs_go_to_files_and_back(files):
    known, _, _ = files
    fit(known, "--candidates", 12)
    run("export", "m.json", known, "p.mps")
    run("solve", "p.mps", "--time-limit", 5, code=None)
    run("import", "p.mps", "p.sol", "--model", "n.json", code=None)
    assert isinstance(load("n.json").first_stage_, TableLogistic)


def test_a_choice_by_folds_learns_from_texts_as_well(folder):
    machines().to_csv("t.csv", index=False)
    given = ("--label", "failed", "--linear", "--cv", 2, "--stat", "precision@20", "--node-limit", 0)
    run("fit", "t.csv", "--model", "m.json", *given, code=None)
    est = load("m.json")
    assert isinstance(est.first_stage_, TableLogistic) and est.result_.evidence is not None


def test_columns_that_a_model_never_looks_at_may_be_away(folder):
    machines().to_csv("t.csv", index=False)
    machines(1).to_csv("new.csv", index=False)
    machines(1).drop(columns="name").to_csv("less.csv", index=False)
    fit("t.csv")
    there, away = (answer(run("rank", "m.json", name, "--json"))["rows"] for name in ("new.csv", "less.csv"))
    assert there == away
    machines(1).drop(columns="maker").to_csv("less.csv", index=False)
    assert "has no column 'maker'" in run("rank", "m.json", "less.csv", code=2).stderr


def test_a_model_of_python_reads_its_texts_as_they_were(folder):
    """pandas takes '?' for a text and keeps blanks; a gap is one of a number."""
    frame = machines().assign(hall=["?", " y", "x"] * 66 + ["x"] * 2)
    frame.to_csv("t.csv", index=False)
    frame = pd.read_csv("t.csv")
    X = frame.drop(columns="failed")
    est = Reranker(**OPTIONS).fit(X, frame["failed"])
    est.save("m.json")
    rows = answer(run("rank", "m.json", "t.csv", "--top", 0, "--json"))["rows"]
    np.testing.assert_array_equal([row["score"] for row in rows], np.sort(est.decision_function(X))[::-1])


def test_what_a_column_holds_is_told_by_its_first_entry_or_by_name(folder):
    Path("t.csv").write_text("a,b,c,d\n1,,x,01\n,2,NA,7\n3,None,none,07\n")
    X = read_table("t.csv", kinds={"d": ColumnKind(texts=True)}).X
    assert isinstance(X, Frame) and X.shape == (3, 4)
    np.testing.assert_array_equal(X.columns["a"], [1, np.nan, 3])
    np.testing.assert_array_equal(X.columns["b"], [np.nan, 2, np.nan])
    assert X.columns["c"].tolist() == ["x", None, "none"] and X.columns["d"].tolist() == ["01", "7", "07"]
    Path("plain.csv").write_text("a,b\n1,2\n3,True\n")
    np.testing.assert_array_equal(read_table("plain.csv", kinds={}).X, [[1, 2], [3, 1]])
    pd.DataFrame({"a": [1, 2], "zip": [7, None]}).astype({"zip": "Int64"}).to_parquet("t.parquet")
    table = read_table("t.parquet", kinds={"zip": ColumnKind(texts=True)})
    assert table.X.columns["zip"].tolist() == ["7", None]


def test_numbers_that_are_names_are_read_as_texts(folder):
    frame = machines().assign(code=lambda rows: np.arange(len(rows)) % 3)
    frame.to_csv("t.csv", index=False)
    fit("t.csv", "--texts", "code, maker")
    said = next(note for note in load("m.json").result_.notes if "learned from" in note)
    assert "4 of numbers, 3 of text" in said
    est = Reranker(random_state=0, **OPTIONS)
    est.fit(frame.drop(columns="failed").astype({"code": str}), frame["failed"])
    assert load("m.json").result_.weights.tobytes() == est.result_.weights.tobytes()


def test_another_first_stage_reads_numbers_only(folder):
    frame = machines().drop(columns=["heat"])
    frame.to_csv("t.csv", index=False)
    done = fit("t.csv", "--first-stage", "toppush")
    assert "Left out because they hold text: 'name', 'maker', 'hall'." in done.stderr


def test_dates_of_a_file_are_named_with_the_cure_and_texts_that_the_fit_did_not_have_when_rows_are_ranked(folder):
    known = machines()
    days = pd.date_range("2024-01-01", periods=len(known)).astype(str)
    known = known.assign(hall=known["hall"].fillna("y"), built=days, week=days.str[:8] + "01", read="2024-05-06 10:30")
    known.assign(week=[f"{1 + row // 8}/3/2024" for row in range(len(known))]).to_csv("t.csv", index=False)
    told = " ".join(fit("t.csv").stdout.split())
    for name in ("built", "week", "read"):
        assert f"{name} (a date)" in told
    assert "Give dates as numbers, such as days since the first of them." in told
    card = ("card", "fit", "t.csv", "--label", "failed", "--questions", 1, "--validation", "none", "-o", "c.json")
    done = run(*card, code=None).stderr
    for name in ("built", "read"):
        assert f"The column {name!r} gives no question: dates; give them as numbers" in done
    later = known.assign(hall=["cellar", "cellar", "roof", *known["hall"][3:]])
    later.to_csv("later.csv", index=False)
    done = run("rank", "m.json", "later.csv").stderr
    assert done.count("Column 'hall': 3 rows hold texts that no row of the fit had ('cellar', 'roof')") == 1
    assert "no row of the fit had" not in run("rank", "m.json", "t.csv").stderr
    with pytest.warns(InputWarning, match="^Column 'hall': 1 row holds a text .*'roof'.*; correct what is misspelt"):
        load("m.json").rank(later.iloc[2:])
