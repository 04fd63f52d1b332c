"""What each mechanism of the search is worth: ``python -m benchmarks.mechanisms [--limit 20] [--only levels]``.

Prints a table: lines of code, a problem, CPU seconds to the proof or the gap that is left after ``--limit`` of them,
with the mechanism and with its one switch turned off.  One thread; the data are drawn, with seed 0.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.exact.data import correlated, noisy_problem
from benchmarks.trust.limits import processor_clock
from rerank.problem import Problem, Quota, problem_of
from rerank.search import compile_kernels, solve
from rerank.statistics import parse

SEARCH = Path(importlib.import_module("rerank.search").__path__[0])


@dataclass(frozen=True)
class Mechanism:
    """A row: what it is called, its files below ``rerank/search``, a problem, and what replaces which name.

    ``off`` maps a full name to what stands there while the mechanism is turned off; ``seconds`` ends the search
    before it can close, so that values are compared in place of times.
    """

    name: str
    files: tuple[str, ...]
    title: str
    problem: Callable[[], Problem]
    off: dict[str, Any]
    seconds: float | None = None


def whole_numbers(n: int, largest: int, statistic: str, epsilon: float) -> Problem:
    """Four columns of whole numbers up to ``largest``; a third of the rows is relevant."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, largest + 1, (n, 4)).astype(np.float64)
    scores = X @ rng.standard_normal(4) + largest / 2 * rng.standard_normal(n)
    gains = np.zeros(n)
    gains[np.argsort(-scores)[: n // 3]] = 1.0
    return problem_of(X, gains, parse(statistic), epsilon=epsilon)


def opposed() -> Problem:
    """A quota that wants rows the other way round than the value, at the default margin."""
    rng = np.random.default_rng([77, 11, 8, 3])
    X, gains = rng.normal(size=(8, 3)), (rng.random(8) < 0.4).astype(float)
    problem = problem_of(X, gains, parse("mrr"))
    return replace(problem, quotas=(Quota("A", 3, 2).of(np.flatnonzero(gains == 0)),))


def left_open(boxes: Any, *_: Any) -> bool:
    """What stands for the exact end: boxes that doubles leave undecided stay open."""
    return not (boxes.drop_fathomed() or boxes.unresolved)


def no_groups(*_: Any) -> Any:
    """What stands for the search for antiparallel pairs: there are none."""
    return importlib.import_module("rerank.search.boxes.antiparallel").NO_GROUPS


ROWS = {"rerank.search.run.rows_alone": lambda *_: False, "rerank.search.run.lines_by_rows": lambda *_: False}
LONG = partial(noisy_problem, 10_000, 3, "precision@100", 0.05, 0)
MECHANISMS = (
    Mechanism("rows in place of pairs", ("rows/*.py",), "10,000 x 3, precision@100", LONG, ROWS),
    Mechanism(
        "screening of supports",
        ("supports/scree*.py", "supports/groups.py"),
        "best 3 of 30, n = 100, AUC",
        partial(noisy_problem, 100, 30, "auc", 0.35, 0, max_features=3),
        {"rerank.search.run.screens_of": lambda *_: None},
    ),
    Mechanism(
        "levels at the top",
        ("top/*.py",),
        "200 x 10, DCG@10",
        partial(noisy_problem, 200, 10, "dcg@10", 0.1, 0),
        {"rerank.search.run.levels_of": lambda *_: None},
    ),
    Mechanism(
        "targets",
        ("targets.py",),
        "50 x 10, AUC",
        partial(noisy_problem, 50, 10, "auc", 0.35, 0),
        {"rerank.search.targets.Targets.aim": lambda *_: None},
    ),
    Mechanism(
        "whitened axes",
        ("boxes/axes.py",),
        "100 x 5, correlation .97, MRR",
        partial(correlated, 5, 0.97, "mrr"),
        {"rerank.search.boxes.axes.LEAST_RATIO": np.inf},
    ),
    Mechanism(
        "antiparallel pairs",
        ("boxes/antiparallel.py",),
        "100 x 4, numbers 0 to 2, MRR",
        partial(whole_numbers, 100, 2, "mrr", 1e-4),
        {"rerank.search.boxes.axes.antiparallel_pairs": no_groups},
    ),
    Mechanism(
        "exact end in rationals",
        ("boxes/vertices.py",),
        "30 x 4, numbers 0 to 5, DCG@10",
        partial(whole_numbers, 30, 5, "dcg@10", 0.1),
        {"rerank.search.loop.fathom_unresolved": left_open},
    ),
    Mechanism(
        "signs under quotas",
        ("boxes/signs.py",),
        "8 x 3, MRR, a quota against it",
        opposed,
        {"rerank.search.boxes.vertices.Exact._by_signs": lambda *_: None},
    ),
    Mechanism(
        "smooth climbs",
        ("rows/smooth.py",),
        "2,000 x 20, precision@100, hits after 2 s",
        partial(noisy_problem, 2000, 20, "precision@100", 0.1, 0),
        {"rerank.search.tables.smooth_from": lambda *_: np.inf},
        seconds=2.0,
    ),
)


def lines_of(patterns: tuple[str, ...]) -> int:
    """Lines of the files."""
    files = {path for pattern in patterns for path in SEARCH.glob(pattern)}
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def measured(problem: Problem, seconds: float, of_value: bool) -> str:
    """CPU seconds to the proof, or the gap, or the value."""
    began = time.process_time()
    with processor_clock():
        found = solve(problem, time_limit=seconds, n_jobs=1)
    spent = time.process_time() - began
    if of_value:
        return f"{found.value:.4g}"
    if found.closed:
        return f"{spent:.2f} s"
    return f"gap {100 * found.gap / max(abs(found.value), 1e-12):.1f} % after {spent:.0f} s"


def row(mechanism: Mechanism, limit: float) -> str:
    """One line of the table."""
    problem, cells = mechanism.problem(), []
    for off in ({}, mechanism.off):
        patches = [patch(name, value) for name, value in off.items()]
        for one in patches:
            one.start()
        try:
            cells.append(measured(problem, mechanism.seconds or limit, mechanism.seconds is not None))
        finally:
            for one in patches:
                one.stop()
    return f"| {mechanism.name} | {lines_of(mechanism.files)} | {mechanism.title} | {cells[0]} | {cells[1]} |"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=__doc__)
    options.add_argument("--limit", type=float, default=20.0, help="CPU seconds of a solve")
    options.add_argument("--only", default="", help="mechanisms whose name holds this text")
    chosen = options.parse_args()
    compile_kernels(verbose=True)
    print("| mechanism | lines | problem | with it | without it |\n|---|---|---|---|---|")
    for mechanism in MECHANISMS:
        if chosen.only in mechanism.name:
            print(row(mechanism, chosen.limit), flush=True)


if __name__ == "__main__":
    main()
