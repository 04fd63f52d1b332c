"""What tuning LightGBM brings on the same splits.

A part of ``python -m benchmarks.evidence``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.cells import STATISTICS, Cell, stage_of
from benchmarks.evidence.tables import divided

LEAVES, RATES, ROUNDS, FOLDS = (4, 8, 15, 31), (0.05, 0.1), (25, 50, 100, 200), 5
"""What is tried; rounds come from one fit by predictions of its first trees."""


def tuned(table: str, split: int, where: Path) -> dict[str, Any]:
    """Held-out statistics of the model with the largest AUC in the mean of the folds, and CPU seconds."""
    from sklearn.model_selection import StratifiedKFold

    from rerank.ranks import evaluate

    X, y, X_held, y_held, lists = divided(table, split, where)
    began, model = time.process_time(), stage_of("lightgbm")
    found: dict[tuple[int, float, int], list[float]] = defaultdict(list)
    for own, held in StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y):
        for leaves, rate in product(LEAVES, RATES):
            model.set_params(num_leaves=leaves, learning_rate=rate, n_estimators=max(ROUNDS)).fit(X[own], y[own])
            for rounds in ROUNDS:
                scores = model.predict(X[held], raw_score=True, num_iteration=rounds)
                found[leaves, rate, rounds].append(evaluate("auc", y[held], scores))
    leaves, rate, rounds = max(found, key=lambda one: float(np.mean(found[one])))
    model.set_params(num_leaves=leaves, learning_rate=rate, n_estimators=rounds).fit(X, y)
    scores, spent = model.predict(X_held, raw_score=True), time.process_time() - began
    names = {one: Cell(table, one, split).stat for one in STATISTICS}
    values = {one: evaluate(name, y_held, scores, lists) for one, name in names.items()}
    return {**values, "chosen": [leaves, rate, rounds], "seconds": round(spent, 2)}
