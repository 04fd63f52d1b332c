"""The programs side by side: size, root bound, value, bound and seconds; the literal paper form beside ours.

``python -m benchmarks.programs`` draws one data set for each number of items (standard normal features mapped to
[0, 1], a linear signal with as much noise, the top 35 % positive), states every program with several options, and
gives each to HiGHS with one thread, no start and a time limit.  The root bound is that of the linear relaxation.
The value is recomputed from the weights the solver returns, polished off the margin; the optimum and its proof
come from the search in weight space.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.programs.models import ENTRIES, Data, Entry, drawn, stated
from formulations.compile import compile_model
from rerank import search
from rerank.problem import problem_of
from rerank.solvers import Options, highs
from rerank.statistics import RankStatistic, parse


def line(data: Data, entry: Entry, time_limit: float) -> str:
    """One line of the table."""
    program = compile_model(stated(data, entry))
    # A pair's worth is the same in every program; only the general one has no ranks to add to it.
    shift = data.units[0].positive.size * (data.units[0].positive.size + 1) / 2 if entry.program == "pairwise" else 0.0
    relaxed = highs.solve(replace(program, integer=np.zeros_like(program.integer)), Options(time_limit=time_limit))
    solved = highs.solve(program, Options(time_limit=time_limit))
    value = "-" if solved.x is None else f"{data.value(solved.x[program.weights]):.4f}"
    return (
        f"{entry.name:<36}{len(program.rows):>8}{len(program.columns):>9}{program.matrix.nnz:>9}"
        f"{relaxed.bound + shift:>11.4f}{value:>11}{solved.bound + shift:>11.4f}{solved.seconds:>9.2f}"
        f"{'  closed' if solved.holds == 'optimal' else ''}"
    )


def table(
    n: int, d: int, statistic: RankStatistic, time_limit: float, seed: int, only: Sequence[str] | None = None
) -> None:
    """Print the table of one number of items."""
    data = drawn(n, d, seed, statistic)
    # The search counts in the unit of evaluate; raw values need the affine map back.
    problem = problem_of(data.X, data.y, statistic, epsilon=data.epsilon)
    found = search.solve(problem, time_limit=time_limit)
    raw = data.value(found.weights)
    proof = "proved" if found.closed else "not proved"
    ideal = float(np.sort(statistic.coefficients(n))[::-1][: int(data.y.sum())].sum())
    print(f"\n{statistic.name}, n = {n}, d = {d}, {int(data.y.sum())} positive, epsilon = {data.epsilon:g}")
    print(f"search in weight space: {raw:.4f} {proof} in {found.seconds:.3f} s; ideal {ideal:.4f}")
    print(
        f"{'program':<36}{'rows':>8}{'columns':>9}{'nonzeros':>9}{'root':>11}{'value':>11}{'bound':>11}{'seconds':>9}",
        flush=True,
    )
    for entry in ENTRIES:
        if (not entry.auc_only or statistic.counts_pairs) and (only is None or entry.name in only):
            print(line(data, entry, time_limit), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[12, 20, 30, 50], help="numbers of items")
    parser.add_argument("--quick", action="store_true", help="12 and 20 items only")
    parser.add_argument("--statistics", nargs="+", default=["dcg@10", "auc"], help="statistics to fit")
    parser.add_argument("--features", type=int, default=3, help="number of features")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for one solve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="names of the lines to measure, such as subrank mixed auc")
    asked = parser.parse_args(arguments)
    for n in asked.sizes[:2] if asked.quick else asked.sizes:
        for statistic in asked.statistics:
            table(n, asked.features, parse(statistic), asked.time_limit, asked.seed, asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
