"""Seconds of score fusion: ``python -m benchmarks.fusion.seconds`` for ranking, with ``--fit`` of 1,000 x 100 x 6.

CPU seconds of this process, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.fusion import FusionModel, ScoreFusion
from rerank.io import Qrels, Run
from rerank.io.table import words

RUNS = 6


def seconds(call: Callable[[], Any], times: int) -> float:
    """Median CPU seconds of one call, from batches of ten."""
    call()
    found = []
    for _ in range(max(1, times // 10)):
        began = time.process_time()
        for _ in range(min(times, 10)):
            call()
        found.append((time.process_time() - began) / min(times, 10))
    return float(np.median(found))


def ranking() -> None:
    """One query of 100 and 1,000 documents, and 10,000 queries of 100; a fifth of the scores is missing."""
    rng = np.random.default_rng(0)
    names = tuple(f"run{j}" for j in range(RUNS))
    queries = np.repeat(np.arange(10_000), 100)
    for normaliser in ("none", "minmax", "z", "rank", "sigmoid"):
        model = FusionModel(names, np.full(RUNS, 1 / RUNS), normaliser)
        shown = [f"{normaliser:8}"]
        for n in (100, 1000):
            scores = rng.normal(size=(n, RUNS))
            scores[rng.random(scores.shape) < 0.2] = np.nan
            shown.append(f"{n} documents {1e3 * seconds(lambda s=scores, m=model: m.fuse_arrays(s), 300):.3f} ms")  # type: ignore[misc]
        many = rng.normal(size=(queries.size, RUNS))
        many[rng.random(many.shape) < 0.2] = np.nan
        shown.append(f"10,000 queries {seconds(lambda s=many, m=model: m.fuse_arrays(s, queries), 1):.2f} s")  # type: ignore[misc]
        print(", ".join(shown), flush=True)


def fitting(queries: int = 1000, documents: int = 100) -> None:
    """A fit at one radius, and a guarded one, without a proof."""
    rng = np.random.default_rng(0)
    grades = (rng.random((queries, documents)) < 0.08) * rng.integers(1, 3, (queries, documents))
    qid = words([f"q{i}" for i in range(queries) for _ in range(documents)])
    docid = words([f"d{j}" for _ in range(queries) for j in range(documents)])
    runs = {}
    for j, quality in enumerate(1.2 * rng.random(RUNS)):
        scores = quality * grades + rng.normal(size=grades.shape)
        runs[f"run{j}"] = Run(qid, docid, scores.ravel(), "made")
    judged = Qrels(qid, docid, grades.ravel().astype(np.int64))
    for title, options in (
        ("one fit", {"cv": None, "normalise": "minmax", "radius": 0.3, "time_limit": 20.0}),
        ("guarded", {"time_limit": 120.0}),
    ):
        began, cpu = time.perf_counter(), time.process_time()
        found = ScoreFusion(node_limit=0, **options).fit(runs, judged)
        spent = f"{time.process_time() - cpu:.1f} s of CPU, {time.perf_counter() - began:.1f} s in all"
        print(f"{title}: {spent}; ndcg@10 {found.result_.statistic:.4f}, RRF {found.nulls_['RRF']:.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true")
    fitting() if parser.parse_args().fit else ranking()
