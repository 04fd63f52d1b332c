"""Bounds of supports by groups of equal rows: against every order of the groups, and nothing good held back."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.rows.lines import RowLines
from rerank.search.sizes import OutOfTimeError
from rerank.search.supports import screening as screens
from rerank.search.supports.groups import bound_by_groups, groups_of
from rerank.statistics import parse
from tests.cases.search import tables
from tests.oracles.oracle import objective_at, optimum

SEEDS = st.integers(0, 10**6)
STATISTICS = ("auc", "pauc@3", "precision@3", "mrr", "dcg@4", "ndcg", "wta")


def few_values(seed: int, n: int = 10, d: int = 3, values: int = 2, **options: object) -> Problem:
    """Rows on a small grid, perhaps in two lists or with grades."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, size=(n, d)).astype(float)
    X[:2] = [np.zeros(d), np.ones(d)]
    gains = rng.choice([0.0, 0.0, 1.0, 3.0] if seed % 3 == 0 else [0.0, 0.0, 1.0], size=n)
    gains[[0, -1]] = 1.0, 0.0
    qid = np.repeat([0, 1], [n - n // 3, n // 3]) if seed % 2 else None
    if qid is not None:
        gains[[n - 1, n - 2]] = 0.0, 1.0
    return problem_of(X, gains, parse(STATISTICS[seed % len(STATISTICS)]), qid, **options)


def best_order(problem: Problem, features: tuple[int, ...]) -> float:
    """Largest value of any scorer that sees these features alone, by trying every order of the different rows."""
    kinds, of = np.unique(problem.X[:, features], axis=0, return_inverse=True)
    best = -np.inf
    for order in permutations(range(len(kinds))):
        scores = np.array(order, dtype=float)[of.ravel()]
        total = problem.constant
        for unit in problem.units:
            lost = sorted(sum(scores[i] <= scores[k] for k in unit.negative) for i in unit.positive)
            n = len(unit.positive) + len(unit.negative)
            total += sum(
                unit.factor * unit.coefficients[::-1][j + x] for j, x in enumerate(lost) if j + x < n
            )
        best = max(best, total)
    return float(best)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_order_of_the_groups_beats_the_bound(seed: int) -> None:
    problem = few_values(seed)
    groups = groups_of(problem)
    assert groups is not None
    rows = np.array(list(combinations(range(3), 2)), dtype=np.int32)
    bounds = np.full(len(rows), np.inf)
    bound_by_groups(groups, rows, np.full(len(rows), -1.0), bounds)
    for features, bound in zip(rows, bounds, strict=True):
        best = best_order(problem, tuple(features))
        assert bound + problem.constant >= best - 1e-12
        if STATISTICS[seed % len(STATISTICS)] == "auc" and len(problem.units) == 1:
            assert bound + problem.constant == pytest.approx(best)  # the order by shares is the best one


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_what_a_limit_fathoms_is_not_above_it(seed: int) -> None:
    problem = few_values(seed, values=3, n=9)
    groups = groups_of(problem)
    assert groups is not None
    rows = np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32)
    whole = np.full(3, np.inf)
    bound_by_groups(groups, rows, np.full(3, -1.0), whole)
    limits = np.random.default_rng(seed).uniform(0.5, 1.1, size=3) * whole
    some = np.full(3, np.inf)
    bound_by_groups(groups, rows, limits, some)
    assert np.array_equal(some == -np.inf, whole <= limits) and (some[whole > limits] == whole[whole > limits]).all()


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 2))
def test_the_optimum_on_few_features_is_found(seed: int, most: int) -> None:
    problem = few_values(seed, values=2 + seed % 2, max_features=most, epsilon=0.05)
    found, best = solve(problem, n_jobs=1), optimum(problem)
    assert best is not None and found.closed
    assert found.value == pytest.approx(float(best.value)) and found.bound >= float(best.value)
    assert float(objective_at(problem, found.weights)) == pytest.approx(found.value)


def test_groups_that_fill_all_places_earn_nothing() -> None:
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 8, axis=0)
    y = np.tile([1.0, 1, 1, 0, 0, 0, 0, 0], 4)
    y[8:13] = 1.0  # one group has three irrelevant rows, the others five
    problem = problem_of(X, y, parse("precision@4"))
    groups = groups_of(problem)
    bounds = np.full(1, np.inf)
    bound_by_groups(groups, np.array([[0, 1]], dtype=np.int32), np.full(1, -1.0), bounds)
    assert bounds[0] == 1.0 == best_order(problem, (0, 1))


def test_features_with_many_values_are_left_to_boxes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=(60, 3)), rng.normal(size=(60, 2))])
    y = (X @ [1.0, 0.5, 0.0, 1.0, 0.0] + rng.normal(size=60) > 1).astype(float)
    problem = problem_of(X, y, parse("auc"), max_features=2)
    groups = groups_of(problem)
    assert groups is not None and groups.values.tolist() == [2, 2, 2, 0, 0]
    bounds = np.full(2, np.inf)
    bound_by_groups(groups, np.array([[0, 1], [0, 3]], dtype=np.int32), np.full(2, -1.0), bounds)
    assert np.isfinite(bounds[0]) and bounds[1] == np.inf
    found, plain = solve(problem, n_jobs=1), solve(problem, n_jobs=1, proof=True)  # a proof screens nothing
    assert found.closed and found.value == pytest.approx(plain.value)
    assert groups_of(problem_of(X[:, 2:], y, parse("auc"), max_features=2)) is None


def test_booleans_take_fewer_boxes_than_without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((120, 12)) < 0.4).astype(float)
    y = (X[:, 0] + X[:, 1] + 0.7 * X[:, 2] + rng.normal(size=120) > 2).astype(float)
    problem = problem_of(X, y, parse("precision@20"), max_features=3, epsilon=1e-2)
    found = solve(problem, n_jobs=1)
    monkeypatch.setattr("rerank.search.supports.groups.MOST_VALUES", 1)
    monkeypatch.setattr(screens, "MOST_PLACES", 10)
    alone = solve(problem, n_jobs=1)
    assert found.closed and alone.closed and found.value == pytest.approx(alone.value)
    assert 3 * found.boxes < alone.boxes


def test_long_lists_with_a_limit_have_no_table_of_pairs() -> None:
    from rerank.search.run import Run
    from rerank.search.tables import RowTables

    rng = np.random.default_rng(2)
    X = rng.normal(size=(9000, 6))
    y = (X[:, 0] + X[:, 3] + rng.normal(size=9000) > 2.7).astype(float)
    problem = problem_of(X, y, parse("precision@50"), max_features=2)
    run = Run(problem)
    assert isinstance(run.tables, RowTables)
    found = solve(problem, n_jobs=1, time_limit=60.0)
    assert found.closed and np.count_nonzero(found.weights) <= 2
    small = problem_of(X[:300], y[:300], parse("precision@50"), max_features=2)
    assert isinstance(tables(small).pairs, np.ndarray) and not isinstance(Run(small).tables, RowTables)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_features_are_added_one_at_a_time_on_long_lists(most: int) -> None:
    from rerank.search.lines.forward import forward
    from rerank.search.run import Run

    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 8))
    y = (X[:, 0] + X[:, 3] + 0.5 * X[:, 6] + rng.normal(size=4000) > 3).astype(float)
    problem = problem_of(X, y, parse("precision@50"), max_features=most)
    run = Run(problem)
    assert isinstance(run.lines, RowLines) and run.tables.smooth
    found = forward(run.lines, most, lambda n: 0.0)
    assert [np.count_nonzero(w) for _, w in found] == list(range(1, most + 1))
    assert all(run.lines.value(w) == pytest.approx(value) and value > 0 for value, w in found)


@pytest.mark.parametrize("reason", [InputError("too large"), OutOfTimeError("late"), KeyboardInterrupt()])
def test_a_search_goes_on_without_a_table_for_the_screening(
    reason: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise reason

    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 4))
    y = (X[:, 0] + X[:, 3] + rng.normal(size=4000) > 3).astype(float)
    problem = problem_of(X, y, parse("precision@20"), max_features=2)
    expected = solve(problem, n_jobs=1)
    monkeypatch.setattr(screens, "affordable_pairs", refuse)
    found = solve(problem, n_jobs=1)
    assert found.closed and found.value == pytest.approx(expected.value)
