"""Judged runs of one collection: training queries drawn from four folds, and the queries of the fifth.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import STAT, Collection, collection
from rerank.fusion import FusionModel
from rerank.io import Qrels, Run
from rerank.ranks import list_values, number_lists
from rerank.reranker.fusion.lists import JudgedRuns, judged_runs
from rerank.statistics import parse

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some queries: their runs and judgements, and the same as arrays with normalised scores.

    Attributes
    ----------
    runs : dict of str to Run
    qrels : Qrels
    found : JudgedRuns
    X : dict of str to float64 array (documents, runs)
        Scores by "rank", "minmax" and "z"; a missing document has what ScoreFusion gives it.
    y, lists : arrays (documents,)
        Grades, and numbers of the queries in order.
    """

    runs: dict[str, Run]
    qrels: Qrels
    found: JudgedRuns
    X: dict[str, Floats]
    y: NDArray[np.intp]
    lists: NDArray[np.intp]

    def values(self, scores: Floats) -> Floats:
        """nDCG@10 of each query, equal scores against the relevant documents."""
        known = number_lists(self.found.joined.qid)[0]
        missed = self.found.missed or {}
        by_number = {number: missed[name] for number, name in enumerate(known) if name in missed}
        return np.nan_to_num(list_values(STAT, self.y, scores, self.lists, gain="linear", ideal_gains=by_number))

    def relevant(self) -> NDArray[np.bool_]:
        """Whether each document is relevant."""
        return self.y > 0


def part(data: Collection, queries: NDArray[Any], columns: NDArray[np.intp]) -> Part:
    """The queries with these runs."""
    rows = np.flatnonzero(np.isin(data.qid, queries))
    qid = data.qid[rows].astype(str).astype(object)
    docid = np.array([f"d{row}" for row in rows], dtype=object)
    runs = {}
    for column in columns.tolist():
        has = data.has[rows, column]
        runs[f"run{column}"] = Run(qid[has], docid[has], data.X[rows, column][has], f"run{column}")
    qrels = Qrels(qid, docid, data.y[rows])
    found = judged_runs(runs, qrels, None, parse(STAT))
    lists = number_lists(found.joined.qid)[1]
    weights = np.full(len(runs), 1.0 / len(runs))
    X = {
        name: FusionModel(found.joined.names, weights, name).normalised(found.joined.scores, lists)
        for name in ("rank", "minmax", "z")
    }
    return Part(runs, qrels, found, X, found.judged.grades.astype(np.intp), lists)


def cell(where: Path, name: str, n_runs: int, n_queries: int, fold: int, draw: int) -> tuple[Part, Part]:
    """Training and test queries; runs and training queries are drawn with the seed of the cell."""
    data = collection(where, name)
    rng = np.random.default_rng([n_runs, fold, draw])
    columns = np.sort(rng.permutation(data.X.shape[1])[:n_runs])
    others = np.unique(data.qid[data.fold != fold])
    drawn = rng.permutation(others)[:n_queries]  # more queries hold those of fewer
    return part(data, drawn, columns), part(data, np.unique(data.qid[data.fold == fold]), columns)
