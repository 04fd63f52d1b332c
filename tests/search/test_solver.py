"""The search as a whole and its workers: what must not change the answer, what may be said about it, where jobs run."""

import functools
import os
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import strategies as st

from benchmarks.exact.scaling import megabytes, two_workers
from rerank.errors import InputError, SolverError
from rerank.problem import Problem, RankedList, problem_of
from rerank.reranker.selection import held_out
from rerank.search import Progress, SearchResult, loop, solve
from rerank.search.lines.search import LineShare
from rerank.search.workers import SearchWorkers
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw
from tests.cases.killed import killed
from tests.cases.search import noisy_problem, surface
from tests.oracles.oracle import objective_at, optimum


def closed(problem: Problem, **options: Any) -> SearchResult:
    found = solve(problem, **{"time_limit": 20.0, "n_jobs": 1, **options})
    assert found.closed
    return found


def steady(seed: int) -> Problem:
    """A small drawn problem in which no pair sits on the margin by construction."""
    while (drawn := draw(seed, n_max=10)).kind not in ("normal", "mixed", "duplicates", "collinear"):
        seed += 1
    return drawn.problem


def moved(problem: Problem, X: Any, low: Any, high: Any, **options: Any) -> Problem:
    return replace(problem, X=np.ascontiguousarray(X), low=low, high=high, **options)


@examples(40, SEEDS)
def test_the_bound_holds_for_any_weights_and_the_value_for_its_own(seed: int) -> None:
    problem = draw(seed, n_max=12, d_max=4).problem
    found = solve(problem, time_limit=5.0, n_jobs=1)
    own = objective_at(problem, found.weights)
    size = 1e-13 * (1 + abs(problem.ideal) + abs(problem.constant))
    assert Fraction(found.value) <= own + Fraction(size) and found.bound >= found.value
    for w in surface(np.random.default_rng(seed), problem, 8):
        assert objective_at(problem, w) <= Fraction(found.bound)


@examples(30, SEEDS)
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    problem = steady(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.X.shape[0])
    place = np.argsort(order)
    lists = []
    for item in problem.lists:
        inside = rng.permutation(item.rows.size)
        lists.append(replace(item, rows=place[item.rows][inside], gains=item.gains[inside]))
    other = replace(problem, X=problem.X[order], lists=tuple(rng.permutation(np.array(lists, dtype=object))))
    assert closed(other).value == pytest.approx(closed(problem).value, rel=1e-12, abs=1e-12)


@examples(30, SEEDS)
def test_the_scale_and_origin_of_a_column_do_not_matter(seed: int) -> None:
    problem = steady(seed)
    rng = np.random.default_rng(seed)
    scale = np.ldexp(1.0, rng.integers(-200, 200, size=problem.n_features))
    same = moved(problem, problem.X * scale, problem.low * scale, problem.high * scale)
    first, second = closed(problem), closed(same)
    assert first.value == second.value and first.bound == second.bound
    shifted = moved(problem, problem.X * 3 + 7, problem.low * 3 + 7, problem.high * 3 + 7)
    assert closed(shifted).value == pytest.approx(first.value, rel=1e-12, abs=1e-12)


@examples(30, SEEDS)
def test_a_column_turned_around_turns_its_weight(seed: int) -> None:
    problem = steady(seed)
    turn = np.random.default_rng(seed).choice([-1.0, 1.0], size=problem.n_features)
    low, high = np.where(turn < 0, -problem.high, problem.low), np.where(turn < 0, -problem.low, problem.high)
    other = moved(problem, problem.X * turn, low, high, signs=(problem.signs * turn).astype(np.int8))
    first, second = closed(problem), closed(other)
    assert second.value == pytest.approx(first.value, rel=1e-12, abs=1e-12)
    worth = objective_at(problem, second.weights * turn)
    assert float(worth) == pytest.approx(second.value, rel=1e-12, abs=1e-12)


@examples(20, SEEDS, st.integers(2, 3))
def test_repeating_every_list_changes_nothing(seed: int, times: int) -> None:
    problem = steady(seed)
    many = replace(problem, lists=problem.lists * times)
    assert closed(many).value == pytest.approx(closed(problem).value, rel=1e-12, abs=1e-12)


@examples(20, SEEDS)
def test_another_list_mixes_the_two_optima(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.permutation([3.0, 1.0, 1.0, 0, 0, 0, 0, 0])
    first, second = (problem_of(rng.normal(size=(8, 3)), gains, parse("ndcg@5")) for _ in range(2))
    X = np.concatenate([first.X, second.X])
    one, two = replace(first.lists[0], weight=2.0), second.lists[0]
    # Both on one scale: otherwise the parts are other problems than the whole.
    low, high = X.min(axis=0), X.max(axis=0)
    a = closed(Problem.build(first.X, [one], low=low, high=high))
    b = closed(Problem.build(second.X, [two], low=low, high=high))
    shifted = replace(two, rows=two.rows + first.X.shape[0])
    whole = Problem.build(X, [one, shifted], low=low, high=high)
    c = closed(whole)
    assert c.value <= (2 * a.value + b.value) / 3 + 1e-12
    for w in (a.weights, b.weights):
        assert Fraction(c.bound) >= objective_at(whole, w)


@pytest.mark.parametrize("extra", [2, 5])
def test_equal_rows_count_as_often_as_they_occur(extra: int) -> None:
    problem = draw(17, n_max=6, d_max=2, one_list=True, statistic="dcg").problem
    item = problem.lists[0]
    rows = np.concatenate([item.rows, np.repeat(item.rows, extra)])
    gains = np.concatenate([item.gains, np.repeat(item.gains, extra)])
    many = problem_of(problem.X[rows], gains, parse("dcg"), epsilon=0.05)
    best = optimum(many)
    assert best is not None and closed(many).value == pytest.approx(float(best.value), rel=1e-12)


def test_the_same_seed_and_any_number_of_workers_give_the_same_answer() -> None:
    problem = noisy_problem(60, 5, "mrr", 0.35, 0)
    runs = [solve(problem, n_jobs=jobs, random_state=5) for jobs in (1, 1, 2, 3)]
    assert len({(r.value, r.bound, r.closed, r.boxes, tuple(r.weights)) for r in runs}) == 1
    assert solve(problem, n_jobs=1, random_state=6).value == pytest.approx(runs[0].value, rel=1e-12)


def test_processes_give_the_same_answer() -> None:
    problem = noisy_problem(40, 4, "auc", 0.35, 1)
    here = solve(problem, n_jobs=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = solve(problem)
    assert (there.value, there.bound, there.closed, there.boxes) == (here.value, here.bound, True, here.boxes)
    assert np.array_equal(there.weights, here.weights)


def test_tables_go_to_a_process_once_and_not_with_each_job() -> None:
    problem = noisy_problem(500, 4, "auc", 0.35, 0)
    here = solve(problem, time_limit=None, n_jobs=1, node_limit=80_000)
    with two_workers("processes") as counted:
        there = solve(problem, time_limit=None, node_limit=80_000)
    assert megabytes(problem) > 2 and len(counted) >= 16 and max(counted) < 50_000
    assert (there.value, there.bound, there.boxes) == (here.value, here.bound, here.boxes)
    assert np.array_equal(there.weights, here.weights)


@pytest.mark.parametrize("statistic", ["auc", "dcg", "mrr", "ndcg@5"])
def test_an_ideal_order_closes_at_once(statistic: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = (X[:, 2] > 1).astype(float)
    X[:, 2] += y  # a gap wider than the margin
    start = np.eye(6)[2]
    found = solve(problem_of(X, y, parse(statistic)), start=start, n_jobs=1)
    assert found.closed and found.boxes == 0 and np.array_equal(found.weights, start)
    assert found.value == pytest.approx(1.0 if statistic in ("auc", "ndcg@5") else found.root_bound, rel=1e-12)


def test_gains_that_stand_in_the_tail_alone_leave_nothing_to_order() -> None:
    item = RankedList(np.arange(3), np.zeros(3), np.array([1.0, 2.0, 3.0]), constant=0.5)
    found = closed(Problem.build(np.array([[0.0], [1.0], [2.0]]), [item]))
    assert found.value == 0.5 and found.bound == pytest.approx(0.5, abs=1e-12) and not found.weights.any()


@pytest.mark.parametrize("start", [[1.0, 2.0], [np.nan, 1.0, 0.0], [[1.0, 0.0, 0.0]]])
def test_a_start_of_the_wrong_shape_is_refused(start: list) -> None:
    with pytest.raises(InputError, match="one a feature"):
        solve(noisy_problem(20, 3, "auc", 0.3, 0), start=start)


def test_a_start_may_break_the_signs_and_is_never_lost() -> None:
    problem = noisy_problem(40, 5, "dcg@5", 0.3, 3, signs=[1, 1, -1, 0, 0])
    for start in ([-1.0, 0.5, 0.2, 0.1, 0.3], [0.3, 0.1, -1.0, 0.5, -0.7]):
        found = solve(problem, start=start, time_limit=0.0, n_jobs=1)
        allowed = np.where(problem.signs * np.array(start) < 0, 0.0, start)
        allowed /= np.abs(allowed).max()
        assert Fraction(found.bound) >= objective_at(problem, allowed)
        assert found.value >= float(objective_at(problem, allowed)) - 1e-12
        assert (found.weights * problem.signs >= 0).all()


def test_progress_tells_a_bound_above_a_value() -> None:
    seen: list[Progress] = []
    found = solve(noisy_problem(60, 5, "auc", 0.35, 1), time_limit=1.0, n_jobs=1, progress=seen.append)
    assert seen and all(p.bound >= p.value for p in seen)
    values, boxes, seconds = ([getattr(p, name) for p in seen] for name in ("value", "boxes", "seconds"))
    assert values == sorted(values) and boxes == sorted(boxes) and seconds == sorted(seconds)
    assert found.value >= values[-1] and min(p.bound for p in seen) >= found.value - 1e-12
    assert found.start_value <= found.value <= found.bound <= found.root_bound + 1e-12


def test_the_box_of_an_open_search_holds_its_best_point_and_what_could_beat_it() -> None:
    problem = noisy_problem(40, 4, "auc", 0.35, 2)
    best = closed(problem)
    part = solve(problem, time_limit=0.0, n_jobs=1)
    assert not part.closed and part.box is not None
    low, high = part.box
    assert (low <= part.weights).all() and (part.weights <= high).all()
    if best.value > part.value:
        assert (low <= best.weights).all() and (best.weights <= high).all()


def place(i: int, seconds: float = 0.0) -> tuple[int, int, str]:
    time.sleep(seconds)
    return i, os.getpid(), threading.current_thread().name


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_come_in_the_order_of_the_jobs(n_jobs: int) -> None:
    with SearchWorkers(n_jobs) as workers:
        for _ in range(2):
            found = workers.run([(place, (i, 0.01 * (5 - i))) for i in range(6)])
            assert [i for i, _, _ in found] == list(range(6))
            assert {pid for _, pid, _ in found} == {os.getpid()}
    assert not [t for t in threading.enumerate() if t.name.startswith("rerank")]


def test_two_jobs_run_side_by_side_on_threads_of_our_own() -> None:
    both = threading.Barrier(2, timeout=10)
    with SearchWorkers(2) as workers:
        workers.run([(both.wait, ()), (both.wait, ())])  # a single thread would wait for ever
        names = {name for _, _, name in workers.run([(place, (i,)) for i in range(4)])}
        assert all(name.startswith("rerank") for name in names)
        assert {name for _, _, name in workers.run([(place, (0,))], alone=True)} == {"MainThread"}


def test_the_callers_configuration_is_followed() -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2), SearchWorkers(None) as workers:
        assert os.getpid() not in {pid for _, pid, _ in workers.run([(place, (i,)) for i in range(4)])}
    with joblib.parallel_config(n_jobs=1), SearchWorkers(None) as workers:
        assert {name for _, _, name in workers.run([(place, (i,)) for i in range(3)])} == {"MainThread"}


@pytest.mark.parametrize("once", [True, False])
def test_the_jobs_of_killed_workers_are_done_again_by_new_ones_or_end_in_a_sentence(tmp_path: Path, once: bool) -> None:
    """A search finds what one worker finds; jobs that always kill their process do not kill the caller."""
    problem = noisy_problem(60, 5, "mrr", 0.35, 0)
    alone = solve(problem, node_limit=2_000, time_limit=None)
    killing = functools.partial(killed, os.getpid(), tmp_path / "once" if once else None, loop.explore_batches)
    with pytest.MonkeyPatch.context() as patch, joblib.parallel_config(backend="loky", n_jobs=2):
        patch.setattr(loop, "explore_batches", killing)
        patch.setattr(loop, "ALONE", 0.0)
        with pytest.warns(RuntimeWarning, match="jobs are done again"):
            if not once:
                with pytest.raises(SolverError, match="lost twice .*n_jobs=1"):
                    solve(problem, node_limit=2_000, time_limit=None)
                return
            found = solve(problem, node_limit=2_000, time_limit=None)
    assert (found.value, found.bound, found.boxes) == (alone.value, alone.bound, alone.boxes)
    np.testing.assert_array_equal(found.weights, alone.weights)


@pytest.mark.parametrize("once", [True, False])
def test_the_folds_of_killed_workers_are_done_again(tmp_path: Path, once: bool) -> None:
    with joblib.parallel_config(backend="loky"):
        workers = held_out.Workers(2, searches=False)
        with pytest.warns(RuntimeWarning, match="jobs are done again"):
            job = killed, (0, tmp_path / "once" if once else None, abs, -1)
            with nullcontext() if once else pytest.raises(SolverError, match="lost twice .*n_jobs=1"):
                assert workers.run([(abs, (-2,)), job]) == [2, 1]


def filled(table: np.ndarray, i: int) -> float:
    table[:] += i  # what is fetched may be written
    return float(table.sum())


def test_on_ray_the_first_argument_is_sent_once_and_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        """Ray's object store: arrays come out read-only."""

        stored: list[np.ndarray] = []
        fetched = 0

        def put(self, table: np.ndarray) -> Any:
            self.stored.append(table.copy())
            self.stored[-1].flags.writeable = False
            name = str(len(self.stored))
            return SimpleNamespace(hex=lambda: name)

        def get(self, reference: Any) -> np.ndarray:
            self.fetched += 1
            return self.stored[int(reference.hex()) - 1]

    store = Store()
    monkeypatch.setitem(sys.modules, "ray", store)
    with SearchWorkers(1) as workers:
        workers._sent = {}
        tables = [np.zeros(3), np.ones(3), np.full(3, 2.0)]
        for _ in range(2):
            jobs = [workers._by_reference(filled, (table, i)) for table in tables for i in (1, 2)]
            found = [function(*given) for function, given in jobs]
            assert len(store.stored) == 3
    # Two objects stay in a process: for the third the others go, and are fetched anew when they come again.
    assert found[:2] == [3.0, 9.0] and store.fetched == 6
    assert not workers._sent


def fail(i: int) -> None:
    raise ValueError(f"job {i}")


def test_an_error_reaches_the_caller_and_the_rest_is_not_begun() -> None:
    begun: list[int] = []

    def late(i: int) -> None:
        begun.append(i)
        time.sleep(0.05)

    with pytest.raises(ValueError, match="job 0"), SearchWorkers(2) as workers:
        workers.run([(fail, (0,)), *[(late, (i,)) for i in range(40)]])
    assert len(begun) < 10


@examples(60, st.floats(1 / 15, 4), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_lines_get_more_work_where_they_bring_more(share: float, by_lines: float, by_boxes: float, blind: bool) -> None:
    found = LineShare(share, 1e6, by_lines, by_boxes)
    found.judge(2e6, 1e5, blind)
    assert found == LineShare(share, 1e6, by_lines, by_boxes)  # too early
    found.judge(2.2e6, 1e5, blind)
    assert 1 / 15 <= found.now <= 4 and 0.5 <= found.now / share <= 2 and found.judged == 2.2e6
    if by_lines > share * by_boxes:
        assert found.now == min(2 * share, 4)
    elif by_boxes > 0:
        assert found.now == max(share / 2, 1 / 15)
    else:
        assert found.now == (min(2 * share, 4) if blind else share)
