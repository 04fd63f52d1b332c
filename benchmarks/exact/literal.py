"""The literal program of the paper given to HiGHS, beside the search: seconds to a proof."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.exact.data import noisy, noisy_problem
from formulations.compile import compile_model
from formulations.subrank import build
from rerank.search import compile_kernels, solve
from rerank.solvers import highs
from rerank.solvers.outcome import Options
from rerank.statistics import parse

LITERAL: dict[str, Any] = {"big_m": "unit", "linking": "paper", "cuts": False}
SHARE = 0.35


def report(sizes: str, statistics: str, limit: float) -> int:
    """Print a line for every size and statistic; the data are those of seed 0."""
    compile_kernels()
    print("rows x features  statistic  literal value  literal bound  literal s  our value  our s  ratio")
    for size in sizes.split(","):
        n, d = (int(part) for part in size.split("x"))
        for statistic in statistics.split(","):
            print(compared(n, d, statistic, limit), flush=True)
    return 0


def compared(n: int, d: int, statistic: str, limit: float) -> str:
    """One line: both solve the same data to a proof, the literal program with a time limit."""
    problem = noisy_problem(n, d, statistic, SHARE, 0)
    began = time.perf_counter()
    ours = solve(problem, time_limit=600.0, n_jobs=2)
    mine = time.perf_counter() - began
    X, y = noisy(n, d, SHARE, 0)
    began = time.perf_counter()
    model = build(X, y, parse(statistic).coefficients(n), **LITERAL)
    outcome = highs.solve(compile_model(model), Options(time_limit=limit, threads=2))
    theirs = time.perf_counter() - began
    raw = [
        value(problem.lists[0].scale, problem.lists[0].constant, x)
        for x in (outcome.objective, outcome.bound)
    ]
    proved = outcome.holds == "optimal"
    ratio = f"{theirs / mine:,.0f}" if proved else f"not closed in {limit:g} s"
    return (
        f"{f'{n} x {d}':15}  {statistic:9}  {raw[0]:13.4f}  {raw[1]:13.4f}  {theirs:9.2f}  {ours.value:9.4f}  "
        f"{mine:5.3f}  "
        f"{ratio}{'' if ours.closed else ' (ours not closed)'}"
    )


def value(scale: float, constant: float, raw: float | None) -> float:
    """A program's objective in the unit of the problem."""
    return float("nan") if raw is None else (raw + constant) / scale
