"""Bounds and values where rounding could push them to the wrong side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import Problem, RankedList, problem_of
from rerank.search import solve
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.oracles.oracle import objective_at, optimum


def check(problem: Problem) -> None:
    """The bound is above the exact optimum, the value not above its weights' exact value by more than rounding."""
    best = optimum(problem)
    assert best is not None
    found = solve(problem, time_limit=3.0, n_jobs=1)
    assert Fraction(found.bound) >= best.value
    size = (
        abs(problem.ideal)
        + abs(problem.constant)
        + sum(
            abs(q.constant / q.scale) + q.coefficients.sum() * q.gains.max() / q.scale for q in problem.lists
        )
    )
    assert Fraction(found.value) <= objective_at(problem, found.weights) + Fraction(1e-15 * size)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-16, 1e-14, 1e-13, 1e-12, 1e-10]))
def test_places_worth_nearly_the_same(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    a = np.sort(1 + step * rng.integers(0, 8, size=n))
    gains = rng.permutation([1.0] * int(rng.integers(1, 4)) + [0.0] * 9)[:n]
    if gains.any():
        X = rng.normal(size=(n, 2))
        check(Problem.build(X, [RankedList(np.arange(n), gains, a)], epsilon=float(rng.choice([1e-4, 0.1]))))


@pytest.mark.parametrize("negatives", [1, 2])
@pytest.mark.parametrize("n", [20, 60])
def test_auc_whose_offset_dwarfs_its_value(n: int, negatives: int) -> None:
    rng = np.random.default_rng(n)
    y = np.ones(n)
    y[:negatives] = 0
    check(problem_of(rng.normal(size=(n, 1)), y, parse("auc")))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_lists_whose_weights_and_scales_span_many_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    lists = [
        RankedList(
            rows,
            np.array([0.0, *rng.permutation([0.0, 1.0, 1e-6, 3e5])[:2], 1.0]),
            np.sort(rng.random(4)),
            weight=float(10.0 ** rng.integers(-9, 9)),
            constant=float(rng.normal() * 10.0 ** rng.integers(-9, 6)),
            scale=float(10.0 ** rng.integers(-6, 6)),
        )
        for rows in np.split(rng.permutation(12), 3)
    ]
    check(Problem.build(X, lists, epsilon=0.01))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2.0**-40, 1e-12, 1e-9]))
def test_pairs_that_differ_from_the_margin_by_a_hair(seed: int, hair: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(7, 2)) / 4 + hair * rng.integers(-2, 3, size=(7, 2))
    X[:2] = [0, 0], [1, 1]
    gains = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    check(problem_of(X, gains, parse("dcg"), epsilon=0.25, low=[0, 0], high=[1, 1]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-12, 1e12))
def test_prices_of_any_size(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.permutation([1.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    check(problem_of(rng.normal(size=(6, 2)), gains * factor, parse("mrr"), C=0.1 * factor))


@pytest.mark.parametrize("name", sorted(adversarial()))
def test_named_problems(name: str) -> None:
    check(adversarial()[name])
