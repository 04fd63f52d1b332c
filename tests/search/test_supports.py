"""Supports and faces, and prices and limits against solving every support on its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.domain import Domain
from rerank.search.run import Run
from rerank.search.supports import subsets as module
from rerank.search.supports.subsets import moving, supports
from rerank.statistics import parse
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem
from tests.oracles.comparisons import check_search


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("limit", [None, 1, 2, 7])
def test_supports_are_the_subsets_that_matter(d: int, limit: int | None) -> None:
    largest = min(limit or d, d)
    free, left = supports(d, limit, priced=False)
    assert sorted(tuple(s) for s in free) == sorted(combinations(range(d), largest)) and left is None
    paid, left = supports(d, limit, priced=True)
    assert [tuple(s) for s in paid] == [s for k in range(1, largest + 1) for s in combinations(range(d), k)]
    assert left is None


def test_supports_too_many_to_list_are_left_out_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 60)
    some, left = supports(10, None, priced=True)
    assert left == 3 and len(some) == 10 + 45


def test_any_stretch_of_the_supports_is_computed_from_its_place() -> None:
    some, _ = supports(7, 4, priced=True)
    every = list(some)
    assert [tuple(some[i]) for i in range(len(some))] == [tuple(x) for x in every] and tuple(some[-1]) == (
        3,
        4,
        5,
        6,
    )
    assert some.sizes.tolist() == [x.size for x in every]
    for begin in range(0, len(some), 5):
        rows = some.rows(begin, begin + 12)
        assert [tuple(x) for x in rows] == [tuple(x) for x in every[begin : begin + len(rows)]]
        assert len(rows) == 12 or begin + len(rows) in (7, 28, 63, 98)
    with pytest.raises(IndexError):
        some[len(some)]


@pytest.mark.parametrize("limit", [1, 3, 4])
def test_supports_among_some_features_are_those_of_their_places(limit: int) -> None:
    among = np.array([1, 2, 5, 8])
    for anchored in (False, True):
        plain, _ = supports(4, limit, True, anchored)
        some, _ = supports(4, limit, True, anchored, among)
        first = [0] * anchored
        expected = [(*first, *among[s[anchored:] - anchored]) for s in plain]
        assert [tuple(s) for s in some] == expected == [tuple(some[i]) for i in range(len(some))]


@pytest.mark.parametrize("seed", range(25))
def test_features_that_move_no_pair_are_left_out_and_the_optimum_stays(seed: int) -> None:
    """A feature that is equal within every list: all weights of it are enumerated, the search has none."""
    drawn = draw(seed, n_max=9, d_max=2).problem
    home, at = np.zeros(len(drawn.X)), seed % (drawn.n_features + 1)
    for q, item in enumerate(drawn.lists):
        home[item.rows] = q
    problem = replace(
        drawn, X=np.insert(drawn.X, at, home, axis=1), signs=np.insert(drawn.signs, at, seed % 3 - 1),
        low=np.insert(drawn.low, at, 0.0), high=np.insert(drawn.high, at, 1.0 + home.max()),
    )  # fmt: skip
    assert (moving(problem) == np.delete(np.arange(problem.n_features), at)).all()
    assert all(at not in support for support in Run(problem, 0).boxes.columns)
    assert check_search(problem, time_limit=30.0).failures == ()
    assert check_search(problem, proof=True, time_limit=30.0).failures == ()


def test_features_stay_where_none_moves_a_pair() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0], [3.0, 5.0]])
    problem = problem_of(X, [1.0, 0.0, 1.0, 0.0], parse("auc"), [0, 0, 1, 1])
    assert moving(problem).tolist() == [0, 1] and solve(problem, n_jobs=1).closed


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_every_allowed_point_lies_on_a_face(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    signed = rng.random(k) < 0.5
    w = np.where(signed, rng.random(k), rng.uniform(-1, 1, size=k))
    w[rng.random(k) < 0.2] = 0.0
    if not w.any():
        return
    w /= np.abs(w).max()
    centres, halves = Domain(np.ones(k), np.where(signed, 0.0, -1.0), np.ones(k)).roots()
    assert len(centres) == 2 * k - signed.sum()
    assert ((np.abs(w - centres) <= halves).all(axis=1)).any()
    vertex = centres + halves * rng.choice([-1, 1], size=k)
    assert (np.abs(vertex).max(axis=1) == 1).all() and (vertex[:, signed] >= 0).all()


def on(problem: Problem, features: tuple[int, ...]) -> Problem:
    """The same problem with these features alone, no price and no limit."""
    j = list(features)
    parts: dict[str, Any] = {"X": np.ascontiguousarray(problem.X[:, j]), "signs": problem.signs[j]}
    return replace(problem, C=0.0, max_features=None, low=problem.low[j], high=problem.high[j], **parts)


def enumerated(problem: Problem) -> tuple[float, tuple[int, ...]]:
    """Best value over all supports, each solved on its own, and the support."""
    d = problem.n_features
    nothing = solve(replace(problem, C=1e9 * (1 + abs(problem.ideal))), n_jobs=1).value
    best: tuple[float, tuple[int, ...]] = (nothing, ())
    for size in range(1, (problem.max_features or d) + 1):
        for chosen in combinations(range(d), size):
            found = solve(on(problem, chosen), n_jobs=1)
            assert found.closed
            best = max(best, (found.value - problem.C * size, chosen), key=lambda item: item[0])
    return best


CASES = {
    "auc, best 2 of 5": lambda: noisy_problem(30, 5, "auc", 0.35, 0, max_features=2),
    "mrr, best 3 of 5, signs": lambda: noisy_problem(
        30, 5, "mrr", 0.35, 1, max_features=3, signs=[1, -1, 0, 0, 1]
    ),
    "auc, each feature costs": lambda: noisy_problem(30, 4, "auc", 0.35, 2, C=0.01),
    "auc, each feature costs too much": lambda: noisy_problem(30, 4, "auc", 0.35, 2, C=0.6),
    "dcg@5, costs and a limit": lambda: noisy_problem(30, 5, "dcg@5", 0.35, 3, C=0.05, max_features=2),
    "ndcg@5 on lists, costs": lambda: drawn_lists(4, 6, 8, 4, "ndcg@5", C=0.02),
    "auc on lists, best 2 of 4": lambda: drawn_lists(5, 6, 8, 4, "auc", max_features=2),
}


@pytest.mark.parametrize("name", CASES)
def test_prices_and_limits_are_what_solving_every_support_gives(name: str) -> None:
    problem = CASES[name]()
    found = solve(problem, n_jobs=1)
    value, chosen = enumerated(problem)
    assert found.closed
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-12) and found.bound >= value
    used = np.flatnonzero(found.weights)
    assert used.size <= (problem.max_features or problem.n_features)
    if problem.C:
        assert used.size == len(chosen)


def test_a_support_left_out_keeps_the_bound_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(30, 4, "auc", 0.35, 2, C=0.01)
    whole = solve(problem, n_jobs=1)
    monkeypatch.setattr(module, "MOST", 5)
    part = solve(problem, n_jobs=1)
    assert not part.closed and part.bound >= whole.value and part.value <= whole.value
