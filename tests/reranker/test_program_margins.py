"""Margins on the grid of the data: programs, files, search and exact enumeration have one optimum."""

import json
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from formulations import pairwise
from formulations.compile import compile_model
from rerank import Reranker
from rerank.problem import Problem, problem_of
from rerank.reranker.files.export import imported
from rerank.reranker.solve.program import state
from rerank.search import solve
from rerank.solvers import Options, gateway, highs
from rerank.statistics import parse
from tests.oracles.anchored import best
from tests.search.test_margins import CASES, levels

SLOW = ("ratings, 1", "ratings, 2", "ratings, 3", "five levels, 1", "five levels, 2", "five levels, 3")


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for name in ("three rows", "four rows"):
        solve(CASES[name](), time_limit=None, n_jobs=1)


@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_program_search_and_enumeration_have_one_optimum(name: str) -> None:
    problem = CASES[name]()
    began = time.process_time()
    found = solve(problem, time_limit=20.0, n_jobs=1)
    assert time.process_time() - began < 0.1
    outcome = highs.solve(state(problem, "mixed").program, Options(time_limit=60))
    exact = float(best(problem).value)
    assert found.closed and outcome.holds == "optimal"
    assert [found.value, outcome.objective] == pytest.approx([exact, exact], abs=1e-6)


def test_the_case_in_which_five_solvers_beat_what_was_called_optimal() -> None:
    rng = np.random.default_rng(21)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 6, (14, 2)).astype(float), (rng.random(14) < 0.4).astype(float)
        problem = problem_of(X, y, parse("dcg@5"), epsilon=0.05, C=0.01, signs=[1, 1])
        found, outcome = solve(problem, time_limit=5.0), highs.solve(state(problem, "mixed").program)
        exact = float(best(problem).value)
        assert [found.bound, outcome.objective] == pytest.approx([exact, exact], abs=1e-6)


def test_where_only_thirds_reach_the_optimum_program_and_bound_are_exact() -> None:
    """No double is a third, but whole numbers are in its ratio: value and bound are what the program attains."""
    problem = levels(11, 15, 2, 5, "dcg@5", 0.2)
    found, outcome = solve(problem, time_limit=20.0, n_jobs=1), highs.solve(state(problem, "mixed").program)
    exact = best(problem)
    assert any(w.denominator % 3 == 0 for w in exact.weights) and found.closed
    assert np.abs(found.weights).max() > 1 and found.value == pytest.approx(float(exact.value))
    assert found.value <= found.bound == pytest.approx(float(exact.value)) == pytest.approx(outcome.objective)


TENTHS = np.array([[3.0], [2.0], [0.0], [10.0]])


def one_pair(epsilon: Fraction | float, **options: object) -> tuple[float, int]:
    """Optimum, and number of columns ``z``, of the program of the pair (0, 1) of ``TENTHS``, scaled."""
    model = pairwise.build(
        TENTHS / 10, ([[0, 1]], [1.0]), epsilon=epsilon, scaled_from=(TENTHS, [0.0], [10.0]), **options
    )
    return highs.solve(compile_model(model)).objective, len(model.z)


@pytest.mark.parametrize("margin", [0.1, Fraction(1, 10)])
def test_a_step_that_is_the_margin_is_won(margin) -> None:
    assert TENTHS[0, 0] / 10 - TENTHS[1, 0] / 10 < 0.1  # in doubles it is lost
    assert one_pair(margin) == (1.0, 1)
    assert one_pair(margin, box=([0.5], [1.0])) == (1.0, 1)
    # The box decides: 1 is in it alone, or it is not.
    assert one_pair(margin, box=([1.0], [1.0])) == (1.0, 0)
    assert one_pair(margin, box=([-1.0], [np.nextafter(1, 0)])) == (0.0, 0)


@pytest.mark.parametrize("above", [Fraction(1, 10**14), Fraction(1, 10**20), Fraction(0.1) - Fraction(1, 10)])
def test_a_step_that_misses_the_margin_by_less_than_rounding_is_lost(above) -> None:
    assert one_pair(Fraction(1, 10) + above) == (0.0, 0)
    assert one_pair(Fraction(1, 10) - above, box=([1.0], [1.0])) == (1.0, 0)


def test_without_a_table_the_doubles_are_exact() -> None:
    X = TENTHS / 10
    for i, k in ((0, 1), (1, 0), (0, 2), (3, 0)):
        apart = abs(Fraction(X[i, 0]) - Fraction(X[k, 0]))
        for margin, won in ((apart, 1.0), (apart + Fraction(1, 10**30), 0.0)):
            model = pairwise.build(X, ([[i, k]], [1.0]), epsilon=margin)
            assert highs.solve(compile_model(model)).objective == won


def test_a_limit_of_features_counts_at_the_margin() -> None:
    """Two of three columns reach three tenths, and all three four."""
    X = np.array([[2.0, 1, 1], [0, 0, 0], [10, 10, 10]])
    for limit, margin, count in ((2, "3/10", 1), (2, "31/100", 0), (3, "4/10", 1), (1, "2/10", 1), (1, "3/10", 0)):
        options = {"max_features": limit, "epsilon": Fraction(margin), "scaled_from": (X, [0.0] * 3, [10.0] * 3)}
        model = pairwise.build(X / 10, ([[0, 1]], [1.0]), **options)
        assert len(model.z) == count, (limit, margin)


def test_a_margin_that_is_the_double_is_a_little_more_than_a_fifth() -> None:
    """What files of earlier versions hold; the search has the same optimum."""
    fifth: Problem = CASES["three rows"]()
    double = fifth.with_epsilon(Fraction(0.2))
    for problem, value in ((fifth, 1.0), (double, 0.5)):
        for name in ("auc", "mixed", "pairwise"):
            assert highs.solve(state(problem, name).program).objective == pytest.approx(value, abs=1e-9)
        assert float(best(problem).value) == value


def test_a_file_keeps_the_rational(tmp_path: Path) -> None:
    X, y = np.array([[3.0, 1], [2, 7], [0, 0], [10, 10], [4, 9]]), np.array([1, 0, 0, 0, 1])
    options = {"first_stage": None, "solver": "search", "margin": "1/10", "formulation": "mixed"}
    est = Reranker("auc", **options).fit(X, y)
    program, sidecar = est.export_mps(tmp_path / "tenth.mps")
    assert json.loads(Path(sidecar).read_text())["data"]["problem"]["epsilon"] == "1/10"
    gateway.solve_file(program, "highs", solution=tmp_path / "tenth.sol")
    again = imported(program, tmp_path / "tenth.sol")
    assert again.result.epsilon.exact == Fraction(1, 10)
    assert again.result.value == est.result_.value == pytest.approx(float(best(est.state_.problem).value))
