"""Random jobs in one process for a long time: memory, open files, threads and temporary files must not grow.

A tenth of the time warms up (kernels, caches, pools). Then a line is fitted to what is measured after each job. The
check fails if memory grows by more than :data:`MOST_GROWTH` megabytes an hour beyond the slope's own uncertainty, or
if there are more files, threads or temporary files at the end than after warming up. Linux only, since the figures come
from ``/proc``. Memory is what the process holds after the allocator has given free pages back (``malloc_trim`` of
glibc): free pages that it keeps for the next job come and go by megabytes and are no growth.

Printed by ``python -m benchmarks.trust --soak``.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.trust.repeats import fits
from benchmarks.trust.shortlists import fitted
from benchmarks.trust.summary import Case, Summary
from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.search import solve
from tests.cases.instances import draw

MOST_GROWTH = 20.0
NAMES = ("resident megabytes", "open files", "threads", "temporary files")


def soak(size: float, first: int, jobs: int) -> Summary:
    """Jobs for ``size`` minutes."""
    rng = np.random.default_rng(first)
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            seconds, rows, names = _worked(size * 60, rng, Path(folder))
        finally:
            tempfile.tempdir = before
    warm = seconds >= 0.1 * size * 60
    seconds, rows = seconds[warm], rows[warm]
    (slope, _), error = _line(seconds / 3600, rows[:, 0])
    summary = Summary(
        f"{len(names)} jobs of {len(set(names))} kinds in {size:g} minutes, seed {first}; "
        f"memory {rows[0, 0]:.0f} to {rows[-1, 0]:.0f} MB, {slope:+.1f} MB an hour (standard error {error:.1f})"
    )
    bad = [] if slope <= MOST_GROWTH + 3 * error else [f"memory grows by {slope:.1f} MB an hour"]
    for name, start, end in zip(NAMES[1:], np.median(rows[:10, 1:], axis=0), np.median(rows[-10:, 1:], axis=0)):
        summary.text += f", {name} {start:.0f} to {end:.0f}"
        bad += [f"{name} grew from {start:.0f} to {end:.0f}"] if end > start else []
    summary.add(Case("soak", tuple(bad)))
    return summary


def _worked(limit: float, rng: np.random.Generator, folder: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Random jobs until the time is up: seconds and measurements after each, and the jobs' names."""
    begun = time.perf_counter()
    seconds: list[float] = []
    rows: list[tuple[float, ...]] = []
    names: list[str] = []
    while (now := time.perf_counter() - begun) < limit or len(rows) < 20:
        seed = int(rng.integers(2**31))
        jobs = _jobs(seed, folder)
        names.append(str(rng.choice(sorted(jobs))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jobs[names[-1]]()
        seconds.append(now)
        rows.append(_measured(folder))
    return np.array(seconds), np.array(rows), names


def _jobs(seed: int, folder: Path) -> dict[str, Callable[[], object]]:
    """Fits of every kind, fits with a shortlist, and proofs through files."""
    return {**fits(seed), "shortlist": lambda: fitted(seed), "proof": lambda: _proved(seed, folder)}


def _proved(seed: int, folder: Path) -> None:
    problem = draw(seed).problem
    proof = solve(problem, time_limit=5.0, proof=True).proof
    path = folder / "proof.npz"
    save_proof(proof, path)  # type: ignore[arg-type]
    verify_proof(problem, load_proof(path))
    path.unlink()


def _measured(folder: Path) -> tuple[float, int, int, int]:
    ctypes.CDLL(None).malloc_trim(0)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    files = sum(1 for _ in folder.rglob("*"))
    return resident, len(os.listdir("/proc/self/fd")), threading.active_count(), files


def _line(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Slope and intercept by least squares, and the standard error of the slope."""
    (slope, start), residuals = np.polyfit(x, y, 1), x - x.mean()
    noise = y - slope * x - start
    return np.array([slope, start]), float(np.sqrt(noise @ noise / max(x.size - 2, 1) / (residuals @ residuals)))
