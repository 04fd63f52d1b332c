"""One cell: a table, a first stage, a statistic and a split; what each method makes of the rows to come.

A part of ``python -m benchmarks.evidence``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.evidence.tables import TABLES, divided

STAGES, STATISTICS, SPLITS = ("logistic", "lightgbm"), ("precision", "dcg", "auc"), 20

FIXED: dict[str, float | None] = {f"radius {one:g}": one for one in (0.03, 0.1, 0.3, 1.0, 3.0)} | {"free": None}
"""Corrections of all columns that are fixed, and free weights."""

SIMPLE = {"squares": "logistic+squares", "head20": "logistic+head20"}
"""First stages that take a line."""


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

    @property
    def stat(self) -> str:
        """The statistic with its places, unless all of them count."""
        return self.statistic if self.statistic == "auc" else f"{self.statistic}@{TABLES[self.table]}"


def all_cells(
    splits: int = SPLITS,
    tables: Sequence[str] = tuple(TABLES),
    stages: Sequence[str] = STAGES,
    statistics: Sequence[str] = STATISTICS,
) -> Iterator[Cell]:
    """Every cell, split by split, so that a run that is cut short has all tables."""
    for split in range(splits):
        for table in tables:
            for stage in stages:
                for statistic in statistics:
                    yield Cell(table, stage, statistic, split)


def stage_of(name: str) -> Any:
    """The first stage that a name stands for."""
    if name != "lightgbm":
        return name
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0
    )


@contextmanager
def shared_first_stage() -> Iterator[None]:
    """Fits on the same rows share a first stage; one with a radius has scores of folds, which free weights may lack."""
    from rerank.reranker.cross_fit import staged

    known: dict[bool, Any] = {}

    def shared(data: Any, settings: Any, *others: Any) -> Any:
        kind = settings.radius is None
        if kind not in known:
            known[kind] = staged(data, settings, *others)
        return known[kind]

    with patch("rerank.reranker.fit.staged", shared):
        yield


def measured(cell: Cell, where: Path) -> dict[str, Any]:
    """The statistic of the first stage and of each method, CPU seconds, and what was chosen."""
    from rerank import Reranker, RerankerCV
    from rerank.ranks import evaluate

    rows, places = divided(cell.table, cell.split, where), cell.statistic != "auc"
    common: dict[str, Any] = {"solver": "search", "node_limit": 0}
    if places:
        common["list_length"] = rows.length
    began = time.process_time()

    def value(est: Any) -> float:
        scores = est.fit(rows.X, rows.y).decision_function(rows.X_held)
        return float(evaluate(cell.stat, rows.y_held, scores, rows.lists))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cv = RerankerCV(Reranker(cell.stat, first_stage=stage_of(cell.stage), **common))
        found: dict[str, Any] = {"stat": cell.stat, "cv": value(cv)}
        evidence = cv.result_.evidence
        assert evidence is not None
        found["chosen"] = "first stage" if evidence.chosen is None else evidence.options[evidence.chosen]
        # A correction may find nothing better on all rows; one of another first stage then keeps that.
        found["kept"] = cv.first_stage_kept_ or (evidence.fit_keeps and "first_stage" not in cv.best_params_)
        found["cv_seconds"] = round(time.process_time() - began, 2)
        alone = {"first_stage": cell.stage, **SIMPLE, "lightgbm": "lightgbm"}
        for name, stage in alone.items():
            est = Reranker(cell.stat, first_stage=stage_of(stage), radius=0, cross_fit=False, **common)
            found[name] = found["first_stage"] if name == cell.stage else value(est)
        with shared_first_stage():
            for name, radius in FIXED.items():
                given = common | ({"window": 2.0} if places else {}) | ({} if radius is None else {"margin": 0.1})
                found[name] = value(Reranker(cell.stat, first_stage=stage_of(cell.stage), radius=radius, **given))
    found["seconds"] = round(time.process_time() - began, 2)
    return found
