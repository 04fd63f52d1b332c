"""``rerank fuse``: fit, apply, export, and what it refuses."""

from pathlib import Path

import pytest

from rerank.errors import InputWarning
from rerank.fusion import load
from rerank.io import read_run, write_qrels, write_run
from tests.cli.commands import OPEN, answer, run
from tests.fusion import naive
from tests.fusion.test_kinds import two_kinds


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Two runs and their judgements in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    written(*naive.made(6, (1.5, 0.3), seed=1))


def written(runs, qrels):
    for name, given, write in (
        ("r0.run", runs["r0"], write_run),
        ("r1.run", runs["r1"], write_run),
        ("q.txt", qrels, write_qrels),
    ):
        write(name, *zip(*((query, doc, value) for query, own in given.items() for doc, value in own.items())))


RUNS = ("--run", "bm25=r0.run", "--run", "dense=r1.run")


def fitted(*options, code=OPEN):
    given = ("--qrels", "q.txt", "--model", "m.json", "--time-limit", 10)
    return run("fuse", *RUNS, *given, *options, code=code)


def test_a_fit_writes_run_and_model_and_the_model_serves_later_runs():
    options = ("--cv", 2, "--radius", 0.3, "--normalise", "minmax,rank")
    done = fitted(*options, "--out", "fused.run", "--json")
    found = answer(done)
    assert set(found["weights"]) == {"bm25", "dense"} and found["bound"] >= found["value"]
    assert found["queries"] == 6 and "RRF" in found["nulls"] and "Fusing 2 runs for ndcg@10" in done.stderr
    wanted = load("m.json").fuse({"bm25": "r0.run", "dense": "r1.run"})
    written = read_run("fused.run")
    assert list(zip(written.qid, written.docid)) == [(query, doc) for query, own in wanted.items() for doc in own]
    assert written.score.tolist() == [score for own in wanted.values() for score in own.values()]
    run("fuse", *RUNS, "--model", "m.json", "--out", "again.run")
    assert Path("again.run").read_bytes() == Path("fused.run").read_bytes()


def test_files_come_in_any_of_the_ways_of_evaluate():
    given = ("--cv", 0, "--radius", 0.3, "--normalise", "minmax", "--json")
    wanted = answer(fitted(*given, code=None))
    assert set(wanted["weights"]) == {"bm25", "dense"}
    for files in (
        ("bm25=r0.run", "dense=r1.run", "q.txt"),
        ("bm25=r0.run", "--run", "dense=r1.run", "q.txt"),
        ("bm25=r0.run", "dense=r1.run", "--qrels", "q.txt"),
    ):
        assert answer(run("fuse", *files, *given, code=None))["weights"] == wanted["weights"]
    run("fuse", "bm25=r0.run", "dense=r1.run", "--model", "m.json", "--out", "fused.run")
    assert read_run("fused.run").qid.size


def test_later_scores_of_another_scale_are_told():
    fitted("--cv", 0, "--radius", 0.3, "--normalise", "rank", code=None)
    done = run("fuse", *RUNS, "--model", "m.json", "--out", "fused.run", "--json")
    assert answer(done)["notes"] == [] and "scale" not in done.stderr
    later = read_run("r0.run")
    write_run("later.run", later.qid, later.docid, later.score * 100 + 1000)
    done = run("fuse", "bm25=later.run", "dense=r1.run", "--model", "m.json", "--out", "fused.run", "--json")
    assert "Most scores of the run bm25 lie outside" in done.stderr and len(answer(done)["notes"]) == 1
    with pytest.warns(InputWarning, match="check that it is the same system and scale"):
        load("m.json").fuse({"bm25": "later.run", "dense": "r1.run"})


def test_a_fit_draws_the_leads_of_its_options():
    assert "Drawn to leads.svg." in fitted("--cv", 2, "--radius", 0.3, "--plot", "leads.svg").stderr
    assert Path("leads.svg").read_bytes().startswith(b"<?xml")


def test_an_audit_is_what_verify_checks():
    done = fitted("--cv", 0, "--normalise", "minmax", "--audit", "audit", "--json", code=None)
    files = [f"audit/{name}" for name in ("model.json", "table.csv", "fit.proof")]
    assert answer(done)["audit"] == "audit" and files[0] in done.stderr
    assert "Everything stated holds." in run("verify", *files[:2], "--proof", files[2]).stdout
    kept = fitted("--prior", "rrf", "--radius", 0, "--audit", "other", "--json", code=None)
    assert answer(kept)["audit"] is None and "No audit was written" in kept.stderr
    assert not Path("other").exists()


def test_a_report_and_a_snippet_for_people():
    done = fitted("--cv", 0, "--radius", "free", "--normalise", "minmax", "--export", "formula", code=0)
    assert "Proved optimal" in done.stdout and "fused = " in done.stdout and "minmax(bm25)" in done.stdout
    only = answer(run("fuse", "--model", "m.json", "--export", "elasticsearch"))
    assert set(only["retriever"]) == {"linear"}


def test_a_fit_for_a_target_chooses_what_it_can_express():
    done = fitted("--cv", 2, "--radius", 0.1, "--export", "vespa", "--json")
    found = answer(done)
    assert found["normalise"] in ("minmax", "rank") and "score_bm25" in found["export"]
    assert set(found["nulls"]) == {"RRF", "equal weighting (minmax)"} and "normaliser z" not in done.stderr


def test_a_fit_draws_the_statistic_by_alpha():
    done = fitted("--cv", 2, "--radius", 0, "--plot-alpha", "alpha.svg", code=None)
    assert "No alpha has more than" in done.stderr and "Drawn to alpha.svg." in done.stderr
    assert Path("alpha.svg").read_bytes().startswith(b"<?xml")


def test_kinds_of_queries_have_weights_of_their_own():
    runs, qrels, kinds = two_kinds()
    written(runs, qrels)
    Path("kinds.txt").write_text("".join(f"{query} {kind}\n" for query, kind in kinds.items()))
    options = ("--cv", 2, "--radius", 0, "--normalise", "minmax", "--seed", 0, "--kinds", "kinds.txt")
    found = answer(fitted(*options, "--out", "fused.run", "--json", code=None))
    assert found["kinds"].keys() == {"code", "question"} and found["kinds"]["code"]["bm25"] > found["weights"]["bm25"]
    run("fuse", *RUNS, "--model", "m.json", "--kinds", "kinds.txt", "--out", "again.run")
    run("fuse", *RUNS, "--model", "m.json", "--out", "common.run")
    assert Path("again.run").read_bytes() == Path("fused.run").read_bytes() != Path("common.run").read_bytes()
