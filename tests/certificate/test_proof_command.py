"""``fit --proof`` and ``verify --proof``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from rerank.certificate import load_proof, save_proof
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
    assert done.exit_code == code, f"{done.exit_code}: {done.stdout}{done.stderr}{done.exception!r}"
    return done


def fit(*extra: object, solver: str = "search", code: int = 0):
    fixed = ["--label", "hit", "--candidates", 30, "--stat", "auc", "--solver", solver]
    return run("fit", "data.csv", "--model", "m.json", *fixed, *extra, code=code)


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
    weak = replace(proof, bound=100.0, codes=proof.codes[:faces] * 0 + LEAF)
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
