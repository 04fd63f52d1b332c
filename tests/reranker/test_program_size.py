"""How large a program would be is counted, not built, so that a time limit holds."""

import math
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import auc
from rerank import Reranker
from rerank.reranker.solve.optimise import seconds_to_state
from rerank.reranker.solve.program import counted_pairs, estimated_size, state


def problem_of(seed, n, d, stat="dcg", grades=2, lists=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, grades, n)
    y[:2] = 0, 1
    est = Reranker(stat, first_stage=None, solver="none", margin=1e-3, time_limit=5)
    return est.fit(rng.integers(0, 9, (n, d)) / 8, y, np.arange(n) % lists).state_.problem


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**31), st.integers(4, 12), st.integers(2, 4), st.integers(1, 2))
def test_the_count_of_pairs_and_the_built_program(seed, n, grades, lists):
    """Slow twin: loops over rows. No program has more wins than were counted, nor more non-zeros than estimated."""
    problem = problem_of(seed, n, 2, grades=grades, lists=lists)
    inside = [problem.lists[j] for j in {u.list_index for u in problem.units}]
    looked = sum(1 for one in inside for i in range(one.rows.size) for _ in one.rows if one.gains[i] > 0)
    for name in ("mixed", "subrank", "resolved_rank"):
        everyone = sum(one.rows.size**2 for one in inside)
        counted = counted_pairs(problem, name)
        assert counted == (everyone if name == "resolved_rank" else looked)
        built = state(problem, name)
        assert sum(column[0] == "z" for column in built.program.columns) <= counted
        assert built.size["nonzeros"] <= estimated_size(problem, name)


@pytest.mark.parametrize("n, d", [(1000, 500), (20_000, 3)])
def test_a_program_that_is_too_large_is_counted_in_no_time(n, d):
    problem = problem_of(0, n, d, "auc")
    tracemalloc.start()
    began = time.process_time()
    try:
        assert seconds_to_state(problem, "auc", 0.2) == math.inf
        spent, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spent < 0.2 and peak < 5e6


def test_the_differences_of_pairs_are_held_in_parts():
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 400)), np.arange(500) % 2
    tracemalloc.start()
    try:
        auc.most_nonzeros(X, y, epsilon=1e-3, max_nonzeros=10**9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 62,500 pairs of 400 columns are 200 MB at once, and several such tables were held.
    assert peak < 300e6
