"""Value found in equal CPU time where nothing is proved: the search and its lines against other methods.

``python -m benchmarks.exact --incumbents --data FOLDER`` gives every method the same CPU seconds on every problem and
prints the mean value over some seeds, and by how much the search leads the best of the others.  One worker and one
thread of the linear algebra.  The seconds of the search include its tables; reading the data and compiling do not
count.  ``--nested`` prints what columns that are added bring.  ``--fits`` compares the search, which is given no start,
with logistic regression, RankSVM, TopPush and TopPush on the relevant rows that do not lose clearly, each followed by
coordinate ascent from what it found, on twenty tables and eight statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import arrays
from benchmarks.exact import rivals
from benchmarks.exact.data import lists, varying
from rerank.problem import Problem, problem_of
from rerank.problem.values import values_at
from rerank.search import compile_kernels, line_search, solve
from rerank.statistics import parse

Source = tuple[str, Callable[[], tuple[Problem, float | None]]]

EPSILON = 1e-9  # the margin: none, for all that matters
TOLERANCE = 0.001
SINGLE = (
    "haberman",
    "riskslim_mammo",
    "riskslim_breastcancer",
    "diabetes",
    "sonar",
    "ionosphere",
    "uis",
    "australian",
    "german",
    "abalone19",
    "spambase",
    "compas",
    "ai4i2020",
    "coil2000",
    "credit_default",
    "riskslim_adult",
)
STATISTICS = ("auc", "pauc@100", "precision@50", "dcg@10", "dcg", "mrr", "ap", "pos@top")
GROUPED = ("mslr_sample", "lightgbm_rank", "ohsumed", "mq2007agg")
STATISTICS_OF_LISTS = ("auc", "dcg", "ndcg@10", "precision@5", "mrr", "ap", "rr", "pos@top")
NESTED = (1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21)


def synthetic(queries: int, size: int, d: int, seed: int = 0) -> tuple[Problem, float]:
    """Lists of normal features, a tenth of all rows relevant by a noisy linear score; and the value of its weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((queries * size, d))
    w = rng.standard_normal(d)
    signal = X @ w
    noisy = signal + 1.13 * signal.std() * rng.standard_normal(signal.size)
    gains = (noisy > np.quantile(noisy, 0.9)).astype(np.float64)
    problem = problem_of(X, gains, parse("ndcg@10"), np.repeat(np.arange(queries), size), epsilon=EPSILON)
    w = w * (problem.high - problem.low)
    return problem, float(values_at(problem, [w / np.abs(w).max()])[0])


def table_of(where: Path, name: str, statistic: str) -> Problem:
    """A whole data set: grouped ones with gains ``2^grade - 1``, others as one list."""
    d = arrays(where, name)
    gains = np.exp2(d["y"].astype(np.float64)) - 1.0
    return problem_of(varying(d["X"]), gains, parse(statistic), d.get("qid"), epsilon=EPSILON)


def problems(where: Path | None) -> list[Source]:
    """What is solved: data sets where there is a folder of them, and drawn lists with the value of their weights."""
    real = [(name, "ndcg@10") for name in ("ohsumed", "mq2007agg", "mslr_sample", "lightgbm_rank")]
    real += [(name, "precision@100") for name in ("spambase", "credit_default")]
    found: list[Source] = []
    if where is not None:
        folder = where
        found += [(name, lambda name=name, s=s: (table_of(folder, name, s), None)) for name, s in real]  # type: ignore[misc]
    found += [(f"{n:,} x 100 x 6", lambda n=n: synthetic(n, 100, 6)) for n in (1000, 10_000)]  # type: ignore[misc]
    return found


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Time limits count CPU seconds inside the block, and the linear algebra uses one thread."""
    with threadpool_limits(1), patch.object(time, "perf_counter", time.process_time):
        yield


def searched(problem: Problem, seconds: float, seed: int) -> tuple[float, float]:
    """Values that the search and its lines alone find in so many CPU seconds."""
    with cpu_clock():
        found = solve(replace(problem), time_limit=seconds, n_jobs=1, random_state=seed)
        lines = line_search(replace(problem), time_limit=seconds, random_state=seed)
    return found.value, lines[1]


def measured(
    problem: Problem, budgets: Sequence[float], seeds: int, others: dict[str, rivals.Method]
) -> list[dict[str, float]]:
    """Mean values of all methods, for each budget."""
    judge = rivals.Judge(problem)
    judge(np.ones(problem.n_features))
    every: list[dict[str, list[float]]] = [{} for _ in budgets]
    for seed in range(seeds):
        for seconds, cells in zip(budgets, every, strict=True):
            for name, value in zip(("search", "lines"), searched(problem, seconds, seed), strict=True):
                cells.setdefault(name, []).append(value)
        for name, method in others.items():
            with threadpool_limits(1):
                values = rivals.best_of(method, judge, budgets, seed)
            for value, cells in zip(values, every, strict=True):
                cells.setdefault(name, []).append(value)
    return [{name: float(np.mean(values)) for name, values in cells.items()} for cells in every]


def report(where: Path | None, budgets: Sequence[float], seeds: int, only: str = "") -> int:
    """Print the table; the exit code is 1 where another method is ahead by more than the tolerance."""
    if where is None:
        print("Data sets are left out: there is no folder of data; give one with --data.")
    compile_kernels()
    return table(problems(where), budgets, seeds, methods(), only)


def methods() -> dict[str, rivals.Method]:
    """The other methods that this machine has."""
    found = dict(rivals.METHODS)
    try:
        import fastrank  # noqa: F401

        found["fastrank"] = rivals.fastrank
    except ImportError:
        print("fastrank is left out: it is not installed; `pip install fastrank` brings it.")
    return found


def table(
    sources: list[Source], budgets: Sequence[float], seeds: int, others: dict[str, rivals.Method], only: str = ""
) -> int:
    """Print a line for each problem and budget."""
    heads = ["search", "lines", *others]
    print(f"{'problem':18}{'d':>4}{'CPU s':>6}" + "".join(f"{h:>12}" for h in heads) + "  the search")
    behind = 0
    for name, source in sources:
        if only not in name:
            continue
        problem, given = source()
        graded = len({q.thresholds().size for q in problem.lists} | {1}) > 1 or len(problem.lists) > 1
        mine = {k: v for k, v in others.items() if k != "fastrank" or graded}
        for seconds, values in zip(budgets, measured(problem, budgets, seeds, mine), strict=True):
            best = max(mine, key=lambda k: values[k])
            lead = values["search"] - values[best]
            behind += lead < -TOLERANCE
            cells = "".join(f"{values[h]:12.4f}" if h in values else f"{'':12}" for h in heads)
            note = f"  {'leads' if lead >= 0 else 'trails'} {best} by {abs(lead):.4f}"
            note += "" if given is None else f"; generating weights {given:.4f}"
            print(f"{name:18}{problem.n_features:4}{seconds:6g}{cells}{note}", flush=True)
    print(f"Means of {seeds} seeds; behind by more than {TOLERANCE:g} in {behind} lines.")
    return int(behind > 0)


def fits(where: Path | None, seconds: float, only: str = "") -> int:
    """Print a line for each table and statistic; the exit code is 1 where a fit is ahead in training. Weights of all
    methods are valued at the margin of the problem.
    """
    if where is None:
        print("The fits are left out: there is no folder of data; give one with --data.")
        return 0
    compile_kernels()
    print(f"{'table':22}{'statistic':14}" + "".join(f"{name:>14}" for name in ("search", *rivals.FITTED)))
    cells = [(name, s) for name in SINGLE for s in STATISTICS] + [(n, s) for n in GROUPED for s in STATISTICS_OF_LISTS]
    behind = count = 0
    for name, statistic in cells:
        if not all(part in f"{name} {statistic}" for part in only.split(",")):
            continue
        d = arrays(where, name)
        relevant = (d["y"] > 0).astype(np.float64)
        problem = problem_of(varying(d["X"]), relevant, parse(statistic), d.get("qid"), epsilon=EPSILON)
        with cpu_clock():
            found = [solve(replace(problem), time_limit=seconds, n_jobs=1).value]
        judge = rivals.Judge(problem)
        judge(np.ones(problem.n_features))
        for method in rivals.FITTED.values():
            with threadpool_limits(1):
                rivals.best_of(method, judge, [seconds], 0)
            w = judge.best[1]
            found.append(float(values_at(problem, [w / np.abs(w).max()])[0]) if w.any() else -np.inf)
        behind += found[0] < max(found[1:]) - 1e-9 * abs(found[0])
        count += 1
        print(f"{name:22}{statistic:14}" + "".join(f"{value:14.6g}" for value in found), flush=True)
    print(f"{seconds:g} CPU seconds each; the search is behind in {behind} of {count} lines.")
    return int(behind > 0)


def nested(where: Path | None, seconds: float, seeds: int) -> int:
    """Print the value for the first so many columns; the exit code is 1 where it falls by more than the tolerance."""
    if where is None:
        print("The nested columns are left out: there is no folder of data; give one with --data.")
        return 0
    compile_kernels()
    order = columns_by_value(where)
    falls, before = 0, -np.inf
    print(f"mq2007agg, 50 queries, {seconds:g} CPU s; columns by their own value, the best first.")
    for d in NESTED:
        problem = nested_problem(where, order[:d])
        values = np.mean([searched(problem, seconds, seed) for seed in range(seeds)], axis=0)
        falls += values[0] < before - TOLERANCE
        before = values[0]
        print(f"{d:4} columns  search {values[0]:.4f}  lines {values[1]:.4f}", flush=True)
    return int(falls > 0)


def nested_problem(where: Path, columns: list[int] | None) -> Problem:
    return lists(where, "mq2007agg", columns, 50, epsilon=EPSILON)


def columns_by_value(where: Path) -> list[int]:
    """Columns by the value that each has alone."""
    problem = nested_problem(where, None)
    alone = values_at(problem, np.eye(problem.n_features)).tolist()
    return [int(j) for j in np.argsort(-np.array(alone), kind="stable")]
