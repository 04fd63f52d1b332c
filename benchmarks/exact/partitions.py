"""A list in Parquet that no memory holds: a given score, three small corrections, the first thousand rows.

``python -m benchmarks.exact --partitions 3000000,30000000`` writes such files into a temporary folder. For each it
prints the rows left by the two passes, wall and CPU seconds of the passes, of the search, of the pass that certifies
the weights and of the pass that finds the first thousand rows, and the largest resident memory of a process. With
``--ray`` the tasks of a Ray cluster read the row groups, and with ``--ray dataset`` the blocks of a Dataset; their CPU
seconds count, and the memory of the largest of them is printed beside that of the process that merges. What Ray does
between the tasks, and to make a Dataset, is in the wall seconds alone.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rerank.certificate import certify
from rerank.io.row_groups import row_groups
from rerank.problem import anchored_problem
from rerank.problem.partitions import at_weights, top_of
from rerank.problem.passes import Run
from rerank.search import compile_kernels, solve
from rerank.search.on_ray import Block, blocks, run_on_ray
from rerank.search.workers import Workers
from rerank.statistics import parse

GROUP = 250_000
COLUMNS = ["score", "a", "b", "c"]
LIMITS = ([1.0, -0.03, -0.03, -0.03], [1.0, 0.03, 0.03, 0.03])
HEAD = (
    "        rows     left  parts s  passes s  CPU s  search s  CPU s  certificate s  CPU s  top s  CPU s  "
    "MB merging  MB of a task  value            bound"
)


def partitions(sizes: list[int], jobs: int, ray: str) -> int:
    """Print one line for each size; each runs in a process of its own."""
    print(HEAD)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.parquet"
            write(path, size)
            command = [sys.executable, "-m", __name__, str(path), str(jobs), ray]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            got = json.loads(printed.splitlines()[-1])
        (p, a, b, c, d), (_, x, y, z, t) = got["seconds"], got["cpu"]
        print(
            f"{size:>12,} {got['left']:>8,} {p:>8.1f} {a:>9.1f} {x:>6.1f} {b:>9.2f} {y:>6.2f} {c:>14.1f} {z:>6.1f} "
            f"{d:>6.1f} {t:>6.1f} {got['peak']:>11.0f} {got['task']:>13.0f}  {got['value']:<10g} {got['bound']:>10.6g}",
            flush=True,
        )
    return 0


def write(path: Path, size: int) -> None:
    """One row in a hundred relevant; the score knows most of what makes it so, the columns the rest."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.float64()) for name in COLUMNS] + [("found", pa.int8())])
    rng = np.random.default_rng(0)
    with parquet.ParquetWriter(path, schema) as writer:
        for begin in range(0, size, GROUP):
            X = rng.standard_normal((min(GROUP, size - begin), 4))
            signal = X @ [1.0, 0.05, -0.03, 0.02] + 1.5 * rng.standard_normal(len(X))
            found = (signal > 4.2).astype(np.int8)
            writer.write_table(pa.table([*X.T, found], schema=schema))


class Tasks:
    """Runs jobs elsewhere; adds up their CPU seconds, and keeps the largest resident memory of their processes."""

    def __init__(self, run: Run, here: bool) -> None:
        self.run, self.here = run, here
        self.cpu = self.peak = 0.0

    def __call__(self, jobs: list[Any]) -> list[Any]:
        """As :data:`rerank.problem.passes.Run`."""
        found = self.run([(measured, (part, function, *given)) for function, (part, *given) in jobs])
        if not self.here:
            self.cpu += sum(cpu for _, cpu, _ in found)
            self.peak = max(self.peak, *(peak for _, _, peak in found))
        return [answer for answer, _, _ in found]


def measured(part: Any, function: Callable[..., Any], *given: Any) -> tuple[Any, float, float]:
    """What a function answers, the CPU seconds that it took, and the largest memory of its process so far, in MB.

    Pages of Ray's object store are left out (on Linux): they are one memory for all processes of a machine.
    """
    before = time.process_time()
    answer = function(part, *given)
    taken = time.process_time() - before
    status = Path("/proc/self/status")
    shared = re.search(r"RssShmem:\s+(\d+)", status.read_text()) if status.exists() else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - (int(shared[1]) if shared else 0)
    return answer, taken, peak / 1e3


def measure(path: Path, jobs: int, ray: str) -> dict[str, object]:
    """Fit on the file, certify the weights with one more pass, and find the first rows with another."""
    compile_kernels()
    times = []
    with Workers(jobs) as workers:
        run = Tasks(run_on_ray if ray else workers.run, here=not ray)

        def lap() -> None:
            times.append((time.perf_counter(), time.process_time() + run.cpu))

        lap()
        parts = blocks_of(path) if ray == "dataset" else row_groups(path, COLUMNS, "found")
        lap()
        reduced = anchored_problem(parts, parse("precision@1000"), LIMITS, epsilon=1e-9, run=run)
        lap()
        found = solve(reduced.problem, n_jobs=jobs)
        lap()
        near = at_weights(parts, reduced, found.weights, run=run)
        value = float(certify(near.problem, found.weights).value)
        lap()
        top_of(parts, reduced, found.weights, 1000, run=run)
        lap()
    wall, cpu = np.diff(times, axis=0).T.tolist()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        "left": int(reduced.rows.size), "seconds": wall, "cpu": cpu,
        "peak": peak, "task": run.peak, "value": value, "bound": float(found.bound),
    }  # fmt: skip


def blocks_of(path: Path) -> list[Block]:
    """The file as a Dataset, and its blocks."""
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    return blocks(ray.data.read_parquet(str(path)), COLUMNS, "found")


def on_ray(path: Path, jobs: int, what: str) -> dict[str, object]:
    """The same with the passes on a Ray cluster of so many CPUs."""
    import ray

    ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    return measure(path, jobs, what)


if __name__ == "__main__":
    file, count, what = sys.argv[1:]
    print(json.dumps((on_ray if what else measure)(Path(file), int(count), what)))
