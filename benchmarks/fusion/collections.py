"""The collections: real runs, one of reciprocal ranks, and three whose score columns stand for runs.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays
from rerank.io import read_qrels, read_run
from rerank.io.fusion import first_documents, join, judge
from rerank.ranks import list_values

STAT = "ndcg@10"
FOLDS = 5
CHANCE = 0.02
"""A score column stands for a run if its nDCG@10 is above that of a random order by this much."""
VARYING = 0.9
"""And if it tells documents apart in this share of the queries."""


@dataclass(frozen=True)
class Kind:
    """What is measured of a collection: numbers of runs, of training queries, and what it is called on the page."""

    title: str
    runs: tuple[int, ...]
    sizes: tuple[int, ...]


KINDS = {
    "robust03": Kind("TREC 2003 Robust", (2, 3, 6), (5, 10, 20, 50, 80)),
    "dl20": Kind("TREC Deep Learning 2020", (2,), (5, 10, 20, 43)),
    "mq2007agg": Kind("MQ2007-agg", (3, 6, 21), (5, 10, 20, 50, 80)),
    "ohsumed": Kind("OHSUMED", (3, 6), (5, 10, 20, 50, 80)),
    "mslr_sample": Kind("MSLR, a sample", (3, 6), (5, 10, 20)),
    "lightgbm_rank": Kind("LightGBM's example", (3, 6), (5, 10, 20, 50, 80)),
}
REAL = ("robust03", "dl20")
"""Runs of real retrievers; their scores are those of the participants."""
DEPTH = 100
"""Documents of each of these runs."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents of judged queries.

    Attributes
    ----------
    X : float64 array (documents, runs)
    has : bool array (documents, runs)
        Whether a run has the document.
    y, qid, fold : arrays (documents,)
        Grades, queries, and the fold that tests the query, from 0.
    """

    X: NDArray[np.float64]
    has: NDArray[np.bool_]
    y: NDArray[np.int64]
    qid: NDArray[Any]
    fold: NDArray[np.intp]


@cache
def collection(where: Path, name: str) -> Collection:
    """A collection by name; folds are those of the source, or the queries in turn where it has none."""
    if name in REAL:
        return _of_runs(where / "runs" / name)
    data = arrays(where, name)
    X, y, qid = data["X"], data["y"].astype(np.int64), data["qid"]
    if name == "mq2007agg":  # a score is the reciprocal of a rank, or 0 for a document that the run does not have
        has = X > 0
    else:
        X = np.ascontiguousarray(X[:, _telling(X, y, qid)])
        has = np.ones(X.shape, dtype=bool)
    fold = data["fold"] - data["fold"].min() if "fold" in data else np.unique(qid, return_inverse=True)[1] % FOLDS
    return Collection(X, has, y, qid, fold.astype(np.intp))


def _of_runs(where: Path) -> Collection:
    """Runs in TREC files beside judgements; a relevant document that no run has is a row, too."""
    runs = {path.name.split(".")[0]: first_documents(read_run(path), DEPTH) for path in sorted(where.glob("*.run.gz"))}
    qrels = read_qrels(where / "qrels.txt.gz")
    joined = join(runs)
    known = judge(joined, qrels)
    kept = np.flatnonzero(known.judged)
    missed = [(query, grade) for query, grades in known.missed.items() for grade in grades]
    X = np.vstack([joined.scores[kept], np.full((len(missed), len(runs)), np.nan)])
    y = np.append(known.grades[kept], [grade for _, grade in missed]).astype(np.int64)
    qid = np.append(joined.qid[kept], np.array([query for query, _ in missed], dtype=object)).astype(str)
    fold = np.unique(qid, return_inverse=True)[1] % FOLDS
    return Collection(np.nan_to_num(X), ~np.isnan(X), y, qid, fold.astype(np.intp))


def _telling(X: NDArray[Any], y: NDArray[Any], qid: NDArray[Any]) -> NDArray[np.intp]:
    """Columns that order better than chance and differ within queries (by all labels, for all methods alike)."""
    rng = np.random.default_rng(0)
    chance = np.nanmean([list_values(STAT, y, rng.random(y.size), qid) for _ in range(5)])
    queries = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    varying = np.mean([np.ptp(X[rows], axis=0) > 0 for rows in queries], axis=0) >= VARYING
    means = [np.nanmean(list_values(STAT, y, column, qid, ties="average")) for column in X.T]
    return np.flatnonzero(varying & (np.array(means) >= chance + CHANCE))


def cells(names: list[str], draws: int) -> Iterator[tuple[str, int, int, int, int]]:
    """Collection, runs, training queries, fold and draw of every cell, draw by draw."""
    for draw in range(draws):
        for name in names:
            for fold in range(FOLDS):
                for size in KINDS[name].sizes:
                    for runs in KINDS[name].runs:
                        yield name, runs, size, fold, draw
