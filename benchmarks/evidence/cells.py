"""One cell: a table, a first stage, a statistic and a split; what each method makes of the held-out rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays

TABLES = {
    "ai4i2020": 100, "coil2000": 100, "spambase": 100, "credit_default": 100, "compas": 100,
    "german": 30, "diabetes": 25, "australian": 25, "abalone19": 50, "uis": 20,
}  # fmt: skip
"""The tables, and the places that count in a held-out list."""

QUERY_SETS = {"mslr_sample": 10, "lightgbm_rank": 10, "ohsumed": 10, "mq2007agg": 10}
"""Tables of many lists, and the places that count in each: not planned, and measured by name."""

STAGES, MORE_STAGES = ("logistic", "lightgbm"), ("ranksvm", "xgboost")
STATISTICS = ("precision", "dcg", "auc")
"""What was planned. More first stages, and other statistics by name, can be asked for."""

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

    @classmethod
    def of(cls, key: str) -> Cell:
        """The cell of a key."""
        table, stage, statistic, split = key.split("/")
        return cls(table, stage, statistic, int(split))


def all_cells(
    splits: int = SPLITS, tables: Sequence[str] = tuple(TABLES), stages: Sequence[str] = STAGES,
    statistics: Sequence[str] = STATISTICS,
) -> Iterator[Cell]:  # fmt: skip
    """Every cell, split by split, so that a run that is cut short has all tables."""
    for split in range(splits):
        for table in tables:
            for stage in stages:
                for statistic in statistics:
                    yield Cell(table, stage, statistic, split)


def is_planned(cell: Cell) -> bool:
    """Whether a cell was fixed before anything was run."""
    return cell.table in TABLES and cell.stage in STAGES and cell.statistic in STATISTICS and cell.split < SPLITS


def stage_of(name: str, ranker: bool = False) -> Any:
    """The first stage that a name stands for: of boosted trees a ranker for many lists, else a classifier."""
    if name == "lightgbm":
        import lightgbm

        kind = lightgbm.LGBMRanker if ranker else lightgbm.LGBMClassifier
        return kind(n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
    if name == "xgboost":
        import xgboost

        kind = xgboost.XGBRanker if ranker else xgboost.XGBClassifier
        return kind(n_estimators=100, max_leaves=15, learning_rate=0.05, n_jobs=1, verbosity=0, random_state=0)
    return name


def stat_of(cell: Cell) -> str:
    """The statistic with its places, unless it counts all of them or was given with its own."""
    counted = QUERY_SETS.get(cell.table) or TABLES[cell.table]
    cut = cell.statistic in ("precision", "dcg", "ndcg", "recall")
    return f"{cell.statistic}@{counted}" if cut else cell.statistic


def divided(y: NDArray[Any], qid: NDArray[Any] | None, split: int) -> list[NDArray[np.int64]]:
    """Rows to fit and rows to judge, 2/3 to 1/3: stratified, or lists, of which three splits are folds."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(y.size)
    if qid is None:
        return train_test_split(rows, test_size=1 / 3, stratify=y, random_state=split)
    lists = np.random.default_rng(split // 3).permutation(np.unique(qid))
    held = np.isin(qid, lists[split % 3 :: 3])
    return [rows[~held], rows[held]]


def measured(cell: Cell, where: Path) -> dict[str, Any]:
    """The held-out statistic of the first stage and of each method, their seconds, and the radius that was chosen."""
    from rerank import Reranker, RerankerCV
    from rerank.ranks import evaluate

    data, lists = arrays(where, cell.table), cell.table in QUERY_SETS
    X, y = np.asarray(data["X"], dtype=np.float64), data["y"] if lists else (data["y"] > 0).astype(int)
    qid = data["qid"] if lists else None
    train, test = divided(y, qid, cell.split)
    own, held = (None, None) if qid is None else (qid[train], qid[test])
    seconds, stat = LARGE.get(cell.table, SECONDS), stat_of(cell)
    common: dict[str, Any] = {
        "first_stage": stage_of(cell.stage, lists), "solver": "search", "random_state": cell.split, "n_jobs": 1,
        "list_length": test.size if "@" in stat and not lists else None,
    }  # fmt: skip
    corrected: dict[str, Any] = {"margin": 0.1, "max_features": 3}
    if "@" in stat and not lists:
        corrected["window"] = 2.0
    estimators: dict[str, Any] = {
        "free": Reranker(stat, time_limit=seconds, **common),
        **{
            name: Reranker(stat, time_limit=seconds, radius=radius, **common, **corrected)
            for name, radius in RADII.items() if name == "anchored" or ("@" in stat and cell.table not in LARGE)
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
            est.fit(X[train], y[train], own)
        scores = est.decision_function(X[test], qid=held) if lists else est.decision_function(X[test])
        found[name] = evaluate(stat, y[test], scores, held)
        found[f"{name}_seconds"] = round(time.process_time() - began, 2)
        if name == "cv":
            chosen = est.best_params_["radius"]
            found["radius"] = 0.0 if est.first_stage_kept_ else chosen
            found["first_stage"] = evaluate(stat, y[test], est.best_estimator_.first_stage_scores(X[test]), held)
    return found
