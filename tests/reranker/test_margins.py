"""A margin as it is written: options, model files new and old, and what a fit says that gave up."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank import Reranker, verify
from rerank.certificate import certify
from rerank.io import Table
from rerank.problem import digest

X, Y = np.array([[0, 0, 0], [1, 0, 0], [5, 5, 5.0]]), np.array([0, 1, 0])
TABLE = Table(X, Y.astype(float), None, None, ("x0", "x1", "x2"))


def fitted(epsilon: object) -> Reranker:
    return Reranker("auc", first_stage=None, solver="search", margin=epsilon, time_limit=3.0).fit(X, Y)


@pytest.mark.parametrize("epsilon", [0.2, "1/5", Fraction(1, 5)])
def test_a_margin_of_a_fifth_is_won_by_a_step_of_five_and_kept_in_the_file(epsilon, tmp_path: Path) -> None:
    est = fitted(epsilon)
    assert est.result_.status == "optimal" and est.result_.value == 1.0
    assert est.result_.epsilon == 0.2 and est.result_.epsilon.exact == Fraction(1, 5)
    est.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["epsilon"] == "1/5"
    again = rerank.load(tmp_path / "model.json")
    assert again.result_.epsilon.exact == Fraction(1, 5)
    assert verify(tmp_path / "model.json", TABLE).holds


def test_a_file_of_a_double_keeps_its_meaning_and_its_digest(tmp_path: Path) -> None:
    est = fitted(Fraction(0.2))  # what .2 meant when margins were doubles
    assert est.result_.value < 1.0
    est.save(tmp_path / "old.json")
    body = json.loads((tmp_path / "old.json").read_text())
    assert body["epsilon"] == (0.2).hex()
    assert rerank.load(tmp_path / "old.json").result_.epsilon.exact == Fraction(0.2)
    assert verify(tmp_path / "old.json", TABLE).holds
    problem = est.state_.training.problem
    assert problem is not None and digest(problem) == body["data_sha256"]
    assert digest(problem) != digest(replace(problem, epsilon=0.2))


def test_the_value_of_a_first_stage_that_is_ideal_has_the_margin_in_it():
    """An order that nothing can better may be worth nothing once pairs count by a wide margin alone."""
    values = set()
    for seed in range(6):
        X, y = np.random.default_rng(seed).normal(size=(6, 2)), np.array([1, 0, 0, 1, 0, 0])
        est = Reranker("success@2", margin=0.3, radius=0.5).fit(X, y)
        if est.result_.status == "already_ideal":
            found = certify(est.state_.problem, est.result_.weights)
            assert est.result_.value == found.value_down <= est.result_.bound and est.result_.statistic == 1.0
            values.add(est.result_.value)
    assert values == {0.0, 1.0}


@pytest.mark.parametrize("first_stage", ["x0", "logistic", lambda X: X[:, 0]], ids=["column", "logistic", "function"])
def test_an_ideal_first_stage_without_a_radius_is_worth_what_its_weights_are(first_stage, tmp_path):
    """Each pair counted for itself, and a price for each column; a function is no weights, and has its statistic."""
    rng = np.random.default_rng(3)
    X = np.column_stack([np.r_[np.linspace(0, 1, 12), np.linspace(1.1, 2, 8)], rng.normal(size=20)])
    y = np.r_[np.zeros(12), np.ones(8)]
    est = Reranker("auc", first_stage=first_stage, cross_fit=False, margin=0.3, C=0.01).fit(X, y)
    result = est.result_
    assert (result.status, result.statistic) == ("already_ideal", 1.0) and result.value <= result.bound <= 1 + 1e-9
    if callable(first_stage):
        assert result.value == 1.0
        return
    w = est.coef_ * np.ptp(X, axis=0)
    scores = ((X - X.min(axis=0)) / np.ptp(X, axis=0)) @ (w / np.abs(w).max())
    won = (scores[12:, None] - scores[:12] >= 0.3).mean()
    assert result.value == pytest.approx(won - 0.01 * np.count_nonzero(w), abs=1e-12) and won < 1
    est.save(tmp_path / "m.json")
    assert verify(tmp_path / "m.json", Table(X, y, None, None, ("x0", "x1"))).holds
