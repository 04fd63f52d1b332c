"""The smooth stand-in for the value against a loop with bisection, its slopes against differences, and its climbs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.problem import Problem, problem_of, values_at
from rerank.search.checkpoint import restored_lines, stored_lines
from rerank.search.domain import Domain
from rerank.search.lines.ascent import WIDTHS, Ascent
from rerank.search.rows.lines import RowLines
from rerank.search.rows.smooth import sampled, smoothed
from rerank.search.tables import RowTables, row_tables
from rerank.statistics import parse
from tests.cases.search import drawn_lists, noisy_problem

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 10**6)


def tables_of(problem: Problem) -> RowTables:
    return row_tables(problem, Domain.of(problem).scale)


def slow(problem: Problem, scores: Floats, h: float) -> float:
    """The smooth value by its definition, from the lists of the problem; every place is a threshold of its own."""
    total = 0.0
    for item in problem.lists:
        s = scores[item.rows]
        earned = np.append(item.coefficients[::-1], 0.0) * item.weight / (item.scale * problem.total_weight)
        for p in range(1, s.size):
            drop = earned[p - 1] - earned[p]
            if drop > 0:
                low, high = s.min() - 2 * h, s.max() + 2 * h
                for _ in range(80):
                    middle = 0.5 * (low + high)
                    low, high = (middle, high) if share(s - middle, h).sum() > p else (low, middle)
                total += drop * float(share(s - low, h) @ item.gains)
    return total


def share(above: Floats, h: float) -> Floats:
    """Integral of the biweight kernel: how much of a row is above the threshold."""
    t = np.clip(above / h, -1, 1)
    return 0.5 + (15 / 16) * (t - 2 * t**3 / 3 + t**5 / 5)


def fast(t: RowTables, scores: Floats, h: float) -> tuple[float, Floats]:
    part, slopes = t.sample(10**9), np.empty(scores.size)
    return smoothed(scores, part.lists, h, slopes, part.scratch()), slopes


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([0.02, 0.3, 2.0]))
def test_the_smooth_value_and_its_slopes(seed: int, h: float) -> None:
    rng = np.random.default_rng(seed)
    statistic = str(rng.choice(["dcg@5", "ndcg@3", "precision@4"]))
    problem = drawn_lists(seed, 3, 9, 3, statistic)
    t = tables_of(problem)
    scores = rng.normal(size=len(problem.X))
    value, slopes = fast(t, scores[t.order], h)
    assert value == pytest.approx(slow(problem, scores, h), abs=1e-5)
    direction = rng.normal(size=scores.size)
    step = 1e-4 * h
    ends = [fast(t, (scores + sign * step * direction)[t.order], h)[0] for sign in (1, -1)]
    assert slopes @ direction[t.order] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-3 / h)


def test_a_narrow_width_gives_the_statistic() -> None:
    problem = noisy_problem(300, 3, "dcg@5", 0.2, 0, epsilon=1e-9)
    t, w = tables_of(problem), np.array([1.0, -0.4, 0.3])
    value, _ = fast(t, t.rows @ w, 1e-9)
    assert value == pytest.approx(values_at(problem, [w])[0], abs=1e-9)


@pytest.mark.parametrize("lists", [3, 250])
def test_a_sample_is_worth_about_the_whole(lists: int) -> None:
    problem = drawn_lists(0, lists, 3000 // lists, 3, "dcg@10")
    part = tables_of(problem).sample(10**9)
    some = sampled(part, 1500, np.random.default_rng(0))
    assert len(part.rows) / 3 < len(some.rows) < len(part.rows) and some.lists.begin[-1] == len(some.rows)
    w = np.array([1.0, 0.5, -0.5])
    worth = [
        smoothed(x.rows @ w, x.lists, 1.0, np.empty(len(x.rows)), x.scratch())
        * (lists / (x.lists.begin.size - 1))
        for x in (part, some)
    ]
    assert worth[1] == pytest.approx(worth[0], rel=0.15)


def noisy_lists(queries: int, size: int, d: int) -> tuple[Problem, Floats]:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(queries * size, d)), rng.normal(size=d)
    noisy = X @ w + np.linalg.norm(w) * rng.normal(size=len(X))
    gains = (noisy > np.quantile(noisy, 0.9)).astype(float)
    problem = problem_of(X, gains, parse("ndcg@10"), np.repeat(np.arange(queries), size), epsilon=1e-9)
    w = w * (problem.high - problem.low)
    return problem, w / np.abs(w).max()


def test_a_climb_gets_to_the_value_of_the_generating_weights() -> None:
    problem, w = noisy_lists(150, 40, 6)
    search = RowLines(tables_of(problem), Domain.of(problem))
    value, point = search.climb(np.ones(6), rounds=2)
    assert search.tables.to_value(value) >= values_at(problem, [w])[0]
    again = RowLines(tables_of(problem), Domain.of(problem)).climb(np.ones(6), rounds=2)
    assert again[0] == value and np.array_equal(again[1], point)


def test_climbs_keep_to_signs_and_limits() -> None:
    signed = noisy_problem(300, 4, "dcg@10", 0.1, 0, signs=[1, 1, 0, 1])
    free = noisy_problem(300, 4, "dcg@10", 0.1, 0)
    anchored = Problem.build(free.X, free.lists, limits=([1, -0.3, -0.3, 0], [1, 0.2, 0.3, 0.3]))
    for problem in (signed, anchored):
        domain, rng = Domain.of(problem), np.random.default_rng(0)
        ascent = Ascent(tables_of(problem), domain)
        for width in WIDTHS[:4]:
            for point in (domain.unchanged, ascent.shaken(domain.random_point(rng), 0.3, rng)):
                x = ascent.reached(point, width)
                assert np.all(x[domain.signed] >= 0) and np.array_equal(domain.normal(x), x)
                if domain.anchored:
                    assert np.all(x >= domain.lower - 1e-12) and np.all(x <= domain.upper + 1e-12)


def test_a_series_of_climbs_goes_on_after_it_was_stored() -> None:
    problem = noisy_problem(200, 6, "dcg@5", 0.1, 0)
    one, two = (RowLines(tables_of(problem), Domain.of(problem)) for _ in range(2))
    one.climb(np.ones(6), rounds=1)  # a point of the elite
    while one.state.climb is None or one.state.climb.at is None or not one.state.climb.widths:
        one.restarts(np.ones(6), 1.0)
    header, points = stored_lines([one.state])
    (two.state,) = restored_lines(json.loads(json.dumps(header)), np.array(points))
    for search in (one, two):
        search.restarts(np.ones(6), 100 * search.cost)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one.state.elite, two.state.elite, strict=True))
    assert one.state.owed == two.state.owed and one.state.elite
    header[0]["climb"][7] = [(0.3).hex()]
    with pytest.raises(ValueError, match="none of ours"):
        restored_lines(header, np.array(points))
