"""The flat tables of a problem against double loops and rationals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rerank.problem import Problem, problem_of
from rerank.search.boxes.vertices import inner_value
from rerank.search.tables import tables
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.instances import draw, with_hits
from tests.cases.search import exact_objective, surface
from tests.oracles.oracle import objective_at
from tests.oracles.vertices import scaled

SEEDS = st.integers(0, 10**6)


def problem_from(seed: int) -> Problem:
    problem = draw(seed, n_max=12, d_max=4).problem
    return with_hits(problem, seed) if seed % 3 == 0 else problem


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_pairs_slots_and_multiplicities_are_those_of_a_double_loop(seed: int) -> None:
    problem = problem_from(seed)
    t = tables(problem)
    expected: Counter = Counter()
    for u, unit in enumerate(problem.units):
        for i in unit.positive:
            for k in unit.negative:
                expected[u, int(i), *(problem.X[k] + 0.0).tolist()] += 1
    found: Counter = Counter()
    for p in range(t.pairs.shape[1]):
        lower = (problem.X[t.lower[p]] + 0.0).tolist()
        for s in range(t.slot[p], t.slot[p] + t.span[p]):
            found[int(t.slots.unit_of[s]), int(t.upper[p]), *lower] += int(t.multiplicity[p])
    assert found == expected
    assert np.array_equal(t.pairs.T, problem.scaled[t.upper] - problem.scaled[t.lower])
    sizes = [t.slots.unit_slots[a:b].size for a, b in zip(t.slots.unit_start, t.slots.unit_start[1:], strict=False)]
    assert sizes == [unit.positive.size for unit in problem.units]
    assert sorted(t.slots.unit_slots.tolist()) == list(range(t.slots.unit_of.size))
    slots = t.slots
    ends = zip(slots.unit_start, slots.unit_start[1:], strict=False)
    assert all((slots.unit_of[slots.unit_slots[a:z]] == u).all() for u, (a, z) in enumerate(ends))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
@example(399)  # a weight that must not be positive, and differences of exactly the margin
def test_the_value_of_a_point_is_the_definition_s(seed: int) -> None:
    problem = problem_from(seed)
    objective = exact_objective(problem)
    for w in surface(np.random.default_rng(seed), problem, 6):
        assert objective(w) == pytest.approx(float(objective_at(problem, w)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", sorted(adversarial()))
def test_the_value_of_a_point_is_exact_where_rounding_decides(name: str) -> None:
    problem = adversarial()[name]
    objective = exact_objective(problem)
    for w in surface(np.random.default_rng(0), problem, 40):
        assert objective(w) == pytest.approx(float(objective_at(problem, w)), rel=1e-12, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans())
def test_counting_lost_pairs_is_counting_places_for_auc(seed: int, graded: bool) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.choice([0.0, 1.0, 3.0] if graded else [0.0, 1.0], size=12)
    gains[:2] = 0, 1
    qid = rng.integers(0, 2, size=12)
    qid[:2] = 0
    t = tables(problem_of(rng.normal(size=(12, 2)), gains, parse("auc"), qid))
    assert t.linear
    places = replace(t, linear=False, loss=np.empty(0), grain=0.0, total=0.0, constant=0.0)
    base = t.to_value(t.ideal) - inner_value(places, np.ones(t.size, np.bool_))
    for _ in range(5):
        won = rng.random(t.pairs.shape[1]) < rng.random()
        assert t.to_value(inner_value(t, won)) == pytest.approx(base + inner_value(places, won), rel=1e-12)


def test_equal_rows_are_merged_and_counted() -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.3], [0.2, 0.2], [0.5, 0.9]])
    gains = np.array([1.0, 0.0, 0.0, 1.0])
    once, thrice = (tables(problem_of(np.tile(X, (k, 1)), np.tile(gains, k), parse("dcg"))) for k in (1, 3))
    assert not thrice.single and once.single
    assert set(thrice.multiplicity.tolist()) == {3}
    assert thrice.pairs.shape[1] == 3 * once.pairs.shape[1]  # three upper items, each meets merged lower ones


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.lists(st.integers(-200, 200), min_size=4, max_size=4))
def test_columns_scaled_by_powers_of_two_give_the_same_tables(seed: int, powers: list[int]) -> None:
    problem = draw(seed, d_max=4).problem
    factor = np.ldexp(1.0, powers[: problem.n_features])
    with np.errstate(over="ignore"):
        X, low, high = (v * factor for v in (problem.X, problem.low, problem.high))
        safe = (
            np.isfinite(X).all()
            and (np.abs(X[X != 0]) > 1e-290).all()
            and (np.abs(problem.X[problem.X != 0]) > 1e-290).all()
        )
    if not safe or not np.isfinite(high - low).all() or not np.isfinite(problem.high - problem.low).all():
        return
    same = tables(replace(problem, X=X, low=low, high=high))
    assert np.array_equal(same.pairs, tables(problem).pairs)


@settings(max_examples=150, deadline=None)
@given(
    SEEDS,
    st.integers(1, 12),
    st.sampled_from(["huge offset", "tiny differences", "scales", "plain"]),
)
def test_the_tolerance_covers_every_rounding_on_the_way_to_a_margin(seed: int, d: int, kind: str) -> None:
    from rerank.search.boxes.pairs import reach

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, d))
    if kind == "huge offset":  # differences of a few units in the last place
        X = 1e15 + rng.integers(0, 50, size=(6, d)) * 0.125
    elif kind == "tiny differences":
        X = rng.integers(0, 3, size=(6, d)) + 1e-12 * rng.integers(-3, 4, size=(6, d))
    elif kind == "scales":
        X = X * 10.0 ** rng.integers(-300, 300, size=d)
    if (X.max(axis=0) == X.min(axis=0)).any():
        return
    problem = problem_of(X, [1, 0, 1, 0, 0, 0], parse("dcg"), epsilon=float(rng.choice([1e-4, 0.1, 1e-12])))
    t = tables(problem)
    w = surface(rng, problem, 1)
    if not w.size:
        return
    M, R = np.empty(t.pairs.shape[1]), np.empty(t.pairs.shape[1])
    reach(t.pairs, 0, w[0], np.zeros(d), t.epsilon, t.tolerance, M, R)
    points, weights = scaled(problem), [Fraction(float(v)) for v in w[0]]
    for p in range(t.pairs.shape[1]):
        upper, lower = points[t.upper[p]], points[t.lower[p]]
        exact = sum(
            (a * (b - c) for a, b, c in zip(weights, upper, lower, strict=True)), -Fraction(t.epsilon)
        )
        assert abs(Fraction(float(M[p])) - exact) <= Fraction(t.tolerance)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_value_is_above_the_ideal_in_either_unit(seed: int) -> None:
    problem = problem_from(seed)
    t = tables(problem)
    won = np.random.default_rng(seed).random(t.pairs.shape[1]) < 0.6
    inner = inner_value(t, won)
    assert inner <= t.ideal + t.slack
    assert t.to_value(t.ideal) <= problem.ideal + 1e-15 * abs(problem.ideal)


def test_places_that_earn_nothing_are_left_out() -> None:
    t = tables(problem_of(np.arange(8.0)[:, None], [1, 0] * 4, parse("precision@3")))
    assert np.diff(t.slots.coef_start).tolist() == [3]
    nothing = tables(problem_of(np.arange(4.0)[:, None], [1, 0, 1, 0], parse([0.0, 0.0, 0.0, 0.0])))
    assert nothing.ideal == 0.0 and nothing.slots.coef.tolist() == [0.0]
