"""The peers of :mod:`benchmarks.first_stage.ranksvm`; each can say the objective of its weights, computed here."""

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
from rerank.scorers.ranksvm.pairs import Pairs

Floats = NDArray[np.float64]
LIBLINEAR = "LIBLINEAR-rankSVM, eps"


@dataclass(frozen=True)
class Done:
    """What a run can say of its result, and its seconds where the program measured them itself."""

    say: Callable[[], str]
    seconds: float | None = None


Run = Callable[[], Done]


def said(X: Any, y: Floats, w: Floats, alpha: float, loss: str) -> str:
    """``J(w)`` of one list."""
    active = Pairs(RankingData(X, y, np.zeros(y.size, np.int64), np.ones(y.size)), "pairs").at(X @ w)
    value = (active.hinge if loss == "hinge" else active.squared)[0] + alpha * float(w @ w)
    return f"objective {value:.9f}"


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
        return Done(lambda: said(X, y, weights(model), alpha, "squared_hinge"))

    return {f"{LIBLINEAR} {eps}": lambda eps=eps: run(eps) for eps in ("1e10", "1e-3", "1e-6")}  # type: ignore[misc]


def svm_rank(path: str, text: str, X: Any, y: Floats, alpha: float) -> dict[str, Run]:
    """SVM-rank on the file ``text``, with the share of swapped pairs as loss."""

    def run() -> Done:
        model = Path(f"{text}.svmrank")
        out = _call([path, "-l", "2", "-c", repr(c_of_alpha(alpha)), "-e", "0.001", text, str(model)])
        seconds = float(out.split("Runtime in cpu-seconds:")[1].split()[0])
        return Done(lambda: said(X, y, weights(model), alpha, "hinge"), seconds)

    def weights(model: Path) -> Floats:
        w = np.zeros(X.shape[1])
        for part in model.read_text().splitlines()[-1].split()[1:]:
            if ":" in part:
                k, x = part.split(":")
                w[int(k) - 1] = float(x)
        return w

    return {"SVM-rank, eps 1e-3": run}


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
        return Done(lambda: said(X, y, w, alpha, "squared_hinge"))

    return {f"scikit-survival, {tree}": lambda tree=tree: run(tree) for tree in ("avltree", "rbtree")}  # type: ignore[misc]


def dlib_planes(X: Floats, y: Floats, alpha: float) -> dict[str, Run]:
    """The cutting planes of dlib, eps 1e-3; its own containers are filled outside the clock."""
    dlib: Any = importlib.import_module("dlib")
    rows = dlib.ranking_pair()
    for x, relevant in zip(X, y > 0):
        (rows.relevant if relevant else rows.nonrelevant).append(dlib.vector(x.tolist()))

    def run() -> Done:
        trainer = dlib.svm_rank_trainer()
        trainer.c, trainer.epsilon = c_of_alpha(alpha), 1e-3
        found = trainer.train(rows)
        return Done(lambda: said(X, y, np.array(list(found.weights)).ravel(), alpha, "hinge"))

    return {"dlib": run}
