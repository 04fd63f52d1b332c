"""Whole real lists, a given score, and the best small corrections of it by a few columns.

The score is the log-odds of logistic regression, or of boosted trees out of fold. It is corrected by the k columns of
largest standardised logistic weight, each within r deviations, for the first hundredth of the list. The seed decides
the folds, the trees, and the lines of the search; the logistic score has none.

Printed by ``python -m benchmarks.exact --anchored --data FOLDER``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays
from benchmarks.exact.rows import Row
from rerank.problem import Problem, ranked_list
from rerank.statistics import parse

Floats = NDArray[np.float64]

TABLES = ("credit_default", "coil2000", "ai4i2020")
PRIORS = ("logistic", "boosted")

# columns, radius, seconds for precision, seconds for the window (None: a gap will do)
GOALS: tuple[tuple[int, float, float | None, float | None], ...] = (
    (3, 0.03, 2.0, 10.0),
    (3, 0.1, 2.0, 10.0),
    (3, 0.3, 2.0, None),
    (5, 0.03, 30.0, None),
    (5, 0.1, 30.0, None),
    (5, 0.3, None, None),
    (8, 0.03, None, None),
    (8, 0.1, None, None),
    (8, 0.3, None, None),
)
SECONDS = 10.0  # of a row without a goal


def anchored_lists(where: Path | None) -> list[Row]:
    """Rows of the table, one for each data set, statistic, prior, number of columns and radius; none without data."""
    rows = list[Row]()
    if where is None:
        return rows
    for prior in PRIORS:
        for name in TABLES:
            for k, radius, *goals in GOALS:
                for stem, goal in zip(("precision", "window2"), goals, strict=True):
                    title = f"{name}, {prior} + {k}, r = {radius}"
                    problem = _problem(where, name, prior, k, radius, stem)
                    rows.append(Row(title, f"{stem}@1%", "as it is", goal, problem, None if goal else SECONDS))
    return rows


def _problem(where: Path, name: str, prior: str, k: int, radius: float, stem: str) -> Callable[[int], Problem]:
    def made(seed: int) -> Problem:
        X, y, scores, order = _table(where, name, prior, seed if prior == "boosted" else 0)
        statistic = parse(f"{stem}@{y.size // 100}")
        item = ranked_list(statistic, np.arange(y.size), y)
        assert item is not None
        reach = np.array([1.0] + [radius] * k)
        low = np.concatenate([[1.0], -reach[1:]])
        table = np.column_stack([scores, X[:, order[:k]]])
        return Problem.build(table, [item], epsilon=1e-9, limits=(low, reach))

    return made


@cache
def _table(where: Path, name: str, prior: str, seed: int) -> tuple[Floats, Floats, Floats, NDArray[np.intp]]:
    """Table, labels, score, and columns by falling size of their standardised logistic weight."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    d = arrays(where, name)
    X, y = np.asarray(d["X"], dtype=np.float64), np.asarray(d["y"], dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    logistic = LogisticRegression(max_iter=2000).fit(standard, y)
    order = np.argsort(-np.abs(logistic.coef_[0]), kind="stable")
    if prior == "logistic":
        return X, y, logistic.decision_function(standard), order
    boosted = HistGradientBoostingClassifier(random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return X, y, cross_val_predict(boosted, X, y, cv=folds, method="decision_function"), order
