"""Guarded fits of made-up machines, draw after draw: ``python -m benchmarks.guard [--draws N] [--speed]``.

The machines are those of ``rerank demo`` with other seeds. For each draw ``RerankerCV`` over logistic regression is
compared with that on the same fifty lists to come, and its mean lead is printed with a 95 % interval. Beside it stand
the hits of the tools that one would try first: logistic regression with squares of the columns, refitted on its own
first fifth, and LightGBM where it is installed. With ``--speed`` it prints instead the CPU seconds, on one thread, of a
choice with all default options on two drawn tables.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.baselines import boosted
from rerank import Reranker, RerankerCV
from rerank.cli.demo import SEED, TOP, guarded

TABLES = ((10_000, 30, "precision@100"), (5_000, 19, "precision@50"))
"""Rows, columns and statistic of the choices that are timed."""


def drawn(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows that fail in two ways: rarely along one direction, and often beyond a bend of another one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    usual = 0.08 / (1 + np.exp(-2.0 * (X[:, 0] + X[:, 1])))
    steep = 0.9 / (1 + np.exp(-5.0 * ((X[:, 2] + X[:, 3]) / np.sqrt(2.0) - 2.2)))
    return X, (rng.random(n) < 1 - (1 - usual) * (1 - steep)).astype(int)


def print_speed() -> None:
    """Print CPU seconds of choices by five folds, the last fit included, after all kernels are loaded."""
    for n, d, stat in TABLES:
        X, y = drawn(n, d)
        search = RerankerCV(Reranker(stat, node_limit=0))
        search.fit(X[:600], y[:600])
        began = time.process_time()
        search.fit(X, y)
        spent, count = time.process_time() - began, len(search.cv_results_["params"])
        print(f"{n:,} rows, {d} columns, {stat}: {spent:.1f} CPU s for {count} options", flush=True)


def main() -> None:
    """Print a line for each draw, and how many the guarded fit took, kept, gained and lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    if given.speed:
        print_speed()
        return
    draws = given.draws
    others = {"LightGBM": boosted} if find_spec("lightgbm") else {}
    for ways in (2, 1):
        print(f"Machines with {ways} way{'s' if ways > 1 else ''} to fail: hits among the first {TOP} of lists to come")
        cases = []
        for seed in range(SEED + 1, SEED + 1 + draws):
            case = guarded(seed, ways, time_limit=300.0, n_jobs=1, others=others)
            mean, half = case.lead
            cases.append(case)
            found = "first stage kept" if case.kept else f"lead {mean:+.2f} ({mean - half:+.2f} to {mean + half:+.2f})"
            rest = ", ".join(f"{name} {hits.mean():.2f}" for name, hits in case.others.items())
            print(f"  draw {seed:2d}: first stage {case.first.mean():.2f}, {found}; {rest}", flush=True)
        kept = sum(case.kept for case in cases)
        gained = sum(case.lead[0] - case.lead[1] > 0 for case in cases)
        lost = sum(case.lead[0] + case.lead[1] < 0 for case in cases)
        means = {"first stage": np.mean([case.first for case in cases])}
        means["guard"] = np.mean([case.ours for case in cases])
        means |= {name: np.mean([case.others[name] for case in cases]) for name in cases[0].others}
        print(
            f"  {draws} draws: an option taken on {draws - kept}, the first stage kept on {kept}; gained on {gained}, "
            f"lost on {lost} (intervals without 0); mean lead {means['guard'] - means['first stage']:+.2f}\n"
            f"  mean hits: {', '.join(f'{name} {mean:.1f}' for name, mean in means.items())}"
        )


if __name__ == "__main__":
    main()
