"""What tuning LightGBM brings on the same splits, beside what corrections of it bring."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import arrays
from benchmarks.evidence.cells import STATISTICS, TABLES, stage_of
from benchmarks.evidence.page import pooled

LEAVES, RATES, ROUNDS, FOLDS = (4, 8, 15, 31), (0.05, 0.1), (25, 50, 100, 200), 5
"""What is tried; rounds come from one fit by predictions of its first trees."""


def all_tuned(splits: int, tables: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Tables and splits, split by split."""
    for split in range(splits):
        for table in tables:
            yield table, split


def tuned(table: str, split: int, where: Path) -> dict[str, Any]:
    """Held-out statistics of the model with the largest AUC in the mean of the folds, and CPU seconds."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    from rerank.ranks import evaluate

    data = arrays(where, table)
    X, y = np.asarray(data["X"], dtype=np.float64), (data["y"] > 0).astype(int)
    train, test = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=y, random_state=split)
    began, model = time.process_time(), stage_of("lightgbm")
    found: dict[tuple[int, float, int], list[float]] = defaultdict(list)
    for own, held in StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X[train], y[train]):
        for leaves, rate in product(LEAVES, RATES):
            model.set_params(num_leaves=leaves, learning_rate=rate, n_estimators=max(ROUNDS))
            model.fit(X[train[own]], y[train[own]])
            for rounds in ROUNDS:
                scores = model.predict(X[train[held]], raw_score=True, num_iteration=rounds)
                found[leaves, rate, rounds].append(evaluate("auc", y[train[held]], scores))
    leaves, rate, rounds = max(found, key=lambda one: float(np.mean(found[one])))
    model.set_params(num_leaves=leaves, learning_rate=rate, n_estimators=rounds).fit(X[train], y[train])
    scores, spent = model.predict(X[test], raw_score=True), time.process_time() - began
    places = TABLES[table]
    names = {one: "auc" if one == "auc" else f"{one}@{places}" for one in STATISTICS}
    values = {one: evaluate(name, y[test], scores) for one, name in names.items()}
    return {**values, "chosen": [leaves, rate, rounds], "seconds": round(spent, 2)}


def section(rows: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The part of the page, from tuned models and from the cells of the same splits."""
    known = {str(cell["cell"]): cell for cell in cells}
    lines = [
        "## Beside tuning LightGBM",
        "",
        f"`--tuning` chooses LightGBM's leaves ({', '.join(map(str, LEAVES))}), learning rate",
        f"({', '.join(map(str, RATES))}) and rounds ({', '.join(map(str, ROUNDS))}) by AUC in {FOLDS} folds.",
        "Leads are over LightGBM as it is above, on the splits in which both were measured, pooled as above.",
        "",
        "| statistic | splits | tuned | cv over LightGBM as it is |",
        "|---|---|---|---|",
    ]
    for statistic in STATISTICS:
        leads: dict[str, dict[str, float]] = {"tuned": {}, "cv": {}}
        count = 0
        for table in TABLES:
            keys = {f"{table}/lightgbm/{statistic}/{row['cell'][1]}": row for row in rows if row["cell"][0] == table}
            both = [(row, known[key]) for key, row in keys.items() if key in known]
            if both:
                count += len(both)
                base = float(np.mean([cell["first_stage"] for _, cell in both]))
                leads["tuned"][table] = 100 * (float(np.mean([row[statistic] for row, _ in both])) / base - 1)
                leads["cv"][table] = 100 * (float(np.mean([cell["cv"] for _, cell in both])) / base - 1)
        if count:
            told = ["{:+.2f} % ({:+.2f} to {:+.2f})".format(*pooled(leads[name])) for name in leads]
            lines.append(f"| {statistic} | {count} | {' | '.join(told)} |")
    lines += ["", f"Tuning took {np.mean([row['seconds'] for row in rows]):.1f} CPU seconds in the mean.", ""]
    return lines
