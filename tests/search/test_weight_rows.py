"""Linear rows on the weights: searches under them have the enumeration's optimum, and their proofs hold."""

from dataclasses import replace

import numpy as np
import pytest

from rerank.reranker.solve.program import state
from rerank.search import solve
from rerank.search.domain import allowed
from rerank.solvers import highs
from rerank.solvers.outcome import Options
from tests.search.rows_agreement import check, drawn


@pytest.mark.parametrize("rows", [False, True], ids=["by pairs", "by rows"])
@pytest.mark.parametrize("part", range(5))
def test_searches_under_rows_agree_with_an_enumeration(part: int, rows: bool) -> None:
    seeds = range(60 * part + 30 * rows, 60 * part + 30 * rows + 30)
    asked = [problem for seed in seeds if (problem := drawn(seed)) is not None]
    found = [check(problem, rows) for problem in asked]
    assert len(found) > 10 and found.count("closed") > 0.9 * len(found)


def stated_here(seed: int) -> bool:
    problem = drawn(seed)
    return problem is not None and not problem.weighs_hits


@pytest.mark.parametrize("part", range(3))
def test_programs_with_the_rows_have_the_same_optimum(part: int) -> None:
    seeds = [seed for seed in range(40 * part, 40 * part + 40) if stated_here(seed)][:10]
    assert len(seeds) == 10
    for problem in (replace(drawn(seed), C=0.0) for seed in seeds):
        found = solve(problem.with_epsilon("0.05"), time_limit=5.0, n_jobs=1)
        stated = state(problem.with_epsilon("0.05"), "mixed")
        assert len(problem.rows) <= sum(name.startswith("V") for name in stated.program.rows)
        outcome = highs.solve(stated.program, Options(time_limit=20.0))
        assert outcome.holds == "optimal" and found.closed
        # A solver satisfies rows within a tolerance, so that it may count a pair at just the margin.
        assert outcome.objective + stated.constant == pytest.approx(found.value, abs=1e-6)
        assert allowed(problem, stated.weights(outcome.x)).tolist() == stated.weights(outcome.x).tolist()
        x, violated = stated.point(found.weights)
        assert violated is None and np.isfinite(x).all()
