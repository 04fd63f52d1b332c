"""Screening of supports: sums of coarse boxes against reals, every pair in its lane, nothing good held back."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.jobs import screen_supports
from rerank.search.run import Run
from rerank.search.supports import screening
from rerank.search.supports.screening import Screens, _lanes, layout
from rerank.search.supports.screening_kernel import (
    FACE,
    LEVELS,
    ROWS,
    SIGNED_FACE,
    SIGNED_SPLIT,
    SPLIT,
    begin,
    bound,
    halve,
    open_face,
    reductions,
)
from rerank.statistics import parse
from tests.cases.search import drawn_lists, noisy_problem, tables
from tests.search.test_supports import on


def lattice(seed: int, statistic: str, **options: Any) -> Problem:
    """Few values a feature, most of them zero: equal rows, antiparallel pairs, sides of boxes that end at 0."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 5)) < 0.5, 0.0, rng.integers(-2, 3, size=(40, 5)))
    y = X @ rng.normal(size=5) + rng.normal(size=40) > 0.7
    return problem_of(X, y.astype(float), parse(statistic), **options)


CASES = {
    "auc": lambda: noisy_problem(30, 5, "auc", 0.35, 0, max_features=3),
    "mrr, signs": lambda: noisy_problem(30, 5, "mrr", 0.35, 1, max_features=3, signs=[1, -1, 0, 0, 1]),
    "auc, a wide margin": lambda: noisy_problem(30, 5, "auc", 0.35, 2, max_features=2, epsilon=0.3),
    "auc, no margin can be met": lambda: noisy_problem(30, 4, "auc", 0.35, 2, max_features=2, epsilon=9.0),
    "auc, each feature costs": lambda: noisy_problem(30, 4, "auc", 0.35, 3, C=0.01),
    "auc on a lattice": lambda: lattice(4, "auc", max_features=2),
    "dcg@5 on a lattice, costs": lambda: lattice(5, "dcg@5", C=0.05, max_features=3),
    "auc on lists": lambda: drawn_lists(6, 6, 8, 4, "auc", max_features=2),
    "ndcg@5 on lists, grades": lambda: drawn_lists(7, 6, 8, 4, "ndcg@5", max_features=2),
}


@pytest.mark.parametrize("name", CASES)
def test_a_support_is_fathomed_only_if_it_holds_nothing_better(name: str) -> None:
    problem = CASES[name]()
    run = Run(problem, None)
    t, d = run.tables, problem.n_features
    held = boxed = 0
    for size in range(1, (problem.max_features or d) + 1):
        rows = np.array(list(combinations(range(d), size)), dtype=np.int32)
        found = [solve(on(problem, tuple(r)), n_jobs=1) for r in rows]
        best = (np.array([x.value for x in found]) - t.constant) / (t.grain if t.integral else 1.0)
        best = np.floor(best + 1e-6) if t.integral else best - 1e-13 * (1.0 + np.abs(best))
        step = 0.5 if t.integral else 1e-9
        made = Screens(None, layout(t, d), 1.0, 0.0, False)
        bounds, batches, _ = screen_supports(made, rows, best - step, run.domain.signed)
        assert (bounds >= best - t.slack).all()
        for features, x, value, batch in zip(rows, found, best, batches, strict=True):
            w = x.weights / run.domain.scale[features]
            if batch is not None and w.any():
                inside = (np.abs(w / np.abs(w).max() - batch.centres) <= batch.halves + 1e-12).all(axis=1)
                assert batch.bounds[inside].max() >= value - t.slack
                boxed += 1
        bounds, _, _ = screen_supports(made, rows, best + 0.1 * (t.ideal - best) + step, run.domain.signed)
        held += int((bounds == -np.inf).sum())
        # A face of a single feature is a point and has no side to halve: it is left to the box search.
        bounds, _, _ = screen_supports(made, rows, np.full(len(rows), t.ideal + t.slack), run.domain.signed)
        assert size == 1 or (bounds == -np.inf).all()
    assert held > 0 and (boxed > 0 or name == "auc, no margin can be met")


@pytest.mark.parametrize("name", CASES)
def test_value_and_proof_are_those_of_the_search_without_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = CASES[name]()
    monkeypatch.setattr(screening, "FIRST", 1)  # many rounds
    found = solve(problem, n_jobs=1)
    workers = solve(problem, n_jobs=2)
    assert np.array_equal(found.weights, workers.weights) and found.boxes == workers.boxes
    plain = solve(problem, n_jobs=1, proof=True)  # a proof covers every support
    assert found.closed and plain.closed
    assert found.value == pytest.approx(plain.value, rel=1e-12, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_sums_are_never_below_what_a_box_can_reach(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    s = int(rng.integers(1, 5))
    D = rng.integers(-3, 4, size=(s, 50)) / 3 if lattice else rng.uniform(-1, 1, size=(s, 50))
    scaled = D / 2.0**-12
    up = (np.sign(scaled) * np.ceil(np.abs(scaled))).astype(np.int16)
    down = np.trunc(scaled).astype(np.int16)
    rows = np.empty((s, LEVELS, 50), np.int16)
    for j in range(s):
        reductions(up[j], down[j], rows[j])
    one_way = rng.random(s) < 0.3
    low, high = np.where(one_way, 0.0, -1.0), np.ones(s)
    sums, left, right = np.empty((3, 50), np.int16)
    begin(rows, np.zeros(50, np.int16), one_way, sums)
    face = int(rng.integers(s))
    negative = bool(rng.random() < 0.5 and not one_way[face])
    open_face(sums, rows[face, SIGNED_FACE if one_way[face] else FACE], negative, left)
    sums = left.copy()
    low[face] = high[face] = -1.0 if negative else 1.0
    level = np.where(one_way, SIGNED_SPLIT, SPLIT)
    for _ in range(12):
        most = np.maximum(low[:, None] * D, high[:, None] * D).sum(axis=0) / 2.0**-12
        assert (sums >= most - 1e-9).all() and (sums <= most + 8 * s).all()
        j = int(rng.integers(s))
        if j == face or level[j] >= LEVELS:
            continue
        n_left, n_right = halve(sums, rows[j, level[j]], np.int16(1), left, right)
        assert (n_left, n_right) == ((left < 1).sum(), (right < 1).sum())
        level[j] = SIGNED_SPLIT if level[j] == SPLIT else level[j] + 1
        middle = (low[j] + high[j]) / 2
        if rng.random() < 0.5:
            high[j], sums = middle, left.copy()
        else:
            low[j], sums = middle, right.copy()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 900), st.integers(1, 40))
def test_every_pair_has_one_place_in_a_lane_of_its_key(seed: int, pairs: int, keys: int) -> None:
    key = np.random.default_rng(seed).integers(0, keys, size=pairs) ** 2
    places, lane, block = _lanes(np.arange(pairs), key)
    assert np.array_equal(np.sort(places[places >= 0]), np.arange(pairs))
    assert block[-1] == places.size
    for a, z in pairwise(block):
        row = places[a:z].reshape(ROWS, -1)
        used = row >= 0
        assert (key[row] == lane[: row.shape[1]])[used].all()


@pytest.mark.parametrize(
    "name", ["mrr, signs", "dcg@5 on a lattice, costs", "auc on lists", "ndcg@5 on lists, grades"]
)
def test_the_bound_is_the_value_where_sums_are_exact_scores(name: str) -> None:
    """At a single point, far from any tie, a pair is lost exactly if its sum is below the threshold."""
    problem = CASES[name]()
    run = Run(problem, None)
    t, d = run.tables, problem.n_features
    made = layout(t, d)
    w = np.abs(np.random.default_rng(0).uniform(0.2, 1, size=d))
    sums = np.where(made.idle > 0, made.idle, np.where(w @ made.down / w.sum() >= 1, 9, -9)).astype(np.int16)
    order = np.where(made.idle > 0, 0, sums)
    lane = np.zeros(made.lane_slot.size, np.int16)
    lost = np.zeros(t.slots.unit_of.size, np.int64)
    count = np.zeros(int(np.diff(t.slots.coef_start).max()) + 1, np.int64)
    value = bound(sums, int((order < 0).sum()), made, lane, lost, count)
    quantum = 2.0 ** np.round(np.log2(np.abs(t.pairs).max() / np.abs(made.up).max()))
    gone = (np.abs(t.pairs) > 0).any(axis=0) & (w @ np.trunc(t.pairs / quantum) / w.sum() < 1)
    gone |= ~(np.abs(t.pairs) > 0).any(axis=0)
    assert value == pytest.approx(earned(t, gone), rel=1e-12)


def earned(t: Any, gone: np.ndarray) -> float:
    """Value if these pairs are lost, by loops."""
    if t.linear:
        return float(t.total - t.loss[gone].sum())
    lost = np.zeros(t.slots.unit_of.size, int)
    for p in np.flatnonzero(gone):
        lost[t.slot[p] : t.slot[p] + t.span[p]] += t.multiplicity[p]
    total = 0.0
    for u in range(t.slots.unit_start.size - 1):
        coef = t.slots.coef[t.slots.coef_start[u] : t.slots.coef_start[u + 1]]
        slots = t.slots.unit_slots[t.slots.unit_start[u] : t.slots.unit_start[u + 1]]
        places = np.sort(lost[slots]) + np.arange(slots.size)
        total += float(coef[places[places < coef.size]].sum())
    return total


def test_problems_too_large_for_it_go_without(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = CASES["auc"]()
    with_it = solve(problem, n_jobs=1)
    monkeypatch.setattr(screening, "MOST_PLACES", 10)
    assert layout(tables(problem), 3) is None
    without = solve(problem, n_jobs=1)
    assert without.closed and without.value == with_it.value
