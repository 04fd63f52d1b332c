"""The clock and Ctrl-C: what was found comes back, what was not explored stays in the bound, and the process lives."""

import _thread
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

from benchmarks.trust.interrupts import KINDS, interrupted, judged
from rerank.errors.stops import Deadline, current, limited, protected
from rerank.problem import Problem
from rerank.search import Progress, SearchResult, compile_kernels, line_search, solve
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.rows.choice import number_of_pairs
from rerank.search.run import SearchRun
from tests.cases.search import drawn_lists, noisy_problem, tables, timed
from tests.oracles.oracle import objective_at


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    compile_kernels()


SLOW = {
    "one list": lambda: noisy_problem(100, 8, "auc", 0.35, 0),
    "57 choose 3 supports": lambda: noisy_problem(150, 57, "mrr", 0.35, 0, max_features=3),
    "a price on each of 40 features": lambda: noisy_problem(100, 40, "auc", 0.35, 0, C=1e-4),
    "67,000 pairs": lambda: drawn_lists(0, 300, 39, 4, "ndcg@10"),
    "67,000 pairs, best 3 of 25": lambda: drawn_lists(0, 300, 39, 25, "ndcg@10", max_features=3),
    "135 features": lambda: noisy_problem(300, 135, "dcg@10", 0.3, 0),
    "two values a feature": lambda: two_valued(),
    "a corrected score with thousands of conflicts": lambda: corrected(),
}


def corrected() -> Problem:
    """A list whose levels meet so many conflicts that a few thousand nodes look at them for half a minute."""
    from rerank import Reranker

    rng = np.random.default_rng(2)
    X = rng.normal(size=(383, 13))
    y = (0.15 * X @ rng.normal(size=13) + rng.normal(size=383) > 0.7).astype(int)
    est = Reranker("precision@20", window=2.0, list_length=192, radius=0.03, margin=0.1, solver="none", random_state=0)
    problem = est.fit(X, y).state_.training.problem
    assert problem is not None
    return problem


def two_valued() -> Problem:
    """Flags as features: every difference is -1, 0 or 1, and boxes meet many ties."""
    from rerank.problem import problem_of
    from rerank.statistics import parse

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 8)).astype(float)
    return problem_of(X, (X[:, 0] + X[:, 1] + rng.normal(size=60) > 1.5).astype(float), parse("auc"))


@pytest.mark.parametrize(("name", "limit"), [("one list", 0.0), ("135 features", 0.0), *((name, 0.5) for name in SLOW)])
def test_the_time_limit_is_kept(name: str, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for clock in ("perf_counter", "monotonic"):  # other programs on the machine must not use up the limit
        monkeypatch.setattr(time, clock, time.process_time)
    problem = SLOW[name]()
    found, seconds = timed(problem, limit)
    assert seconds <= limit + max(2.0, 0.05 * limit)
    assert found.value <= found.bound and not found.interrupted
    if limit == 0:
        assert not found.closed
    else:
        t = tables(problem)
        assert found.value > t.to_value(Exact(problem, t, Domain.of(problem)).value(found.weights * 0))


def test_ctrl_c_in_the_callback_keeps_the_best_point() -> None:
    seen: list[Progress] = []

    def stop(now: Progress) -> None:
        seen.append(now)
        if len(seen) == 3:
            raise KeyboardInterrupt

    problem = noisy_problem(100, 6, "auc", 0.35, 0)
    found = solve(problem, time_limit=30.0, n_jobs=2, progress=stop)
    assert found.interrupted and not found.closed and len(seen) == 3
    assert seen[-1].value <= found.value <= found.bound <= seen[-1].bound + 1e-12
    assert float(objective_at(problem, found.weights)) == pytest.approx(found.value, rel=1e-12)


def test_any_other_error_in_the_callback_is_raised() -> None:
    def fail(now: Progress) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solve(noisy_problem(100, 6, "auc", 0.35, 0), time_limit=10.0, n_jobs=2, progress=fail)


def same(one: SearchResult, other: SearchResult) -> bool:
    """Whether two results have the same bits."""
    return (one.value.hex(), one.bound.hex(), one.boxes) == (
        other.value.hex(),
        other.bound.hex(),
        other.boxes,
    ) and one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("name", ["one list", "57 choose 3 supports", "67,000 pairs", "two values a feature"])
def test_a_node_limit_stops_at_the_same_place_with_any_number_of_workers(name: str) -> None:
    problem = SLOW[name]()
    one, two = (solve(problem, time_limit=None, n_jobs=n, node_limit=3000) for n in (1, 2))
    assert one.boxes >= 3000 and not one.closed and not one.interrupted and same(one, two)


def test_a_node_limit_that_is_not_reached_changes_nothing() -> None:
    problem = noisy_problem(40, 3, "auc", 0.35, 0)
    assert same(solve(problem, node_limit=10**9), solve(problem))
    assert solve(problem, node_limit=1).value <= solve(problem).value


def large(rows: int = 2000, d: int = 50) -> Problem:
    """As many pairs as a shortlist of so many rows can have, all of which count."""
    from rerank.problem import problem_of
    from rerank.statistics import parse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    return problem_of(X, (X[:, 0] + rng.normal(size=rows) > 0).astype(float), parse("auc"))


def test_a_search_whose_pairs_take_longer_than_its_limit_does_not_begin() -> None:
    problem = large()
    w = np.linspace(1.0, -0.5, 50)
    began = time.process_time()
    found = solve(problem, time_limit=0.5, start=w, n_jobs=1, proof=True)
    assert time.process_time() - began < 1.0
    assert "pairs of 50 features takes about" in found.note
    assert np.array_equal(found.weights, w) and not found.closed and found.bound == problem.ideal
    from rerank.certificate import certify

    exact = certify(problem, w).value_down
    assert exact - 1e-9 * exact <= found.value <= exact
    by_rows, seconds = timed(problem, 0.5)  # no proof is asked for, so rows will do
    assert by_rows.value > found.value and seconds < 2.5


def test_a_search_that_does_not_fit_into_memory_is_refused_with_the_number_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rerank.errors import InputError
    from rerank.search import sizes

    problem = large(400, 10)
    solve(problem, time_limit=0.2)
    monkeypatch.setattr(sizes, "memory", lambda: 2e6)
    with pytest.raises(InputError, match=r"would hold [\d,]+ pairs of 10 features, .* GB; lower n_candidates to") as e:
        solve(problem, time_limit=0.2, proof=True)
    fits = int(str(e.value).partition("n_candidates to ")[2].partition(" ")[0])
    assert 10 < fits < 400 and solve(large(fits, 10), time_limit=0.2, proof=True).boxes >= 0


def test_a_long_list_of_which_all_places_count_is_searched_without_a_table_of_its_pairs() -> None:
    problem = large(4800, 3)
    tracemalloc.start()
    found = solve(problem, time_limit=2.0, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * number_of_pairs(problem) / 2  # half a number for each pair
    assert found.start_value <= found.value <= found.bound <= problem.ideal


@pytest.mark.parametrize("statistic", ["auc", "mrr", "dcg", "ap"])
def test_where_pairs_do_not_fit_rows_give_the_same_optimum(statistic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rerank.search import sizes

    problem = noisy_problem(150, 3, statistic, 0.3, 0)
    by_pairs = solve(problem, n_jobs=1)
    monkeypatch.setattr(sizes, "memory", lambda: 1e5)
    by_rows = solve(problem, n_jobs=1, node_limit=20_000)
    assert by_pairs.closed and by_rows.boxes != by_pairs.boxes
    assert by_rows.value == pytest.approx(by_pairs.value, rel=1e-12) and by_rows.bound >= by_pairs.value


def test_time_that_runs_out_among_the_vertices_leaves_the_box_open() -> None:
    problem = noisy_problem(20, 3, "auc", 0.35, 0)
    exact = Exact(problem, tables(problem), Domain.of(problem))
    box = (np.arange(3), np.array([1.0, 0.1, 0.2]), np.array([0.0, 1e-3, 1e-3]))
    with limited(0.0):
        assert exact.largest(*box) is None
    assert exact.largest(*box) is not None


def test_without_boxes_the_first_points_are_all_and_prove_nothing() -> None:
    problem = noisy_problem(100, 10, "precision@10", 0.1, 4)
    found = solve(problem, node_limit=0, time_limit=None, n_jobs=1)
    again = solve(problem, node_limit=0, time_limit=None, n_jobs=2)
    longer = solve(problem, node_limit=2000, time_limit=None, n_jobs=1)
    assert found.boxes == 0 and not found.closed and found.bound == problem.ideal
    assert (again.weights == found.weights).all() and found.value == objective_at(problem, found.weights)
    assert 0.8 * longer.value <= found.value <= longer.value and longer.bound < problem.ideal


@pytest.mark.parametrize("most", [None, 3])
def test_without_boxes_the_first_points_have_all_the_time(most, monkeypatch) -> None:
    problem = noisy_problem(100, 10, "precision@10", 0.1, 4, max_features=most)
    left = []

    def seen(lines, *rest, **options):
        left.append(lines.deadline - time.perf_counter())
        return (0.0, np.ones(10)) if most is None else []

    for points in (True, False):
        run = SearchRun(problem, points=points)
        run.lines_first = True
        monkeypatch.setattr(type(run.lines), "finish", seen)
        monkeypatch.setattr("rerank.search.run.forward", seen)
        with limited(100.0):
            run.begin(None, levels=False)
    assert left[0] > 95 and left[1] < 80


@pytest.mark.parametrize("kind", ["two workers", "selection", "toppush", "command"])
def test_a_signal_at_a_random_moment_ends_a_fit_and_not_the_process(kind: str) -> None:
    """A sample of ``python -m benchmarks.trust --interrupts``."""
    assert interrupted(KINDS.index(kind)).failures == ()


RUNNING = """
import os, signal, threading
from rerank.search import compile_kernels, solve
from tests.cases.search import noisy_problem
compile_kernels()
problem = noisy_problem(300, 6, "auc", 0.35, 0)  # no search closes it before the signal
for i in range(5):
    timer = threading.Timer(0.1 * i, os.kill, (os.getpid(), signal.SIGINT))
    # From the first round on: before it there is nothing to come back with, and KeyboardInterrupt is the answer.
    found = solve(problem, time_limit=60.0, progress=lambda now: timer.ident or timer.start())
    assert found.interrupted and found.seconds < 30 and found.value <= found.bound, found
print("ended")
"""


def test_a_search_of_one_worker_lives_through_many_signals() -> None:
    done = subprocess.run([sys.executable, "-c", RUNNING], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and done.stdout == "ended\n", done.stderr[-2000:]


def test_a_process_that_died_or_raised_something_else_is_found() -> None:
    for code, said in ((-signal.SIGSEGV, ""), (0, "SystemError: exception set"), (1, "ended"), (-2, "Traceback")):
        assert judged("search", code, f"begins\n{said}\n", False)[0]
    assert judged("command", 3, "Fitting\n", False)[0] and not judged("command", 3, "Fitting\n", True)[0]


def test_the_kernels_of_a_search_run_beside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from rerank.search.boxes.open import OpenBoxes
    from rerank.search.lines.search import LineSearch

    seen = set()
    for place, name in ((OpenBoxes, "pick"), (LineSearch, "line")):
        inner = getattr(place, name)

        def noted(*args: object, _inner=inner, _name=name) -> object:
            seen.add((_name, threading.current_thread() is threading.main_thread()))
            return _inner(*args)

        monkeypatch.setattr(place, name, noted)
    solve(noisy_problem(40, 4, "auc", 0.35, 0), n_jobs=1)
    line_search(noisy_problem(40, 4, "auc", 0.35, 0), time_limit=0.1)
    assert seen == {("pick", False), ("line", False)}


def test_progress_is_called_in_the_thread_of_the_caller() -> None:
    seen = []
    solve(
        noisy_problem(60, 5, "auc", 0.35, 0),
        time_limit=2.0,
        progress=lambda now: seen.append(threading.current_thread()),
    )
    assert seen and set(seen) == {threading.main_thread()}


def test_ctrl_c_asks_the_call_to_stop_and_returns_what_it_found() -> None:
    def work() -> int:
        _thread.interrupt_main()
        while not current().now:
            time.sleep(0.001)
        return 7

    assert protected(work) == (7, True)
    assert protected(lambda: 8) == (8, False)


def test_a_second_ctrl_c_does_not_wait() -> None:
    free = threading.Event()

    def work() -> None:
        _thread.interrupt_main()
        current().asked.wait(10)
        _thread.interrupt_main()
        free.wait(10)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        protected(work)
    assert time.monotonic() - began < 5
    free.set()


def test_errors_of_a_call_are_raised_and_other_threads_call_directly() -> None:
    def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        protected(fail)
    found = []
    thread = threading.Thread(target=lambda: found.append(protected(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [(thread, False)]


def test_limits_nest_and_reach_protected_calls() -> None:
    assert current().left == np.inf
    with limited(50.0), limited(100.0) as inner:
        assert inner.left <= 50 and protected(lambda: current().left)[0] <= 50
        with limited(0.0):
            assert current().now
        assert not current().now
    assert Deadline(0.0).now and not Deadline().now
