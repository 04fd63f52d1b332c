"""Tables and runs as people have them, through the commands."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rerank import Reranker
from rerank.io import read_table
from tests.cli.commands import answer, run

N = 80
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
FRAME["y"] = (FRAME["a"] + RNG.normal(size=N) > 0.3).astype(int)
SHUFFLED = FRAME.sort_values("y").reset_index(drop=True).sample(frac=1, random_state=0)
OPTIONS = ("--free", "--stat", "dcg@10", "--solver", "search", "--time-limit", 2, "--model", "m.json")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SHUFFLED.to_parquet("index.parquet")
    SHUFFLED.rename_axis("patient").to_parquet("named.parquet")
    SHUFFLED.to_csv("index.csv")
    pd.read_csv("index.csv").to_csv("twice.csv", index=False)
    SHUFFLED.to_csv("plain.csv", index=False)
    SHUFFLED.to_parquet("plain.parquet", index=False)


FILES = ("index.parquet", "named.parquet", "index.csv", "twice.csv", "plain.csv", "plain.parquet")


@pytest.mark.parametrize("file", ["index.parquet", "twice.csv"])
def test_a_saved_index_is_no_feature_of_any_command(file):
    done = run("fit", file, "--label", "y", *OPTIONS, code=None)
    assert "left out as a saved index" in done.stderr and "--features" in done.stderr
    assert json.loads(Path("m.json").read_text())["feature_names"] == ["a", "b"]
    told = [run("rank", "m.json", other, "--json").stdout for other in FILES]
    assert len(set(told)) == 2  # rows are named by an index without a name of its own, or numbered
    assert told[0] == told[2] == told[3] and told[1] == told[4] == told[5]
    named, numbered = ([row["id"] for row in json.loads(one)["rows"]] for one in (told[0], told[-1]))
    assert named == [str(SHUFFLED.index[int(row)]) for row in numbered]
    assert len({run("score", "m.json", other, "--label", "y", "--json").stdout for other in FILES}) == 1
    for other in FILES:
        run("verify", "m.json", other, "--label", "y", code=None)
    name = {"index.parquet": "__index_level_0__"}.get(file, "Unnamed: 0")
    run("fit", file, "--label", "y", "--features", f"{name},a", *OPTIONS, code=None)
    assert json.loads(Path("m.json").read_text())["feature_names"] == [name, "a"]
    assert name not in run("fit", file, "--label", "y", "--id", name, *OPTIONS, code=None).stderr
    assert run("rank", "m.json", file, "--id", name, "--json", "--top", 0).stdout != told[0]


def test_columns_that_tell_the_label_are_named_on_standard_error():
    numbered = SHUFFLED.reset_index().rename(columns={"index": "number"})
    numbered.assign(copy=1 - SHUFFLED["y"].to_numpy()).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--label", "y", *OPTIONS, code=None)
    assert re.search("column 'number' numbers the rows", done.stderr)
    assert re.search("column 'copy' is the label again.*--features", done.stderr)
    done = run("fit", "t.csv", "--label", "y", "--features", "a,b", *OPTIONS, code=None)
    assert "column '" not in done.stderr and "label again" not in done.stdout


@pytest.mark.parametrize("file", ["t.csv", "t.svm", "t.parquet"])
def test_labels_of_minus_and_plus_one(file):
    signs = SHUFFLED.assign(y=2 * SHUFFLED["y"] - 1).reset_index(drop=True)
    label = () if file == "t.svm" else ("--label", "y")
    if file == "t.csv":
        signs.to_csv(file, index=False)
    elif file == "t.parquet":
        signs.to_parquet(file)
    else:
        rows = zip(signs["y"], signs["a"], signs["b"])
        Path(file).write_text("".join(f"{y:+d} 1:{float(a)!r} 2:{float(b)!r}\n" for y, a, b in rows))
    done = run("fit", file, *label, *OPTIONS, code=None)
    assert "The labels -1 and 1 are read as 0 and 1." in done.stderr
    run("verify", "m.json", file, *label, code=3)  # all holds, and there is no proof of the bound
    run("rank", "m.json", file)
    run("report", "m.json", file, *label, "--output", "r.html")
    # A model of Python knows the labels as -1 and 1, and the commands understand the file.
    table = read_table(file, label=label[1] if label else None)
    X = pd.DataFrame(table.X, columns=table.feature_names)
    est = Reranker("dcg@10", solver="search", time_limit=2).fit(X, 2 * table.y - 1)
    est.save("p.json")
    score = est.score(X, 2 * table.y - 1)
    assert answer(run("score", "p.json", file, *label, "--json"))["value"] == score
    run("verify", "p.json", file, *label, code=3)
    run("report", "p.json", file, *label, "--output", "p.html")


def test_a_model_of_words_scores_files_of_words():
    words = np.where(SHUFFLED["y"] > 0, "Yes", "No")
    SHUFFLED.assign(y=words).to_csv("t.csv", index=False)
    said = run("fit", "t.csv", "--label", "y", *OPTIONS, code=2).stderr
    (word,) = re.findall(r"--pos-label '(.*?)'", said)
    assert word == "Yes"
    run("fit", "t.csv", "--label", "y", "--pos-label", word, *OPTIONS, code=None)
    X = SHUFFLED[["a", "b"]]
    est = Reranker("dcg@10", solver="search", time_limit=2, pos_label="Yes").fit(X, words)
    est.save("p.json")
    given = ("--label", "y", "--pos-label", "Yes")
    assert answer(run("score", "p.json", "t.csv", *given, "--json"))["value"] == est.score(X, words)


RUN = "q1 Q0 d1 1 3.0 t\nq1 Q0 d2 2 2.0 t\n"


@pytest.mark.parametrize("name", ["a.run", "a.txt", "a.res.gz", "a"])
def test_one_rule_says_what_is_a_run(name):
    with (gzip.open if name.endswith("gz") else open)(name, "wt") as file:
        file.write(RUN)
    Path("q.qrels").write_text("q1 0 d1 1\n")
    run("evaluate", f"bm25={name}", "q.qrels", "--measures", "ap")
    for given in ([f"bm25={name}"], [name], [f"bm25={name}", f"dense={name}"]):
        for judged in (["--qrels", "q.qrels"], []):
            assert "2 rows" in run("convert", *given, *judged, "o.csv").stdout
            table = read_table("o.csv", id="id", qid="qid", label="target" if judged else None)
            assert len(table.feature_names) == len(given)


def test_tables_are_still_tables():
    Path("letor.txt").write_text("1 qid:1 1:2 2:3\n0 qid:1 1:1 2:3\n")
    assert "2 rows, 2 features" in run("convert", "letor.txt", "o.csv").stdout
