"""A search held in memory goes on as if it had not stopped, and leaves its circuits to programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rerank import search
from rerank.search import Held, solve
from tests.cases.search import drawn_lists, noisy_problem, pause


@pytest.mark.parametrize("options", [{}, {"C": 0.002, "max_features": 4}])
def test_a_search_in_two_parts_takes_the_steps_of_one(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    problem = noisy_problem(60, 5, "mrr", 0.35, 0, **options)
    whole = solve(problem, time_limit=None, n_jobs=1)
    assert whole.closed and whole.nodes > 1500
    pause(monkeypatch, 1000)
    held = Held()
    part = solve(problem, time_limit=None, n_jobs=1, held=held)
    assert held.paused and not part.closed and 1000 <= part.nodes < whole.nodes
    last = solve(problem, time_limit=None, n_jobs=1, held=held)
    assert last.closed and not held.paused and last.nodes == whole.nodes
    assert (last.value, last.bound) == (whole.value, whole.bound) and (last.weights == whole.weights).all()


def test_weights_found_meanwhile_are_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(40, 4, "mrr", 0.35, 0)
    best = solve(problem, time_limit=None, n_jobs=1)
    pause(monkeypatch, 0)
    held = Held()
    solve(problem, time_limit=None, n_jobs=1, held=held)
    pause(monkeypatch, 0)
    assert solve(problem, time_limit=None, n_jobs=1, held=held, start=best.weights).value == best.value


def test_a_search_without_time_begins_with_the_next_call() -> None:
    problem, held = noisy_problem(40, 4, "mrr", 0.35, 0), Held()
    assert "time" in solve(problem, time_limit=0.0, n_jobs=1, held=held).note and not held.paused
    assert held.circuits(1.0).sizes.size == 0
    assert solve(problem, time_limit=None, n_jobs=1, held=held).closed


def test_a_limit_on_boxes_is_no_pause() -> None:
    held = Held()
    solve(noisy_problem(60, 9, "auc", 0.35, 0), time_limit=None, n_jobs=1, held=held, node_limit=1)
    assert not held.paused


@pytest.mark.parametrize("statistic", ["auc", "dcg@5"])
def test_circuits_are_left_whatever_the_statistic_and_lower_the_bound_of_auc(
    statistic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (search.held, search.loop):
        monkeypatch.setattr(module, "PROGRAMS", 40)
    problem = drawn_lists(1, 3, 25, 9, statistic)
    pause(monkeypatch, 0)
    held = Held()
    before = solve(problem, time_limit=None, n_jobs=1, held=held)
    circuits = held.circuits(None)
    assert circuits.sizes.size > 5 and (circuits.multipliers > 0).all() and not circuits.shares.any()
    gains = np.concatenate([item.gains[np.argsort(item.rows)] for item in problem.lists])
    assert (gains[circuits.pairs[:, 0]] > gains[circuits.pairs[:, 1]]).all()
    pause(monkeypatch, 0)
    after = solve(problem, time_limit=None, n_jobs=1, held=held)
    assert after.bound < before.bound - 1e-3 if statistic == "auc" else after.bound <= before.bound
    assert held.circuits(None).sizes.size > circuits.sizes.size
    pause(monkeypatch, 0)
    assert solve(problem, time_limit=None, n_jobs=1, held=held).bound <= after.bound
