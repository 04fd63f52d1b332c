"""Exact line search, the smooth stand-in and the climbs that follow both, against brute evaluation and differences."""

import time

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.problem import Problem, problem_of
from rerank.problem.values import values_at
from rerank.search import line_search
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.lines.ascent import WIDTHS, Ascent
from rerank.search.lines.forward import forward
from rerank.search.lines.search import LineSearch
from rerank.search.rows.lines import RowLines
from rerank.search.rows.smooth import sampled, smoothed
from rerank.search.tables import RowTables, tables
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, exact_objective, noisy_problem, rows_of, surface

Floats = NDArray[np.float64]


def searching(problem: Problem, seed: int = 0) -> LineSearch:
    return LineSearch(tables(problem), Domain.of(problem), seed)


@examples(25, SEEDS)
def test_a_climb_never_ends_below_its_start(seed: int) -> None:
    problem = draw(seed, n_max=12, d_max=4).problem
    if (problem.signs < 0).any():
        return
    t = tables(problem)
    exact = Exact(problem, t, Domain.of(problem))
    for w in surface(np.random.default_rng(seed), problem, 3):
        value, point = searching(problem, seed).climb(w, rounds=3)
        # The start is a single point, perhaps on the margin; a line is evaluated on open pieces.
        clear = t.value_of(w @ t.pairs > t.epsilon + 1e-9)
        assert value >= clear - 1e-12 * abs(clear)
        assert np.abs(point).max() == pytest.approx(1, abs=1e-12) and (point[problem.signs > 0] >= 0).all()
        assert exact.value(point) >= value - 1e-9 * abs(value) or problem.epsilon < 1e-3


@pytest.mark.parametrize("statistic", ["auc", "mrr", "dcg@10"])
def test_lines_reach_the_proved_optimum_of_small_problems(statistic: str) -> None:
    from rerank.search import solve

    problem = noisy_problem(30, 3, statistic, 0.35, 1)
    proved = solve(problem, n_jobs=1)
    _, value = line_search(problem, time_limit=0.3)
    assert proved.closed and proved.value * 0.97 <= value <= proved.bound


@pytest.mark.parametrize("options", [{}, {"max_features": 2}, {"C": 0.01}, {"signs": [1, -1, 0, 0, 0]}])
def test_line_search_is_never_worse_than_its_start(options: dict) -> None:
    problem = noisy_problem(40, 5, "mrr", 0.35, 0, **options)
    objective = exact_objective(problem)
    for start in surface(np.random.default_rng(1), problem, 5):
        weights, value = line_search(problem, start, time_limit=0.02)
        assert value >= objective(start) - 1e-12
        assert value == pytest.approx(objective(weights), rel=1e-12) and (weights * problem.signs >= 0).all()
        assert np.count_nonzero(weights) <= (problem.max_features or 5)


def test_the_same_seed_gives_the_same_lines() -> None:
    problem = drawn_lists(0, 10, 10, 6, "ndcg@5")
    climbs = [searching(problem, seed).climb(np.ones(6), rounds=6) for seed in (3, 3, 4)]
    assert climbs[0][0] == climbs[1][0] and np.array_equal(climbs[0][1], climbs[1][1])
    assert not np.array_equal(climbs[0][1], climbs[2][1])


def test_lines_stop_at_their_deadline() -> None:
    problem = drawn_lists(1, 100, 12, 20, "ndcg@10")
    began = time.process_time()
    line_search(problem, time_limit=0.2)
    assert time.process_time() - began < 2.0


def test_a_signed_weight_stays_on_its_side_of_a_line() -> None:
    w, u, signed = np.array([0.5, 1.0, -0.3]), np.array([-1.0, 0.5, 4.0]), np.array([True, True, False])
    assert Domain(np.ones(w.size), np.where(signed, 0.0, -1.0), np.ones(w.size)).interval(w, u) == (-2.0, 0.5)
    assert Domain(np.ones(w.size), np.where(signed, 0.0, -1.0), np.ones(w.size)).interval(w, -u) == (-0.5, 2.0)


def test_forward_selection_keeps_to_the_limit_and_grows() -> None:
    problem = noisy_problem(60, 10, "auc", 0.35, 0)
    found = forward(searching(problem), 4, lambda n: 0.0)
    assert [np.count_nonzero(w) for _, w in found] <= [1, 2, 3, 4] and len(found) == 4
    values = [v for v, _ in found]
    assert values == sorted(values)
    assert len(forward(searching(problem), 10, lambda n: 1e9 * n)) < 10


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


@examples(40, SEEDS, st.sampled_from([0.02, 0.3, 2.0]))
def test_the_smooth_value_and_its_slopes(seed: int, h: float) -> None:
    rng = np.random.default_rng(seed)
    statistic = str(rng.choice(["dcg@5", "ndcg@3", "precision@4"]))
    problem = drawn_lists(seed, 3, 9, 3, statistic)
    t = rows_of(problem)
    scores = rng.normal(size=len(problem.X))
    value, slopes = fast(t, scores[t.order], h)
    assert value == pytest.approx(slow(problem, scores, h), abs=1e-5)
    direction = rng.normal(size=scores.size)
    step = 1e-4 * h
    ends = [fast(t, (scores + sign * step * direction)[t.order], h)[0] for sign in (1, -1)]
    assert slopes @ direction[t.order] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-3 / h)


def test_a_narrow_width_gives_the_statistic() -> None:
    problem = noisy_problem(300, 3, "dcg@5", 0.2, 0, epsilon=1e-9)
    t, w = rows_of(problem), np.array([1.0, -0.4, 0.3])
    value, _ = fast(t, t.rows @ w, 1e-9)
    assert value == pytest.approx(values_at(problem, [w])[0], abs=1e-9)


@pytest.mark.parametrize("lists", [3, 250])
def test_a_sample_is_worth_about_the_whole(lists: int) -> None:
    problem = drawn_lists(0, lists, 3000 // lists, 3, "dcg@10")
    part = rows_of(problem).sample(10**9)
    some = sampled(part, 1500, np.random.default_rng(0))
    assert len(part.rows) / 3 < len(some.rows) < len(part.rows) and some.lists.begin[-1] == len(some.rows)
    w = np.array([1.0, 0.5, -0.5])
    worth = [
        smoothed(x.rows @ w, x.lists, 1.0, np.empty(len(x.rows)), x.scratch()) * (lists / (x.lists.begin.size - 1))
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
    search = RowLines(rows_of(problem), Domain.of(problem))
    value, point = search.climb(np.ones(6), rounds=2)
    assert search.tables.to_value(value) >= values_at(problem, [w])[0]
    again = RowLines(rows_of(problem), Domain.of(problem)).climb(np.ones(6), rounds=2)
    assert again[0] == value and np.array_equal(again[1], point)


def test_climbs_keep_to_signs_and_limits() -> None:
    signed = noisy_problem(300, 4, "dcg@10", 0.1, 0, signs=[1, 1, 0, 1])
    free = noisy_problem(300, 4, "dcg@10", 0.1, 0)
    anchored = Problem.build(free.X, free.lists, limits=([1, -0.3, -0.3, 0], [1, 0.2, 0.3, 0.3]))
    for problem in (signed, anchored):
        domain, rng = Domain.of(problem), np.random.default_rng(0)
        ascent = Ascent(rows_of(problem), domain)
        for width in WIDTHS[:4]:
            for point in (domain.unchanged, ascent.shaken(domain.random_point(rng), 0.3, rng)):
                x = ascent.reached(point, width)
                assert np.all(x[domain.signed] >= 0) and np.array_equal(domain.normal(x), x)
                if domain.anchored:
                    assert np.all(x >= domain.lower - 1e-12) and np.all(x <= domain.upper + 1e-12)
