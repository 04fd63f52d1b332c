"""The command line from end to end, in one process, on small tables."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from formulations import mps
from rerank import Reranker, load
from rerank.io import Table, read_qrels, read_run, read_table, write_csv, write_svmlight
from rerank.ranks import evaluate
from rerank.reranker.files import model_file
from tests.cli.commands import NAMES, OPEN, answer, fit, noisy, run
from tests.reranker.test_reranker import lists, table


def test_fit_writes_a_model_and_says_what_it_found(folder):
    body = answer(fit("--json"))
    est = load("m.json")
    assert body["status"] == "optimal" and body["proved"]
    assert body["statistic"] == est.result_.statistic and set(body["coef"]) <= set(NAMES)
    assert {"value", "bound", "gap", "bound_source", "seconds", "shortlist", "first_stage_statistic"} <= {*body}
    assert "Proved optimal" in fit().stdout


def test_rank_score_and_verify_take_up_the_columns_of_the_fit(folder):
    fit()
    X, y = (data := read_table("data.csv", label="hit")).X, data.y
    est = load("m.json")
    rows = answer(run("rank", "m.json", "data.csv", "--top", 0, "--json"))["rows"]
    assert [int(row["id"]) for row in rows] == np.argsort(est.rank(X)).tolist()
    assert [row["place"] for row in rows] == list(range(1, 51))
    scored = answer(run("score", "m.json", "data.csv", "--json"))
    assert scored["value"] == est.result_.statistic == evaluate("dcg@5", y, est.list_scores(X))
    assert scored["first_stage"] == est.result_.first_stage_statistic
    assert answer(run("verify", "m.json", "data.csv", "--json"))["holds"]
    assert "Everything stated holds" in run("verify", "m.json", "data.csv").stdout
    unseen = answer(run("verify", "m.json", "data.csv", "--json"))["not_looked_at"]
    given = [each for each in unseen if not each["open"]]
    short, long = (run("verify", "m.json", "data.csv", *more).stdout for more in ((), ("--details",)))
    assert len(given) > 5 and f"{len(given)} entries are taken as given" in short and "taken as given (" not in short
    assert all(each["name"] in long and f"taken as given ({each['why']}): " in long for each in given)
    assert len(short.splitlines()) < 6 < len(long.splitlines())
    alone = run("verify", "m.json", "--without-data", code=3).stdout
    assert "All that could be checked holds." in alone and "result.value" in alone
    assert "dcg@5" in run("score", "m.json", "data.csv").stdout
    assert "--top 0" in run("rank", "m.json", "data.csv").stdout


def test_rank_writes_csv_and_trec(folder):
    fit()
    run("rank", "m.json", "data.csv", "--output", "list.csv")
    lines = Path("list.csv").read_text().splitlines()
    assert lines[0] == "place,id,score" and len(lines) == 51
    run("rank", "m.json", "data.csv", "--output", "list.run")
    assert read_run("list.run").docid.tolist() == [line.split(",")[1] for line in lines[1:]]


def test_an_open_gap_exits_with_3(folder):
    X, y = table(1, n=200, d=9)
    write_csv("wide.csv", Table(X, y, None, None, tuple(f"f{j}" for j in range(9))), label="hit")
    options = ("--stat", "auc", "--candidates", 0, "--time-limit", 0.3)
    body = answer(fit(*options, "--json", data="wide.csv", code=3))
    assert body["gap"] > 0 and body["status"] in ("feasible", "first_stage_kept")


def test_a_changed_model_fails_the_check_with_5(folder):
    fit()
    doc = model_file.read("m.json")
    model_file.write("m.json", replace(doc, result={**doc.result, "value": doc.result["value"] + 0.25}))
    done = run("verify", "m.json", "data.csv", code=5)
    assert "FAILED" in done.stdout and "do not use" in done.stdout
    X, y = noisy(5)
    write_csv("other.csv", Table(X, y, None, None, NAMES), label="hit")
    fit()
    checks = answer(run("verify", "m.json", "other.csv", "--json", code=5))["checks"]
    assert not all(check["holds"] for check in checks)


def test_export_solve_import_and_verify(folder):
    fit("--candidates", 8)
    before = load("m.json").result_
    size = answer(run("export", "m.json", "data.csv", "p.mps", "--formulation", "mixed", "--json"))["size"]
    program = mps.read("p.mps")
    counts = len(program.rows), len(program.columns), int(program.integer.sum()), program.matrix.nnz
    assert tuple(size.values()) == counts and list(size) == ["rows", "columns", "integer_columns", "nonzeros"]
    told = "mixed: {} rows, {} columns, {} of them integer, {} non-zeros".format(*counts)
    assert told in run("export", "m.json", "data.csv", "p.mps", "--formulation", "mixed").stdout
    solved = answer(run("solve", "p.mps", "--solver", "highs", "--json"))
    assert solved["holds"] == "optimal" and solved["solution"] == "p.sol"
    body = answer(run("import", "p.mps", "p.sol", "--model", "n.json", "--json"))
    assert body["value"] == pytest.approx(before.value, abs=1e-9) and body["solver"] == "file"
    assert answer(run("verify", "n.json", "data.csv", "--json", code=None))["holds"]


@pytest.mark.parametrize("name", ["resolved_rank", "auc"])
def test_the_literal_form_is_exported(folder, name):
    fit("--candidates", 8, "--stat", "auc")
    own = ("--formulation", name)
    size = {}
    for number, given in enumerate([(), ("--no-cuts",), ("--literal",), ("--literal", "--extra-cuts")]):
        size[given] = answer(run("export", "m.json", "data.csv", f"p{number}.mps", *own, *given, "--json"))["size"]
    spelled = () if name == "auc" else ("--linking", "paper", "--no-cuts")
    run("export", "m.json", "data.csv", "same.mps", *own, "--big-m", "unit", *spelled)
    assert Path("same.mps").read_bytes() == Path("p2.mps").read_bytes()
    if name != "auc":
        assert size[("--no-cuts",)]["rows"] < size[()]["rows"]
        assert size[("--literal", "--extra-cuts")]["rows"] > size[("--literal",)]["rows"]
    run("solve", "p1.mps", "--solution", "p1.sol")
    assert answer(run("import", "p1.mps", "p1.sol", "--model", "n.json", "--json", code=(0, 3)))["solver"] == "file"


def test_solver_none_states_the_problem_for_others(folder):
    body = answer(fit("--solver", "none", "--json", code=3))
    assert body["bound_source"] == "ideal" and body["seconds"].get("search") is None
    run("export", "m.json", "data.csv", "p.mps")


@pytest.mark.parametrize("kind", ["lists, ranked as one", "one list, corrected", "one list, with a tail"])
def test_printed_scores_fall_from_place_to_place(folder, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1.2).astype(int)
    qid = np.arange(200) // 50 if "lists" in kind else None
    options = {"radius": 0.3, "n_candidates": None} if "corrected" in kind else {"n_candidates": 15}
    est = Reranker("dcg@5", solver="search", time_limit=10, **options).fit(pd.DataFrame(X, columns=list("abc")), y, qid)
    est.save("m.json")
    pd.DataFrame(X, columns=list("abc")).to_csv("new.csv", index=False)
    rows = answer(run("rank", "m.json", "new.csv", "--top", 0, "--json"))["rows"]
    scores = [row["score"] for row in rows]
    assert len(rows) == 200 and scores == sorted(scores, reverse=True)


def test_graded_lists_in_svmlight_and_trec(folder):
    X, y, qid = lists(0)
    names = np.array([name.removeprefix("q") for name in qid], dtype=object)
    write_svmlight("lists.svm", Table(X, y, names, None, ("1", "2")))
    options = ("--stat", "ndcg@4", "--first-stage", "none", "--candidates", 0, "--json")
    body = answer(fit(*options, data="lists.svm", label=None))
    assert body["n_lists"] == 6 and body["gain"] == "exponential"
    assert answer(run("verify", "m.json", "lists.svm", "--json", code=3))["holds"]
    assert answer(run("score", "m.json", "lists.svm", "--json"))["value"] == body["statistic"]
    run("rank", "m.json", "lists.svm", "--output", "out.run")
    run("convert", "lists.svm", "lists.qrels")
    runs, grades = read_run("out.run"), read_qrels("lists.qrels")
    grade = dict(zip(zip(grades.qid, grades.docid, strict=True), grades.grade, strict=True))
    labels = [grade[pair] for pair in zip(runs.qid, runs.docid, strict=True)]
    assert evaluate("ndcg@4", labels, runs.score, runs.qid) == pytest.approx(body["statistic"], abs=1e-12)


@pytest.mark.parametrize("target", ["out.csv", "out.svm", "out.qrels"])
def test_convert(folder, target):
    run("convert", "data.csv", target, "--label", "hit")
    if target != "out.qrels":
        back = read_table(target, **({"label": "hit"} if target == "out.csv" else {}))
        original = read_table("data.csv", label="hit")
        assert np.array_equal(back.X, original.X) and np.array_equal(back.y, original.y)


def test_doctor_lists_what_it_finds(folder):
    body = answer(run("doctor", "--json"))
    assert body["versions"]["exact-rerank"]
    assert any(one["name"] == "highs" and one["found"] for one in body["solvers"])
    assert {"python", "platform", "numpy", "pyomo"} <= body["versions"].keys()
    shown = run("doctor").stdout
    assert "highs" in shown and f"python {body['versions']['python']}" in " ".join(shown.split())


def test_a_signal_after_the_end_of_a_command_does_not_change_its_exit_code():
    code = (
        "import atexit, os, signal, sys\nfrom rerank.cli import main\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGTERM)\nsys.argv = ['rerank', '--version']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("rerank ")


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom rerank.cli import app\n"
        "done = CliRunner().invoke(app, ['fit', '--help']); assert done.exit_code == 0, done\n"
        "print([m for m in ('numpy', 'sklearn', 'numba', 'pyomo', 'highspy', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["rank", "score", "verify"])
def test_a_model_is_read_and_its_rows_are_ranked_without_heavy_modules(command, folder):
    fit(code=OPEN)
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom rerank.cli import app\n"
        f"done = CliRunner().invoke(app, [{command!r}, 'm.json', 'data.csv']); assert done.exit_code in (0, 3), done\n"
        "print([m for m in ('sklearn', 'numba', 'pyomo', 'highspy', 'scipy.stats', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
