"""Compiled loops over pairs, places and sides, each against a slow twin."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.search.boxes import pairs
from rerank.search.tables import Tables, tables
from tests.cases.instances import draw, with_hits
from tests.cases.search import slow_margin, slow_unit

SEEDS = st.integers(0, 10**6)


def counted(seed: int) -> tuple[np.random.Generator, Tables]:
    """Tables of a problem that counts places, not only pairs."""
    rng = np.random.default_rng(seed)
    while True:
        name = str(rng.choice(["dcg", "mrr", "precision@2", "dcg@3"]))
        problem = draw(seed, n_max=12, statistic=name).problem
        t = tables(with_hits(problem, seed) if seed % 3 == 0 else problem)
        if not t.linear and t.pairs.shape[1]:
            return rng, t
        seed += 1


def bounds(rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Middles and radii, some on the edge between lost, undecided and won."""
    M = rng.choice([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0], size=size)
    return M, np.abs(rng.choice([0.25, 0.5, 1.0], size=size))


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 7))
def test_reach_is_the_middle_and_the_radius_of_every_pair(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    D = rng.uniform(-1, 1, size=(k, 40))
    c, h = rng.uniform(-1, 1, size=k), rng.choice([0.0, 0.5, 1.0], size=k)
    a, n = 5, 30
    M, R = np.empty(40), np.empty(40)
    pairs.reach(D, a, c, h, 0.1, 1e-3, M[:n], R[:n])
    slow = slow_margin(D[:, a : a + n], c, h, 0.1, 1e-3)
    assert np.allclose(M[:n], slow[0], rtol=0, atol=1e-14) and np.allclose(R[:n], slow[1], rtol=0, atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_lost_weight_and_undecided_part_the_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    M, R = bounds(rng, 50)
    W = rng.integers(1, 5, size=50).astype(float)
    whole, centre = pairs.lost_weight(M, R, W, 0.25)
    assert whole == sum(w for m, r, w in zip(M, R, W, strict=True) if m + r < 0)
    assert centre == sum(w for m, w in zip(M, W, strict=True) if m < 0.25)
    keep = np.empty(51, np.int32)
    for spread in (0.0, 0.25):  # by how much the margin differs within the box
        kept = pairs.undecided(M, R, spread, keep)
        assert keep[:kept].tolist() == [p for p in range(50) if -R[p] <= M[p] <= R[p] + spread]


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_norms_enclose_the_largest_weight_of_a_box(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    S, c, h = rng.normal(size=(k, k)), rng.uniform(-1, 1, size=k), rng.choice([0.0, 0.1, 1.0], size=k)
    least, most, here = pairs.norms(S, c, h)
    assert here == pytest.approx(np.abs(S @ c).max()) and least <= here <= most
    for _ in range(20):
        vertex = np.abs(S @ (c + h * rng.choice([-1.0, 0.0, 1.0], size=k))).max()
        assert least - 1e-12 <= vertex <= most + 1e-12
    ends = [np.abs(S @ (c + h * np.array(side))).max() for side in product([-1.0, 1.0], repeat=k)]
    assert most == pytest.approx(max(ends))


def test_gather_copies_the_kept_pairs_behind_their_level() -> None:
    row = np.arange(30.0)
    pairs.gather(row, 10, np.array([0, 3, 4], np.int32), 3, 20)
    assert row[20:24].tolist() == [10.0, 13.0, 14.0, 23.0]


def test_moved_sums_sizes_and_signed_sizes() -> None:
    assert pairs.moved(np.array([0.5, -0.25, 0.0]), np.array([2.0, 4.0, 9.0])) == (2.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_value_of_lost_counts_is_the_definition_s(seed: int) -> None:
    rng, t = counted(seed)
    scratch = np.zeros(int(np.diff(t.slots.coef_start).max()) + 1, np.int64)
    lost = rng.integers(0, 9, size=t.slots.unit_of.size).astype(np.int32)
    units = np.arange(t.slots.unit_start.size - 1, dtype=np.int32)
    slow = [
        slow_unit(
            lost[t.slots.unit_slots[t.slots.unit_start[u] : t.slots.unit_start[u + 1]]],
            t.slots.coef[t.slots.coef_start[u] : t.slots.coef_start[u + 1]],
            t.slots.hits[t.slots.unit_start[u] : t.slots.unit_start[u + 1]],
        )
        for u in units
    ]
    assert [pairs.unit_value(0.0, u, lost, t.slots, scratch) for u in units] == pytest.approx(slow, rel=1e-13)
    some = rng.permutation(units)[: rng.integers(0, units.size + 1)].astype(np.int32)
    total = pairs.total_value(some, lost, t.slots, scratch)
    assert total == pytest.approx(sum(slow[u] for u in some), rel=1e-13) and not scratch.any()


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_lost_counts_are_those_of_a_loop(seed: int) -> None:
    rng, t = counted(seed)
    M, R = bounds(rng, t.pairs.shape[1])
    before = rng.integers(0, 3, size=t.slots.unit_of.size).astype(np.int32)
    whole, centre = before.copy(), before.copy()
    for p in range(M.size):
        for s in range(t.slot[p], t.slot[p] + t.span[p]):
            whole[s] += t.multiplicity[p] * (M[p] + R[p] < 0)
            centre[s] += t.multiplicity[p] * (M[p] < 0.25)
    fast = before.copy(), before.copy()
    pairs.count_lost(M, R, t.slot, t.span, t.weight, 0.25, *fast)
    assert np.array_equal(fast[0], whole) and np.array_equal(fast[1], centre)
    if t.single:
        ends = np.zeros(t.slots.unit_of.size + 1, np.int64)
        mark = np.zeros(t.slots.unit_start.size, np.bool_)
        runs = pairs.find_runs(t.slot, ends, t.slots.unit_of, mark)
        assert np.flatnonzero(mark).tolist() == np.unique(t.slots.unit_of[t.slot]).tolist()
        assert ends[:runs].tolist() == [p for p in range(1, M.size) if t.slot[p] != t.slot[p - 1]] + [M.size]
        fast = before.copy(), before.copy()
        pairs.count_runs(M, R, t.slot, ends, runs, 0.25, *fast)
        assert np.array_equal(fast[0], whole) and np.array_equal(fast[1], centre)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_only_pairs_of_items_that_can_still_earn_are_kept(seed: int) -> None:
    rng, t = counted(seed)
    lost = rng.integers(0, 6, size=t.slots.unit_of.size).astype(np.int32)
    P = t.pairs.shape[1]
    keep = np.append(np.flatnonzero(rng.random(P) < 0.7), 0).astype(np.int32)
    n = keep.size - 1
    units = np.arange(t.slots.unit_start.size - 1, dtype=np.int32)
    places = np.diff(t.slots.coef_start)[t.slots.unit_of]
    slow = [p for p in keep[:n] if any(lost[s] < places[s] for s in range(t.slot[p], t.slot[p] + t.span[p]))]
    kept = pairs.matters(keep, n, t.slot, t.span, lost, units, t.slots)
    assert keep[:kept].tolist() == slow


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_importance_is_the_price_of_the_next_place(seed: int) -> None:
    rng, t = counted(seed)
    lost = rng.integers(0, 6, size=t.slots.unit_of.size).astype(np.int32)
    units = np.arange(t.slots.unit_start.size - 1, dtype=np.int32)
    out, slope = np.empty(t.pairs.shape[1]), np.zeros(t.slots.unit_of.size)
    pairs.importance(t.slot, t.span, t.weight, lost, units, t.slots, slope, out)
    coef = [np.append(t.slots.coef[a:b], [0.0] * 20) for a, b in pairwise(t.slots.coef_start)]
    price = np.array([coef[t.slots.unit_of[s]][x] - coef[t.slots.unit_of[s]][x + 1] for s, x in enumerate(lost)])
    base = np.array([price[a : a + b].sum() for a, b in zip(t.slot, t.span, strict=True)])
    extra = 0.1 * base.mean() if base.mean() > 0 else 1.0
    assert out == pytest.approx((base + extra) * t.multiplicity, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_choosing_sides_loses_the_other_sides_and_nothing_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    G = rng.integers(-4, 5, size=40).astype(np.int32)
    M = rng.normal(size=40)
    sides = np.array([3, -1, 0, 0], np.int32)
    chosen = np.zeros(5, np.int32)
    fast = M.copy()
    pairs.impose(fast, G, sides, chosen)
    for p in range(40):
        lost = G[p] == -3 or G[p] == 1
        assert fast[p] == (pairs.NEVER if lost else M[p])
    assert not chosen.any()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_heaviest_group_has_most_on_its_lighter_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    G = rng.integers(-4, 5, size=30).astype(np.int32)
    weight = rng.integers(1, 9, size=30).astype(float)
    lighter = {g: min(weight[g == G].sum(), weight[-g == G].sum()) for g in range(1, 5)}
    group = pairs.heaviest(G, weight, np.full(5, 7.0), np.full(5, 7.0))
    most = max(lighter.values())
    assert lighter[group] == most if most > pairs.SHARE * weight.sum() else group == 0
