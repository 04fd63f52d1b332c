"""The exact search measured: time to a proof, on one list, on many lists, on supports.

``python -m benchmarks.exact`` prints, for every row, the value of the start, the bound before any split, the
ideal value, the value proved, boxes, and wall seconds (median and worst of seeds 0 to 4) beside the goal.
Rows that close at the root are marked, since they prove nothing about the search.  ``--boxes``, ``--long``,
``--hard``, ``--anchored``, ``--lists``, ``--supports`` choose parts; ``--incumbents``, ``--fits``, ``--nested``,
``--large``, ``--scaling``, ``--whole-lists``, ``--compile`` are tables of their own.  Lists, given scores and
``spambase`` need a folder of data (``--data``).
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import folder
from benchmarks.exact.anchored import anchored_lists
from benchmarks.exact.rows import Row, boxes, hard, long_lists, many_lists, supports
from rerank.problem import Problem
from rerank.search import compile_kernels, solve
from rerank.search.domain import Domain
from rerank.search.rows.choice import by_rows
from rerank.search.supports.subsets import supports as columns_of
from rerank.search.tables import tables

HEAD = (
    "row",
    "statistic",
    "share",
    "start",
    "root bound",
    "ideal",
    "value",
    "boxes",
    "median s",
    "worst s",
    "CPU s",
    "goal s",
    "met",
)
SAMPLED = 200
WIDTH = (28, 9, 9, 9, 11, 9, 9, 11, 9, 9, 9, 7, 0)


@dataclass(frozen=True)
class Run:
    """One solve."""

    start: float
    root: float
    ideal: float
    value: float
    bound: float
    closed: bool
    boxes: int
    seconds: float
    cpu: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for; the exit code is 1 where a goal was missed."""
    asked = parsed(arguments)
    where = folder(asked.data)
    alone: dict[str, tuple[str, str, tuple[Any, ...]]] = {
        "compile": ("compile", "report", ()),
        "whole_lists": ("whole_list", "report", ()),
        "scaling": ("scaling", "report", (asked.seeds,)),
        "incumbents": ("incumbents", "report", (where, asked.seconds, asked.seeds, asked.only)),
        "fits": ("incumbents", "fits", (where, asked.seconds[0], asked.only)),
        "nested": ("incumbents", "nested", (where, asked.seconds[0], asked.seeds)),
        "large": ("large", "report", ()),
    }
    for part, (module, function, given) in alone.items():
        if getattr(asked, part):
            return int(getattr(importlib.import_module(f"benchmarks.exact.{module}"), function)(*given))
    return table(rows(asked, where), range(1 if asked.quick else asked.seeds), asked.jobs, asked.limit)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    chosen = ("boxes", "long", "hard", "anchored", "lists", "supports", "incumbents", "fits", "nested", "large")
    for part in (*chosen, "compile", "scaling", "whole-lists"):
        parser.add_argument(f"--{part}", action="store_true", help=f"the part '{part}'")
    parser.add_argument("--quick", action="store_true", help="one seed, rows with a goal of 5 seconds or less")
    parser.add_argument(
        "--only", default="", help="rows whose title, statistic and share hold these texts, between commas"
    )
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--jobs", type=int, default=2, help="workers")
    parser.add_argument("--limit", type=float, default=2.0, help="time limit of a solve, in multiples of its goal")
    parser.add_argument("--data", help="folder of data sets, <name>/<name>.npz")
    parser.add_argument(
        "--seconds", type=float, nargs="+", default=[2.0, 10.0], help="--incumbents: CPU seconds of each method"
    )
    return parser.parse_args(arguments)


def rows(asked: argparse.Namespace, where: Path | None) -> list[Row]:
    """The rows of the parts asked for; all parts if none is named."""
    every = not (asked.boxes or asked.lists or asked.supports or asked.long or asked.hard or asked.anchored)
    chosen = boxes() if every or asked.boxes else []
    if every or asked.long:
        chosen += long_lists()
    if every or asked.hard:
        chosen += hard()
    real = (("Lists are", asked.lists, many_lists), ("Given scores are", asked.anchored, anchored_lists))
    for what, wanted, made in (*real, ("Spambase is", asked.supports, supports)):
        if every or wanted:
            if where is None:
                print(f"{what} left out: there is no folder of data; give one with --data.")
            chosen += made(where)
    if asked.quick:
        chosen = [row for row in chosen if row.goal is not None and row.goal <= 5.0]
    wanted = asked.only.split(",")
    return [row for row in chosen if all(text in f"{row.title} {row.statistic} {row.share}" for text in wanted)]


def table(chosen: list[Row], seeds: range, jobs: int, factor: float) -> int:
    """Solve and print row by row."""
    print(f"Compiling or loading the kernels took {compile_kernels():.1f} s.", file=sys.stderr)
    print(line(HEAD))
    missed = 0
    for row in chosen:
        cells, met = summary(row, [run(row.problem(seed), seed, jobs, row.seconds(factor)) for seed in seeds])
        missed += not met
        print(line(cells), flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} goals met, {jobs} workers, seeds 0 to {len(seeds) - 1}.")
    return 1 if missed else 0


def run(problem: Problem, seed: int, jobs: int, limit: float) -> Run:
    """One solve with its times; the tables of pairs are part of it."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = solve(problem, time_limit=limit, n_jobs=jobs, random_state=seed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    root = root_bound(problem)
    return Run(found.start_value, root, problem.ideal, found.value, found.bound, found.closed, found.nodes, wall, cpu)


def root_bound(problem: Problem) -> float:
    """Largest bound of a face of the cube before any split, over all supports or about :data:`SAMPLED` of them."""
    if by_rows(problem):  # no table of pairs fits into memory; at the root nearly nothing is lost
        return problem.ideal
    t = tables(problem)
    columns, _ = columns_of(problem.n_features, problem.max_features, problem.C > 0)
    best = 0.0
    for features in (columns[i] for i in range(0, len(columns), -(-len(columns) // SAMPLED))):
        for c, h in zip(*Domain.of(problem).part(features).roots(), strict=True):
            D = t.pairs[features] * np.where(problem.signs[features] < 0, -1.0, 1.0)[:, None]
            won = c @ D + h @ np.abs(D) >= t.epsilon - t.tolerance
            best = max(best, t.to_value(t.value_of(won)) - problem.C * features.size)
        if best >= problem.ideal - 1e-9:
            break
    return best


def summary(row: Row, runs: list[Run]) -> tuple[tuple[str, ...], bool]:
    """The cells of a line: medians, the worst seconds, and whether every seed was closed in time."""
    worst = max(r.seconds for r in runs)
    closed = sum(r.closed for r in runs)
    met = row.goal is None or (closed == len(runs) and worst <= row.goal)
    trivial = sum(r.closed and r.value >= r.root - 1e-9 * abs(r.root) for r in runs)
    notes = [] if row.goal is None else ["yes" if met else "NO"]
    if closed < len(runs):
        gaps = [100 * (r.bound - r.value) / max(abs(r.value), 1e-12) for r in runs]
        notes.append(f"{len(runs) - closed} of {len(runs)} open, gap {np.median(gaps):.2f} %, up to {max(gaps):.2f} %")
    if trivial:
        notes.append(f"{trivial} closed at the root: no evidence")
    middle = [float(np.median([getattr(r, name) for r in runs])) for name in ("start", "root", "ideal", "value")]
    seconds = (float(np.median([r.seconds for r in runs])), worst, max(r.cpu for r in runs))
    cells = [row.title, row.statistic, row.share, *(f"{v:.4f}" for v in middle)]
    cells += [f"{int(np.median([r.boxes for r in runs])):,}", *(f"{v:.2f}" for v in seconds)]
    cells += ["" if row.goal is None else f"{row.goal:g}", "; ".join(notes)]
    return tuple(cells), met


def line(cells: Sequence[str]) -> str:
    """Cells in columns."""
    return "  ".join(
        cell.ljust(w) if i < 3 or w == 0 else cell.rjust(w)
        for i, (cell, w) in enumerate(zip(cells, WIDTH, strict=True))
    )


if __name__ == "__main__":
    sys.exit(main())
