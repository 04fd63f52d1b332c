"""Searches with a checkpoint whose process is killed at a random moment: another process has to go on with the file.

What counts as wrong is a file that cannot be read, work lost for longer than allowed, another answer than that of a
search that was never killed, and a file left beside the checkpoint.

Printed by ``python -m benchmarks.trust --kills``.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exact.data import correlated, noisy_problem
from benchmarks.trust.summary import Case, Summary, over_seeds
from rerank.errors import InputError
from rerank.io.archive import read_archive, refusing
from rerank.problem import Problem
from rerank.search import Progress, SearchResult, checkpoint, compile_kernels, solve

ROOT = Path(__file__).parent.parent.parent
SHORT = 0.1
"""Seconds between the writes of a short search; long ones keep to the standard."""
MINUTE = 60.0
"""Seconds of work that a killed search may lose at most."""
LONG = 10
"""Every so many-th search is a long one, killed after one to three standard intervals."""

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "supports": lambda: noisy_problem(80, 20, "mrr", 0.35, 2, C=0.005, max_features=4),
    "rows": lambda: noisy_problem(16_000, 4, "dcg@20", 0.1, 0),
    "whitened": lambda: correlated(5, 0.97, "auc"),
    "pairs": lambda: noisy_problem(60, 6, "mrr", 0.35, 0),
    "proof": lambda: noisy_problem(60, 5, "auc", 0.35, 0),
    "long": lambda: noisy_problem(100, 10, "mrr", 0.35, 0),
}
KINDS = tuple(name for name in PROBLEMS if name != "long")


def kills(count: int, first: int, jobs: int) -> Summary:
    """Kill ``count`` searches."""
    compile_kernels()
    return over_seeds("kills", killed, count, first, jobs)


def killed(seed: int) -> Case:
    """One search, one kill, and what a second process makes of the file."""
    rng = random.Random(seed)
    kind = "long" if seed % LONG == LONG - 1 else KINDS[seed % len(KINDS)]
    if kind == "long":
        seconds, every = checkpoint.EVERY * (1.0 + 1.5 * rng.random()), checkpoint.EVERY
    else:
        seconds, every = 1.1 * answer(kind)[1] * rng.random(), SHORT
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.checkpoint"
        reached = _killed_after(kind, path, every, seconds)
        failures, seen = judged(kind, path, reached)
    return Case(f"{kind}, killed after {seconds:.2f} s", failures, (kind, *seen))


def searched(kind: str, **options: Any) -> SearchResult:
    """A search of a kind, without a time limit."""
    return solve(PROBLEMS[kind](), **{"time_limit": None, "n_jobs": 1, "proof": kind == "proof", **options})


@cache
def answer(kind: str) -> tuple[list[Any], float]:
    """What a search that nobody kills answers, and the seconds it takes."""
    began = time.perf_counter()
    found = searched(kind)
    return bits(found), time.perf_counter() - began


def bits(found: SearchResult) -> list[Any]:
    """All that has to be the same."""
    proof: Any = found.proof
    splits = [] if proof is None else [proof.codes.tolist()]
    return [found.value, found.bound, found.closed, found.boxes, found.weights.tolist(), *splits]


def child(kind: str, path: str, every: str) -> None:
    """Search and say after each round how many seconds of work are done."""
    checkpoint.EVERY = float(every)
    compile_kernels()
    print("begins", flush=True)

    def say(now: Progress) -> None:
        print(f"{now.seconds:.3f}", flush=True)

    searched(kind, checkpoint=path, progress=say)


def _killed_after(kind: str, path: Path, every: float, seconds: float) -> list[float]:
    """Kill a search after so many seconds; the seconds of work that it said were done, round by round."""
    code = f"from benchmarks.trust.kills import child; child({kind!r}, {str(path)!r}, '{every}')"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n", "the search did not begin"
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    said = process.communicate()[0].splitlines()
    return [0.0, *(float(line) for line in said if line.count(".") == 1 and len(line.split(".")[1]) == 3)]


def judged(kind: str, path: Path, reached: list[float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is wrong with what a killed search left, and what was seen."""
    bad, kept, begun = [], 0.0, False
    try:
        if path.exists():  # else the search had not begun
            with refusing(path, "checkpoint", "this must not happen"):
                header, _ = read_archive(path, checkpoint.FORM)
            kept, begun = float.fromhex(header["seconds"]), header["begun"]
    except InputError as error:
        return (str(error),), ()
    lost, allowed = reached[-1] - kept, MINUTE
    if kind != "long":  # the interval, the round that it ends in, and a write of the file
        allowed = SHORT + float(np.max(np.diff(reached), initial=0.0)) + 0.2
    if lost > allowed:
        bad.append(f"{lost:.1f} s of work were lost, and {allowed:.1f} s are allowed")
    try:
        if kind == "long":
            found = searched(kind, checkpoint=path, node_limit=1)
            if not (found.seconds >= kept and found.value <= found.bound and found.boxes > 1):
                bad.append(f"went on with {found.boxes} boxes, value {found.value!r}, bound {found.bound!r}")
        else:
            found = searched(kind, checkpoint=path, n_jobs=2)
            if bits(found) != answer(kind)[0]:
                bad.append(f"answered {bits(found)[:5]}, and {answer(kind)[0][:5]} without a kill")
    except InputError as error:
        bad.append(f"refused: {error}")
    beside = sorted(other.name for other in path.parent.iterdir() if other != path)
    if beside:
        bad.append(f"left {', '.join(beside)}")
    size = next((limit for limit in (0.1, 0.3, 1.0, 40.0) if lost < limit), MINUTE)
    return tuple(bad), ("went on" if begun else "began anew", f"lost less than {size:g} s")
