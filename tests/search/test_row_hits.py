"""Measures that weigh hits, searched by rows: against enumeration, the search by pairs, and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.problem import Problem, problem_of
from rerank.search import run, sizes, solve, workspace
from rerank.search.boxes.antiparallel import NO_GROUPS
from rerank.search.boxes.nodes import Support
from rerank.search.boxes.vertices import RowExact
from rerank.search.domain import Domain
from rerank.search.lines.search import LineSearch
from rerank.search.rows import choice
from rerank.search.rows.choice import rows_alone
from rerank.search.rows.lines import RowLines
from rerank.search.tables import RowTables, row_tables
from rerank.statistics import parse
from tests.cases.instances import draw, with_hits
from tests.cases.search import drawn_lists, noisy_problem, surface, tables
from tests.oracles.anchored import anchored, best
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 10**6)
MEASURES = ("ap", "rr", "success@2", "success@5", "ap@3", "rr@3")


def search_by(monkeypatch: pytest.MonkeyPatch, rows: bool) -> None:
    for home, name in ((choice, "by_rows"), (run, "lines_by_rows")):
        monkeypatch.setattr(home, name, lambda problem, limited=False: rows)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search every problem by rows."""
    search_by(monkeypatch, True)


def rows_of(problem: Problem) -> RowTables:
    return row_tables(problem, Domain.of(problem).scale)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("stat", MEASURES)
@pytest.mark.parametrize("seed", range(6))
def test_value_and_bound_meet_the_enumerated_optimum(stat: str, seed: int) -> None:
    assert check_search(draw(37 * seed, n_max=11, statistic=stat).problem).failures == ()


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(40))
def test_any_weights_of_hits_meet_it_too(seed: int) -> None:
    problem = anchored(seed, n_max=8) if seed % 4 == 0 else draw(seed, n_max=11).problem
    assert check_search(with_hits(problem, seed), lambda p: best(p).value).failures == ()


@pytest.mark.usefixtures("always")
@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_bound_of_an_open_search_holds_where_no_pairs_are_formed(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "MOST_REFINED", 0)
        problem = with_hits(replace(draw(seed, n_max=30, d_max=4).problem, C=0.0, max_features=None), seed)
        found = solve(problem, time_limit=5.0, n_jobs=1, node_limit=200)
    for w in surface(np.random.default_rng(seed), problem, 20):
        assert objective_at(problem, w) <= found.bound


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_rows_that_leave_a_box_change_the_value_nowhere_in_it(seed: int) -> None:
    """Of each point of a box, the value of the rows that are left and of all rows."""
    from rerank.search.rows.kernel import assess

    rng = np.random.default_rng(seed)
    lists, n, d = int(rng.integers(1, 3)), int(rng.integers(10, 60)), int(rng.integers(2, 4))
    X, gains = rng.normal(size=(lists * n, d)), (rng.random(lists * n) < rng.choice([0.1, 0.5])).astype(float)
    gains[0] = 1.0
    stat = str(rng.choice(["ap", "precision@5", "dcg@3", "dcg"]))
    problem = problem_of(X, gains, parse(stat), np.repeat(np.arange(lists), n), epsilon=0.01)
    problem = with_hits(problem, seed) if rng.random() < 0.7 else problem
    t = rows_of(problem)
    space, given_ = workspace.row_space(t, d), workspace.given(t, Support(np.arange(d), None, NO_GROUPS))
    centre, half = rng.uniform(-1, 1, d), rng.choice([0.02, 0.1, 0.3]) * rng.random(d)
    points = centre + half * rng.uniform(-1, 1, size=(8, d))

    def assessed(c: Floats, h: Floats, level: int) -> tuple[float, float]:
        space.axes[0], space.axes[1] = c, h
        return assess(given_, space, level, np.inf if seed % 2 else -np.inf)[:2]

    before = [assessed(x, 0 * x, 0)[1] for x in points]
    bound, _ = assessed(centre, half, 0)
    after = [assessed(x, 0 * x, 1)[1] for x in points]
    assert after == pytest.approx(before, abs=1e-9)
    assert max(before) <= bound + 1e-9


@pytest.mark.parametrize("stat", ["ap", "rr", "success@3"])
@pytest.mark.parametrize("lists", [1, 12])
def test_rows_and_pairs_close_at_the_same_value(stat: str, lists: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(150, 3, stat, 0.1, 2) if lists == 1 else drawn_lists(3, lists, 30, 3, stat)
    found = []
    for rows in (True, False):
        search_by(monkeypatch, rows)
        found.append(solve(problem, n_jobs=1))
    mine, theirs = found
    assert mine.closed and theirs.closed
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)
    assert max(mine.bound, theirs.bound) == pytest.approx(mine.value, abs=1e-10)


@pytest.mark.parametrize("stat", ["ap", "rr", "success@20"])
def test_lines_by_rows_find_what_lines_by_pairs_find(stat: str) -> None:
    for problem in (noisy_problem(600, 4, stat, 0.1, 0), drawn_lists(1, 20, 40, 4, stat)):
        domain, rng = Domain.of(problem), np.random.default_rng(0)
        mine, theirs = RowLines(rows_of(problem), domain), LineSearch(tables(problem), domain)
        for turn in range(6):
            w = domain.normal(rng.normal(size=4))
            u = np.eye(4)[0] if turn % 2 else rng.normal(size=4)
            value, point = mine.line(w, u)
            assert mine.tables.to_value(value) == pytest.approx(theirs.tables.to_value(theirs.line(w, u)[0]), abs=1e-12)
            assert value == mine.value(point)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_point_is_worth_by_rows_what_it_is_in_rationals(seed: int) -> None:
    problem = with_hits(replace(draw(seed, n_max=14).problem, C=0.0, max_features=None), seed)
    domain = Domain.of(problem)
    exact = RowExact(problem, RowLines(rows_of(problem), domain), domain)
    for w in surface(np.random.default_rng(seed), problem, 6):
        here = float(objective_at(problem, w))
        near = exact._near(w / domain.scale, np.zeros(w.size))  # the rows that can matter at the point
        assert near is not None and near.tables.to_value(near.value(w / domain.scale)) == pytest.approx(here, abs=1e-9)
        assert exact.lines.tables.to_value(exact.value(w / domain.scale)) == pytest.approx(here, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("stat", MEASURES)
def test_the_ideal_is_that_of_the_problem(stat: str) -> None:
    for problem in (noisy_problem(60, 3, stat, 0.2, 0), drawn_lists(0, 5, 12, 3, stat)):
        t = rows_of(problem)
        assert t.to_value(t.ideal) == pytest.approx(problem.ideal, rel=1e-12)


def test_the_first_hit_of_long_lists_is_searched_by_rows_and_closes() -> None:
    problem = drawn_lists(0, 6, 3000, 2, "success@10")
    assert rows_alone(problem) and rows_alone(replace(problem, max_features=1))
    found = solve(problem, n_jobs=1)
    assert found.closed
    item = problem.lists[0]
    one = problem_of(problem.X[item.rows], item.gains, parse("rr"))
    assert rows_alone(one) == (choice.number_of_pairs(one) > choice.FROM_PAIRS)


def test_without_memory_for_pairs_precision_of_all_places_is_searched_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(300, 2, "ap", 0.2, 0)
    theirs = solve(problem, n_jobs=1)
    monkeypatch.setattr(sizes, "memory", lambda: 1e6)
    mine = solve(problem, n_jobs=1)
    assert not rows_alone(problem) and mine.closed and theirs.closed
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)
