"""The search with one quota and without: ``python -m benchmarks.exact.quotas`` prints values, boxes and seconds.

One list of normal columns; the rows of a kind stand low by what the labels ask for. The quota asks for as many of
them among the first places as lie halfway between what the best weights without it bring and all of the places.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.problem import Quota, problem_of
from rerank.search import compile_kernels, solve
from rerank.statistics import parse

CASES = [
    ("precision@30", 300, 3),
    ("precision@30", 300, 4),
    ("dcg@10", 300, 4),
    ("auc", 100, 3),
    ("auc", 100, 4),
    ("precision@100", 3_000, 3),
    ("dcg@100", 10_000, 3),
]
PLACES = {"auc": 20}
SECONDS = 60.0


def main() -> None:
    """Print a line for each case and way."""
    compile_kernels()
    for name, n, d in CASES:
        rng = np.random.default_rng([33, n, d])
        X = rng.normal(size=(n, d))
        kind = X[:, -1] + 0.3 * rng.normal(size=n) > 0.5
        gains = (X[:, 0] - 0.5 * X[:, -1] + rng.normal(size=n) > 1).astype(float)
        problem = problem_of(X, gains, parse(name))
        first = PLACES.get(name) or int(name.partition("@")[2])
        free = solve(problem, time_limit=SECONDS, n_jobs=1)
        now = int(kind[np.argsort(-(problem.scaled @ free.weights))[:first]].sum())
        least = now + max((first - now) // 2, 1)
        asked = replace(problem, quotas=(Quota("A", first, least).of(np.flatnonzero(kind)),))
        for words, found in (("without", free), (f"{least} of {first} ({now})", solve(asked, SECONDS, n_jobs=1))):
            print(
                f"{name:14} {n:6} x {d}  {words:16} value {found.value:9.4f}  bound {found.bound:9.4f}  "
                f"{found.boxes:8} boxes  {found.seconds:6.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
