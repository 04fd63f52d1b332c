"""Fits with a time limit: by how much each exceeds it.

A fit may take a second, or 5 % of its limit, more than its limit. The time in which kernels are compiled is not
counted; with an empty folder as ``NUMBA_CACHE_DIR`` they are compiled inside these fits. Clocks that a fit reads are
replaced by that of the process's own work, so other programs on the machine do not lengthen a fit or make it look late.
On a machine that does nothing else both clocks agree, as the fits have one worker.

Printed by ``python -m benchmarks.trust --limits``.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.trust.summary import Case, Summary, over_seeds
from rerank import Reranker
from rerank.errors import InputError
from rerank.errors.compiling import compiling_time

SHAPES = (
    {"rows": 1000, "features": 50},
    {"rows": 2000, "features": 50},
    {"rows": 300, "features": 6},
    {"rows": 400, "features": 13},
    {"rows": 40_000, "features": 8, "lists": 2000},
    {"rows": 20_000, "features": 20, "lists": 200},
)
FITS: tuple[dict[str, Any], ...] = (
    {"solver": "search", "first_stage": None},
    {"solver": "highs"},
    {"solver": "highs", "presolve": False, "formulation": "resolved_rank"},
    {"solver": "highs", "presolve": False, "formulation": "mixed"},
    {"solver": "search", "max_features": 3},
    {"solver": "search", "proof": True, "max_features": 2},
    {"solver": "search", "first_stage": "toppush"},
    {"solver": "highs", "stat": "auc", "first_stage": "ranksvm"},
    {"solver": "search", "stat": "precision@20", "radius": 0.03, "margin": 0.1, "window": 2.0},
    {"solver": "highs", "stat": "auc", "radius": 0.1, "margin": 0.1},
)
LIMITS = (1.0, 2.0, 4.0)
LOADED = (
    "highspy",
    "numba",
    "pyomo.environ",
    "rerank.scorers.ranksvm",
    "rerank.scorers.toppush",
    "rerank.search",
    "scipy.optimize",
    "sklearn.pipeline",
)
CASES = tuple(
    (shape, fit, limit)
    for (shape, fit), limit in zip(((s, f) for s in SHAPES for f in FITS), cycle(LIMITS), strict=False)
)


def limits(count: int, first: int, jobs: int) -> Summary:
    """Run ``count`` of the cases, and name the worst excess."""
    summary = over_seeds("fits with a time limit", limited_fit, min(count, len(CASES)), first, jobs)
    worst = max(summary.seen, key=lambda seen: float(seen.partition(" ")[0]), default="none")
    summary.text += f", worst {worst}"
    summary.seen.clear()
    return summary


def table(rows: int, features: int, lists: int = 1, noise: float = 1.0) -> tuple[Any, Any, Any]:
    """Noisy rows, half of them relevant, so that there are as many pairs as there can be."""
    rng = np.random.default_rng(rows + features)
    X = rng.normal(size=(rows, features))
    return X, (X[:, 0] + noise * rng.normal(size=rows) > 0).astype(float), np.arange(rows) % lists


def excess(seconds: float, limit: float) -> float:
    """Seconds beyond the limit, in units of what is allowed."""
    return (seconds - limit) / max(1.0, 0.05 * limit)


@contextmanager
def processor_clock() -> Iterator[None]:
    """Let the clocks of this process run only while it works."""
    with patch("time.perf_counter", time.process_time), patch("time.monotonic", time.process_time):
        yield


def limited_fit(number: int) -> Case:
    """One fit after large libraries are loaded."""
    shape, options, limit = CASES[number % len(CASES)]
    stated = {"stat": "dcg@10", "n_candidates": None, **options}
    warnings.simplefilter("ignore")
    for name in LOADED:
        importlib.import_module(name)
    # More noise leaves something to correct.
    X, y, qid = table(**shape, noise=4.0 if "radius" in options else 1.0)
    with processor_clock():
        began, compiled, refused = time.process_time(), compiling_time(), ""
        try:
            Reranker(**stated, time_limit=limit).fit(X, y, qid)
        except InputError as error:
            refused = f", refused: {error}"
        compiled = compiling_time() - compiled
        seconds = time.process_time() - began - compiled
    compiling = f", {compiled:.1f} s of compiling" if compiled else ""
    described = f"{shape} {options}: {seconds:.2f} s of {limit:g}{compiling}{refused}"
    print(described, flush=True)
    late = excess(seconds, limit) > 1
    seen = f"{excess(seconds, limit):.2f} of the excess allowed: {described}"
    return Case(described, ("late",) if late else (), (seen,))
