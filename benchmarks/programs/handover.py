"""What building a program, compiling it and handing it to HiGHS cost."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs.models import Data, Entry, stated
from formulations.compile import Program, compile_model
from rerank.statistics import parse


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
