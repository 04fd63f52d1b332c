"""Circuits are never won, and no weights lose less than they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rerank.problem import Problem
from rerank.search import loop, solve
from rerank.search.circuits.packing import Circuits, bound_of_loss, circuits_of
from rerank.search.domain import Domain
from rerank.search.tables import Tables, tables
from tests.cases.search import drawn_lists, noisy_problem, surface


def lost_weight(t: Tables, w: np.ndarray) -> float:
    return float(t.weight[w @ t.pairs < t.epsilon].sum())


@pytest.mark.parametrize("signs", [None, [1, 0, 0, 1, -1, 0, 0, 0, 0, 1]])
@pytest.mark.parametrize("statistic", ["auc", "dcg@10"])
def test_no_weights_win_a_circuit_or_lose_less_than_the_packing(statistic: str, signs: list[int] | None) -> None:
    problem = noisy_problem(50, 10, statistic, 0.2, 0, signs=signs)
    t = tables(problem)
    flip = np.where(problem.signs < 0, -1.0, 1.0)
    t.pairs[:] *= flip[:, None]
    circuits = Circuits(t, Domain.of(problem))
    loss = circuits.loss(25)
    assert circuits.pool and loss > 0 and all(c.size <= 11 for c in circuits.pool)
    points = surface(np.random.default_rng(0), problem, 300) * flip
    best = solve(problem, time_limit=1.0, n_jobs=1).weights * flip
    for w in [*points, best]:
        won = w @ t.pairs >= t.epsilon
        assert not any(won[c].all() for c in circuits.pool)
        assert lost_weight(t, w) >= loss - 1e-9


def test_every_circuit_is_infeasible_for_another_solver() -> None:
    from scipy.optimize import linprog

    problem = noisy_problem(40, 9, "auc", 0.3, 1)
    t = tables(problem)
    circuits = Circuits(t, Domain.of(problem))
    circuits.loss(20)
    for c in circuits.pool:
        rows = -t.pairs[:, c].T
        simplex = linprog(np.zeros(9), rows, np.full(c.size, -t.epsilon), bounds=(-1, 1), method="highs-ipm")
        assert simplex.status == 2, "these pairs can all be won"


def small(statistic: str) -> Problem:
    return noisy_problem(7, 9, statistic, 0.45, 0)


@pytest.mark.parametrize("statistic", ["dcg", "mrr", "precision@2", "dcg@3", "auc"])
@pytest.mark.parametrize("lost", [0, 1, 2, 4, 9, 12])
def test_the_bound_of_a_loss_is_not_below_any_way_to_lose_so_many_pairs(statistic: str, lost: int) -> None:
    problem = small(statistic)
    t = tables(problem)
    positives, negatives = 3, 4
    worth = []
    for counts in product(range(negatives + 1), repeat=positives):
        if sum(counts) >= lost:
            places = np.sort(counts) + np.arange(positives)
            unit = problem.units[0]
            worth.append(unit.factor * unit.coefficients[::-1][places].sum() + problem.constant)
    assert t.to_value(bound_of_loss(t, lost)) >= max(worth) - 1e-12
    if lost == 0:
        assert t.to_value(bound_of_loss(t, lost)) == pytest.approx(problem.ideal, rel=1e-9)
    else:
        assert t.to_value(bound_of_loss(t, lost)) <= problem.ideal


def test_circuits_lower_the_bound_where_boxes_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(60, 14, "auc", 0.35, 0)
    monkeypatch.setattr(loop, "BLIND", 0.0)
    monkeypatch.setattr(loop, "PROGRAMS", 100)
    found = solve(problem, time_limit=None, n_jobs=1, node_limit=1)
    assert found.value < found.bound < problem.ideal - 0.005


def test_a_bound_that_meets_the_value_closes_the_search() -> None:
    from rerank.search.run import Run

    boxes = Run(noisy_problem(60, 10, "auc", 0.35, 0)).boxes
    assert boxes.drop_fathomed() and boxes.open_bound() > boxes.value
    boxes.offer(boxes.cap if np.isfinite(boxes.cap) else boxes.tables.ideal - 5.0, np.ones(10))
    boxes.cap = boxes.value
    assert boxes.open_bound() == boxes.value and not boxes.drop_fathomed()


def test_only_problems_that_circuits_can_bound_have_them() -> None:
    def given(problem: Problem) -> bool:
        return circuits_of(tables(problem), Domain.of(problem), 0) is not None

    assert given(noisy_problem(40, 9, "dcg@5", 0.3, 0)) and given(drawn_lists(0, 4, 10, 9, "auc"))
    assert not given(noisy_problem(40, 8, "dcg@5", 0.3, 0))
    assert not given(drawn_lists(0, 4, 10, 9, "dcg@5")) and not given(noisy_problem(400, 9, "auc", 0.4, 0))
