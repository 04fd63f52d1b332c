"""Groups of antiparallel pairs against a double loop, and what they are for: two pairs that exclude each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import Problem, problem_of
from rerank.search.boxes.antiparallel import antiparallel_pairs
from rerank.search.tables import tables
from rerank.statistics import parse
from tests.cases.search import noisy_problem, surface

SEEDS = st.integers(0, 10**6)


def lattice(seed: int, d: int, steps: int) -> Problem:
    rng = np.random.default_rng(seed)
    while True:
        X = rng.integers(0, steps, size=(10, d)).astype(float)
        if (X.max(axis=0) > X.min(axis=0)).all():
            return problem_of(X, rng.permutation([1, 1, 1, 0, 0, 0, 0, 0, 0, 0]), parse("dcg"), epsilon=0.01)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 3), st.sampled_from([2, 3, 5]))
def test_groups_are_those_of_a_double_loop(seed: int, d: int, steps: int) -> None:
    t = tables(lattice(seed, d, steps))
    groups = antiparallel_pairs(t, np.arange(d))
    group = groups.group if groups.count else np.zeros(t.pairs.shape[1], np.int32)
    D = t.pairs.T
    for p in range(len(D)):
        others = []
        for q in range(len(D)):
            along = float(D[p] @ D[q])
            parallel = abs(along**2 - (D[p] @ D[p]) * (D[q] @ D[q])) < 1e-9 and along != 0
            if parallel:
                others.append(q)
                assert group[q] == np.sign(along) * group[p]
            elif group[p]:
                assert abs(group[q]) != abs(group[p])
        signs = {float(np.sign(D[p] @ D[q])) for q in others}
        assert (group[p] != 0) == (signs == {1.0, -1.0})


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 4), st.sampled_from(["lattice", "blurred"]))
def test_weights_on_the_other_side_of_a_guide_lose_the_pair(seed: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    problem = lattice(seed, d, 3)
    if kind == "blurred":  # pairs that are antiparallel up to a part of the margin
        X = problem.X + rng.uniform(-1, 1, size=problem.X.shape) * rng.choice([1e-13, 1e-4, 5e-3])
        problem = problem_of(X, problem.lists[0].gains, parse("dcg"), epsilon=0.01)
    t = tables(problem)
    groups = antiparallel_pairs(t, np.arange(d))
    if not groups.count:
        return
    for w in surface(rng, problem, 40):
        margin = w @ t.pairs
        for g in range(1, groups.count + 1):
            side = margin[groups.guide[g - 1]]
            if side <= 0:
                assert (margin[groups.group == g] < t.epsilon).all()
            if side >= 0:
                assert (margin[groups.group == -g] < t.epsilon).all()


@pytest.mark.parametrize("features", [[0, 1, 2], [1]])
def test_the_guide_is_on_the_first_side_of_its_group(features: list[int]) -> None:
    t = tables(lattice(3, 3, 3))
    groups = antiparallel_pairs(t, np.array(features))
    assert groups.count > 0 and (groups.group[groups.guide] == np.arange(1, groups.count + 1)).all()


def test_smooth_data_have_no_groups() -> None:
    assert antiparallel_pairs(tables(noisy_problem(30, 3, "auc", 0.3, 0)), np.arange(3)).count == 0


def test_one_feature_puts_every_pair_in_one_group() -> None:
    t = tables(noisy_problem(30, 1, "auc", 0.3, 0))
    groups = antiparallel_pairs(t, np.arange(1))
    live = np.abs(t.pairs[0]) >= t.epsilon
    assert (
        groups.count == 1
        and (np.sign(t.pairs[0, live]) == groups.group[live] * np.sign(t.pairs[0, groups.guide[0]])).all()
    )


@pytest.mark.filterwarnings("error")
def test_equal_rows_have_no_direction_even_with_a_margin_below_the_tolerance():
    problem = replace(noisy_problem(30, 3, "auc", 0.3, 0), epsilon=1e-300)
    rows = problem.X.copy()
    rows[problem.lists[0].rows[0]] = rows[problem.lists[0].rows[1]] = rows[0]
    t = tables(replace(problem, X=np.vstack([rows[:1]] * 4 + [rows[4:]])))
    assert (np.abs(t.pairs).sum(axis=0) == 0).any() and t.tolerance > t.epsilon
    assert antiparallel_pairs(t, np.arange(3)).count == 0
