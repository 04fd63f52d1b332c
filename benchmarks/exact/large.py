"""Large lists: CPU seconds of a line of weights, and of fit, rank and score on many lists, with the peak of memory.

Printed by ``python -m benchmarks.exact --large``.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings

import numpy as np

from rerank.problem import problem_of
from rerank.search import compile_kernels
from rerank.search.domain import Domain
from rerank.search.rows.lines import RowLines
from rerank.search.tables import row_tables
from rerank.statistics import parse

LINES = ((1_000_000, 10, "dcg@100"), (100_000, 10, "auc"), (100_000, 6, "dcg"))
REPEATS = 5
QUERIES, SIZE, FEATURES, LIMIT = 10_000, 100, 6, 15.0


def report() -> int:
    """Print both tables."""
    compile_kernels()
    print(f"{'rows':>10}{'columns':>9}  {'statistic':10}{'CPU s of a line':>16}{'worst':>8}")
    for n, d, statistic in LINES:
        seconds = line_seconds(n, d, statistic)
        print(f"{n:10,}{d:9}  {statistic:10}{np.median(seconds):16.3f}{max(seconds):8.3f}", flush=True)
    print(f"{QUERIES:,} lists of {SIZE} rows, {FEATURES} columns, nDCG@10, a limit of {LIMIT:g} s:")
    # A process of its own, since the peak of memory is that of a process.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, number in pool.apply(fitted).items():
            print(f"  {name:12}{number:10.4f}")
    return 0


def line_seconds(n: int, d: int, statistic: str) -> list[float]:
    """CPU seconds of some lines through equal weights, a tenth of the rows relevant by a noisy linear score."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    noisy = X @ w + np.linalg.norm(w) * rng.standard_normal(n)
    problem = problem_of(X, noisy > np.quantile(noisy, 0.9), parse(statistic), epsilon=1e-9)
    domain = Domain.of(problem)
    lines, found = RowLines(row_tables(problem, domain.scale), domain), []
    lines.line(np.ones(d), np.eye(d)[0])
    for _ in range(REPEATS):
        u, began = rng.standard_normal(d), time.process_time()
        lines.line(np.ones(d), u)
        found.append(time.process_time() - began)
    return found


def fitted() -> dict[str, float]:
    """A fit, one ranking of all lists and one score: CPU seconds, the statistic, and the peak of memory in MB."""
    from rerank import Reranker

    compile_kernels()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((QUERIES * SIZE, FEATURES)), rng.standard_normal(FEATURES)
    noisy = X @ w + 1.13 * np.linalg.norm(w) * rng.standard_normal(len(X))
    y, qid = (noisy > np.quantile(noisy, 0.9)).astype(int), np.repeat(np.arange(QUERIES), SIZE)
    found = {}
    began = time.process_time()
    est = Reranker(stat="ndcg@10", time_limit=LIMIT, n_jobs=1).fit(X, y, qid=qid)
    found["fit, CPU s"] = time.process_time() - began
    found["nDCG@10"] = float(est.result_.statistic)
    found["peak, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.process_time()
    est.rank(X, qid=qid)
    found["rank, CPU s"] = time.process_time() - began
    began = time.process_time()
    est.score(X, y, qid=qid)
    found["score, CPU s"] = time.process_time() - began
    return found
