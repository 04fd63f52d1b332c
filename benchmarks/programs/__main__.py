"""The programs side by side: size, root bound, value, bound and seconds; the literal paper form beside ours.

``python -m benchmarks.programs`` draws one data set for each number of items (standard normal features mapped to
[0, 1], a linear signal with as much noise, the top 35 % positive), states every program with several options, and
gives each to HiGHS with one thread, no start and a time limit.  The root bound is that of the linear relaxation.
The value is recomputed from the weights the solver returns, polished off the margin; the optimum and its proof
come from the search in weight space.  ``--handover`` measures instead what building and handing over cost at 200
items.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compile import Program, compile_model
from formulations.data import Unit, units_from_labels
from formulations.pairwise import preferences_from_gains
from rerank.problem import problem_of
from rerank.ranks import lost_counts, value_of_lost
from rerank.reranker.solve.polish import polish
from rerank.solvers import highs
from rerank.solvers.outcome import Options
from rerank.statistics import AUC, RankStatistic, parse

Floats = NDArray[np.float64]
LITERAL = {"big_m": "unit", "linking": "paper", "cuts": False}


@dataclass(frozen=True)
class Entry:
    """One line of the table: a program and its options."""

    name: str
    program: str
    options: dict[str, Any] = field(default_factory=dict)
    auc_only: bool = False


ENTRIES = (
    Entry("subrank, paper's letter", "subrank", LITERAL),
    Entry("subrank, paper's letter + (27)-(28)", "subrank", LITERAL | {"extra_cuts": True}),
    Entry("subrank, paper's links + cut", "subrank", {"linking": "paper"}),
    Entry("subrank", "subrank"),
    Entry("subrank + extra cuts", "subrank", {"extra_cuts": True}),
    Entry("resolved_rank, paper's letter", "resolved_rank", LITERAL),
    Entry("resolved_rank", "resolved_rank"),
    Entry("mixed, paper's links", "mixed", {"linking": "paper"}),
    Entry("mixed", "mixed"),
    Entry("mixed + extra cuts", "mixed", {"extra_cuts": True}),
    Entry("auc, paper's letter", "auc", {"big_m": "unit"}, auc_only=True),
    Entry("auc", "auc", auc_only=True),
    Entry("pairwise", "pairwise", auc_only=True),
)


@dataclass(frozen=True, eq=False)
class Data:
    """One data set and what is counted on it."""

    X: Floats
    y: Floats
    statistic: RankStatistic
    epsilon: float

    @property
    def units(self) -> tuple[Unit, ...]:
        return units_from_labels(self.X, self.y, self.statistic.coefficients)

    def value(self, w: Floats) -> float:
        """Raw value of polished weights, straight from the definition of the problem."""
        # A solver's weights stand on the margin itself: pairs it won are moved off it before anything is counted.
        difference = np.subtract.outer(self.X @ w, self.X @ w)
        won = np.argwhere((difference >= 0.9 * self.epsilon) & (self.y[:, None] > self.y[None, :]))
        w = polish(self.X, won, w) if won.size else w
        lost = lost_counts(self.X @ w, self.y > 0, margin=self.epsilon)
        return float(value_of_lost(lost, self.statistic.coefficients(self.y.size)))


def drawn(n: int, d: int, seed: int, statistic: RankStatistic, epsilon: float = 1e-4) -> Data:
    """The data set of one number of items."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signal = X @ rng.standard_normal(d)
    score = signal + signal.std() * rng.standard_normal(n)
    y = np.zeros(n)
    y[np.argsort(-score)[: max(1, round(0.35 * n))]] = 1.0
    return Data((X - X.min(axis=0)) / np.ptp(X, axis=0), y, statistic, epsilon)


def stated(data: Data, entry: Entry) -> Any:
    """The Pyomo model of a line."""
    builder = import_module(f"formulations.{entry.program}")
    options = {"epsilon": data.epsilon} | entry.options
    if entry.program == "pairwise":
        return builder.build(data.X, preferences_from_gains(data.y), **options)
    return builder.build(data.X, units=data.units, **options)


def line(data: Data, entry: Entry, time_limit: float) -> str:
    """One line of the table."""
    program = compile_model(stated(data, entry))
    # A pair's worth is the same in every program; only the general one has no ranks to add to it.
    shift = (
        data.units[0].positive.size * (data.units[0].positive.size + 1) / 2
        if entry.program == "pairwise"
        else 0.0
    )
    relaxed = highs.solve(
        replace(program, integer=np.zeros_like(program.integer)), Options(time_limit=time_limit)
    )
    solved = highs.solve(program, Options(time_limit=time_limit))
    value = "-" if solved.x is None else f"{data.value(solved.x[program.weights]):.4f}"
    return (
        f"{entry.name:<36}{len(program.rows):>8}{len(program.columns):>9}{program.matrix.nnz:>9}"
        f"{relaxed.bound + shift:>11.4f}{value:>11}{solved.bound + shift:>11.4f}{solved.seconds:>9.2f}"
        f"{'  closed' if solved.holds == 'optimal' else ''}"
    )


def table(n: int, d: int, statistic: RankStatistic, time_limit: float, seed: int) -> None:
    """Print the table of one number of items."""
    from rerank import search

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
        if not entry.auc_only or isinstance(statistic, AUC):
            print(line(data, entry, time_limit), flush=True)


def memory() -> float:
    """Resident memory of this process in MB; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    import resource

    return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20 if status.exists() else 0.0


def handover(n: int = 200, positive: int = 60, d: int = 10) -> None:
    """Print what building Subrank, compiling it and passing it to HiGHS cost, in processor seconds."""
    import highspy

    rng = np.random.default_rng(0)
    X, y = rng.random((n, d)), np.zeros(n)
    y[rng.permutation(n)[:positive]] = 1.0
    data = Data(X, y, parse("auc"), 1e-4)
    print(
        f"subrank, auc, n = {n}, {positive} positive, d = {d}; processor seconds (second of two runs is warm)"
    )
    for _ in range(2):
        # A model is a web of cycles: the last one is collected now, not at the cost of this one.
        model = program = None
        gc.collect()
        before, began = memory(), time.process_time()
        model = stated(data, Entry("subrank", "subrank"))
        built = time.process_time()
        program = compile_model(model)
        compiled = time.process_time()
        passed = _pass(highspy.Highs(), program)
        grown = memory() - before
        print(
            f"build {built - began:.2f}, compile {compiled - built:.2f}, pass {passed:.2f}; "
            f"{len(program.rows)} rows, {len(program.columns)} columns, {program.matrix.nnz} non-zeros; "
            f"memory +{grown:.0f} MB"
        )


def _pass(solver: Any, program: Program) -> float:
    """Seconds that HiGHS needs to take the arrays."""
    solver.setOptionValue("output_flag", False)
    began = time.process_time()
    p = program
    solver.passModel(
        p.cost.size, len(p.rows), p.matrix.nnz, 2, 1, 0.0, -p.cost, p.lower, p.upper, p.row_lower, p.row_upper,
        p.matrix.indptr, p.matrix.indices, p.matrix.data, p.integer.astype(np.int32),
    )  # fmt: skip
    return time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[12, 20, 30, 50], help="numbers of items")
    parser.add_argument("--quick", action="store_true", help="12 and 20 items only")
    parser.add_argument("--statistics", nargs="+", default=["dcg@10", "auc"], help="statistics to fit")
    parser.add_argument("--features", type=int, default=3, help="number of features")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for one solve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--handover", action="store_true", help="measure building and handing over at n = 200"
    )
    asked = parser.parse_args(arguments)
    if asked.handover:
        handover()
        return 0
    for n in asked.sizes[:2] if asked.quick else asked.sizes:
        for statistic in asked.statistics:
            table(n, asked.features, parse(statistic), asked.time_limit, asked.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
