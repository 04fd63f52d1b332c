"""One cell: a table, a statistic and a split; what the default choice and each first stage find among rows to come.

A part of ``python -m benchmarks.evidence``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.tables import TABLES, divided
from rerank.reranker.selection.options import STRONG

STATISTICS, SPLITS = ("precision", "auc"), 3

MEMBERS: dict[str, Any] = {"squares": "logistic+squares", "trees": "trees", "forest": "forest"}
"""First stages that are members of the blend, beside logistic regression."""

ALONE = {"logistic": "logistic", **MEMBERS, "blend": STRONG[-1], "lightgbm": "lightgbm"}
"""What is fitted beside the choice, as it is."""


@dataclass(frozen=True)
class Cell:
    """What is measured together."""

    table: str
    statistic: str
    split: int

    @property
    def key(self) -> str:
        """The cell in one word."""
        return f"{self.table}/{self.statistic}/{self.split}"

    @property
    def stat(self) -> str:
        """The statistic with its places, unless all of them count."""
        return self.statistic if self.statistic == "auc" else f"{self.statistic}@{TABLES[self.table]}"


def all_cells(
    splits: int = SPLITS, tables: Sequence[str] = tuple(TABLES), statistics: Sequence[str] = STATISTICS
) -> Iterator[Cell]:
    """Every cell, split by split, so that a run that is cut short has all tables."""
    for split in range(splits):
        for table in tables:
            for statistic in statistics:
                yield Cell(table, statistic, split)


def stage_of(name: Any) -> Any:
    """The first stage that a name stands for."""
    if name != "lightgbm":
        return name
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0
    )


@lru_cache(maxsize=1)
def alone(table: str, split: int, where: Path) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Scores of the rows to come by each first stage as it is, whatever the statistic, and CPU seconds of its fit."""
    from rerank import Reranker

    rows, found = divided(table, split, where), {}
    for name, stage in ALONE.items():
        began = time.process_time()
        est = Reranker("auc", first_stage=stage_of(stage), radius=0, cross_fit=False, solver="search", node_limit=0)
        found[name] = est.fit(rows.X, rows.y).decision_function(rows.X_held), time.process_time() - began
    return found


def measured(cell: Cell, where: Path) -> dict[str, Any]:
    """The statistic of the choice and of each first stage, CPU seconds, and what was chosen."""
    from rerank import Reranker, RerankerCV
    from rerank.ranks import evaluate

    rows, places = divided(cell.table, cell.split, where), cell.statistic != "auc"
    common: dict[str, Any] = {"solver": "search", "node_limit": 0}
    if places:
        common["list_length"] = rows.length
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = RerankerCV(Reranker(cell.stat, **common)).fit(rows.X, rows.y)
        evidence = choice.result_.evidence
        assert evidence is not None
        spent = time.process_time() - began
        scores = {"choice": (choice.decision_function(rows.X_held), spent)} | alone(cell.table, cell.split, where)
    chosen = "logistic" if evidence.chosen is None else evidence.options[evidence.chosen]
    values = {name: float(evaluate(cell.stat, rows.y_held, own, rows.lists)) for name, (own, _) in scores.items()}
    seconds = {name: round(spent, 2) for name, (_, spent) in scores.items()}
    return {"stat": cell.stat, "chosen": chosen, **values, "seconds": seconds}
