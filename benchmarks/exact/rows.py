"""Rows of the table of the exact search, with the seconds that each must not exceed in the worst of five seeds.

A part of ``python -m benchmarks.exact``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.exact.data import flags, lists, noisy_problem, questions, spam
from rerank.problem import Problem

POSITIVE = np.ones  # all weights must not be negative


@dataclass(frozen=True)
class Row:
    """One line of the table: what is solved, for five seeds, and in how many seconds at most (None: a gap will do)."""

    title: str
    statistic: str
    share: str
    goal: float | None
    problem: Callable[[int], Problem]
    limit: float | None = None

    def seconds(self, factor: float) -> float:
        """The time limit of one solve."""
        return self.limit if self.limit is not None else max(factor * (self.goal or 60.0), 5.0)


# n, d, statistics, shares, seconds
BOXES: tuple[tuple[int, int, tuple[str, ...], tuple[float, ...], float], ...] = (
    (100, 4, ("auc", "mrr", "dcg@10"), (0.1, 0.35), 0.1),
    (100, 6, ("auc", "mrr", "dcg@10"), (0.1,), 1.0),
    (1000, 3, ("auc", "mrr", "dcg@10"), (0.1, 0.35), 1.0),
    (1000, 4, ("dcg@10",), (0.1,), 1.0),
    (100, 6, ("auc", "mrr"), (0.35,), 5.0),
    (1000, 4, ("mrr", "dcg@100"), (0.1,), 5.0),
    (50, 8, ("auc", "mrr", "dcg@10"), (0.1, 0.35), 60.0),
    (1000, 4, ("auc",), (0.1, 0.35), 60.0),
    (100, 8, ("dcg@10",), (0.1,), 60.0),
)


def boxes() -> list[Row]:
    """One list, few features."""
    return [
        Row(f"{n} x {d}", statistic, _percent(share), goal, _noisy(n, d, statistic, share))
        for n, d, statistics, shares, goal in BOXES
        for statistic, share in product(statistics, shares)
    ]


# n, d, seconds: whole lists of which 5 % are positive
LONG: tuple[tuple[int, int, float], ...] = (
    (10_000, 3, 0.2),
    (100_000, 3, 1.5),
    (1_000_000, 3, 15.0),
    (10_000, 4, 5.0),
    (100_000, 4, 60.0),
)


def long_lists() -> list[Row]:
    """One long list, the top 100 of which count."""
    return [
        Row(f"{n:,} x {d}", statistic, _percent(0.05), goal, _noisy(n, d, statistic, 0.05))
        for n, d, goal in LONG
        for statistic in ("precision@100", "dcg@100")
    ]


# n, d, statistic, share: too many features for boxes, so that a gap is left, or many places that count
HARD: tuple[tuple[int, int, str, float], ...] = (
    (50, 8, "mrr", 0.35),
    (50, 10, "auc", 0.35),
    (100, 8, "auc", 0.35),
    (100, 10, "auc", 0.35),
    (200, 10, "auc", 0.35),
    (50, 20, "auc", 0.35),
    (100, 10, "dcg@10", 0.1),
    (200, 10, "dcg@10", 0.1),
    (60, 6, "mrr", 0.35),
    (60, 6, "dcg", 0.35),
)


def hard() -> list[Row]:
    """Ten features and more, or six and every place counts; a minute each."""
    return [
        Row(f"{n} x {d}", statistic, _percent(share), None, _noisy(n, d, statistic, share), limit=60.0)
        for n, d, statistic, share in HARD
    ]


FLAGS = [
    *((1_000, k, statistic) for k in (3, 4) for statistic in ("auc", "precision@100")),
    *((30_000, 3, statistic) for statistic in ("precision@3000", "dcg@3000")),
]


def supports(where: Path | None) -> list[Row]:
    """The best few of many features."""
    rows = []
    for statistic in ("auc", "mrr"):
        rows.append(Row("3 of 30, n = 100", statistic, "35 %", 2.0, _noisy(100, 30, statistic, 0.35, 3)))
    if where is not None:
        for statistic in ("auc", "mrr"):
            rows.append(Row("3 of 57, spambase, n = 150", statistic, "as drawn", 20.0, _spam(where, statistic)))
        rows.append(Row("4 of 76 questions, german", "auc", "30 %", 10.0, lambda _: questions(where, "german", 4)))
    for n, k, statistic in FLAGS:
        rows.append(Row(f"{k} of 70 flags, n = {n:,}", statistic, "10 %", None, _flags(n, statistic, k), limit=60.0))
    for statistic in ("auc", "mrr"):
        rows.append(Row("4 of 30, n = 100", statistic, "35 %", 60.0, _noisy(100, 30, statistic, 0.35, 4)))
    for statistic in ("auc", "mrr"):
        rows.append(Row("4 of 60, n = 100", statistic, "35 %", None, _noisy(100, 60, statistic, 0.35, 4), limit=180.0))
    return rows


def many_lists(where: Path | None) -> list[Row]:
    """Queries of real collections; none without a folder of data."""
    if where is None:
        return []
    return [
        Row("mq2007agg, 300 queries, 3", "ndcg@10", "y > 0", 1.0, _queries(where, [7, 5, 6], 300)),
        Row("mq2007agg, 300 queries, 4", "ndcg@10", "y > 0", 20.0, _queries(where, [7, 5, 6, 4], 300)),
        Row("mq2007agg, all queries, 3", "ndcg@10", "y > 0", 5.0, _queries(where, [7, 5, 6], None)),
        Row("ohsumed, best 3 of 25", "ndcg@10", "y > 0", None, _ohsumed(where)),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _noisy(n: int, d: int, statistic: str, share: float, limit: int | None = None) -> Callable[[int], Problem]:
    return lambda seed: noisy_problem(n, d, statistic, share, seed, max_features=limit)


def _flags(n: int, statistic: str, limit: int) -> Callable[[int], Problem]:
    return lambda seed: flags(n, 70, statistic, seed, max_features=limit)


def _spam(where: Path, statistic: str) -> Callable[[int], Problem]:
    return lambda seed: spam(where, statistic, 150, seed, max_features=3)


def _queries(where: Path, columns: list[int], queries: int | None) -> Callable[[int], Problem]:
    # The data are the same for every seed; the seed is the line search's.
    return lambda seed: lists(where, "mq2007agg", columns, queries, signs=POSITIVE(len(columns)))


def _ohsumed(where: Path) -> Callable[[int], Problem]:
    return lambda seed: lists(where, "ohsumed", max_features=3)
