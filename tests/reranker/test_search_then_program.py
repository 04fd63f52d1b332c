"""A search that was stopped, and the one program that has the rest of the time."""

from __future__ import annotations

from typing import Any

import pytest

from rerank import Reranker, search
from rerank.problem import Problem
from rerank.reranker.clock import Clock
from rerank.reranker.solution import Solution
from rerank.reranker.solve import optimise
from rerank.reranker.task import task_of
from tests.cases.search import noisy_problem
from tests.oracles.sweep import sweep


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Searches and programs in the order of their calls; the searches stop before the first box."""
    made: list[str] = []

    def counted(what: str, honest: Any) -> Any:
        return lambda *given, **options: made.append(what) or honest(*given, **options)

    solve = search.solve
    first = counted("search", lambda *given, **options: solve(*given, **options | {"node_limit": 0}))
    monkeypatch.setattr(search, "solve", first)
    monkeypatch.setattr(optimise, "run", counted("program", optimise.run))
    return made


def solved(problem: Problem, statistic: str, seconds: float) -> Solution:
    asked = Reranker(statistic, solver="highs", n_jobs=1, margin=problem.epsilon)
    return optimise.solve(problem, task_of(asked, problem.n_features), Clock(seconds))


@pytest.mark.parametrize("statistic", ["auc", "mrr"])
def test_search_and_program_reach_the_optimum_together(calls: list[str], statistic: str) -> None:
    problem = noisy_problem(12, 2, statistic, 0.4, 1, epsilon=0.05)
    solution = solved(problem, statistic, 20.0)
    assert calls == ["search", "program"] and solution.bound_source == "solver"
    assert solution.value == pytest.approx(float(sweep(problem).value), abs=1e-9)
    assert solution.gap <= 1e-6 and solution.formulation == ("auc" if statistic == "auc" else "mixed")


def test_value_and_bound_of_the_search_are_kept_whatever_the_program_brings(calls: list[str]) -> None:
    problem = noisy_problem(40, 9, "auc", 0.3, 1)
    found = search.solve(problem, n_jobs=1)
    assert found.bound < problem.ideal and not found.closed
    calls.clear()
    solution = solved(problem, "auc", 2.0)
    assert calls == ["search", "program"]
    assert solution.bound <= found.bound + 1e-12 and solution.value >= found.value - 1e-12
