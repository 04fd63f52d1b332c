"""The search by rows against enumeration, against the search by pairs, and against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.problem import Problem
from rerank.search import run, sizes, solve, workspace
from rerank.search.boxes.vertices import RowExact
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches
from rerank.search.rows import choice
from rerank.search.rows.choice import by_rows, lines_by_rows
from rerank.search.rows.lines import RowLines
from rerank.search.rows.unit import above, largest
from rerank.search.tables import RowTables, row_tables
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem, surface
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, optimum

SEEDS = st.integers(0, 10**6)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search every problem by rows."""
    for home, name in ((choice, "by_rows"), (run, "lines_by_rows")):
        monkeypatch.setattr(home, name, lambda problem, limited=False: True)


def unlimited(seed: int, **options: Any) -> Problem:
    """A drawn problem without a limit or a price on features."""
    while (problem := draw(seed, **options).problem).C > 0 or problem.max_features is not None:
        seed += 1
    return problem


def rows_of(problem: Problem) -> RowTables:
    return row_tables(problem, Domain.of(problem).scale)


@pytest.mark.parametrize("seed", range(40))
def test_value_and_bound_meet_the_enumerated_optimum(seed: int) -> None:
    assert check_search(unlimited(40 * seed, n_max=11)).failures == ()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_bound_holds_for_any_weights(seed: int) -> None:
    problem = unlimited(seed, n_max=14, d_max=4)
    found = solve(problem, time_limit=5.0, n_jobs=1, node_limit=20)
    for w in surface(np.random.default_rng(seed), problem, 8):
        assert objective_at(problem, w) <= found.bound


@pytest.mark.parametrize("statistic", ["precision@10", "dcg@10", "mrr", "auc"])
@pytest.mark.parametrize("lists", [1, 12])
def test_rows_and_pairs_close_at_the_same_value(
    statistic: str, lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = noisy_problem(120, 3, statistic, 0.2, 1) if lists == 1 else drawn_lists(0, lists, 12, 3, statistic)
    mine = solve(problem, n_jobs=1)
    for home, name in ((choice, "by_rows"), (run, "lines_by_rows")):
        monkeypatch.setattr(home, name, lambda problem, limited=False: False)
    theirs = solve(problem, n_jobs=1)
    assert mine.closed and theirs.closed
    assert mine.value == pytest.approx(theirs.value, abs=1e-12) and mine.weights.any()


@pytest.mark.parametrize("statistic", ["precision@300", "dcg@300", "window2@250"])
def test_many_places_close_at_the_same_value_as_by_pairs(statistic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # So many rows stay near the top that few boxes form pairs.
    problem = noisy_problem(900, 2, statistic, 0.4, 0)
    mine = solve(problem, n_jobs=1)
    for home, name in ((choice, "by_rows"), (run, "lines_by_rows")):
        monkeypatch.setattr(home, name, lambda problem, limited=False: False)
    theirs = solve(problem, n_jobs=1)
    assert mine.closed and theirs.closed and mine.boxes <= 2 * theirs.boxes
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)


def test_any_number_of_workers_gives_the_same_bits() -> None:
    problem = noisy_problem(1500, 4, "dcg@20", 0.1, 0)
    one, two = (solve(problem, n_jobs=jobs) for jobs in (1, 2))
    assert (one.value, one.bound, one.boxes) == (two.value, two.bound, two.boxes)
    assert np.array_equal(one.weights, two.weights)


def test_ctrl_c_or_a_limit_of_nodes_leaves_a_bound() -> None:
    problem = noisy_problem(3000, 6, "dcg@100", 0.2, 0)
    found = solve(problem, n_jobs=1, node_limit=5)
    assert not found.closed and found.value < found.bound <= problem.ideal
    low, high = found.box
    assert np.all(low <= found.weights) and np.all(found.weights <= high)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_box_bounds_its_points_and_its_centre_has_the_value(seed: int) -> None:
    from rerank.search.boxes.antiparallel import NO_GROUPS
    from rerank.search.boxes.nodes import NodeBatch, Support

    problem = unlimited(seed, n_max=20, d_max=4)
    t, rng = rows_of(problem), np.random.default_rng(seed)
    d = problem.n_features
    half = rng.uniform(0, 0.5) * (rng.random(d) < 0.8)
    centre = np.clip(rng.uniform(-1, 1, d), -1 + half, 1 - half)
    centre[0], half[0] = 1.0, 0.0
    batch = NodeBatch.of(0, centre[None], half[None], np.array([t.ideal + 1.0]), np.zeros(1, np.int64))
    support = Support(np.arange(d), None, NO_GROUPS)
    (found,) = explore_batches(t, [support], [batch], [-1.0], [-np.inf], t.slack, 1e-3, 1e-3, False, 1)
    flip = np.where(problem.signs < 0, -1.0, 1.0)
    here = float(objective_at(problem, centre * flip))
    assert t.to_value(found.value) <= here + 1e-12 * (1 + abs(here))
    bound = t.to_value(found.open.bound if found.open is not None else max(found.value, _stuck(found)))
    for _ in range(20):
        w = centre + half * rng.uniform(-1, 1, d)
        assert float(objective_at(problem, w * flip)) <= bound + 1e-12 * (1 + abs(bound))


def _stuck(found: Any) -> float:
    return -np.inf if found.unresolved is None else found.unresolved.bound


@settings(deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.integers(1, 45), st.floats(-5, 5))
def test_the_largest_numbers_in_descending_order(numbers: list[float], most: int, limit: float) -> None:
    x, heap = np.array(numbers), np.empty(most)
    n = largest(x, 0, x.size, most, heap)
    assert heap[:n].tolist() == sorted(numbers, reverse=True)[:most]
    assert above(heap, n, limit) == np.sum(heap[:n] > limit)


@pytest.mark.parametrize("lists", [1, 30, 300])
@pytest.mark.parametrize("seed", range(3))
def test_no_sampled_point_of_a_line_beats_the_point_found(lists: int, seed: int) -> None:
    problem = noisy_problem(400, 4, "dcg@10", 0.1, seed) if lists == 1 else _lists(seed, lists)
    rng = np.random.default_rng(seed)
    search = RowLines(rows_of(problem), Domain.of(problem))
    w, u = rng.normal(size=(2, 4))
    value, point = search.line(w / np.abs(w).max(), u)
    assert value == search.value(point) and np.abs(point).max() == 1.0
    # Boxes find the best point of the line; a grid does not, and is only asked to come near.
    room = 0.0 if lists < 300 else 0.02 * abs(value)
    for tau in np.tan(rng.uniform(-np.pi / 2, np.pi / 2, 300)):
        x = w / np.abs(w).max() + tau * u
        assert search.value(x / np.abs(x).max()) <= value + room + 1e-12


def _lists(seed: int, lists: int) -> Problem:
    return drawn_lists(seed, lists, 15, 4, "dcg@3")


def test_points_of_a_line_keep_to_the_signs() -> None:
    problem = noisy_problem(300, 4, "dcg@10", 0.1, 0, signs=[1, -1, 0, 1])
    search = RowLines(rows_of(problem), Domain.of(problem))
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = np.abs(rng.normal(size=4))
        _, point = search.line(w / w.max(), rng.normal(size=4))
        assert np.all(point[problem.signs != 0] >= 0)
    assert np.all(solve(problem, n_jobs=1).weights * problem.signs >= 0)


def test_rows_are_taken_where_there_are_many_pairs_and_few_places() -> None:
    assert not by_rows(noisy_problem(200, 3, "dcg@10", 0.3, 0))
    assert by_rows(noisy_problem(2000, 3, "dcg@10", 0.3, 0))
    assert not by_rows(noisy_problem(2000, 3, "auc", 0.3, 0))
    short = drawn_lists(0, 5000, 20, 3, "dcg@3")
    assert lines_by_rows(short) and not by_rows(short)


def test_lines_by_rows_beside_boxes_by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = drawn_lists(0, 12, 12, 3, "dcg@3")
    mine = solve(problem, n_jobs=1)
    monkeypatch.setattr(choice, "by_rows", lambda problem, supports=False: False)
    for proof in (False, True):
        beside = solve(problem, n_jobs=1, proof=proof)
        assert beside.closed and beside.value == pytest.approx(mine.value, abs=1e-12)
        assert (beside.proof is not None) == proof


def test_rows_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "memory", lambda: 1e5)
    with pytest.raises(InputError, match=r"2,000 rows of 3 features, 0.\d+ GB; lower n_candidates"):
        solve(noisy_problem(2000, 3, "dcg@10", 0.3, 0))


def test_equal_rows_of_both_kinds_are_lost_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MOST_REFINED", 3)  # no room to form pairs
    problem = unlimited(7, n_max=9, d_max=2)
    assert check_search(problem).failures == ()


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_point_is_worth_by_rows_what_it_is_in_rationals(seed: int) -> None:
    problem = unlimited(seed, n_max=14, d_max=3)
    domain = Domain.of(problem)
    exact = RowExact(problem, RowLines(rows_of(problem), domain), domain)
    for w in surface(np.random.default_rng(seed), problem, 6):
        here = float(objective_at(problem, w))
        assert exact.lines.tables.to_value(exact.value(w / domain.scale)) == pytest.approx(here, rel=1e-12, abs=1e-12)


def test_boxes_that_are_too_small_to_split_are_decided_in_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = draw(150, n_max=11).problem  # rows that differ by some 1e-12
    best = solve(problem, n_jobs=1)
    assert best.closed and best.value == pytest.approx(float(optimum(problem).value))
    monkeypatch.setattr(RowExact, "largest", lambda *box: None)
    assert not solve(problem, n_jobs=1, time_limit=1.0).closed
