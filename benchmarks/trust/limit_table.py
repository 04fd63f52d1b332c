"""What a time limit holds: fits of many rows, lists, columns, cards and fused runs, with the seconds that they take.

A fit holds its limit if it takes at most a second and 5 % more, in seconds of the processor, without those in which
kernels are compiled. Its clocks are those of the process's own work, as in :mod:`benchmarks.trust.limits`.

Printed by ``python -m benchmarks.trust --times``.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.trust.limits import LOADED, excess, processor_clock
from benchmarks.trust.summary import Summary
from rerank import Reranker
from rerank.errors.compiling import compiling_time
from rerank.fusion import ScoreFusion
from rerank.scorecard import Scorecard


@dataclass(frozen=True)
class Row:
    """A kind of fit, the seconds that it is given, and what makes it for a number of rows or queries."""

    name: str
    limit: float
    size: int
    made: Callable[[int, float], Callable[[], Any]]


def ranked(columns: int, stat: str, n: int, limit: float, a_list: int = 0, **options: Any) -> Callable[[], Any]:
    """A fit of ``n`` noisy rows, a tenth of them relevant, in lists of ``a_list`` rows or in one."""
    rng = np.random.default_rng(n + columns)
    X = rng.normal(size=(n, columns))
    y = (X[:, 0] + 2.0 * rng.normal(size=n) > 2.9).astype(float)
    y[: 1 + n // 40] = 1.0
    if "copies" in options:
        X = X[np.arange(n) % options.pop("copies")]
    qid = np.arange(n) // a_list if a_list else None
    return lambda: Reranker(stat, time_limit=limit, n_jobs=1, **options).fit(X, y, qid)


def card(columns: int, stat: str, n: int, limit: float, points: int = 100, **options: Any) -> Callable[[], Any]:
    """A card of points from ``-points`` to ``points``."""
    rng = np.random.default_rng(n + columns)
    X = rng.normal(size=(n, columns))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=n) > 1).astype(int)
    return lambda: Scorecard(stat, points=points, time_limit=limit, n_jobs=1, **options).fit(X, y)


def fused(n: int, limit: float) -> Callable[[], Any]:
    """Fusion of four runs of 200 documents for each of ``n`` queries."""
    rng = np.random.default_rng(n)
    judged = {f"q{q}": {f"d{d}": int(d < 10) for d in range(200)} for q in range(n)}
    runs = {
        f"run{k}": {q: {d: float(r) + rng.normal() * (1.0 + k) for d, r in own.items()} for q, own in judged.items()}
        for k in range(4)
    }
    return lambda: ScoreFusion("ndcg@10", time_limit=limit, random_state=0).fit(runs, judged)


MILLION, MANY = 10**6, 10**5
ROWS = (
    Row("a million rows x 2, auc", 1.0, MILLION, partial(ranked, 2, "auc")),
    Row("a million rows x 3, dcg@100", 20.0, MILLION, partial(ranked, 3, "dcg@100")),
    Row("200,000 x 10, auc", 1.0, 2 * MANY, partial(ranked, 10, "auc")),
    Row("200,000 x 10, auc", 0.1, 2 * MANY, partial(ranked, 10, "auc")),
    Row("200,000 x 10, auc after ranksvm", 1.0, 2 * MANY, partial(ranked, 10, "auc", first_stage="ranksvm")),
    Row("100,000 lists of one row, dcg@10", 1.0, MANY, partial(ranked, 2, "dcg@10", a_list=1)),
    Row("30,000 lists of one row, dcg@10", 1.0, 30_000, partial(ranked, 2, "dcg@10", a_list=1)),
    Row("30,000 lists of two rows, dcg@10", 1.0, 60_000, partial(ranked, 2, "dcg@10", a_list=2)),
    Row("10,000 x 3, auc", 1.0, 10_000, partial(ranked, 3, "auc")),
    Row("1000 x 500, auc", 1.0, 1000, partial(ranked, 500, "auc")),
    Row("4000 copies of ten rows, auc", 1.0, 4000, partial(ranked, 5, "auc", copies=10)),
    Row("41 x 30,000, dcg@10", 2.0, 41, partial(ranked, 30_000, "dcg@10")),
    *(
        Row(f"100,000 x 10, {stat}", 1.0, MANY, partial(ranked, 10, stat))
        for stat in ("auc", "dcg@10", "precision@100")
    ),
    *(Row(f"300 x 2000, {stat}", 1.0, 300, partial(ranked, 2000, stat)) for stat in ("auc", "dcg@10", "precision@100")),
    Row("card, auc, 5 folds", 0.3, 800, partial(card, 12, "auc", n_questions=3, validation=5)),
    Row("card, pnorm@64, 5 folds", 0.3, 800, partial(card, 12, "pnorm@64", n_questions=3, validation=5)),
    Row("card, pnorm@2, 4 questions, 5 folds", 0.3, 60, partial(card, 12, "pnorm@2", n_questions=4, validation=5)),
    Row("card, wta, bootstrap", 0.3, 800, partial(card, 12, "wta", validation="bootstrap", cut="free")),
    Row("card, rbp@0.999, bootstrap", 1.0, 800, partial(card, 3, "rbp@0.999", validation="bootstrap")),
    *(Row("fusion of 4 runs, 100 queries", limit, 100, fused) for limit in (0.1, 1.0, 5.0)),
)


def timed(row: Row, size: int) -> tuple[float, float]:
    """Seconds of the processor, and of the wall, that a fit of this size takes; compiling is left out. NumPy's library
    has one thread, since others that wait on a busy machine count as work.
    """
    fit = row.made(size, row.limit)
    with processor_clock(), threadpool_limits(1):
        began, wall, compiled = time.process_time(), time.time(), compiling_time()
        fit()
        compiled = compiling_time() - compiled
        return time.process_time() - began - compiled, time.time() - wall - compiled


def times(count: int, first: int, jobs: int) -> Summary:
    """Each fit ``count`` times, with the medians of its seconds; one of each kind at a tiny size comes first."""
    warnings.simplefilter("ignore")
    for name in LOADED:
        importlib.import_module(name)
    summary = Summary(f"{len(ROWS)} fits with a time limit, medians of {count}")
    print("| what | limit, s | processor, s | wall, s | within 5 % and 1 s |\n|---|---|---|---|---|", flush=True)
    for row in ROWS:
        timed(row, min(row.size, 300))  # kernels are loaded
        cpu, wall = (median(own) for own in zip(*(timed(row, row.size) for _ in range(count))))
        line = f"{row.name} | {row.limit:g} | {cpu:.2f} | {wall:.2f}"
        late = excess(cpu, row.limit) > 1
        print(f"| {line} | {'no' if late else 'yes'} |", flush=True)
        if late:
            summary.failures.append(line)
    return summary
