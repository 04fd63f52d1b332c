"""What the rest of the time brings to a search, and to a program with and without rows of circuits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem, problem_of
from rerank.reranker.solve.circuit_rows import with_circuits
from rerank.reranker.solve.optimise import SEARCH_SHARE
from rerank.reranker.solve.program import state
from rerank.search import Held, compile_kernels, solve
from rerank.solvers import highs
from rerank.solvers.outcome import Options
from rerank.statistics import parse

ROWS = (
    (50, 10, "auc"),
    (100, 10, "auc"),
    (200, 10, "auc"),
    (100, 15, "auc"),
    (50, 10, "dcg"),
    (50, 10, "mrr"),
)
LISTS = ((4, 20, 10, "ndcg@5"), (6, 15, 10, "ndcg"))
SHARE = 0.35
HEAD = "problem           statistic   value  search  circuits  program  with rows  search, all the time   CPU s"


def report(seconds: float, seeds: int, jobs: int, only: str = "") -> int:
    """Print a line for every problem: bounds when the search has had its first share of the time, and at the end."""
    compile_kernels()
    print(HEAD)
    for title, statistic, problem, seed in _problems(seeds):
        if all(text in f"{title} {statistic}" for text in only.split(",")):
            print(f"{title:16}  {statistic:9}  {compared(problem, seed, seconds, jobs)}", flush=True)
    return 0


def compared(problem: Problem, seed: int, seconds: float, jobs: int) -> str:
    """The cells of a line; the program, the program with rows and the search get the same seconds after the search."""
    began, held = time.process_time(), Held()
    options: dict[str, Any] = {"n_jobs": jobs, "random_state": seed, "held": held}
    first = solve(problem, time_limit=SEARCH_SHARE * seconds, **options)
    if not held.paused:
        return f"{first.value:.4f}  {first.bound:.4f}"
    rest = (1.0 - SEARCH_SHARE) * seconds
    last = solve(problem, time_limit=rest, **options)  # before the circuits, which lower its bound
    circuits = held.circuits(rest)
    plain = state(problem, "auc" if held.run is not None and held.run.tables.linear else "mixed", box=first.box)
    bounds = []
    for stated in (plain, with_circuits(plain, problem, circuits)):
        x, _ = stated.point(np.asarray(first.weights))
        asked = Options(time_limit=rest, threads=jobs, cutoff=first.value - stated.constant)
        bounds.append(max(highs.solve(stated.program, asked, start=x).bound + stated.constant, first.value))
    cpu = time.process_time() - began
    return (
        f"{last.value:.4f}  {first.bound:.4f}  {circuits.sizes.size:8}  {bounds[0]:7.4f}  {bounds[1]:9.4f}  "
        f"{last.bound:20.4f}  {cpu:6.0f}"
    )


def _problems(seeds: int) -> Iterator[tuple[str, str, Problem, int]]:
    for n, d, statistic in ROWS:
        for seed in range(seeds):
            yield f"{n} x {d}", statistic, noisy_problem(n, d, statistic, SHARE, seed), seed
    for queries, size, d, statistic in LISTS:
        for seed in range(seeds):
            yield f"{queries} of {size} x {d}", statistic, _lists(queries, size, d, statistic, seed), seed


def _lists(queries: int, size: int, d: int, statistic: str, seed: int) -> Problem:
    """As :func:`noisy_problem` in lists; the better half of each list's relevant rows has three times the gain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((queries * size, d))
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    signal = X @ rng.standard_normal(d)
    scores = (signal + rng.standard_normal(signal.size) * signal.std()).reshape(queries, size)
    places = np.argsort(np.argsort(-scores, axis=1), axis=1).ravel()
    y = np.where(places < round(SHARE * size / 2), 3.0, np.where(places < round(SHARE * size), 1.0, 0.0))
    return problem_of(X, y, parse(statistic), np.repeat(np.arange(queries), size))
