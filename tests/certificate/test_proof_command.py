"""``fit --proof`` and ``verify --proof``."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.cli import app
from rerank.io import Table, write_csv
from rerank.problem.proof import LEAF
from tests.reranker.test_reranker import table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = table(0, n=50)
    y[::3] = 1 - y[::3]  # a first stage that is far from ideal
    write_csv("data.csv", Table(X, y, None, None, ("age", "size", "year")), label="hit")
    return tmp_path


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert code in (None, done.exit_code), f"{done.exit_code}: {done.stdout}{done.stderr}{done.exception!r}"
    return done


def fit(*extra: object, solver: str = "search", code: int = 0):
    fixed = ["--label", "hit", "--candidates", 30, "--stat", "auc", "--solver", solver]
    return run("fit", "data.csv", "--free", "--model", "m.json", *fixed, *extra, code=code)


def check(proof: str, code: int = 0):
    body = run("verify", "m.json", "data.csv", "--label", "hit", "--proof", proof, "--json", code=code).stdout
    report = json.loads(body)
    return {c["name"]: c for c in report["checks"]}, " ".join(report["open"])


def test_the_proof_of_a_fit_is_checked(folder):
    assert json.loads(fit("--proof", "p.npz", "--json").stdout)["proof"] == "p.npz"
    checks, remarks = check("p.npz")
    assert checks["proof"]["holds"] and checks["bound is the proof's"]["holds"]
    assert remarks.startswith("Proof: No admissible weights") and "cannot be recomputed" not in remarks
    without = json.loads(run("verify", "m.json", "data.csv", "--label", "hit", "--json", code=3).stdout)
    assert without["holds"] and not without["complete"] and "result.bound" in without["verdict"]
    assert "fit --proof" in " ".join(without["open"])


def test_proofs_that_fail(folder):
    fit("--proof", "p.npz")
    proof = load_proof("p.npz")
    save_proof(replace(proof, bound=proof.value - 0.01), "low.npz")
    assert not check("low.npz", code=5)[0]["proof"]["holds"]
    save_proof(replace(proof, codes=proof.codes[:-1]), "short.npz")
    assert "missing" in check("short.npz", code=5)[0]["proof"]["recomputed"]
    # A proof of a weaker bound holds, but is not what the model claims.
    faces = sum(2 * s.size for s in proof.supports)
    weak = replace(proof, bound=100.0, codes=proof.codes[:faces] * 0 + LEAF, multipliers=proof.multipliers[:0])
    save_proof(weak, "weak.npz")
    checks, _ = check("weak.npz", code=5)
    assert checks["proof"]["holds"] and not checks["bound is the proof's"]["holds"]
    fit("--seed", 1, "--epsilon", 0.07, "--proof", "other.npz")
    assert "other data" in check("p.npz", code=5)[0]["proof"]["recomputed"]


def test_files_that_are_no_proofs(folder):
    fit()
    done = run("verify", "m.json", "data.csv", "--label", "hit", "--proof", "m.json", code=2)
    assert "m.json is not a proof" in done.stderr
    run("verify", "m.json", "data.csv", "--label", "hit", "--proof", "absent.npz", code=2)


def test_without_a_search_there_is_no_proof(folder):
    done = fit("--proof", "p.npz", solver="none", code=3)
    assert "No proof was written" in done.stderr and not (folder / "p.npz").exists()
    fit("--proof", "absent/p.npz", code=2)
    assert not (folder / "absent").exists()


def test_verify_draws_the_boxes_of_a_proof(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    from rerank import plots

    seen, real = [], plots.cells
    monkeypatch.setattr(plots, "cells", lambda *given, **rest: seen.append((given, rest)) or real(*given, **rest))
    fit("--proof", "p.npz")
    done = run("verify", "m.json", "data.csv", "--proof", "p.npz", "--plot", "p.svg", "--json")
    assert json.loads(done.stdout)["complete"] and "Drawn to p.svg." in done.stderr
    assert "<svg" in (folder / "p.svg").read_text()[:600]
    ((problem, best), shown), proof = seen[0], load_proof("p.npz")
    assert best.tolist() == proof.weights.tolist() and shown["every"] and problem.n_features == 3
    assert len(shown["boxes"].bounds) == verify_proof(problem, proof).leaves
    assert shown["names"] == [f"scaled weight of {name}" for name in ("age", "size", "year")]
    fit("--proof", "p.npz", "--max-features", 2)
    run("verify", "m.json", "data.csv", "--proof", "p.npz", "--plot", "p.png")
    assert len(seen[1][1]["features"]) == 2 == len(seen[1][1]["names"])


def test_verify_draws_bounds_where_weights_are_too_many(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    from rerank import plots

    seen, real = [], plots.box_bounds
    monkeypatch.setattr(plots, "box_bounds", lambda *given, **rest: seen.append(given) or real(*given, **rest))
    X, y = table(0, n=50, d=4)
    write_csv("data.csv", Table(X, y, None, None, tuple("abcd")), label="hit")
    fit("--proof", "p.npz", "--stat", "dcg@3", code=None)
    done = run("verify", "m.json", "data.csv", "--proof", "p.npz", "--plot", "p.pdf", code=None)
    assert "Drawn to p.pdf." in done.stderr and (folder / "p.pdf").read_bytes()[:4] == b"%PDF"
    shares, bounds, value, claim = seen[0]
    proof = load_proof("p.npz")
    assert (value, claim) == (proof.value, proof.bound) and bounds.max() <= claim
    assert shares.sum() == pytest.approx(len(proof.supports))


def test_what_verify_cannot_draw_is_said(folder):
    pytest.importorskip("matplotlib")
    fit("--proof", "p.npz")
    for given in (("data.csv",), ("--without-data", "--proof", "p.npz")):
        assert "it draws the boxes of a proof" in run("verify", "m.json", *given, "--plot", "p.png", code=2).stderr
    save_proof(replace(load_proof("p.npz"), codes=load_proof("p.npz").codes[:-1]), "short.npz")
    done = run("verify", "m.json", "data.csv", "--proof", "short.npz", "--plot", "p.png", code=5)
    assert "Nothing was drawn to p.png: " in done.stderr and not (folder / "p.png").exists()
