"""The command line from end to end, in one process, on small tables."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rerank import load
from rerank.cli import app
from rerank.io import Table, read_qrels, read_run, read_table, write_csv, write_svmlight
from rerank.ranks import evaluate
from tests.reranker.test_reranker import lists, table

NAMES = ("age", "size", "year")


def noisy(seed):
    """A table whose first stage is far from ideal: every third label is turned."""
    X, y = table(seed, n=50)
    y[::3] = 1 - y[::3]
    return X, y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = noisy(0)
    write_csv("data.csv", Table(X, y, None, None, NAMES), label="hit")
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert code in (None, done.exit_code), f"{done.exit_code}: {done.stdout}{done.stderr}{done.exception!r}"
    return done


def fit(*extra, code=0, data="data.csv", label="hit"):
    own = ["--label", label] if label else []
    return run(
        "fit",
        data,
        *own,
        "--model",
        "m.json",
        "--solver",
        "search",
        "--candidates",
        20,
        "--stat",
        "dcg@5",
        *extra,
        code=code,
    )


def answer(done):
    return json.loads(done.stdout)


def test_fit_writes_a_model_and_says_what_it_found(folder):
    body = answer(fit("--json"))
    est = load("m.json")
    assert body["status"] == "optimal" and body["proved"]
    assert body["statistic"] == est.result_.statistic and set(body["coef"]) <= set(NAMES)
    assert {"value", "bound", "gap", "bound_source", "seconds", "shortlist", "first_stage_statistic"} <= set(
        body
    )
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
    run("verify", "m.json", code=2)
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
    run("rank", "m.json", "data.csv", "--output", "list.xyz", code=2)


def test_an_open_gap_exits_with_3(folder):
    X, y = table(1, n=200, d=9)
    write_csv("wide.csv", Table(X, y, None, None, tuple(f"f{j}" for j in range(9))), label="hit")
    body = answer(
        fit("--stat", "auc", "--candidates", 0, "--time-limit", 0.3, "--json", data="wide.csv", code=3)
    )
    assert body["gap"] > 0 and body["status"] in ("feasible", "first_stage_kept")


def test_a_changed_model_fails_the_check_with_5(folder):
    from rerank.reranker.files import model_file

    fit()
    doc = model_file.read("m.json")
    from dataclasses import replace

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
    run("export", "m.json", "data.csv", "p.mps", "--formulation", "mixed", "--json")
    solved = answer(run("solve", "p.mps", "--solver", "highs", "--json"))
    assert solved["holds"] == "optimal" and solved["solution"] == "p.sol"
    body = answer(run("import", "p.mps", "p.sol", "--model", "n.json", "--json"))
    assert body["value"] == pytest.approx(before.value, abs=1e-9) and body["solver"] == "file"
    assert answer(run("verify", "n.json", "data.csv", "--json", code=None))["holds"]


def test_export_never_replaces_a_model(folder):
    fit()
    before = Path("m.json").read_bytes()
    done = run("export", "m.json", "data.csv", "m.mps", code=2)
    assert Path("m.json").read_bytes() == before and "m.json" in done.stderr
    run("export", "m.json", "data.csv", "p.lp", code=2)


def test_solver_none_states_the_problem_for_others(folder):
    body = answer(fit("--solver", "none", "--json", code=3))
    assert body["bound_source"] == "ideal" and body["seconds"].get("search") is None
    run("export", "m.json", "data.csv", "p.mps")


def test_graded_lists_in_svmlight_and_trec(folder):
    X, y, qid = lists(0)
    names = np.array([name.removeprefix("q") for name in qid], dtype=object)
    write_svmlight("lists.svm", Table(X, y, names, None, ("1", "2")))
    body = answer(fit("--stat", "ndcg@4", "--first-stage", "none", "--json", data="lists.svm", label=None))
    assert body["n_lists"] == 6 and body["gain"] == "exponential"
    assert answer(run("verify", "m.json", "lists.svm", "--json", code=3))["holds"]
    assert answer(run("score", "m.json", "lists.svm", "--json"))["value"] == body["statistic"]
    run("rank", "m.json", "lists.svm", "--output", "out.run")
    run("convert", "lists.svm", "lists.qrels")
    runs, grades = read_run("out.run"), read_qrels("lists.qrels")
    grade = dict(zip(zip(grades.qid, grades.docid, strict=True), grades.grade, strict=True))
    labels = [grade[pair] for pair in zip(runs.qid, runs.docid, strict=True)]
    assert evaluate("ndcg@4", labels, runs.score, runs.qid) == pytest.approx(body["statistic"], abs=1e-12)


def test_runs_become_a_table_and_are_fused(folder):
    for name, scores in (("bm25", [3, 2, 1]), ("dense", [1, 3, 2])):
        lines = [f"q{q} Q0 d{k} 1 {s + 0.1 * q} {name}" for q in (1, 2) for k, s in enumerate(scores)]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("j.qrels").write_text("".join(f"q{q} 0 d1 2\nq{q} 0 d0 1\n" for q in (1, 2)))
    run("convert", "bm25.run", "dense.run", "fused.csv", "--qrels", "j.qrels")
    body = answer(
        run(
            "fit", "fused.csv", "--label", "target", "--qid", "qid", "--id", "id", "--stat", "ndcg", "--positive",
            "--first-stage", "none", "--solver", "search", "--model", "f.json", "--json",
        )
    )  # fmt: skip
    assert body["proved"] and all(weight >= 0 for weight in body["coef"].values())
    rows = answer(run("rank", "f.json", "fused.csv", "--json"))["rows"]
    assert {row["list"] for row in rows} == {"q1", "q2"} and rows[0]["id"] == "d1"


@pytest.mark.parametrize("target", ["out.csv", "out.svm", "out.qrels"])
def test_convert(folder, target):
    run("convert", "data.csv", target, "--label", "hit")
    if target != "out.qrels":
        back = read_table(target, **({"label": "hit"} if target == "out.csv" else {}))
        original = read_table("data.csv", label="hit")
        assert np.array_equal(back.X, original.X) and np.array_equal(back.y, original.y)


def test_doctor_lists_what_it_finds(folder):
    body = answer(run("doctor", "--json"))
    assert body["versions"]["exact-rerank"] and any(
        one["name"] == "highs" and one["found"] for one in body["solvers"]
    )
    assert "highs" in run("doctor").stdout


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom rerank.cli import app\n"
        "done = CliRunner().invoke(app, ['fit', '--help']); assert done.exit_code == 0, done\n"
        "print([m for m in ('numpy', 'sklearn', 'numba', 'pyomo', 'highspy', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- bad input: one sentence, exit code 2, nothing written ------------------------------------------------------------

GOOD = "age,size,hit,w,q\n1,2,1,1,a\n2,1,0,1,a\n3,5,1,1,b\n4,4,0,1,b\n"
BAD = [
    (GOOD.replace("3,5", "nan,5"), [], ["age", "4"]),
    (GOOD.replace("3,5", "3,inf"), [], ["size", "4"]),
    (GOOD.replace("3,5", "3,five"), [], ["size", "4"]),
    (GOOD.replace("3,5", "3,"), [], ["size", "4"]),
    (GOOD.replace(",0,", ",1,"), [], ["one class"]),
    (GOOD.replace("age,size", "age,age"), [], ["age"]),
    (GOOD.replace("3,5,1,1", "3,5,1,-1"), ["--weight", "w"], ["weight", "4"]),
    (GOOD.replace("3,5,1", "3,5,-1"), [], ["hit", "4"]),
    (GOOD.replace("3,5,1,1,b", "3,5,1,1"), ["--qid", "q"], ["4", "5"]),
    (GOOD, ["--stat", "dgc@10"], ["dgc@10", "dcg@10"]),
    (GOOD, ["--stat", "dcg@0"], ["cut-off"]),
    (GOOD, ["--label", "hits"], ["hits", "hit"]),
    (GOOD, ["--qid", "query"], ["query"]),
    (GOOD, ["--solver", "hihgs"], ["highs"]),
    (GOOD, ["--formulation", "auc"], ["counts pairs"]),
    (GOOD, ["--epsilon", "small"], ["--epsilon"]),
    (GOOD, ["--epsilon", "1e-7", "--solver", "highs", "--first-stage", "none"], ["tolerance"]),
    (GOOD, ["--candidates", "-3"], ["n_candidates"]),
    (GOOD, ["--C", "-1"], ["C is"]),
    (GOOD, ["--max-features", "0"], ["max_features"]),
    (GOOD, ["--thinning", "1.5"], ["thinning"]),
    (GOOD, ["--gain", "cubic"], ["gain"]),
    (GOOD, ["--first-stage", "logstic"], ["logistic"]),
    (GOOD, ["--time-limit", "-1"], ["time_limit"]),
    (GOOD, ["--jobs", "0"], ["n_jobs"]),
    (GOOD, ["--features", "age,sise"], ["sise", "size"]),
    ("age,size,hit\n", [], ["no rows"]),
    ("", [], ["bad.csv"]),
]


@pytest.mark.parametrize(("text", "options", "words"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_bad_input(folder, text, options, words):
    Path("bad.csv").write_text(text)
    before = sorted(path.name for path in folder.iterdir())
    own = {"--label": "hit", "--solver": "search"}
    given = dict(zip(options[::2], options[1::2], strict=True))
    flags = [part for pair in {**own, **given}.items() for part in pair]
    done = run("fit", "bad.csv", "--model", "m.json", *flags, code=2)
    assert done.stdout == "" and all(word in done.stderr for word in words), done.stderr
    *progress, sentence = done.stderr.strip().splitlines()
    assert sentence.startswith("rerank: ") and not any(line.startswith("rerank: ") for line in progress)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "nowhere.csv", "--label", "hit", "--model", "m2.json"),
        ("fit", "data.csv", "--model", "m2.json"),
        ("fit", "data.csv", "--label", "hit", "--model", "no/such/folder/m.json"),
        ("fit", "data.xlsx", "--model", "m2.json"),
        ("rank", "nowhere.json", "data.csv"),
        ("rank", "data.csv", "data.csv"),
        ("score", "data.csv", "data.csv"),
        ("solve", "nowhere.mps"),
        ("solve", "data.csv"),
        ("import", "nowhere.mps", "nowhere.sol", "--model", "m2.json"),
        ("convert", "data.csv"),
        ("convert", "data.csv", "data.csv"),
        ("convert", "data.csv", "out.parquet"),
        ("convert", "data.csv", "out.qrels"),
        ("unknown",),
    ],
)
def test_bad_arguments_write_nothing(folder, arguments):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments, code=2)
    assert done.stderr.strip() and "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_table_than_the_model_asks_for(folder):
    fit()
    Path("other.csv").write_text("age,size\n1,2\n")
    done = run("rank", "m.json", "other.csv", code=2)
    assert "year" in done.stderr


def test_qid_of_wrong_length_and_mixed_types_from_python():
    from rerank import Reranker
    from rerank.errors import InputError

    X, y = table(0)
    with pytest.raises(InputError, match="3 entries for 60 rows"):
        Reranker(solver="search").fit(X, y, qid=[1, 2, 3])
    with pytest.raises(InputError, match="Row 0, column 1"):
        Reranker(solver="search").fit(np.array([[1, "two"], [2, 3]], dtype=object), [0, 1])


# -- outputs are no inputs ---------------------------------------------------------------------------------------------


def unchanged(folder, *arguments):
    """The command is refused with one sentence, and no file changes."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run(*arguments, code=2)
    sentence = done.stderr.strip().splitlines()[-1]
    assert sentence.startswith("rerank: ") and sentence.endswith(".")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    return sentence


def test_no_command_writes_over_what_it_reads(folder):
    fit("--candidates", 8)
    run("export", "m.json", "data.csv", "p.mps")
    run("solve", "p.mps")
    Path("link.csv").symlink_to("data.csv")
    os.link("data.csv", "hard.json")
    Path("data.run").write_text("q1 Q0 d1 1 1 s\n")
    Path("data.qrels").write_text("q1 0 d1 1\n")
    Path("grades.csv.ideal.json").write_text("{}")
    for arguments in [
        ("fit", "data.csv", "--label", "hit", "--model", "data.csv"),
        ("fit", "data.csv", "--label", "hit", "--model", "hard.json"),
        ("fit", "data.csv", "--label", "hit", "--model", "link.csv"),
        ("fit", "data.csv", "--label", "hit", "--model", "x.json", "--proof", "./x.json"),
        ("fit", "data.csv", "--label", "hit", "--model", "x.json", "--proof", "data.csv"),
        ("rank", "m.json", "data.csv", "--output", "link.csv"),
        ("convert", "data.csv", "link.csv", "--label", "hit"),
        ("convert", "data.run", "--qrels", "data.qrels", "data.qrels"),
        ("export", "m.json", "data.csv", "m.mps"),
        ("solve", "p.mps", "--solution", "p.mps"),
        ("solve", "p.mps", "--solution", "p.json"),
        ("import", "p.mps", "p.sol", "--model", "p.sol"),
        ("import", "p.mps", "p.sol", "--model", "p.json"),
        ("import", "p.mps", "p.sol", "--model", "p.mps"),
    ]:
        assert "is both read and written" in (said := unchanged(folder, *arguments)) or "is given for" in said


@pytest.mark.parametrize("special", ["/dev/null", "/dev/full", "/dev/stdout", "pipe", "sub"])
def test_special_files_are_no_outputs(folder, special):
    fit()
    os.mkfifo("pipe")
    Path("sub").mkdir()
    mode = os.lstat(special).st_mode
    for arguments in [
        ("fit", "data.csv", "--label", "hit", "--model", special),
        ("fit", "data.csv", "--label", "hit", "--model", "x.json", "--proof", special),
        ("import", "p.mps", "p.sol", "--model", special),
        ("solve", "p.mps", "--solution", special),
    ]:
        assert "give the path of a file" in unchanged(folder, *arguments)
    assert os.lstat(special).st_mode == mode


def test_a_private_model_stays_private_and_a_link_stays_a_link(folder):
    Path("real.json").write_text("old")
    Path("real.json").chmod(0o600)
    Path("m.json").symlink_to("real.json")
    fit()
    assert Path("m.json").is_symlink() and os.stat("real.json").st_mode & 0o777 == 0o600
    assert load("real.json").result_.proved


@pytest.mark.parametrize("limit", [0, 100, 2000])
def test_a_full_disk_is_one_sentence_and_the_old_files_stay(folder, limit):
    fit("--proof", "p.proof")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        done = fit("--proof", "p.proof", code=2)
        assert done.stderr.strip().splitlines()[-1].startswith("rerank: Cannot write m.json")
        for arguments in [
            ("rank", "m.json", "data.csv", "--output", "list.csv"),
            ("rank", "m.json", "data.csv", "--output", "list.run"),
            ("convert", "data.csv", "c.svm", "--label", "hit"),
        ]:
            if limit < 500:
                assert "Cannot write" in unchanged(folder, *arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# -- what is read ------------------------------------------------------------------------------------------------------


def test_the_delimiter_can_be_stated_and_the_advice_names_the_option(folder):
    text = Path("data.csv").read_text()
    Path("semi.csv").write_text(text.replace(",", ";"))
    assert "--delimiter ';'" in unchanged(folder, "fit", "semi.csv", "--label", "hit", "--model", "x.json")
    fit("--delimiter", ";", data="semi.csv")
    assert "--delimiter ';'" in unchanged(folder, "rank", "m.json", "semi.csv")
    shown = answer(run("rank", "m.json", "semi.csv", "--delimiter", ";", "--json"))
    assert shown == answer(run("rank", "m.json", "data.csv", "--json"))
    run("score", "m.json", "semi.csv", "--delimiter", ";")
    run("export", "m.json", "semi.csv", "p.mps", "--delimiter", ";")
    Path("tabs.csv").write_text(text.replace(",", "\t"))
    run("convert", "tabs.csv", "out.csv", "--label", "hit", "--delimiter", "tab")
    assert read_table("out.csv", label="hit").X.tolist() == read_table("data.csv", label="hit").X.tolist()


def test_parquet_goes_through_every_command(folder):
    import pyarrow as pa
    from pyarrow import parquet

    data = read_table("data.csv", label="hit")
    columns = dict(zip(NAMES, data.X.T)) | {"hit": data.y.astype(bool)}
    parquet.write_table(pa.table(columns), "data.parquet")
    one, two = answer(fit("--json")), answer(fit("--json", data="data.parquet"))
    assert one["coef"] == two["coef"] and one["value"] == two["value"]
    assert answer(run("score", "m.json", "data.parquet", "--json"))["value"] == one["statistic"]
    run("rank", "m.json", "data.parquet")


def test_documents_that_no_run_has_count_in_the_ideal(folder):
    for name, scores in (("bm25", [3, 2, 1]), ("dense", [1, 3, 2])):
        lines = [f"q{q} Q0 d{k} 1 {s + 0.1 * q} {name}" for q in (1, 2) for k, s in enumerate(scores)]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("j.qrels").write_text("".join(f"q{q} 0 d1 2\nq{q} 0 d0 1\nq{q} 0 far 2\n" for q in (1, 2)))
    values = {}
    for form, choice in [("csv", "--judged"), ("svm", "--judged"), ("csv", "--no-judged")]:
        target = f"f.{form}"
        for name in ("bm25", "dense"):  # svmlight wants lists that are whole numbers
            Path(f"{name}.run").write_text(
                Path(f"{name}.run").read_text().replace("q1 ", "1 ").replace("q2 ", "2 ")
            )
        Path("j.qrels").write_text(Path("j.qrels").read_text().replace("q1 ", "1 ").replace("q2 ", "2 "))
        said = run("convert", "bm25.run", "dense.run", target, "--qrels", "j.qrels", choice).stderr
        assert "2 relevant documents are in no run" in said
        roles = ["--label", "target", "--qid", "qid", "--id", "id"] if form == "csv" else []
        body = answer(
            run("fit", target, *roles, "--stat", "ndcg", "--first-stage", "none", "--solver", "search", "--model",
                "f.json", "--json", code=None)
        )  # fmt: skip
        values[form, choice] = body["statistic"]
        score = answer(run("score", "f.json", target, "--json"))
        assert score["value"] == pytest.approx(body["statistic"])
    discount = 1 / np.log2(np.arange(3) + 2)
    ideal = (np.array([3, 3, 1]) * discount).sum() / (np.array([3, 1, 0]) * discount).sum()
    assert values["csv", "--judged"] == values["svm", "--judged"]
    assert values["csv", "--no-judged"] / values["csv", "--judged"] == pytest.approx(ideal)
    run("convert", "bm25.run", "f.csv", "--qrels", "j.qrels")
    assert "--no-judged" in unchanged(
        folder, "convert", "f.csv", "g.qrels", "--label", "target", "--qid", "qid"
    )


def test_a_forgotten_list_is_refused(folder):
    X, y, qid = lists(0)
    names = np.array([name.removeprefix("q") for name in qid], dtype=object)
    write_csv("lists.csv", Table(X, y, names, None, ("a", "b")), label="hit")
    said = unchanged(folder, "fit", "lists.csv", "--label", "hit", "--model", "x.json")
    assert "'qid'" in said and "--qid 'qid'" in said and "--features" in said


def test_the_version(folder):
    import rerank

    assert run("--version").stdout.strip() == f"rerank {rerank.__version__}"
