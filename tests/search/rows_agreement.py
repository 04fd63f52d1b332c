"""Searches under rows on the weights or quotas against enumerations; ``python -m tests.search.rows_agreement 4000``."""

import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np

from rerank.errors import InputError
from rerank.problem import Problem, WeightRow, problem_of
from rerank.search.domain import check_room
from rerank.statistics import parse
from tests.cases.quotas import with_quotas
from tests.cases.search import by_rows
from tests.oracles.comparisons import check_search

STATISTICS = ["auc", "dcg@3", "mrr", "precision@2", "dcg", "ndcg@3", "pauc@3", "ap"]


def drawn(seed: int, by_sum: bool = False) -> Problem | None:
    """A small problem with one to three rows; half of them on whole numbers; None where nothing is to be asked."""
    rng = np.random.default_rng([20261126, seed])
    d = 3 if seed % 4 == 0 else 2
    n = int(rng.integers(4, 6 if d == 3 else 9))
    whole = seed % 2 == 0
    X = rng.integers(0, 6, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    gains = rng.choice([0.0, 1, 3], n) if rng.random() < 0.3 else (rng.random(n) < 0.4).astype(float)
    statistic = parse(str(rng.choice(STATISTICS)))
    gains = (gains > 0).astype(float) if statistic.weighs_hits else gains
    given: dict[str, object] = {
        "epsilon": str(rng.choice(["0.2", "0.4", "0.05"])) if whole else str(rng.choice(["1e-4", "0.01", "0.1"])),
        "C": float(rng.choice([0, 0, 0, 0.015625])),
        "max_features": int(rng.integers(1, d)) if rng.random() < 0.25 else None,
    }
    anchored = rng.random() < 0.5 and not by_sum
    if anchored:
        low, high = rng.choice([0.25, 0.5, 1.0, 1.7], d), rng.choice([0.125, 0.5, 1.0, 1.3], d)
        given["limits"] = np.r_[1, -low[1:]], np.r_[1, high[1:]]
    elif by_sum:
        given["by_sum"] = True
    elif rng.random() < 0.3:
        given["signs"] = rng.choice([-1, 0, 1], d)
    try:
        problem = problem_of(X, gains, statistic, rng.integers(0, 2, n) if rng.random() < 0.2 else None, **given)
    except InputError:  # a constant column, or no gain
        return None
    few = int(rng.integers(0 if by_sum else 1, 4))
    rows = tuple(_row(rng, d, anchored, by_sum, number) for number in range(few))
    problem = replace(problem, rows=rows)
    try:
        check_room(problem)
    except InputError:
        return None
    return problem


def _row(rng: np.random.Generator, d: int, anchored: bool, by_sum: bool, number: int) -> WeightRow:
    coefficients = [Fraction(int(a), int(b)) for a, b in zip(rng.integers(-3, 4, d), rng.integers(1, 4, d))]
    if anchored:
        coefficients[0] = Fraction(0)
    if not any(coefficients):
        coefficients[-1] = Fraction(1)
    side = Fraction(int(rng.integers(-2, 3)), 5) if anchored else Fraction(0)
    if by_sum:  # a side other than 0, times the sum
        share = Fraction(int(rng.integers(-2, 3)), 5)
        coefficients = [a - share for a in coefficients]
    lower, upper = (side, None) if rng.random() < 0.6 else (None, side)
    return WeightRow(tuple(coefficients), lower, upper, f"row {number}")


def asked(seed: int) -> Problem | None:
    """Of two seeds one with rows, every fourth by sum, and one with quotas on up to nine rows or three columns."""
    if seed % 2 == 0:
        return drawn(seed // 2, by_sum=seed % 8 == 2)
    return with_quotas(seed, n_max=5, d_max=3) if seed % 10 == 1 else with_quotas(seed, n_max=12 if seed % 5 else 7)


def main(count: int, first: int = 0) -> None:
    """Check so many seeds, in turn with a proof and by rows of the table, and print what came of them."""
    began, seen, wrong = time.process_time(), Counter(), 0
    for seed in range(first, first + count):
        problem, rows = asked(seed), seed % 3 == 0
        if problem is None:
            continue
        with by_rows() if rows else nullcontext():
            verdict = check_search(problem, time_limit=10.0, proof=not rows)
        wrong += bool(verdict.failures)
        seen.update(verdict.seen[:1])
        if verdict.failures or not verdict.seen[0].startswith("closed"):
            print(f"seed {seed}:", *verdict.failures, *verdict.seen, flush=True)
    print(f"{seen.total()} instances in {time.process_time() - began:.0f} CPU s: {dict(seen)}, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
