"""The peers of :mod:`benchmarks.first_stage.ranksvm`; each can say the objective of its weights, computed here.

A part of ``python -m benchmarks.first_stage.ranksvm --peers``.
"""

from __future__ import annotations

import importlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.base import RankingData
from rerank.scorers.conversions import c_of_alpha, count_pairs
from rerank.scorers.ranksvm.pairs import UtilityPairs

Floats = NDArray[np.float64]
LIBLINEAR = "LIBLINEAR-rankSVM, eps"


@dataclass(frozen=True)
class Done:
    """What a run can say of its result."""

    say: Callable[[], str]


Run = Callable[[], Done]


def said(X: Any, y: Floats, w: Floats, alpha: float) -> str:
    """``J(w)`` of one list."""
    active = UtilityPairs(RankingData(X, y, np.zeros(y.size, np.int64), np.ones(y.size)), "pairs").at(X @ w)
    return f"objective {active.squared[0] + alpha * float(w @ w):.9f}"


def logistic(X: Any, y: Floats, solver: str) -> Run:
    """A logistic regression of the rows above the median, as a yardstick of time."""
    from sklearn.linear_model import LogisticRegression

    high = y > np.median(y)

    def run() -> Done:
        model = LogisticRegression(solver=solver).fit(X, high)
        return Done(lambda: f"{model.n_iter_} iterations")

    return run


def liblinear(path: str, text: str, X: Any, y: Floats, alpha: float) -> dict[str, Run]:
    """LIBLINEAR-rankSVM on the file ``text``; the first run reads, takes its norms and stops."""
    C = c_of_alpha(alpha, count_pairs(y))

    def weights(model: Path) -> Floats:
        w = np.array(model.read_text().split("\nw\n")[1].split(), dtype=np.float64)
        return np.pad(w, (0, X.shape[1] - w.size))

    def run(eps: str) -> Done:
        model = Path(f"{text}.liblinear")
        _call([path, "-t", "1", "-c", repr(C), "-e", eps, text, str(model)])
        return Done(lambda: said(X, y, weights(model), alpha))

    return {f"{LIBLINEAR} {eps}": lambda eps=eps: run(eps) for eps in ("1e10", "1e-3", "1e-6")}  # type: ignore[misc]


def _call(command: list[str]) -> str:
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=threads).stdout


def survival(X: Floats, y: Floats, alpha: float) -> dict[str, Run]:
    """scikit-survival's squared hinge over pairs; every event is observed."""
    model = importlib.import_module("sksurv.svm").FastSurvivalSVM
    times = np.empty(y.size, dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = True, y - y.min() + 1
    C = c_of_alpha(alpha, count_pairs(y))

    def run(optimizer: str) -> Done:
        options = dict(rank_ratio=1, optimizer=optimizer, tol=1e-6, max_iter=100, fit_intercept=False)
        w = model(alpha=2 * C, **options).fit(X, times).coef_
        return Done(lambda: said(X, y, w, alpha))

    return {f"scikit-survival, {tree}": lambda tree=tree: run(tree) for tree in ("avltree", "rbtree")}  # type: ignore[misc]
