"""Programs of anchored problems against enumeration, and what cannot be one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem
from rerank.reranker.solve.program import safe_epsilon, state
from rerank.reranker.solve.verified import polish, polished, smallest_margin, won_pairs
from rerank.search import solve as search
from tests.oracles.anchored import anchored, optimum
from tests.oracles.oracle import objective_at
from tests.oracles.programs import solve


def clear(seed: int) -> Problem:
    """A drawn problem with a margin that a solver can tell from its tolerance."""
    while True:
        problem = replace(anchored(seed, n_max=7), epsilon=0.05)
        if float(np.ptp(problem.scaled, axis=0).max()) < 20:
            return problem
        seed += 1000


@pytest.mark.parametrize("seed", range(8))
def test_mixed_has_the_optimum_and_subrank_no_more(seed: int) -> None:
    problem = clear(seed)
    best = float(optimum(problem).value)
    stated = state(problem, "mixed")
    reached, x = solve(stated.program)
    assert reached == pytest.approx(best, abs=1e-6)
    w = stated.weights(x)
    assert w[0] == 1 and polished(problem, w).value == pytest.approx(best, abs=1e-9)
    below = state(problem, "subrank")
    assert solve(below.program)[0] <= best + 1e-6


@pytest.mark.parametrize(("seed", "name"), [(0, "auc"), (1, "pairwise"), (2, "auc"), (3, "pairwise")])
def test_the_programs_of_auc_have_its_optimum(seed: int, name: str) -> None:
    problem = noisy_problem(8, 3, "auc", 0.4, seed)
    problem = Problem.build(problem.X, problem.lists, epsilon=0.05, limits=([1, -0.3, 0], [1, 0.2, 0.5]))
    stated = state(problem, name)
    assert solve(stated.program)[0] == pytest.approx(float(optimum(problem).value), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_point_of_weights_is_feasible_and_worth_its_value(seed: int) -> None:
    problem = clear(100 + seed)
    stated = state(problem, "mixed")
    for w in (problem.unchanged, search(problem, n_jobs=1).weights):
        x, violated = stated.point(w)
        assert violated is None
        value = stated.program.objective(x)
        assert value == pytest.approx(float(objective_at(problem, w)), abs=1e-9)


def test_a_box_of_the_search_leaves_the_optimum() -> None:
    problem = clear(7)
    low, high = problem.limits
    best = search(problem, n_jobs=1)
    box = (np.maximum(low, best.weights - 0.01), np.minimum(high, best.weights + 0.01))
    stated = state(problem, "mixed", box=box)
    assert solve(stated.program)[0] == pytest.approx(best.value, abs=1e-6)


def test_polish_widens_the_margin_within_the_limits() -> None:
    problem = noisy_problem(20, 3, "auc", 0.4, 0)
    problem = Problem.build(problem.X, problem.lists, epsilon=1e-4, limits=([1, -0.3, 0], [1, 0.2, 0.5]))
    w = search(problem, n_jobs=1).weights
    pairs = won_pairs(problem, w)
    better = polish(problem.scaled, pairs, w, None, w != 0, problem.limits)
    assert smallest_margin(problem.scaled, pairs, better) >= smallest_margin(problem.scaled, pairs, w)
    assert (better >= problem.limits[0]).all() and (better <= problem.limits[1]).all()


def test_the_default_margin_suits_narrow_corrections() -> None:
    problem = noisy_problem(20, 3, "auc", 0.4, 0)
    narrow = Problem.build(problem.X, problem.lists, limits=([1, -0.01, 0], [1, 0.01, 0.01]))
    assert safe_epsilon(narrow, safe_epsilon(narrow)) == safe_epsilon(narrow)
