"""Value found in equal time where no proof is possible: the search, coordinate ascent of fastrank, Nelder-Mead, random.

``python -m benchmarks.exact --quality`` gives every method the same seconds on each data set and prints the
value of its weights (the problem's own, with its margin), the share of the best value that it reached, and
our bound.  Everybody works on the same scaled features; fastrank, which takes no time limit, is run with new
seeds until the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact.data import lists, pairs, spam
from rerank.problem import Problem
from rerank.search import compile_kernels, solve

Floats = NDArray[np.float64]
Method = Callable[["Judge", float, int], Floats]


class Judge:
    """Value of weights on binary lists, all lists at once: what the other methods climb on.

    Parameters
    ----------
    problem : Problem
        Lists with one positive gain each, without a price on features.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best: tuple[float, Floats] = (-np.inf, np.zeros(problem.n_features))
        units = problem.units
        self.X = problem.scaled
        self.positive = np.concatenate([u.positive for u in units])
        self.negative = np.concatenate([u.negative for u in units])
        self.home = np.repeat(np.arange(len(units)), [u.positive.size for u in units])
        self.away = np.repeat(np.arange(len(units)), [u.negative.size for u in units])
        self.ends = np.cumsum([u.negative.size for u in units])
        self.starts = np.concatenate([[0], np.cumsum([u.positive.size for u in units])[:-1]])
        self.worth = [u.factor * u.coefficients[::-1] for u in units]
        self.offset = np.concatenate([[0], np.cumsum([w.size for w in self.worth])[:-1]])
        self.flat = np.concatenate(self.worth)

    def __call__(self, w: Floats) -> float:
        """The value of ``w``; the best so far is kept."""
        top = np.abs(w).max()
        if top == 0 or not np.isfinite(top):
            return -np.inf
        scores = self.X @ (w / top)
        gap = 4.0 * (np.ptp(scores) + self.problem.epsilon)  # lists far apart can be sorted together
        others = np.sort(scores[self.negative] + gap * self.away)
        reached = np.searchsorted(
            others, scores[self.positive] + gap * self.home - self.problem.epsilon, side="right"
        )
        lost = self.ends[self.home] - reached
        order = np.lexsort((lost, self.home))
        place = lost[order] + np.arange(order.size) - self.starts[self.home]
        value = self.problem.constant + float(self.flat[self.offset[self.home] + place].sum())
        if value > self.best[0]:
            self.best = (value, w / top)
        return value


def climb_by_fastrank(judge: Judge, seconds: float, seed: int) -> Floats:
    """Coordinate ascent of fastrank, restarted with new seeds."""
    from fastrank import CDataset, TrainRequest

    problem = judge.problem
    X, gains, qid = (np.concatenate(parts) for parts in zip(*_by_list(problem), strict=True))
    data = CDataset.from_numpy(X, gains, qid)
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        request = TrainRequest.coordinate_ascent()
        request.measure = "ndcg@10"
        request.params.quiet, request.params.seed, request.params.num_restarts = True, seed, 1
        judge(np.array(data.train_model(request).to_dict()["Linear"]["weights"]))
        seed += 1
    return judge.best[1]


def climb_by_simplex(judge: Judge, seconds: float, seed: int) -> Floats:
    """Nelder and Mead's simplex of scipy, restarted from random points."""
    from scipy.optimize import minimize

    rng, began = np.random.default_rng(seed), time.perf_counter()

    def late(_: Any) -> None:
        if time.perf_counter() - began > seconds:
            raise StopIteration

    while time.perf_counter() - began < seconds:
        start = rng.standard_normal(judge.problem.n_features)
        minimize(lambda w: -judge(w), start, method="Nelder-Mead", callback=late, options={"adaptive": True})
    return judge.best[1]


def draw_at_random(judge: Judge, seconds: float, seed: int) -> Floats:
    """Normal weights."""
    rng, began = np.random.default_rng(seed), time.perf_counter()
    while time.perf_counter() - began < seconds:
        judge(rng.standard_normal(judge.problem.n_features))
    return judge.best[1]


def report(where: Path | None, seconds: float, seed: int = 0) -> int:
    """Print the table; the exit code is 1 where another method's value beats the search's."""
    if where is None:
        print("Quality is left out: there is no folder of data; give one with --data.")
        return 0
    methods: dict[str, Method] = {"Nelder-Mead": climb_by_simplex, "random": draw_at_random}
    try:
        import fastrank

        methods = {f"fastrank {fastrank.__version__}": climb_by_fastrank} | methods
    except ImportError:
        print("fastrank is left out: it is not installed; `pip install fastrank` brings it.")
    compile_kernels()
    beaten = 0
    print(f"Values (ndcg@10, y > 0, margin 1e-4) after {seconds:g} s each.")
    for name, problem in _problems(where):
        found = solve(problem, time_limit=seconds, n_jobs=2, random_state=seed)
        print(f"{name}: {problem.n_features} features, {len(problem.lists)} lists, {pairs(problem):,} pairs")
        print(
            f"    {'search':16} {found.value:.6f}  bound {found.bound:.6f}{', proved' if found.closed else ''}",
            flush=True,
        )
        for title, method in methods.items():
            judge = Judge(problem)
            method(judge, seconds, seed)
            value = judge.best[0]
            beaten += value > found.value + 1e-12
            share = 100 * value / found.value
            print(f"    {title:16} {value:.6f}  {share:.2f} % of the search's", flush=True)
    return int(beaten > 0)


def _problems(where: Path) -> list[tuple[str, Problem]]:
    return [
        ("ohsumed", lists(where, "ohsumed")),
        ("mq2007agg", lists(where, "mq2007agg")),
        ("mslr_sample", lists(where, "mslr_sample")),
        ("spambase, 1,000 rows", spam(where, "ndcg@10", 1000, 0)),
    ]


def _by_list(problem: Problem) -> list[tuple[Any, Any, Any]]:
    X = problem.scaled.astype(np.float32)
    return [(X[q.rows], q.gains, np.full(q.rows.size, i)) for i, q in enumerate(problem.lists)]
