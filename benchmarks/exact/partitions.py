"""A list in Parquet that no memory holds: a given score, three small corrections, the first thousand rows.

``python -m benchmarks.exact --partitions 3000000,30000000`` writes such files into a temporary folder. For each it
prints the rows left by the two passes, wall and CPU seconds of the passes, of the search, and of the pass that
certifies the weights, and the largest resident memory of the process. With ``--ray`` workers of a Ray cluster read the
file.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rerank.certificate import certify
from rerank.io.row_groups import row_groups
from rerank.problem import anchored_problem
from rerank.problem.partitions import at_weights
from rerank.search import ready, solve
from rerank.search.workers import Workers
from rerank.statistics import parse

GROUP = 250_000
COLUMNS = ["score", "a", "b", "c"]
LIMITS = ([1.0, -0.03, -0.03, -0.03], [1.0, 0.03, 0.03, 0.03])
HEAD = "        rows     left  passes s  CPU s  search s  CPU s  certificate s  CPU s  peak MB  value            bound"


def partitions(sizes: list[int], jobs: int, ray: bool) -> int:
    """Print one line for each size; each runs in a process of its own."""
    print(HEAD)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.parquet"
            write(path, size)
            command = [sys.executable, "-m", __name__, str(path), str(jobs), *["ray"] * ray]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            got = json.loads(printed.splitlines()[-1])
        (a, b, c), (x, y, z) = got["seconds"], got["cpu"]
        print(
            f"{size:>12,} {got['left']:>8,} {a:>9.1f} {x:>6.1f} {b:>9.2f} {y:>6.2f} {c:>14.1f} {z:>6.1f} "
            f"{got['peak']:>8.0f}  {got['value']:<10g} {got['bound']:>10.6g}",
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


def measure(path: Path, jobs: int) -> dict[str, object]:
    """Fit on the file, and certify the weights with one more pass."""
    ready()
    parts = row_groups(path, COLUMNS, "found")
    times = [(time.perf_counter(), time.process_time())]
    with Workers(jobs) as workers:
        reduced = anchored_problem(parts, parse("precision@1000"), LIMITS, epsilon=1e-9, run=workers.run)
    times.append((time.perf_counter(), time.process_time()))
    found = solve(reduced.problem, n_jobs=jobs)
    times.append((time.perf_counter(), time.process_time()))
    with Workers(jobs) as workers:
        near = at_weights(parts, reduced, found.weights, run=workers.run)
    value = float(certify(near.problem, found.weights).value)
    times.append((time.perf_counter(), time.process_time()))
    wall, cpu = np.diff(times, axis=0).T.tolist()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        "left": int(reduced.rows.size), "seconds": wall, "cpu": cpu,
        "peak": peak, "value": value, "bound": float(found.bound),
    }  # fmt: skip


def on_ray(path: Path, jobs: int) -> dict[str, object]:
    """The same with the passes on the workers of a Ray cluster of so many CPUs."""
    import joblib
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=jobs):
        return measure(path, jobs)


if __name__ == "__main__":
    chosen = on_ray if "ray" in sys.argv[3:] else measure
    print(json.dumps(chosen(Path(sys.argv[1]), int(sys.argv[2]))))
