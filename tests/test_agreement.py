"""Search, certificate and programs against exact oracles that share no code with them.

A sample: ``python -m benchmarks.trust --agreement 10000`` has the large numbers.
"""

from itertools import product

import numpy as np
import pytest

from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.instances import draw, features, on_grid, stream
from tests.oracles.comparisons import check_programs, check_search
from tests.oracles.sweep import sweep

CHUNK = 100


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Kernels compile before any time limit runs: both linear statistics and the others, with and without a price."""
    for statistic, C in product(("auc", "dcg"), (0.0, 0.1)):
        X, gains = np.array([[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]]), [1.0, 2.0, 0.0]
        solve(problem_of(X, gains, parse(statistic), C=C), time_limit=None)


@pytest.mark.parametrize("first", range(0, 600, CHUNK))
def test_search_agrees_with_the_vertices(first: int) -> None:
    wrong = {str(i): v for i in stream(first, CHUNK) if (v := check_search(i.problem, proof=first == 0).failures)}
    assert not wrong


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_programs_agree_with_the_vertices(first: int) -> None:
    wrong, seen = {}, set()
    for seed in range(first, first + 10):
        instance = draw(seed, n_max=7, statistic="auc" if seed % 5 == 0 else None)
        verdict = check_programs(instance)
        seen.update(verdict.seen)
        if verdict.failures:
            wrong[str(instance)] = verdict.failures
    assert not wrong
    assert "mixed = problem" in seen and "mixed < problem" not in seen


@pytest.mark.parametrize("first", range(0, 200, CHUNK))
def test_search_agrees_with_the_vertices_on_whole_numbers(first: int) -> None:
    """Half of them with a margin that is a step of the grid."""
    grids = [on_grid(seed) for seed in range(first, first + CHUNK)]
    assert not {str(i): v for i in grids if (v := check_search(i.problem).failures)}


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_programs_agree_with_the_vertices_on_whole_numbers(first: int) -> None:
    """There the solver's optimum is the exact one by the margin as it was written."""
    grids = [on_grid(seed, n_max=7) for seed in range(first, first + 10)]
    assert not {str(i): v for i in grids if (v := check_programs(i).failures)}


# Reached at thirds only, which no double is, but whole numbers are in their ratio.
THIRDS = ("two half-planes touch at t = 1/3", "three half-spaces touch at thirds")


@pytest.mark.parametrize("name", sorted(adversarial()))
def test_search_where_rounding_ties_or_a_thin_optimum_decide(name: str) -> None:
    verdict = check_search(adversarial()[name], time_limit=2.0)
    assert not verdict.failures and verdict.seen[0] == "closed"
    assert name not in THIRDS or np.abs(solve(adversarial()[name], n_jobs=1).weights).max() > 1


def planar(seed: int, n: int, statistic: str, kind: str = "normal", **options: object) -> Problem:
    """A noisy linear order of ``n`` items with two features."""
    rng = np.random.default_rng([7, seed])
    X = rng.integers(0, 25, size=(n, 2)).astype(float) if kind == "lattice" else features(rng, kind, n, 2)
    signal = X @ rng.normal(size=2)
    noisy = signal + rng.normal(size=n) * signal.std()
    gains = np.searchsorted(np.quantile(noisy, [0.6, 0.9] if seed % 2 else [0.8]), noisy).astype(np.float64)
    return problem_of(X, gains, parse(statistic), **options)


@pytest.mark.parametrize(
    ("seed", "n", "statistic", "kind", "options"),
    [
        (0, 160, "auc", "normal", {}),
        (1, 160, "dcg", "normal", {"epsilon": 0.05}),  # grades, a margin that matters
        (2, 160, "mrr", "lattice", {}),  # many equal rows and equal critical angles
        (3, 160, "ndcg@10", "lattice", {"epsilon": 0.04}),  # margin equal to a step of the lattice, nearly
        (4, 150, "auc", "tiny", {"epsilon": 1e-3}),
        (5, 120, "dcg@10", "normal", {"C": 0.2}),  # whether the second feature pays
        (6, 120, "pauc@20", "collinear", {"max_features": 1}),
        (7, 120, "wta", "normal", {"signs": [1, -1], "epsilon": 0.1}),
        (8, 100, "pnorm@2", "scales", {"epsilon": 0.01}),
        (9, 100, "precision@20", "duplicates", {"C": 0.01}),
    ],
)
def test_search_agrees_with_the_sweep_in_two_dimensions(
    seed: int, n: int, statistic: str, kind: str, options: dict
) -> None:
    problem = planar(seed, n, statistic, kind, **options)
    assert not check_search(problem, lambda p: sweep(p).value).failures


def test_two_cores_and_another_seed_hold_the_same_value() -> None:
    for seed in range(0, 1200, 400):
        problem = draw(seed).problem
        assert not check_search(problem, n_jobs=2, random_state=1).failures


def test_a_start_changes_nothing_but_the_start() -> None:
    for seed in range(5, 1200, 400):
        problem = draw(seed).problem
        start = np.where(problem.signs < 0, -1.0, 1.0) * (np.arange(problem.n_features) == 0)
        assert not check_search(problem, start=start).failures
