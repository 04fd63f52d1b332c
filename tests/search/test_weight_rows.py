"""Linear rows on the weights: searches under them have the enumeration's optimum, and their proofs hold."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from rerank.problem.rows import broken
from rerank.reranker.solve.program import state
from rerank.search import solve
from rerank.solvers import Options, highs
from tests.cases.search import by_rows
from tests.oracles.comparisons import check_search
from tests.search.rows_agreement import drawn


@pytest.mark.parametrize("kind", ["by pairs", "by rows", "by sum"])
@pytest.mark.parametrize("part", range(3))
def test_searches_under_rows_agree_with_an_enumeration(part: int, kind: str) -> None:
    first, rows = 60 * part + 30 * (kind == "by rows"), kind == "by rows"
    asked = [problem for seed in range(first, first + 30) if (problem := drawn(seed, kind == "by sum")) is not None]
    with by_rows() if rows else nullcontext():
        found = [check_search(problem, time_limit=10.0, proof=not rows) for problem in asked]
    assert not [verdict.failures for verdict in found if verdict.failures]
    assert len(found) > 10 and sum(one.seen[0] == "closed" for one in found) > 0.9 * len(found)


@pytest.mark.parametrize("by_sum", [False, True], ids=["", "by sum"])
@pytest.mark.parametrize("part", range(2))
def test_programs_with_the_rows_have_the_same_optimum(part: int, by_sum: bool) -> None:
    drawn_here = (drawn(seed, by_sum) for seed in range(40 * part, 40 * part + 40))
    stated_here = [problem for problem in drawn_here if problem is not None and not problem.weighs_hits][:10]
    assert len(stated_here) == 10
    for problem in (replace(problem, C=0.0) for problem in stated_here):
        found = solve(problem.with_epsilon("0.05"), time_limit=5.0, n_jobs=1)
        stated = state(problem.with_epsilon("0.05"), "mixed")
        assert len(problem.rows) <= sum(name.startswith("V") for name in stated.program.rows)
        outcome = highs.solve(stated.program, Options(time_limit=20.0))
        assert outcome.holds == "optimal" and found.closed
        # A solver satisfies rows within a tolerance, so that it may count a pair at just the margin.
        assert outcome.objective == pytest.approx(found.value, abs=1e-6)
        assert broken(problem.rows, stated.weights(outcome.x)) is None
        x, violated = stated.point(found.weights)
        assert violated is None and np.isfinite(x).all()
