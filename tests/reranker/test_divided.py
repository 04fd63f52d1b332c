"""How the time that is left is divided between a search that was stopped and a program that is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rerank import Reranker, search
from rerank.problem import Problem
from rerank.reranker.clock import Clock
from rerank.reranker.result import Solution
from rerank.reranker.settings import check
from rerank.reranker.solve import by_program, optimise
from tests.cases.search import noisy_problem, pause
from tests.oracles.sweep import sweep


def solved(problem: Problem, statistic: str, seconds: float | None = 60.0) -> Solution:
    asked = Reranker(statistic, solver="highs", n_jobs=1).get_params() | {"epsilon": problem.epsilon}
    return optimise.solve(problem, check(asked, problem.n_features), Clock(seconds))


def bringing(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Solution, int], Solution]
) -> tuple[list[float], list[int]]:
    """Let programs bring what ``change`` makes of a solution and the number of the call; shares and searches asked."""
    shares: list[float] = []
    searches: list[int] = []
    honest = search.solve

    def proceed(
        problem: Any, settings: Any, clock: Any, solution: Any, found: Any, circuits: Any, share: float = 1.0
    ) -> Any:
        shares.append(share)
        return change(solution, len(shares))

    def counted(*given: Any, **options: Any) -> Any:
        searches.append(1)
        return honest(*given, **options)

    monkeypatch.setattr(optimise, "proceed", proceed)
    monkeypatch.setattr(search, "solve", counted)
    return shares, searches


def test_the_search_goes_on_where_the_program_brings_less(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(60, 4, "mrr", 0.35, 0)
    shares, searches = bringing(monkeypatch, lambda s, _: s.noting("tried"))
    pause(monkeypatch, 0)
    solution = solved(problem, "mrr")
    assert shares == [optimise.TRIAL_SHARE] and len(searches) == 2 and solution.notes == ("tried",)
    best = search.solve(problem, time_limit=None, n_jobs=1)
    assert solution.bound_source == "search" and solution.gap <= 1e-9
    assert solution.value == pytest.approx(best.value, abs=1e-9) and solution.nodes == best.nodes


def test_the_program_goes_on_where_it_brings_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lower = 0.9

    def claimed(solution: Solution, call: int) -> Solution:
        assert solution.bound_source == "search" and solution.bound > 1.0
        # The second run, from the beginning, need not come as far as the first.
        bound = solution.value + (solution.bound - solution.value) * (lower if call == 1 else 0.95)
        return replace(solution, bound=bound, bound_source="solver", bound_solver="a solver")

    problem = noisy_problem(60, 4, "mrr", 0.35, 0)
    shares, searches = bringing(monkeypatch, claimed)
    pause(monkeypatch, 0)
    solution = solved(problem, "mrr")
    assert shares == [optimise.TRIAL_SHARE, 1.0] and len(searches) == 1
    first = search.solve(problem, time_limit=None, n_jobs=1)
    assert (solution.bound_source, solution.bound_solver) == ("solver", "a solver")
    assert first.value < solution.bound < problem.ideal


def test_what_a_program_proves_ends_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, searches = bringing(
        monkeypatch, lambda s, _: replace(s, bound=s.value, bound_source="solver", bound_solver="a solver")
    )
    pause(monkeypatch, 0)
    solved(noisy_problem(60, 4, "mrr", 0.35, 0), "mrr")
    assert shares == [optimise.TRIAL_SHARE] and len(searches) == 1


@pytest.mark.parametrize("statistic", ["auc", "mrr"])
def test_trial_and_search_reach_the_optimum_together(monkeypatch: pytest.MonkeyPatch, statistic: str) -> None:
    """With real programs, circuits among their rows, against an exact sweep."""
    problem = noisy_problem(12, 2, statistic, 0.4, 1, epsilon=0.05)
    monkeypatch.setattr("rerank.search.circuits.packing.FEWEST_FEATURES", 1)
    given = []
    honest = by_program.with_circuits
    monkeypatch.setattr(
        by_program, "with_circuits", lambda *args: given.append(args[2].sizes.size) or honest(*args)
    )
    pause(monkeypatch, 0)
    solution = solved(problem, statistic, 20.0)
    assert given and given[0] > 0
    assert solution.value == pytest.approx(float(sweep(problem).value), abs=1e-9)
    assert solution.gap <= 1e-6 and solution.formulation == ("auc" if statistic == "auc" else "mixed")
