"""The page on proofs: its snippets run, and its checker of forty lines agrees with ours."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rerank.certificate import save_proof, verify_proof
from rerank.problem import Problem, problem_of
from rerank.problem.proof import LINE, Proof
from rerank.search import solve
from rerank.statistics import parse

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"


@pytest.fixture
def names() -> dict:
    """What the page's Python block defines."""
    defined: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, "docs/proofs.md", "exec"), defined)
    return defined


def test_snippets_run(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(PAGE.read_text(), names, "docs/proofs.md", None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0
    assert len(session.examples) > 10


@pytest.mark.parametrize(("kind", "stat"), [("normal", "auc"), ("normal", "mrr"), ("grid", "auc")])
def test_the_plain_checker_agrees(names, tmp_path, kind, stat):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 3)) if kind == "normal" else rng.integers(0, 3, size=(24, 3)).astype(float)
    y = (rng.random(24) < 0.35).astype(float)
    problem: Problem = problem_of(X, y, parse(stat), epsilon=0.01)
    proof = solve(problem, proof=True).proof
    assert isinstance(proof, Proof) and ((proof.codes > LINE).any() == (kind == "grid"))
    item = problem.lists[0]

    def plain(candidate: Proof) -> bool:
        save_proof(candidate, tmp_path / "proof")
        fixed = {"offset": -item.constant, "scale": item.scale}
        return names["holds"](tmp_path / "proof", X, y, item.coefficients, Fraction(0.01), **fixed)

    assert plain(proof) and verify_proof(problem, proof).ok
    low = replace(proof, bound=proof.value - 1e-6)
    assert not plain(low) and not verify_proof(problem, low).ok
