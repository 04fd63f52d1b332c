"""What a second worker brings: the same searches with one worker and with two, in turn, and the medians' ratio."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem
from rerank.search import SearchResult, compile_kernels, solve

ROWS: tuple[tuple[str, int, int, str, float, int | None], ...] = (
    ("100 x 6", 100, 6, "mrr", 0.35, None),
    ("50 x 8", 50, 8, "auc", 0.35, None),
    ("50 x 8", 50, 8, "mrr", 0.35, None),
    ("100 x 8", 100, 8, "dcg@10", 0.1, None),
    ("1000 x 4", 1000, 4, "auc", 0.35, None),
    ("best 3 of 30", 100, 30, "auc", 0.35, 3),
    ("best 3 of 30", 100, 30, "mrr", 0.35, 3),
)


def report(repeats: int) -> int:
    """Print the table; the exit code is 1 where the answers differ."""
    compile_kernels(verbose=True)
    print(
        f"{'row':14} {'stat':7} {'share':5} {'boxes':>11} {'1: s':>7} {'2: s':>7} {'ratio':>6}  CPU s with 1, 2"
    )
    different = 0
    for title, n, d, statistic, share, limit in ROWS:
        problem = noisy_problem(n, d, statistic, share, 0, max_features=limit)
        runs: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
        answers = set()
        for _ in range(repeats):
            for jobs in (1, 2):
                wall, cpu, found = timed(problem, jobs)
                runs[jobs].append((wall, cpu))
                answers.add((found.value, found.bound, found.nodes, tuple(found.weights)))
        different += len(answers) > 1
        (one, cpu_one), (two, cpu_two) = ([median(x) for x in zip(*runs[j], strict=True)] for j in (1, 2))
        print(
            f"{title:14} {statistic:7} {share:<5} {found.nodes:>11,} {one:7.2f} {two:7.2f} {one / two:6.2f}  "
            f"{cpu_one:.2f}, {cpu_two:.2f}{'' if len(answers) == 1 else '  ANSWERS DIFFER'}",
            flush=True,
        )
    return 1 if different else 0


def timed(problem: Problem, jobs: int) -> tuple[float, float, SearchResult]:
    """Wall and CPU seconds of one solve to the end."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = solve(problem, time_limit=None, n_jobs=jobs)
    return time.perf_counter() - wall, time.process_time() - cpu, found
