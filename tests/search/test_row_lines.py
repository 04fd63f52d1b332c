"""Lines by rows against all crossings, in rationals and by pairs, and scores against the linear algebra."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.problem import Problem, problem_of, values_at
from rerank.search.domain import Domain
from rerank.search.lines.forward import forward
from rerank.search.lines.search import LineSearch
from rerank.search.rows.lines import RowLines, sorted_value
from rerank.search.rows.smooth import scores_of, weighted_sum
from rerank.search.rows.sweep import value_of
from rerank.search.tables import row_tables, tables
from rerank.statistics import parse
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem
from tests.oracles.oracle import objective_at

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 10**6)


def lines(problem: Problem) -> RowLines:
    domain = Domain.of(problem)
    return RowLines(row_tables(problem, domain.scale), domain)


def on_a_grid(seed: int) -> Problem:
    """A free problem whose scaled rows are multiples of 1/8, and the margin is none: no pair stays on it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 11)), int(rng.integers(2, 4))
    X = rng.integers(0, 9, size=(n, d)).astype(float)
    X[0], X[1] = 0.0, 8.0
    gains = rng.integers(0, 3, size=n).astype(float)
    gains[:2] = 0.0, 1.0
    qid = rng.integers(0, 2, size=n)
    qid[:2], gains[2] = 0, 2.0
    statistic = str(rng.choice(["dcg@3", "ndcg@2", "precision@2", "auc", "mrr", "dcg"]))
    return problem_of(X, gains, parse(statistic), qid, epsilon=3 / 64)


def slow_best(problem: Problem, w: NDArray[np.int64], u: NDArray[np.int64]) -> float:
    """Best value of ``w + tau u`` between all places where a pair meets the margin, as fractions."""
    epsilon = Fraction(problem.epsilon)
    bends = [(int(s) * int(a), int(s) * int(b)) for a, b in zip(w, u, strict=True) for s in (1, -1)]
    marks = {Fraction(b - a, m - n) for a, m in bends for b, n in bends if m != n}
    for item in problem.lists:
        rows = [[Fraction(float(x)) for x in problem.scaled[r]] for r in item.rows]
        for x in rows:
            for y in rows:
                at, along = (sum(int(v) * (a - b) for v, a, b in zip(z, x, y, strict=True)) for z in (w, u))
                for a, m in bends:
                    if along != epsilon * m:
                        marks.add(-(at - epsilon * a) / (along - epsilon * m))
    ends = [min(marks) - 10, *sorted(marks), max(marks) + 10]
    best = -np.inf
    for left, right in pairwise(ends):
        x = np.array([float(a + (left + right) / 2 * b) for a, b in zip(w.tolist(), u.tolist(), strict=True)])
        if x.any():
            best = max(best, float(objective_at(problem, x / np.abs(x).max())))
    return best


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_best_point_of_a_line_is_that_of_all_crossings(seed: int) -> None:
    problem, rng = on_a_grid(seed), np.random.default_rng(seed)
    w, u = rng.integers(-4, 5, size=(2, problem.n_features))
    w[0] = w[0] or 1
    u[1] = u[1] or 1
    if np.linalg.matrix_rank(np.stack([w, u])) < 2:
        return
    search = lines(problem)
    value, point = search.line(w / np.abs(w).max(), u.astype(float))
    found = search.tables.to_value(value)
    assert found == pytest.approx(slow_best(problem, w, u), abs=1e-12)
    assert found == pytest.approx(float(objective_at(problem, point)), abs=1e-12)


@pytest.mark.parametrize(
    "problem",
    [
        noisy_problem(3000, 4, "dcg@10", 0.1, 0),
        noisy_problem(2000, 3, "precision@50", 0.3, 1, epsilon=0.01),
        noisy_problem(450, 4, "auc", 0.2, 2),
        drawn_lists(0, 120, 40, 5, "ndcg@5"),
        drawn_lists(1, 5, 300, 4, "dcg@20"),
    ],
    ids=["3000", "margin", "auc", "lists", "grades"],
)
def test_lines_by_rows_find_what_lines_by_pairs_find(problem: Problem) -> None:
    domain, rng = Domain.of(problem), np.random.default_rng(0)
    mine, theirs = lines(problem), LineSearch(tables(problem), domain)
    for turn in range(4):
        w = rng.normal(size=problem.n_features)
        u = np.eye(w.size)[0] if turn % 2 else rng.normal(size=w.size)
        value, point = mine.line(domain.normal(w), u)
        best, _ = theirs.line(domain.normal(w), u)
        assert mine.tables.to_value(value) == pytest.approx(theirs.tables.to_value(best), abs=1e-12)
        assert value == mine.value(point)


def test_a_reach_keeps_the_point_near() -> None:
    problem = noisy_problem(500, 4, "dcg@10", 0.1, 0)
    search, rng = lines(problem), np.random.default_rng(0)
    for _ in range(10):
        w, u = search.domain.normal(rng.normal(size=4)), rng.normal(size=4)
        value, point = search.line(w, u, reach=1e-3)
        assert value >= search.value(w) and np.abs(point - w).max() < 0.02


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_value_by_sorting_is_the_value_by_pairs(seed: int) -> None:
    problem, rng = on_a_grid(seed), np.random.default_rng(seed)
    search = lines(problem)
    for _ in range(5):
        w = search.domain.normal(rng.integers(-3, 4, size=problem.n_features) + np.eye(problem.n_features)[0] * 0.5)
        scores, margin = search.tables.rows @ w, problem.epsilon * search.domain.norm(w)
        near = np.abs(np.abs(scores[:, None] - scores) - margin)
        if (near > 1e-12).all():  # no pair stands on the margin, where rounding decides
            by_pairs = float(value_of(scores, margin, *search._memory))
            assert sorted_value(search.tables, scores, margin) == pytest.approx(by_pairs, abs=1e-12)


def test_a_glance_finds_a_part_of_what_the_line_finds() -> None:
    problem = noisy_problem(3000, 6, "precision@50", 0.2, 0, epsilon=0.01)
    search, rng = lines(problem), np.random.default_rng(0)
    for _ in range(5):
        w, u = search.domain.normal(rng.normal(size=6)), rng.normal(size=6)
        assert 0 < search.glance(w, u) <= search.line(w, u)[0] + 1e-9
    still = np.zeros(6)
    assert search.glance(w, still) == search.value(w) == search.line(w, still)[0]


@pytest.mark.parametrize("stat", ["dcg@50", "auc"])
def test_glances_leave_the_columns_that_lines_would_add(stat: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(2500, 12, stat, 0.1, 3)
    quick = [value for value, _ in forward(lines(problem), 3, lambda size: 0.0)]
    monkeypatch.setattr("rerank.search.lines.forward.TRIED", 12)
    slow = [value for value, _ in forward(lines(problem), 3, lambda size: 0.0)]
    assert len(quick) == len(slow) == 3 and (np.diff(quick) > 0).all()
    assert np.array(quick) == pytest.approx(np.array(slow), rel=0.02)
    last = forward(lines(problem), 3, lambda size: 0.0, each=False)[-1][0]
    assert last == pytest.approx(slow[-1], rel=0.02)


def test_a_line_over_places_that_all_count_is_nearly_the_best() -> None:
    problem = noisy_problem(8000, 4, "auc", 0.3, 0)
    search, rng = lines(problem), np.random.default_rng(0)
    assert search.tables.rough
    for _ in range(3):
        w, u = search.domain.normal(rng.normal(size=4)), rng.normal(size=4)
        value, point = search.line(w, u)
        assert value == search.value(point) >= search.value(w)
        assert search.tables.to_value(value) == pytest.approx(values_at(problem, [point])[0], abs=1e-9)
        angles = np.linspace(-np.pi / 2, np.pi / 2, 60)
        size = np.linalg.norm(problem.scaled @ w) / np.linalg.norm(problem.scaled @ u)
        grid = [search.value(search.domain.normal(np.cos(a) * w + np.sin(a) * size * u)) for a in angles]
        assert value >= max(grid) - 0.005 * (max(grid) - min(grid))


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_scores_and_sums_are_those_of_the_linear_algebra(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 30, size=2)
    rows, w, shares = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=n) * (rng.random(n) < 0.5)
    if rng.random() < 0.3:
        w = np.eye(d)[rng.integers(d)] * 3.0
    assert scores_of(rows, w) == pytest.approx(rows @ w, abs=1e-12)
    assert weighted_sum(rows, shares) == pytest.approx(shares @ rows, abs=1e-12)


def test_the_margin_of_an_anchored_line_is_that_of_its_first_weight() -> None:
    for seed in range(30):
        problem = draw(seed, n_max=12, d_max=4).problem
        problem = replace(problem, C=0.0, max_features=None)
        search, rng = lines(problem), np.random.default_rng(seed)
        w = search.domain.normal(np.abs(rng.normal(size=problem.n_features)))
        value, point = search.line(w, rng.normal(size=w.size))
        signs = np.where(problem.signs < 0, -1.0, 1.0)
        exact = float(objective_at(problem, point * signs))
        assert search.tables.to_value(value) <= exact + 1e-12
