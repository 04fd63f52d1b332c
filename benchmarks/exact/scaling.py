"""What more workers bring, and what a job ships: the same searches in turn, and the medians' ratio.

The first table has threads alone.  A busy machine may give two threads no more time than one, so the last columns say
what idle cores would bring: calculated from the CPU seconds of every job and of all between the rounds.  The second
table has all ways to share the work, on searches that take some seconds.  A job ships its boxes; the tables, which all
jobs read, go to each process once.

Printed by ``python -m benchmarks.exact --scaling``.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import joblib
import numpy as np

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem
from rerank.search import SearchResult, compile_kernels, solve, workers
from rerank.search.rows.choice import by_rows
from rerank.search.tables import row_tables, tables

ROWS: tuple[tuple[str, int, int, str, float, int | None], ...] = (
    ("100 x 6", 100, 6, "mrr", 0.35, None),
    ("50 x 8", 50, 8, "auc", 0.35, None),
    ("50 x 8", 50, 8, "mrr", 0.35, None),
    ("100 x 8", 100, 8, "dcg@10", 0.1, None),
    ("1000 x 4", 1000, 4, "auc", 0.35, None),
    ("200 x 8, open", 200, 8, "mrr", 0.35, None),
    ("best 3 of 30", 100, 30, "auc", 0.35, 3),
    ("best 3 of 30", 100, 30, "mrr", 0.35, 3),
)
SHARED = (ROWS[0], ROWS[4], ("20000 x 4", 20_000, 4, "dcg@50", 0.02, None))
WAYS = ("threads", "processes", "Ray")
CORES = (2, 4, 8, 16)
NODES = 1_000_000
"""Boxes after which a search ends that would take hours: its title says `open`."""


def report(repeats: int) -> int:
    """Print both tables; the exit code is 1 where the answers differ."""
    compile_kernels(verbose=True)
    return 1 if sum([threads(repeats), ways(repeats)]) else 0


def threads(repeats: int) -> int:
    """One thread and two; returns how many answers differ."""
    print(
        f"{'row':14} {'stat':7} {'share':5} {'boxes':>11} {'1: s':>7} {'2: s':>7} {'ratio':>6}  CPU s with 1, 2  "
        f"calculated with {', '.join(map(str, CORES))}"
    )
    different = 0
    for title, n, d, statistic, share, limit in ROWS:
        problem = noisy_problem(n, d, statistic, share, 0, max_features=limit)
        nodes = NODES if title.endswith("open") else None
        runs: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
        answers = set()
        for _ in range(repeats):
            for jobs in (1, 2):
                wall, cpu, found = timed(problem, jobs, nodes)
                runs[jobs].append((wall, cpu))
                answers.add(bits(found))
        different += len(answers) > 1
        (one, cpu_one), (two, cpu_two) = ([median(x) for x in zip(*runs[j], strict=True)] for j in (1, 2))
        print(
            f"{title:14} {statistic:7} {share:<5} {found.nodes:>11,} {one:7.2f} {two:7.2f} {one / two:6.2f}  "
            f"{cpu_one:7.2f},{cpu_two:7.2f}  {'  '.join(f'{r:.1f}' for r in calculated(problem, nodes))}"
            f"{'' if len(answers) == 1 else '  ANSWERS DIFFER'}",
            flush=True,
        )
    return different


def calculated(problem: Problem, nodes: int | None) -> list[float]:
    """How many times as fast the search would be on idle cores, for each number of :data:`CORES`."""
    rounds: list[list[float]] = []
    run = workers.SearchWorkers.run

    def timed_run(self: workers.SearchWorkers, jobs: Sequence[workers.Job], alone: bool = False) -> list[Any]:
        rounds.append([])
        found = []
        for job in jobs:
            began = time.thread_time()
            found += run(self, [job], alone=True)
            rounds[-1].append(time.thread_time() - began)
        if alone:  # the first rounds are not shared out
            rounds[-1] = [sum(rounds[-1])]
        return found

    began = time.process_time()
    try:
        workers.SearchWorkers.run = timed_run  # type: ignore[method-assign]
        solve(problem, time_limit=None, n_jobs=1, node_limit=nodes)
    finally:
        workers.SearchWorkers.run = run  # type: ignore[method-assign]
    whole = time.process_time() - began
    between = whole - sum(map(sum, rounds))
    return [whole / (between + sum(longest(jobs, cores) for jobs in rounds)) for cores in CORES]


def longest(jobs: Sequence[float], cores: int) -> float:
    """Seconds of a round in which each core takes the next job when it is free."""
    ends = [0.0] * cores
    for seconds in jobs:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def ways(repeats: int) -> int:
    """Two threads, two processes and two processes of Ray against one thread; returns how many answers differ."""
    if not find_spec("ray"):
        print("Ray is left out: it is not installed.")
    used = [way for way in WAYS if way != "Ray" or find_spec("ray")]
    print(
        f"\n{'row':10} {'stat':7} {'boxes':>10} {'tables MB':>9} {'two workers':12} {'s':>7} {'1 thread: s':>11} "
        f"{'ratio':>6} {'CPU s here':>10} {'jobs':>5} {'kB a job':>8}"
    )
    different = 0
    for title, n, d, statistic, share, limit in SHARED:
        problem = noisy_problem(n, d, statistic, share, 0, max_features=limit)
        here = bits(solve(problem, time_limit=None, n_jobs=1))
        for way in used:
            alone, shared, spent, answers = [], [], [], {here}
            sizes: list[int] = []
            with two_workers(way) as counted:
                solve(problem, time_limit=None, node_limit=1)  # starts what stays between searches
                for _ in range(repeats):
                    alone.append(timed(problem, 1)[0])
                    counted.clear()
                    wall, cpu, found = timed(problem, 2 if way == "threads" else None)
                    shared.append(wall)
                    spent.append(cpu)
                    sizes = list(counted)
                    answers.add(bits(found))
            different += len(answers) > 1
            remark = "" if len(answers) == 1 else "  ANSWERS DIFFER"
            one, two = median(alone), median(shared)
            shipped = f"{len(sizes):5} {median(sizes) / 1e3:8.1f}" if sizes else f"{'':5} {0:8}"
            print(
                f"{title:10} {statistic:7} {found.nodes:>10,} {megabytes(problem):9.1f} {way:12} {two:7.2f} "
                f"{one:11.2f} {one / two:6.2f} {median(spent):10.2f} {shipped}{remark}",
                flush=True,
            )
    return different


@contextmanager
def two_workers(way: str) -> Iterator[list[int]]:
    """Two workers of joblib's backend for a way; the bytes of every job that is sent are added to the list."""
    counted: list[int] = []
    if way == "threads":
        with nullcontext():
            yield counted
    elif way == "processes":
        from joblib.externals.loky.backend import queues

        with _counting(queues, "dumps", counted, len), joblib.parallel_config("loky", n_jobs=2):
            yield counted
    else:
        with _ray():
            from ray._private.serialization import SerializationContext

            with (
                _counting(SerializationContext, "serialize", counted, lambda made: made.total_bytes),
                joblib.parallel_config("ray", n_jobs=2),
            ):
                yield counted


@contextmanager
def _ray() -> Iterator[None]:
    """A Ray of two cores on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.util.joblib import register_ray

    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": path}},
    )
    try:
        register_ray()
        yield
    finally:
        ray.shutdown()


@contextmanager
def _counting(home: Any, name: str, counted: list[int], size: Any) -> Iterator[None]:
    """Note the size of what a function makes, where that is a job; other messages are below 2 kB."""
    inner = getattr(home, name)

    def noted(*given: Any, **options: Any) -> Any:
        made = inner(*given, **options)
        if size(made) > 2000:
            counted.append(size(made))
        return made

    setattr(home, name, noted)
    try:
        yield
    finally:
        setattr(home, name, inner)


def megabytes(problem: Problem) -> float:
    """Size of the tables."""
    t: Any = row_tables(problem, np.ones(problem.n_features)) if by_rows(problem) else tables(problem)
    return float(sum(x.nbytes for x in vars(t).values() if isinstance(x, np.ndarray))) / 1e6


def bits(found: SearchResult) -> tuple[Any, ...]:
    """All that has to be the same."""
    return found.value, found.bound, found.nodes, found.closed, *found.weights.tolist()


def timed(problem: Problem, jobs: int | None, nodes: int | None = None) -> tuple[float, float, SearchResult]:
    """Wall and CPU seconds of one solve."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = solve(problem, time_limit=None, n_jobs=jobs, node_limit=nodes)
    return time.perf_counter() - wall, time.process_time() - cpu, found
