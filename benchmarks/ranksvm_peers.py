"""The peers of :mod:`benchmarks.ranksvm`; each run says the objective of its weights, computed here."""

from __future__ import annotations

import importlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.conversions import c_of_alpha, count_pairs
from rerank.scorers.data import RankingData
from rerank.scorers.ranksvm_pairs import Pairs

Floats = NDArray[np.float64]
Run = Callable[[], str]


def said(X: Any, y: Floats, w: Floats, alpha: float, loss: str) -> str:
    """``J(w)`` of one list."""
    active = Pairs(RankingData(X, y, np.zeros(y.size, np.int64), np.ones(y.size)), "pairs").at(X @ w)
    value = (active.hinge if loss == "hinge" else active.squared)[0] + alpha * float(w @ w)
    return f"objective {value:.9f}"


def logistic(X: Any, y: Floats, solver: str) -> Run:
    """A logistic regression of the rows above the median, as a yardstick of time."""
    from sklearn.linear_model import LogisticRegression

    high = y > np.median(y)
    return lambda: f"{LogisticRegression(solver=solver).fit(X, high).n_iter_} iterations"


def liblinear(path: str, text: str, X: Any, y: Floats, alpha: float) -> dict[str, Run]:
    """LIBLINEAR-rankSVM on the file ``text``; the first run reads, takes its norms and stops."""
    C = c_of_alpha(alpha, count_pairs(y))

    def weights(model: Path) -> Floats:
        w = np.array(model.read_text().split("\nw\n")[1].split(), dtype=np.float64)
        return np.pad(w, (0, X.shape[1] - w.size))

    def run(eps: str) -> str:
        model = Path(f"{text}.liblinear")
        _call([path, "-t", "1", "-c", repr(C), "-e", eps, text, str(model)])
        return said(X, y, weights(model), alpha, "squared_hinge")

    return {f"LIBLINEAR-rankSVM, eps {eps}": lambda eps=eps: run(eps) for eps in ("1e10", "1e-3", "1e-6")}  # type: ignore[misc]


def svm_rank(path: str, text: str, X: Any, y: Floats, alpha: float) -> dict[str, Run]:
    """SVM-rank on the file ``text``, with the share of swapped pairs as loss."""

    def run() -> str:
        model = Path(f"{text}.svmrank")
        _call([path, "-l", "2", "-c", repr(c_of_alpha(alpha)), "-e", "0.001", text, str(model)])
        w = np.zeros(X.shape[1])
        for part in model.read_text().splitlines()[-1].split()[1:]:
            if ":" in part:
                k, x = part.split(":")
                w[int(k) - 1] = float(x)
        return said(X, y, w, alpha, "hinge")

    return {"SVM-rank, eps 1e-3": run}


def _call(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def survival(X: Floats, y: Floats, alpha: float) -> dict[str, Run]:
    """scikit-survival's squared hinge over pairs; every event is observed."""
    model = importlib.import_module("sksurv.svm").FastSurvivalSVM
    times = np.empty(y.size, dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = True, y - y.min() + 1
    C = c_of_alpha(alpha, count_pairs(y))

    def run(optimizer: str) -> str:
        options = dict(rank_ratio=1, optimizer=optimizer, tol=1e-6, max_iter=100, fit_intercept=False)
        return said(X, y, model(alpha=2 * C, **options).fit(X, times).coef_, alpha, "squared_hinge")

    return {f"scikit-survival, {tree}": lambda tree=tree: run(tree) for tree in ("avltree", "rbtree")}  # type: ignore[misc]


def dlib_planes(X: Floats, y: Floats, alpha: float) -> dict[str, Run]:
    """The cutting planes of dlib, eps 1e-3; its own containers are filled outside the clock."""
    dlib: Any = importlib.import_module("dlib")
    rows = dlib.ranking_pair()
    for x, relevant in zip(X, y > 0):
        (rows.relevant if relevant else rows.nonrelevant).append(dlib.vector(x.tolist()))

    def run() -> str:
        trainer = dlib.svm_rank_trainer()
        trainer.c, trainer.epsilon = c_of_alpha(alpha), 1e-3
        return said(X, y, np.array(list(trainer.train(rows).weights)).ravel(), alpha, "hinge")

    return {"dlib": run}
