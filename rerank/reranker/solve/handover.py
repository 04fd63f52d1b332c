"""Programs into solvers: HiGHS takes the arrays, any other solver the file."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.reranker.clock import Clock
from rerank.reranker.plan import Plan, Solved
from rerank.reranker.solve.program import Stated
from rerank.solvers.outcome import Options, Outcome

Floats = NDArray[np.float64]


def run(
    stated: Stated,
    plan: Plan,
    clock: Clock,
    limit: float | None,
    start: Floats | None,
    cutoff: float | None = None,
) -> Outcome:
    """Hand the program to HiGHS in memory, or to any other solver through the file."""
    from joblib import effective_n_jobs

    with clock.phase(plan.solver):
        options = Options(
            time_limit=limit,
            threads=effective_n_jobs(plan.n_jobs),
            seed=plan.random_state % 2**31,
            cutoff=None if cutoff is None else cutoff - stated.constant,
            verbose=plan.verbose,
        )
        if plan.solver == "highs":
            from rerank.solvers import highs

            return highs.solve(stated.program, options, start=start)
        return _through_file(stated, plan.solver, options)


def _through_file(stated: Stated, solver: str, options: Options) -> Outcome:
    import tempfile
    from pathlib import Path

    from formulations import mps
    from rerank.solvers import gateway

    with tempfile.TemporaryDirectory() as folder:
        path, _ = mps.write(stated.program, Path(folder) / "program.mps")
        return gateway.solve_file(path, solver, options=options)


def with_outcome(solved: Solved, stated: Stated, outcome: Outcome) -> Solved:
    """What a solver answered, in the unit of the value."""
    return replace(
        solved,
        program_value=None if outcome.objective is None else float(outcome.objective) + stated.constant,
        program_bound=float(outcome.bound) + stated.constant if math.isfinite(outcome.bound) else None,
        start_accepted=outcome.start_accepted,
        nodes=solved.nodes + max(0, int(outcome.nodes)),
    ).noting(*([outcome.message] if outcome.message else []))
