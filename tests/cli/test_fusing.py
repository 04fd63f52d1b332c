"""``rerank fuse``: fit, apply, export, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner

from rerank.cli import app
from rerank.fusion import load
from rerank.io import read_run, write_run
from tests.fusion import naive

RUN = CliRunner()


def write(folder, runs, qrels):
    for name, run in runs.items():
        rows = [(query, doc, score) for query, own in run.items() for doc, score in own.items()]
        write_run(folder / f"{name}.run", *zip(*rows))
    lines = [f"{query} 0 {doc} {grade}" for query, own in qrels.items() for doc, grade in own.items()]
    (folder / "q.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write(folder, *naive.made(6, (1.5, 0.3), seed=1))
    return folder


def fuse(folder, *options, runs=("bm25=r0", "dense=r1")):
    given = [part for run in runs for part in ("--run", f"{run.replace('=', f'={folder}/')}.run")]
    return RUN.invoke(app, ["fuse", *given, *options])


def fitted(folder, tmp_path, *options):
    return fuse(folder, "--qrels", f"{folder}/q.txt", "--model", f"{tmp_path}/m.json", "--time-limit", "10", *options)


def test_a_fit_writes_run_and_model_and_the_model_serves_later_runs(folder, tmp_path):
    done = fitted(folder, tmp_path, "--cv", "2", "--radius", "0.3", "--normalise", "minmax,rank", "--out",
                  f"{tmp_path}/fused.run", "--json")  # fmt: skip
    assert done.exit_code in (0, 3), done.output
    found = json.loads(done.stdout)
    assert set(found["weights"]) == {"bm25", "dense"} and found["bound"] >= found["value"]
    assert found["queries"] == 6 and "RRF" in found["nulls"] and "Fusing 2 runs for ndcg@10" in done.stderr
    model = load(tmp_path / "m.json")
    runs = {"bm25": folder / "r0.run", "dense": folder / "r1.run"}
    wanted = model.fuse(runs)
    written = read_run(tmp_path / "fused.run")
    assert list(zip(written.qid, written.docid)) == [(query, doc) for query, own in wanted.items() for doc in own]
    assert written.score.tolist() == [score for own in wanted.values() for score in own.values()]
    again = fuse(folder, "--model", f"{tmp_path}/m.json", "--out", f"{tmp_path}/again.run")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again.run").read_bytes() == (tmp_path / "fused.run").read_bytes()


def test_a_fit_draws_the_leads_of_its_options(folder, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "leads.svg"
    done = fitted(folder, tmp_path, "--cv", "2", "--radius", "0.3", "--plot", str(picture))
    assert done.exit_code in (0, 3) and f"Drawn to {picture}." in done.stderr, done.output
    assert picture.read_bytes().startswith(b"<?xml")
    for options, said in ((("--cv", "0"), "--cv is 0"), (("--plot", f"{tmp_path}/leads.gif"), "no kind of picture")):
        refused = fitted(folder, tmp_path, "--plot", str(picture), *options)
        assert refused.exit_code == 2 and said in refused.output
    applied = fuse(folder, "--model", f"{tmp_path}/m.json", "--out", f"{tmp_path}/o.run", "--plot", str(picture))
    assert applied.exit_code == 2 and "--plot" in applied.output


def test_an_audit_is_what_verify_checks(folder, tmp_path):
    done = fitted(folder, tmp_path, "--cv", "0", "--normalise", "minmax", "--audit", f"{tmp_path}/audit", "--json")
    files = [f"{tmp_path}/audit/{name}" for name in ("model.json", "table.csv", "fit.proof")]
    assert json.loads(done.stdout)["audit"] == f"{tmp_path}/audit" and files[0] in done.stderr
    checked = RUN.invoke(app, ["verify", *files[:2], "--proof", files[2]])
    assert checked.exit_code == 0 and "Everything stated holds." in checked.stdout
    kept = fitted(folder, tmp_path, "--prior", "rrf", "--radius", "0", "--audit", f"{tmp_path}/other", "--json")
    assert json.loads(kept.stdout)["audit"] is None and "No audit was written" in kept.stderr
    assert not (tmp_path / "other").exists()


def test_a_report_and_a_snippet_for_people(folder, tmp_path):
    done = fitted(folder, tmp_path, "--cv", "0", "--radius", "free", "--normalise", "minmax", "--export", "formula")
    assert done.exit_code == 0, done.output
    assert "Proved optimal" in done.stdout and "fused = " in done.stdout and "minmax(bm25)" in done.stdout
    only = fuse(folder, "--model", f"{tmp_path}/m.json", "--export", "elasticsearch", runs=())
    assert only.exit_code == 0 and set(json.loads(only.stdout)["retriever"]) == {"linear"}


def test_a_fit_for_a_target_chooses_what_it_can_express(folder, tmp_path):
    done = fitted(folder, tmp_path, "--cv", "2", "--radius", "0.1", "--export", "vespa", "--json")
    assert done.exit_code in (0, 3), done.output
    found = json.loads(done.stdout)
    assert found["normalise"] in ("minmax", "rank") and "score_bm25" in found["export"]
    assert set(found["nulls"]) == {"RRF", "equal weighting (minmax)"} and "normaliser z" not in done.stderr
