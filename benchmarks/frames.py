"""Boxes on whitened axes against boxes on the features' own, for correlated features: ``python -m benchmarks.frames``.

Normal features with equal correlations, n = 100, 35 % relevant, noise as strong as the signal, one worker.
"""

from __future__ import annotations

import argparse

import numpy as np

from rerank.problem import Problem, problem_of
from rerank.search import SearchResult, compile_kernels, solve
from rerank.search.boxes import axes
from rerank.statistics import parse


def correlated(d: int, correlation: float, statistic: str, seed: int = 0) -> Problem:
    """One list of 100 items whose features all have the same correlation."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky((1 - correlation) * np.eye(d) + correlation)
    X = rng.standard_normal((100, d)) @ root.T
    signal = X @ rng.standard_normal(d)
    noisy = signal + rng.standard_normal(100) * signal.std()
    gains = np.zeros(100)
    gains[np.argsort(-noisy)[:35]] = 1.0
    return problem_of(X, gains, parse(statistic))


def both_ways(problem: Problem, limit: float) -> tuple[SearchResult, SearchResult]:
    """On the features' axes only, and with whitened axes allowed."""
    ratio = axes.LEAST_RATIO
    try:
        axes.LEAST_RATIO = np.inf
        own = solve(problem, time_limit=limit, n_jobs=1)
    finally:
        axes.LEAST_RATIO = ratio
    return own, solve(problem, time_limit=limit, n_jobs=1)


def cell(found: SearchResult) -> str:
    """Boxes and seconds, or what was left open."""
    return f"{found.boxes:>11,} {found.seconds:7.2f} s" + (
        "" if found.closed else f" open, gap {found.gap:.3g}"
    )


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.frames", description=__doc__)
    options.add_argument("--limit", type=float, default=30.0, help="seconds of a solve")
    options.add_argument("--sizes", default="4,5,6", help="numbers of features, between commas")
    chosen = options.parse_args()
    compile_kernels(verbose=True)
    print(f"{'d':>2} {'corr.':>5} {'stat':>5}   own axes: boxes, seconds   whitened axes: boxes, seconds")
    for d in map(int, chosen.sizes.split(",")):
        for correlation in (0.0, 0.5, 0.9, 0.97):
            for statistic in ("auc", "mrr"):
                own, whitened = both_ways(correlated(d, correlation, statistic), chosen.limit)
                print(f"{d:>2} {correlation:>5} {statistic:>5}   {cell(own)}   {cell(whitened)}", flush=True)


if __name__ == "__main__":
    main()
