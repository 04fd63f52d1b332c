"""Rows of circuits in a program: they hold at every point, they change no optimum, and a wrong one is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rerank.errors import CertificateError
from rerank.problem import Problem
from rerank.problem.proof import Circuits as Record
from rerank.reranker.solve import circuit_rows
from rerank.reranker.solve.circuit_rows import PREFIX, with_circuits
from rerank.reranker.solve.program import Stated, state
from rerank.search.circuits.packing import Circuits
from rerank.search.domain import Domain
from rerank.search.tables import tables
from rerank.solvers import highs
from rerank.solvers.outcome import Options
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem, surface
from tests.oracles.anchored import anchored, best
from tests.oracles.vertices import scaled


def pool(problem: Problem, programs: int = 40) -> Record:
    domain = Domain.of(problem)
    circuits = Circuits(tables(problem, scale=domain.scale), domain)
    circuits.loss(programs)
    return circuits.recorded(every=True)


def rows_of(stated: Stated) -> list[tuple[list[str], float]]:
    """Names of the columns and the right side of each row of a circuit."""
    p, found = stated.program, []
    for r, name in enumerate(p.rows):
        if name.startswith(PREFIX):
            part = slice(p.matrix.indptr[r], p.matrix.indptr[r + 1])
            assert (p.matrix.data[part] == 1.0).all() and p.row_lower[r] == -np.inf
            found.append(([p.columns[j] for j in p.matrix.indices[part]], float(p.row_upper[r])))
    return found


def optimum(stated: Stated) -> float:
    outcome = highs.solve(stated.program, Options(time_limit=60.0, threads=1, mip_rel_gap=0.0))
    assert outcome.holds == "optimal" and outcome.objective is not None
    return float(outcome.objective) + stated.constant


DRAWN = {
    "graded lists": drawn_lists(3, 3, 14, 2, "dcg@3"),
    "graded lists with a limit": draw(37).problem,
    "one list": noisy_problem(12, 2, "mrr", 0.4, 0, epsilon=0.05),
    "auc": noisy_problem(12, 2, "auc", 0.4, 1, epsilon=0.05),
    "graded auc": drawn_lists(5, 3, 8, 2, "auc"),
    "signs": noisy_problem(12, 3, "auc", 0.4, 2, epsilon=0.05, signs=[1, -1, 0]),
    "price": noisy_problem(12, 3, "auc", 0.4, 3, epsilon=0.05, C=0.05, max_features=2),
    "ties": draw(29).problem,
    "anchored": anchored(26),
    "anchored, graded": anchored(14),
}


def programs(problem: Problem) -> list[str]:
    linear = tables(problem).linear
    return ["mixed", "auc"] if linear else ["mixed"]


@pytest.mark.parametrize("name", DRAWN)
def test_no_weights_break_a_row(name: str) -> None:
    """Each z is decided in rationals from its pair of rows, at lattice points and at random ones."""
    problem = DRAWN[name]
    rows = rows_of(with_circuits(state(problem, "mixed"), problem, pool(problem)))
    assert rows
    lattice = [np.array(w) for w in product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=problem.n_features)]
    lattice = [w for w in lattice if (w * problem.signs >= 0).all()]
    points = [*lattice, *surface(np.random.default_rng(0), replace(problem, max_features=None), 40)]
    if problem.limits is not None:
        low, high = problem.limits
        points = [low + (w + 1.0) / 2.0 * (high - low) for w in points]
    X, margin = scaled(problem), Fraction(problem.epsilon)
    for w in points:
        weights = [Fraction(float(v)) for v in w]
        scores = [sum((a * b for a, b in zip(weights, row, strict=True)), Fraction(0)) for row in X]
        for columns, most in rows:
            pairs = [map(int, column[1:].split("_")) for column in columns]
            assert sum(scores[i] - scores[k] >= margin for i, k in pairs) <= most


@pytest.mark.parametrize("name", DRAWN)
def test_the_optimum_with_rows_is_that_of_the_enumeration(name: str) -> None:
    problem = DRAWN[name]
    circuits, value = pool(problem), float(best(problem).value)
    for program in programs(problem):
        plain = state(problem, program)
        assert optimum(plain) == pytest.approx(value, abs=1e-6)
        assert optimum(with_circuits(plain, problem, circuits)) == pytest.approx(value, abs=1e-6)


def test_rows_hold_where_a_box_decides_pairs() -> None:
    """Pairs that the box loses keep a row, pairs that it wins lower the right side."""
    problem = DRAWN["auc"]
    circuits, w = pool(problem), np.array([float(v) for v in best(problem).weights])
    box = np.maximum(w - 0.7, -1.0), np.minimum(w + 0.7, 1.0)
    inside = with_circuits(state(problem, "auc", box=box), problem, circuits)
    rows = rows_of(inside)
    assert 0 < len(rows) < circuits.sizes.size and min(most for _, most in rows) == 1.0 < circuits.sizes.min() - 1
    assert all(most == len(columns) - 1 for columns, most in rows)
    assert optimum(inside) == pytest.approx(float(best(problem).value), abs=1e-6)


def test_rows_lower_the_relaxation() -> None:
    problem = noisy_problem(40, 9, "auc", 0.4, 1)
    plain = state(problem, "auc")
    cut = with_circuits(plain, problem, pool(problem, 100))
    before, after = (
        highs.solve(replace(p, integer=np.zeros_like(p.integer)), Options(threads=1)).bound
        for p in (plain.program, cut.program)
    )
    assert after < before - 3.0 * float(plain.program.cost.max())


def test_a_circuit_that_some_weights_win_is_refused_and_would_change_the_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = DRAWN["auc"]
    X, w = problem.scaled, np.array([float(v) for v in best(problem).weights])
    unit = problem.units[0]
    margins = {(i, k): float(w @ (X[i] - X[k])) for i in unit.positive for k in unit.negative}
    won = np.array([pair for pair, margin in margins.items() if margin > problem.epsilon + 1e-6])
    ones = np.ones(len(won), np.int64)
    wrong = Record(ones, won.astype(np.int64), ones, 0 * ones, ones[:0])  # each pair by itself
    for program in programs(problem):
        plain = state(problem, program)
        with pytest.raises(CertificateError, match="said to be a circuit"):
            with_circuits(plain, problem, wrong)
        with monkeypatch.context() as unchecked:
            unchecked.setattr(circuit_rows, "infeasible", lambda *_: True)
            assert optimum(with_circuits(plain, problem, wrong)) < optimum(plain) - 1e-3


def test_circuits_of_another_margin_or_scaling_are_refused() -> None:
    problem = noisy_problem(12, 2, "auc", 0.4, 1, epsilon=0.3)
    circuits = pool(problem)
    wider = replace(problem, high=problem.low + 0.02 * (problem.high - problem.low))
    for other in (replace(problem, epsilon=problem.epsilon / 1e4), wider):
        with pytest.raises(CertificateError, match="said to be a circuit"):
            with_circuits(state(other, "auc"), other, circuits)
