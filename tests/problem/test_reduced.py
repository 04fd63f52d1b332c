"""The rows of a long list that are kept: few, and worth at all allowed weights what the whole list is worth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.certificate import certify
from rerank.problem import Problem, ranked_list
from rerank.problem.reduced import depth_of, reduced_problem
from rerank.problem.scaling import deviations
from rerank.search import solve
from rerank.statistics import parse

SEEDS = st.integers(0, 10**6)
LIMITS = ([1, -0.1, -0.05, 0], [1, 0.1, 0.05, 0.2])


def table(seed: int, n: int = 400, graded: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 3, 100, 0.01] + [0, 5, 2000, 0]
    y = (X[:, 0] + rng.normal(size=n) > 1.5).astype(float)
    return X, y * rng.choice([1.0, 3.0], n) if graded else y


def reduced(X, y, statistic: str, **options):
    low = X.min(axis=0)
    return reduced_problem(X, y, parse(statistic), low, low + deviations(X), LIMITS, **options)


def whole(X, y, statistic: str, kept: Problem) -> Problem:
    """The problem of all rows, in the same scaling."""
    listed = ranked_list(parse(statistic), np.arange(len(X)), y)
    return Problem.build(X, [listed], epsilon=kept.epsilon, low=kept.low, high=kept.high, limits=kept.limits)


@settings(max_examples=30, deadline=None)
@given(
    SEEDS, st.sampled_from(["precision@20", "dcg@10", "window2@8", "ndcg@10", "pauc@7", "recall@20"]), st.booleans()
)
def test_any_allowed_weights_are_worth_the_same_on_what_is_kept(seed: int, statistic: str, graded: bool) -> None:
    X, y = table(seed, graded=graded and statistic != "recall@20")
    kept, rows = reduced(X, y, statistic, epsilon=0.01)
    every = whole(X, y, statistic, kept)
    rng = np.random.default_rng(seed)
    low, high = every.limits
    for w in (low, high, every.unchanged, *(low + rng.random((4, 4)) * (high - low))):
        w = np.clip(w, low, high)
        assert certify(kept, w).value == certify(every, w).value
    assert rows.size < len(X) and np.array_equal(kept.X, X[rows]) and np.all(np.diff(rows) > 0)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_no_row_that_is_left_out_is_among_the_first_at_any_end_of_the_limits(seed: int) -> None:
    X, y = table(seed)
    kept, rows = reduced(X, y, "precision@20", epsilon=0.01)
    out = np.setdiff1d(np.arange(len(X)), rows)
    scaled = (X - kept.low) / (kept.high - kept.low)
    for w in itertools.product(*zip(*LIMITS)):
        scores = scaled @ w
        twentieth = np.sort(scores[y == 0])[-20]
        assert np.all(scores[out] < twentieth - 0.01 + 1e-9)


def test_the_best_weights_are_those_of_the_whole_list() -> None:
    X, y = table(0, 3000)
    kept, rows = reduced(X, y, "precision@50", epsilon=1e-9)
    found, all_ = solve(kept), solve(whole(X, y, "precision@50", kept))
    assert found.closed and all_.closed and found.value == pytest.approx(all_.value)
    assert rows.size < 600


def test_a_list_with_fewer_irrelevant_rows_than_places_is_kept_whole() -> None:
    X, y = table(1, 60)
    assert reduced(X, y, "precision@60")[1].size == 60


@pytest.mark.parametrize("statistic", ["auc", "ap", "dcg", "precision@20 in lists of 900"])
def test_a_statistic_of_all_places_leaves_no_row_out(statistic: str) -> None:
    assert depth_of(parse(statistic)) is None and depth_of(parse("dcg@9")) == 9
