"""Exact answers in small boxes against the oracle and against points drawn from the box."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import problem_of
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.tables import tables
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.instances import draw
from tests.cases.search import surface
from tests.oracles.oracle import objective_at, optimum

SEEDS = st.integers(0, 10**6)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_largest_values_of_the_faces_hold_the_optimum(seed: int) -> None:
    while (problem := draw(seed, n_max=5, d_max=2).problem).signs.any() or problem.max_features or problem.C:
        seed += 1
    d = problem.n_features
    t = tables(problem)
    exact = Exact(problem, t, Domain.free(problem.n_features))
    best = exact.value(np.zeros(d))
    for j in range(d):
        for side in (1.0, -1.0):
            centre, half = np.zeros(d), np.ones(d)
            centre[j], half[j] = side, 0.0
            largest = exact.largest(np.arange(d), centre, half)
            assert largest is not None
            best = max(best, largest[0])
            for w in largest[1]:  # offered as starts; their doubles may lie beside the vertex
                assert exact.value(np.clip(w, -1, 1)) <= largest[0] + t.slack
    true = optimum(problem)
    assert true is not None and t.to_value(best) == pytest.approx(float(true.value), rel=1e-12, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_no_point_of_a_small_box_beats_its_largest_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = draw(seed, n_max=8, d_max=3).problem
    d = problem.n_features
    exact = Exact(problem, tables(problem), Domain.free(problem.n_features))
    centre = surface(rng, problem, 1)
    if not centre.size:
        return
    half = np.where(np.abs(centre[0]) == 1, 0.0, 2.0**-29)
    largest = exact.largest(np.arange(d), centre[0], half)
    if largest is None:
        return
    for _ in range(20):
        w = centre[0] + half * rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=d)
        assert exact.value(w) <= largest[0] + 1e-12 * abs(largest[0])


@pytest.mark.parametrize("name", sorted(adversarial()))
def test_a_pair_is_won_exactly_when_its_rational_margin_reaches_epsilon(name: str) -> None:
    problem = adversarial()[name]
    t = tables(problem)
    exact = Exact(problem, t, Domain.free(problem.n_features))
    for w in surface(np.random.default_rng(1), problem, 10):
        weights = [Fraction(float(v)) for v in w]
        for p in range(t.pairs.shape[1]):
            D = exact.difference(p)
            assert exact.wins(p, weights) == (
                sum(a * b for a, b in zip(weights, D, strict=True)) >= Fraction(t.epsilon)
            )
            assert all(abs(float(a) - b) <= 1e-15 for a, b in zip(D, t.pairs[:, p], strict=True))


def test_a_flipped_column_is_flipped_in_the_exact_differences() -> None:
    problem = problem_of([[0.0, 1.0], [1.0, 0.5], [0.25, 0.0]], [1, 0, 0], parse("auc"), signs=[-1, 0])
    plain = Exact(problem, tables(problem), Domain.free(problem.n_features))
    turned = Exact(problem, tables(problem), Domain(np.array([-1.0, 1.0]), -np.ones(2), np.ones(2)))
    for p in range(2):
        assert turned.difference(p) == [-plain.difference(p)[0], plain.difference(p)[1]]


def test_boxes_with_too_many_vertices_are_declined() -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(rng.normal(size=(40, 4)), np.arange(40) < 15, parse("auc"))
    exact = Exact(problem, tables(problem), Domain.free(problem.n_features))
    assert exact.largest(np.arange(4), np.array([1.0, 0, 0, 0]), np.array([0.0, 1, 1, 1])) is None


def test_the_value_of_a_point_on_the_margin_is_the_definition_s() -> None:
    problem = problem_of([[0.0], [0.25], [0.5], [0.75], [1.0]], [0, 1, 0, 1, 0], parse("dcg"), epsilon=0.25)
    exact = Exact(problem, tables(problem), Domain.free(problem.n_features))
    for w in (1.0, -1.0, np.nextafter(1.0, 0.0)):
        at = np.array([w])
        assert exact.value(at) == pytest.approx(float(objective_at(problem, at)), rel=1e-13)
