"""Levels at the top: compiled programs against another solver, removals against all subsets, bounds against optima."""

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.domain import Domain
from rerank.search.run import SearchRun
from rerank.search.top import levels
from rerank.search.top.demands import Demands
from rerank.search.top.levels import NEVER, Levels, corners, levels_of
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw
from tests.oracles.anchored import anchored, best
from tests.oracles.comparisons import check_search


def margin(rows: Any, positive: Any, block: Any, domain: Domain) -> tuple[float, np.ndarray]:
    """The largest margin in all blocks, and weights that have it, by another solver; ``theta`` divides a block."""
    from scipy.optimize import linprog

    d, blocks = rows.shape[1], int(block.max()) + 1
    A = np.zeros((rows.shape[0], d + blocks + 1))
    A[:, :d] = np.where(positive[:, None], -rows, rows)
    A[np.arange(rows.shape[0]), d + block] = np.where(positive, 1.0, -1.0)
    A[positive, -1] = 1.0
    bounds = [*zip(domain.lower, domain.upper, strict=True), *[(None, None)] * (blocks + 1)]
    cost = np.append(np.zeros(d + blocks), -1.0)
    given_ = linprog(cost, A_ub=A, b_ub=np.zeros(rows.shape[0]), bounds=bounds, method="highs-ds")
    assert given_.status == 0
    return -given_.fun, given_.x[:d]


def domain_of(rng: np.random.Generator, d: int) -> Domain:
    kind = rng.integers(3)
    if kind == 0:
        return Domain.free(d)
    upper = rng.choice([0.1, 1.0], size=d)
    lower = -upper * rng.choice([0.0, 1.0], size=d)
    if kind == 1:
        return Domain(np.ones(d), np.where(lower < 0, -1.0, 0.0), np.ones(d))
    lower[0] = upper[0] = 1.0
    return Domain(np.ones(d), lower, upper, (lower, upper))


@examples(80, SEEDS)
def test_the_widest_margin_is_that_of_another_solver_and_the_shares_show_it(seed: int) -> None:
    from rerank.search.top.simplex import Blocks, basis_of, shares, widest

    rng = np.random.default_rng(seed)
    d, blocks = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    positive = np.concatenate([[True, False] * blocks, rng.random(rng.integers(0, 20)) < 0.4])
    block = np.concatenate([np.repeat(np.arange(blocks), 2), rng.integers(0, blocks, positive.size - 2 * blocks)])
    rows = rng.integers(0, 4, size=(positive.size, d)) / 3.0 if seed % 3 == 0 else rng.random((positive.size, d))
    domain = domain_of(rng, d)
    dropped = np.zeros(positive.size, np.bool_)
    dropped[2 * blocks :] = rng.random(positive.size - 2 * blocks) < 0.3
    basis = basis_of(positive.size, d, blocks)
    given = Blocks(rows, positive, block, np.ones(positive.size, np.int64), domain.lower, domain.upper, 0.0, 0.0)
    found = widest(given, dropped, basis, 10**9)
    left = ~dropped
    expected, _ = margin(rows[left], positive[left], block[left], domain)
    assert found == pytest.approx(expected, abs=1e-7)
    w = -basis.price[:d]
    assert (w >= domain.lower - 1e-7).all() and (w <= domain.upper + 1e-7).all()
    scores = rows @ w
    for b in range(blocks):
        ahead = scores[left & positive & (block == b)].min() - scores[left & ~positive & (block == b)].max()
        assert ahead >= found - 1e-6
    share = np.zeros(basis.x.size)
    most = shares(given, basis, share)
    assert most == pytest.approx(expected, abs=1e-6)
    used = basis.column[share > 0]
    assert left[used].all() and used.size <= d + blocks + 1
    sign = np.where(positive[used], 1.0, -1.0)
    y = (sign * share[share > 0]) @ rows[used]
    assert np.maximum(domain.lower * y, domain.upper * y).sum() == pytest.approx(most, abs=1e-12)
    for b in range(blocks):
        assert (sign * share[share > 0])[block[used] == b].sum() == pytest.approx(0.0, abs=1e-12)


def small(seed: int, **options: Any) -> Problem:
    """One list of a few rows with two classes, among them equal rows."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 9)), int(rng.integers(1, 4))
    X = rng.integers(0, 4, size=(n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    X[:2] = [0.0] * d, [3.0] * d
    y = np.append([1.0, 0.0], rng.random(n - 2) < 0.5)
    return problem_of(X, rng.permutation(y), parse("dcg@3"), epsilon=float(rng.choice([1e-4, 0.05])), **options)


def reachable(problem: Problem, asked: list[tuple[int, int]]) -> float:
    """The largest margin with which all demands can be met, over all choices of rows, by another solver."""
    unit, X = problem.units[0], problem.scaled
    choices = [
        [(a, b) for a in combinations(unit.positive, j) for b in combinations(unit.negative, unit.negative.size - l)]
        for j, l in asked
    ]
    most = -np.inf
    for parts in product(*choices):
        rows = [np.array(a + b) for a, b in parts]
        positive = np.concatenate([np.arange(r.size) < len(a) for r, (a, _) in zip(rows, parts, strict=True)])
        block = np.repeat(np.arange(len(parts)), [r.size for r in rows])
        most = max(most, margin(X[np.concatenate(rows)], positive, block, Domain.free(X.shape[1]))[0])
        if most >= problem.epsilon * 1.01:
            break
    return most


@pytest.mark.parametrize("seed", range(30))
def test_demands_are_met_or_refuted_as_trying_all_rows_says(seed: int) -> None:
    problem = small(seed)
    demands = Demands(problem, problem.units[0], Domain.of(problem), 1e-14)
    n, m = demands.positives, demands.negatives
    asked = [[(j, l)] for j in range(1, n + 1) for l in range(min(m, 3))]
    asked += [[(1, 0), (n, 1)]] if n > 1 and m > 1 else []
    answers = set()
    for one in asked:
        expected = reachable(problem, one)
        if abs(expected - problem.epsilon) < 1e-6:
            continue  # the other solver has its tolerance
        answer, w = demands.decided(one, np.inf)
        assert answer is bool(expected > problem.epsilon)
        answers.add(answer)
        if answer:
            unit, scores = problem.units[0], problem.scaled @ w
            lost = np.sort([(scores[i] - scores[unit.negative] < problem.epsilon).sum() for i in unit.positive])
            assert all(lost[j - 1] <= l for j, l in one)
    assert True in answers


def test_some_demands_of_the_test_above_are_refuted_together_only() -> None:
    seen = 0
    for seed in range(200):
        problem = small(seed)
        demands = Demands(problem, problem.units[0], Domain.of(problem), 1e-14)
        n, m = demands.positives, demands.negatives
        if n > 1 and m > 1:
            apart = [demands.decided([one], np.inf)[0] for one in ((1, 0), (n, 1))]
            seen += apart == [True, True] and demands.decided([(1, 0), (n, 1)], np.inf)[0] is False
    assert seen >= 3


@pytest.fixture
def every_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels for few features, too."""
    monkeypatch.setattr(levels, "FEWEST_FEATURES", 1)


def risen(problem: Problem) -> tuple[Levels, SearchRun]:
    run = SearchRun(problem)
    found = levels_of(problem, run.domain, run.tables)
    assert found is not None
    found.rise(run._offered, np.inf)
    return found, run


def bounded(problem: Problem) -> bool:
    """Whether levels bound a problem: one list of two classes, no price, no limit on features."""
    free = problem.C == 0 and problem.max_features is None
    return free and len(problem.units) == 1 and problem.units[0].negative.size > 0


@examples(60, SEEDS, st.sampled_from(["dcg@3", "precision@2", "wta", "auc", "mrr", "dcg"]), st.booleans())
def test_no_weights_beat_the_levels(seed: int, statistic: str, corrected: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "FEWEST_FEATURES", 1)
        options: dict[str, Any] = {"n_max": 8, "one_list": True, "statistic": statistic}
        while not bounded(problem := anchored(seed, **options) if corrected else draw(seed, **options).problem):
            seed += 10**6
        found, run = risen(problem)
        optimum = best(problem).value
        assert Fraction(run.tables.to_value(found.bound())) + Fraction(1, 10**12) >= optimum
        assert Fraction(run.tables.to_value(run.boxes.value)) - Fraction(1, 10**12) <= optimum


@pytest.mark.usefixtures("every_problem")
@pytest.mark.parametrize("seed", range(40))
def test_searches_that_begin_with_levels_meet_the_enumerated_optimum(seed: int) -> None:
    problem = draw(seed, one_list=True, statistic=["dcg@3", "auc", "precision@2", "mrr"][seed % 4]).problem
    assert check_search(problem).failures == ()
    assert check_search(problem, proof=True).failures == ()


@pytest.mark.parametrize("statistic", ["dcg@10", "precision@10", "wta"])
def test_levels_alone_close_what_boxes_do_not(statistic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(100, 10, statistic, 0.1, 4)
    found, run = risen(problem)
    value = run.tables.to_value(run.boxes.value)
    assert run.tables.to_value(found.bound()) == pytest.approx(value, rel=1e-12)
    assert value < problem.ideal - 0.01 or statistic == "wta"
    monkeypatch.setattr(levels, "FEWEST_FEATURES", 99)
    assert solve(problem, time_limit=1.0, n_jobs=1).value <= value + 1e-12


def test_a_list_in_order_is_seen_by_one_program() -> None:
    problem = noisy_problem(50, 20, "auc", 0.35, 1)
    found = solve(problem, time_limit=20.0, n_jobs=1)
    assert found.closed and found.value == pytest.approx(1.0) and found.boxes == 0


def test_corners_are_where_losses_rise() -> None:
    assert corners(np.array([0, 0, 1, 1, 3, NEVER])) == [(2, 0), (4, 1), (5, 3)]
    assert corners(np.array([2, NEVER])) == [(1, 2)] and corners(np.array([0, 0])) == [(2, 0)]


def test_only_problems_of_one_binary_list_have_levels() -> None:
    def given_(problem: Problem) -> bool:
        run = SearchRun(problem)
        return levels_of(problem, run.domain, run.tables) is not None

    assert given_(noisy_problem(30, 8, "dcg@5", 0.3, 0))
    assert not given_(noisy_problem(30, 7, "dcg@5", 0.3, 0))
    assert not given_(noisy_problem(30, 8, "dcg@5", 0.3, 0, C=0.01))
    assert not given_(noisy_problem(30, 8, "dcg@5", 0.3, 0, max_features=3))
    X = np.random.default_rng(0).normal(size=(30, 8))
    assert not given_(problem_of(X, np.arange(30.0) % 3, parse("dcg@5")))
