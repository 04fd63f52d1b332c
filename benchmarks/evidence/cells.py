"""One cell: a table, a first stage, a statistic and a split; what each method makes of the held-out rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import arrays

TABLES = {
    "ai4i2020": 100, "coil2000": 100, "spambase": 100, "credit_default": 100, "compas": 100,
    "german": 30, "diabetes": 25, "australian": 25, "abalone19": 50, "uis": 20,
}  # fmt: skip
"""The tables, and the places that count in a held-out list."""

STAGES = ("logistic", "lightgbm")
STATISTICS = ("precision", "dcg", "auc")
SPLITS = 20
SECONDS, LARGE = 2.0, {"coil2000": 4.0, "credit_default": 4.0}
"""CPU seconds of a single fit; cross-validation has fifteen times as many. First stages take a second on two tables."""

METHODS = ("free", "anchored", "cv")
RADII = {"narrow": 0.03, "anchored": 0.1, "wide": 0.3}
"""Fixed radii; the narrow and the wide one, for precision and DCG of smaller tables, show what choosing keeps."""


@dataclass(frozen=True)
class Cell:
    """What is measured together."""

    table: str
    stage: str
    statistic: str
    split: int

    @property
    def key(self) -> str:
        """The cell in one word."""
        return f"{self.table}/{self.stage}/{self.statistic}/{self.split}"


def all_cells(splits: int = SPLITS) -> Iterator[Cell]:
    """Every cell, split by split, so that a run that is cut short has all tables."""
    for split in range(splits):
        for table in TABLES:
            for stage in STAGES:
                for statistic in STATISTICS:
                    yield Cell(table, stage, statistic, split)


def stage_of(name: str) -> Any:
    """The first stage that a name stands for."""
    if name == "logistic":
        return "logistic"
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)


def measured(cell: Cell, where: Path) -> dict[str, Any]:
    """The held-out statistic of the first stage and of each method, their seconds, and the radius that was chosen."""
    from sklearn.model_selection import train_test_split

    from rerank import Reranker, RerankerCV
    from rerank.ranks import evaluate

    data = arrays(where, cell.table)
    X, y = np.asarray(data["X"], dtype=np.float64), (data["y"] > 0).astype(int)
    train, test = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=y, random_state=cell.split)
    places, seconds = TABLES[cell.table], LARGE.get(cell.table, SECONDS)
    stat = "auc" if cell.statistic == "auc" else f"{cell.statistic}@{places}"
    common: dict[str, Any] = {
        "first_stage": stage_of(cell.stage), "solver": "search", "random_state": cell.split, "n_jobs": 1,
        "list_length": None if stat == "auc" else test.size,
    }  # fmt: skip
    corrected: dict[str, Any] = {"margin": 0.1, "max_features": 3}
    if stat != "auc":
        corrected["window"] = 2.0
    estimators: dict[str, Any] = {
        "free": Reranker(stat, time_limit=seconds, **common),
        **{
            name: Reranker(stat, time_limit=seconds, radius=radius, **common, **corrected)
            for name, radius in RADII.items() if name == "anchored" or (stat != "auc" and cell.table not in LARGE)
        },
        "cv": RerankerCV(
            Reranker(stat, time_limit=seconds, **common),
            time_limit=15 * seconds, random_state=cell.split,
        ),
    }  # fmt: skip
    found: dict[str, Any] = {"stat": stat}
    for name, est in estimators.items():
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est.fit(X[train], y[train])
        found[name] = evaluate(stat, y[test], est.decision_function(X[test]))
        found[f"{name}_seconds"] = round(time.process_time() - began, 2)
        if name == "cv":
            chosen = est.best_params_["radius"]
            found["radius"] = 0.0 if est.first_stage_kept_ else chosen
            found["first_stage"] = evaluate(stat, y[test], est.best_estimator_.first_stage_scores(X[test]))
    return found
