"""Releases of HiGHS whose presolve loses optima."""

import pytest

from rerank.solvers import highs
from tests.cases.hand_programs import knapsack, linear
from tests.cases.instances import draw
from tests.oracles.comparisons import check_programs


def test_a_program_whose_optimum_a_presolve_has_lost():
    """HiGHS 1.16.0 with presolve calls a worse point optimal; CBC, GLPK and enumeration know better."""
    instance = draw(50137, n_max=7)
    assert instance.kind == "scales" and check_programs(instance).failures == ()


def test_a_release_with_an_unsafe_presolve_is_used_without_it(monkeypatch):
    made, optimum = knapsack()
    assert "without presolve" not in highs.solve(linear()).message
    monkeypatch.setattr(highs, "UNSAFE_PRESOLVE", (highs.version(),))
    asked = []
    run = highs._Run
    monkeypatch.setattr(highs, "_Run", lambda *given: asked.append(given[2]) or run(*given))
    outcome = highs.solve(made)
    assert outcome.objective == pytest.approx(optimum) and asked == [False]
    assert outcome.message.startswith(f"Solved without presolve: that of HiGHS {highs.version()} loses optima.")
    highs.solve(linear())
    assert asked == [False, True]  # there are no integers
