"""``rerank card``: the commands do with files what Python does with data frames, and refuse in one sentence."""

import csv
import json
import re
import shlex
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from rerank.scorecard import Card, Scorecard
from tests.cases.advice import command
from tests.cli.commands import answer, run, words
from tests.cli.test_reporting import Checked


def people(seed, n=150):
    """Numbers with gaps, texts, truth values; a label of words that depends on most of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "sex, given": rng.choice(["male", "female", "None"], n, p=[0.5, 0.4, 0.1]),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.integers(10, 60, n) / 2),
            "smoker": rng.random(n) < 0.4,
            "region": rng.choice(["A", "B"], n),
            "times": rng.integers(1, 3, n),
        }
    )
    risk = (frame["age"] - 50) / 15 + (frame["sex, given"] == "male") + 2 * frame["smoker"] + frame["income"].isna()
    return frame.assign(died=np.where(risk + rng.normal(size=n) > 2, "yes", "no"))


LABEL = ("--label", "died", "--pos-label", "yes")
READ = dict(keep_default_na=False, na_values=[""])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(0).to_csv("old.csv", index=False)
    people(1).to_csv("new.csv", index=False)
    return tmp_path


def fit(*more, code=0, data="old.csv", label=LABEL):
    options = ["--questions", 2, "--points", 2, "--validation", "none", "-o", "card.json"]
    return run("card", "fit", data, *label, *options, *more, code=code)


def test_a_fit_is_that_of_python(folder):
    done = fit("--json")
    frame = pd.read_csv("old.csv", **READ)
    est = Scorecard(n_questions=2, points=2, validation=None, pos_label="yes").fit(
        frame.drop(columns="died"), frame["died"]
    )
    body = answer(done)
    assert Card.of("card.json") == est.card_ and body["value"] == est.result_.value == body["bound"]
    assert body["status"] == "optimal" and body["questions"] == [str(one) for one in est.card_.questions]
    assert json.loads((folder / "card.json").read_text())["fit"]["value"] == est.result_.value
    shown = answer(run("card", "show", "card.json", "--json"))
    assert {name: shown[name] for name in ("questions", "points", "cut", "totals")} == {
        name: body[name] for name in ("questions", "points", "cut", "totals")
    }


def test_what_is_printed_has_value_proof_and_card(folder):
    done = fit("--validation", "3")
    first = r"AUC 0\.\d+, corrected for the choice .*; 0\.\d+ on the rows of the fit\.\nProved: no card"
    assert re.search(first, done.stdout) and str(Card.of("card.json")) in done.stdout
    assert "Written to card.json." in done.stderr
    shown = run("card", "show", "card.json").stdout
    assert (
        "proved to be the best" in shown and "corrected for the choice" in shown and str(Card.of("card.json")) in shown
    )
    pages = dict[str, str]()
    for name in ("old.csv", "new.csv"):
        run("card", "report", "card.json", name, *LABEL, "-o", "page.html")
        pages[name] = words((folder / "page.html").read_text())
    own, seen = "as many of each total as in the fit", "only if the fit has not seen them"
    assert own in pages["old.csv"] and pages["old.csv"].index("corrected for") < pages["old.csv"].index(own)
    assert own not in pages["new.csv"] and seen in pages["new.csv"] and seen not in pages["old.csv"]
    fit("-o", "card.csv")
    assert Card.of("card.csv").points == Card.of("card.json").points
    assert "risk" not in run("card", "show", "card.csv").stdout


def test_options_reach_the_fit(folder):
    more = """--must smoker --never age --never "sex, given = male" --cut "top 30" --people region --stat precision@30
        --constraint "flagged gap <= 0.5" --weight times --points 1:3 --one-per-column --seed 4 --jobs 2 --json"""
    body = answer(fit(*shlex.split(more)))
    frame = pd.read_csv("old.csv", **READ)
    est = Scorecard(
        "precision@30",
        2,
        (1, 3),
        must=["smoker"],
        never=["age", "sex, given = male"],
        cut="top 30",
        constraints=["flagged gap <= 0.5"],
        one_per_column=True,
        validation=None,
        pos_label="yes",
    ).fit(frame.drop(columns=["died", "times"]), frame["died"], sample_weight=frame["times"], people="region")
    assert Card.of("card.json") == est.card_ and body["value"] == est.result_.value and body["cut"] == est.card_.cut
    assert any(one.startswith("smoker") for one in body["questions"])
    assert not any(one.startswith(("age", "region")) for one in body["questions"])
    few = answer(fit("--features", "age,smoker", "--people", "region", "--constraint", "auc inside >= 0.5", "--json"))
    assert {one.split()[0] for one in few["questions"]} <= {"age", "smoker"}
    lists = answer(fit("--qid", "region", "--stat", "ndcg@5", "--json"))
    assert lists["statistic"].startswith("ndcg@5") and not any("region" in one for one in lists["questions"])


def test_an_unproved_card_ends_with_3(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)]).assign(died=(X[:, :9].sum(axis=1) > 2).astype(int))
    frame.to_csv("wide.csv", index=False)
    limits = ("--questions", 4, "--points", 3, "--time-limit", 0.2)
    done = fit(*limits, data="wide.csv", label=("--label", "died"), code=3)
    assert "Not proved" in done.stdout and "no bound is known" in done.stdout
    assert "no bound is known" in run("card", "show", "card.json").stdout


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_rows_get_total_risk_and_flag(folder, name):
    fit("--cut", "0.3")
    frame = people(1)
    if name.endswith("parquet"):
        frame.to_parquet(name, index=False)
    card = Card.of("card.json")
    totals = card.total(frame)
    body = answer(run("card", "apply", "card.json", name, "--json"))
    assert [row["total"] for row in body["rows"]] == totals.tolist()
    assert [row["risk"] for row in body["rows"]] == card.risk(totals).tolist()
    assert [row["flagged"] for row in body["rows"]] == (totals >= card.cut).tolist()
    run("card", "apply", "card.json", name, "-o", "out.csv")
    written = pd.read_csv("out.csv")
    assert written["total"].tolist() == totals.tolist() and written["risk"].tolist() == card.risk(totals).tolist()
    assert written["flagged"].tolist() == (totals >= card.cut).astype(int).tolist()
    lines = run("card", "apply", "card.json", name).stdout.splitlines()
    assert lines[0].split() == ["row", "total", "risk", "flagged"] and len(lines) == len(frame) + 1


def test_a_table_to_apply_needs_the_columns_of_the_card_alone(folder):
    (folder / "use.csv").write_text('question,points\n"sex, given = None",3\nsmoker = True,2\nincome is missing,-1\n')
    (folder / "rows.csv").write_text(
        'who,"sex, given",smoker,income,qid\n=a,None,True,,0\nb,male,False,3,1\nc,"None",true,NA,2\n'
    )
    done = run("card", "apply", "use.csv", "rows.csv", "--id", "who", "-o", "out.csv")
    with open("out.csv") as file:
        assert list(csv.reader(file)) == [
            ["id", "total", "risk", "flagged"],
            ["'=a", "4", "", ""],
            ["b", "0", "", ""],
            ["c", "4", "", ""],
        ]
    assert "no risks" in done.stderr and "miss a value" not in done.stderr  # the card asks whether one is missing
    (folder / "gap.csv").write_text('who,"sex, given",smoker,income\na,,True,1\nb,male,,3\nc,None,True,2\n')
    assert "a value the card asks for: 2 (a, b). A" in run("card", "apply", "use.csv", "gap.csv", "--id", "who").stderr
    done = run("card", "apply", "use.csv", "old.csv", "--id", "nobody", code=2)
    assert "has no column 'nobody'" in done.stderr
    (folder / "lacks.csv").write_text("sex,smoker\nmale,1\n")
    assert "the nearest column is 'sex'" in run("card", "apply", "use.csv", "lacks.csv", code=2).stderr
    Card.of("use.csv", ["sex, given", "smoker", "income"]).save("use.json")
    assert "has no column 'sex, given'" in run("card", "apply", "use.json", "lacks.csv", code=2).stderr


@pytest.mark.parametrize("to", ["sql", "formula", "python", "markdown", "csv"])
def test_exports_are_those_of_python(folder, to):
    fit()
    card = Card.of("card.json")
    text = {
        "sql": card.to_sql,
        "formula": card.to_formula,
        "python": card.to_python,
        "markdown": card.to_markdown,
        "csv": card.to_csv,
    }[to]()
    assert run("card", "export", "card.json", "--to", to).stdout.rstrip("\n") == text.rstrip("\n")
    run("card", "export", "card.json", "--to", to, "-o", "out.txt")
    assert (folder / "out.txt").read_text().rstrip("\n") == text.rstrip("\n")
    assert answer(run("card", "export", "card.json", "--to", to, "--json"))["text"].rstrip("\n") == text.rstrip("\n")


def test_exports_take_the_table_and_the_columns_of_a_sheet(folder):
    fit()
    card, frame = Card.of("card.json"), people(1)
    text = run("card", "export", "card.json", "--to", "sql", "--table", "rows to come").stdout
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("rows to come", base, index=False)
        found = base.execute(f'SELECT {text} FROM "rows to come" ORDER BY rowid').fetchall()
    assert [total for (total,) in found] == card.total(frame).tolist()
    own = ("card", "export", "card.json", "--to", "formula")
    expected = card.to_formula(list(frame.columns), 5) + "\n"
    assert run(*own, "--columns", "new.csv", "--row", 5).stdout == expected
    used = sorted({one.column for one in card.questions} - {"sex, given"})
    if used == sorted({one.column for one in card.questions}):
        assert run(*own, "--columns", ",".join(used)).stdout == card.to_formula(used) + "\n"
    assert "no cell" in run(*own, "--columns", "nothing", code=2).stderr


def test_workbooks_are_written_by_export_and_apply(folder):
    openpyxl = pytest.importorskip("openpyxl")
    fit()
    run("card", "export", "card.json", "--to", "excel", "-o", "form.xlsx")
    run("card", "apply", "card.json", "new.csv", "-o", "rows.xlsx")
    for name, rows in (("form.xlsx", 200), ("rows.xlsx", 150)):
        assert openpyxl.load_workbook(name)["Rows"].max_row == rows + 1
    refused = run("card", "apply", "card.json", "new.csv", "-o", "rows.xlsx", "--raw-ids", code=2)
    assert "it is about rows in CSV" in refused.stderr
    assert "add --output FILE.xlsx" in run("card", "export", "card.json", "--to", "excel", code=2).stderr


def test_the_regret_of_a_card_in_use(folder):
    (folder / "use.csv").write_text('question,points\nage >= 60,2\n"sex, given = None",-1\n')
    body = answer(run("card", "regret", "use.csv", "old.csv", *LABEL, "--points", 2, "--json"))
    frame = pd.read_csv("old.csv", **READ)
    found = Scorecard(points=2, pos_label="yes").regret("use.csv", frame.drop(columns="died"), frame["died"])
    assert (body["value"], body["best_value"], body["bound"]) == (found.value, found.best_value, found.bound)
    assert body["better"] == found.better > 0 and body["proved"] and body["regret"] == found.regret > 0
    told = run("card", "regret", "use.csv", "old.csv", *LABEL, "--points", 2).stdout
    assert f"The card is at {found.value:.4g}; the best allowed card of its size" in told


EVIL = "<script>alert('x')</script>"


@pytest.mark.parametrize("card", ["card.json", "use.csv"])
def test_the_page_is_whole_and_inert_and_says_the_numbers(folder, card):
    for name in ("old.csv", "new.csv"):
        pd.read_csv(name, **READ).rename(columns={"smoker": EVIL}).to_csv(name, index=False)
    fit("--must", EVIL, "--cut", "0.3")
    (folder / "use.csv").write_text(f'question,points\nage >= 60,2\n"{EVIL} = 1",1\n')
    body = answer(run("card", "report", card, "new.csv", *LABEL, "-o", "page.html", "--json"))
    text = (folder / "page.html").read_text()
    page = Checked()
    page.feed(text)
    assert page.open == [] and "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|http-equiv', "", text)
    said = words(" ".join(page.texts))
    frame = pd.read_csv("new.csv", **READ)
    est = Scorecard(pos_label="yes", validation=None, n_questions=1, points=1).fit(
        frame.drop(columns="died"), frame["died"]
    )
    est.card_ = Card.of(card, list(frame.columns))
    value = est.score(frame.drop(columns="died"), frame["died"])
    assert body["value"] == value and f"AUC {value:.4g} on 150 rows" in said
    assert "+2" in said or "+1" in said
    assert text.count("<svg") == 6 and ("as the file says" in said) is (card == "card.json")
    assert ("written by hand" in said) is (card == "use.csv")


def test_the_page_remembers_the_columns_of_the_fit_and_says_what_has_moved(folder, monkeypatch):
    fit("--qid", "region", "--weight", "times", "--must", "sex, given", "--stat", "precision@7")
    moved = people(3).drop(columns=["died", "region", "times"])
    moved.assign(**{"sex, given": "male"}).to_csv("to come.csv", index=False)
    body = answer(run("card", "report", "card.json", "new.csv", "--against", "to come.csv", "--json"))
    frame = people(1)
    y, card = (frame["died"] == "yes").to_numpy(), Card.of("card.json")
    est = Scorecard("precision@7", validation=None, n_questions=1, points=1).fit(frame[["age", "smoker"]], y)
    est.card_ = card
    assert body["value"] == est.score(frame, y, frame["region"], frame["times"])
    area = roc_auc_score(y, card.total(frame), sample_weight=frame["times"])
    assert body["gini"] == pytest.approx(2 * area - 1, abs=1e-9)
    assert body["psi_against"] > body["psi"] >= 0
    said = (folder / "report.html").read_text()
    assert "to come.csv" in said and f"{body['value']:.4g} relevant rows among the first 7" in said
    assert "relevant rows among the first 7" in run("card", "show", "card.json").stdout
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as where it is not installed
    assert "has no pictures: they need matplotlib" in run("card", "report", "card.json", "new.csv").stderr
    people(1).drop(columns="region").to_csv("no lists.csv", index=False)
    assert "name it with --qid" in run("card", "report", "card.json", "no lists.csv", code=2).stderr


def test_what_looks_like_the_label_or_an_index_is_said_as_by_the_fit(folder):
    frame = people(0)
    frame["again"] = np.where(frame["died"] == "yes", 2.5, 1.5)
    frame.to_csv("leak.csv")  # with an index
    done = fit(data="leak.csv")
    assert "left out as a saved index" in done.stderr and "The column 'again'" in done.stderr
    plain = run("fit", "leak.csv", *LABEL, "--model", "m.json", "--time-limit", 1, code=None).stderr
    sentence = next(line for line in done.stderr.splitlines() if line.startswith("The column 'again'"))
    assert sentence in plain


def test_what_is_refused_is_one_sentence(folder):
    for name, question in (("use.csv", "age >= 60"), ("other.csv", "agge >= 60")):
        (folder / name).write_text(f"question,points\n{question},2\n")
    for line, said in {
        "fit old.csv -o old.csv": "is both read and written",
        "fit old.csv -o c.json --points x": "--points is 'x'",
        "fit old.csv -o c.json --points 0": "points is 0",
        "fit old.csv -o c.json --validation x": "--validation is 'x'",
        "fit old.csv -o c.json --cut x": "cut is 'x'",
        "fit old.csv -o c.json --must 'agee >= 3'": "the nearest column is 'age'",
        "fit old.csv -o c.json --people kind": "no column 'kind'",
        "report use.csv new.csv --stat nothing": "nothing",
        "regret other.csv old.csv": "nearest column is 'age'",
        "show old.csv": "the first line of a card is question,points",
        "export use.csv --to cobol": "--to is 'cobol'",
        "export use.csv --to csv -o use.csv": "is both read and written",
    }.items():
        done = command("card", *shlex.split(line), *LABEL * line.startswith(("fit", "report", "regret")))
        assert done.exit_code == 2 and said in done.stderr, done.stderr
