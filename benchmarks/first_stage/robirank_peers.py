"""Methods that are compared with RoBiRank: each yields one scoring of validation and test rows for each setting.

Trees are tuned over two sizes and, by staged prediction, the number of rounds, all at the same learning rate; linear
rankers over ``alpha``, along a warm-started path.  A package that is not installed is left out.

A part of ``python -m benchmarks.first_stage.robirank --quality``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import CostSensitive, PNormPush
from rerank.scorers import RankSVM, RoBiRank
from rerank.scorers.base import LinearRanker

Floats = NDArray[np.float64]
ROUNDS = (12, 25, 50, 100, 200)
RATE = 0.1


@dataclass(frozen=True, eq=False)
class Split:
    """Training, validation and test rows, in this order in each tuple; rows of a list are adjacent."""

    X: tuple[Floats, Floats, Floats]
    y: tuple[Floats, Floats, Floats]
    qid: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each training list."""
        begins = np.flatnonzero(np.diff(self.qid[0], prepend=self.qid[0][0] - 1))
        return np.diff(begins, append=self.qid[0].size)


Scored = tuple[str, Floats, Floats]
"""Setting, scores of the validation rows, scores of the test rows."""
Method = Callable[[Split], Iterator[Scored]]


def linear(kind: type[LinearRanker], alphas: Floats, **options: Any) -> Method:
    """A ranker along ``alphas``."""

    def scored(split: Split) -> Iterator[Scored]:
        ranker = kind(**options)
        y = split.y[0] if ranker.takes_grades else (split.y[0] > 0).astype(np.float64)
        path = ranker.path(split.X[0], y, alphas, split.qid[0])
        for alpha, coef in zip(path.alphas, path.coefs):
            yield f"alpha {alpha:g}", split.X[1] @ coef, split.X[2] @ coef

    return scored


def lightgbm(package: Any, split: Split, leaves: int, rounds: int) -> Any:
    """``lambdarank``."""
    common: dict[str, Any] = {"learning_rate": RATE, "n_jobs": 1, "random_state": 0, "verbose": -1}
    ranker = package.LGBMRanker(n_estimators=rounds, num_leaves=leaves, **common)
    ranker.fit(split.X[0], split.y[0].astype(int), group=split.sizes)
    return lambda X, first: ranker.booster_.predict(X, num_iteration=first)


def xgboost(package: Any, split: Split, depth: int, rounds: int) -> Any:
    """``rank:ndcg``."""
    common: dict[str, Any] = {"learning_rate": RATE, "n_jobs": 1, "random_state": 0}
    ranker = package.XGBRanker(objective="rank:ndcg", n_estimators=rounds, max_depth=depth, **common)
    ranker.fit(split.X[0], split.y[0].astype(int), group=split.sizes)
    return lambda X, first: ranker.predict(X, iteration_range=(0, first))


def catboost(package: Any, split: Split, depth: int, rounds: int) -> Any:
    """``YetiRank``."""
    common: dict[str, Any] = {"learning_rate": RATE, "thread_count": 1, "random_seed": 0, "verbose": False}
    asked = {"loss_function": "YetiRank", "iterations": rounds, "depth": depth, "allow_writing_files": False}
    ranker = package.CatBoost({**asked, **common})
    ranker.fit(package.Pool(split.X[0], split.y[0], group_id=split.qid[0]))
    return lambda X, first: ranker.predict(X, ntree_end=first)


TREES: dict[str, tuple[Callable[..., Any], tuple[int, int], str]] = {
    "lightgbm": (lightgbm, (7, 31), "{} leaves"),
    "xgboost": (xgboost, (3, 6), "depth {}"),
    "catboost": (catboost, (4, 6), "depth {}"),
}
"""By package: what fits and gives the predictions of the first so many rounds, the sizes that are tried, in words."""


def trees(split: Split, name: str, small: bool) -> Iterator[Scored]:
    """Boosted trees of a package; ``small`` spares the larger ones and the last number of rounds."""
    fit, sizes, words = TREES[name]
    tried = ROUNDS[:-1] if small else ROUNDS
    for size in sizes[: 1 if small else 2]:
        predict = fit(importlib.import_module(name), split, size, tried[-1])
        for rounds in tried:
            valid, test = (predict(X, rounds) for X in split.X[1:])
            yield f"{words.format(size)}, {rounds} rounds", valid, test


def methods(small: bool = False) -> dict[str, Method]:
    """Those that can run here, RoBiRank first; ``small`` spares the larger trees and the last number of rounds."""
    sums, means = np.logspace(-4, 5, 19), np.logspace(-7, 3, 11)
    found: dict[str, Method] = {
        "RoBiRank": linear(RoBiRank, sums),
        "P-norm push, p = 4": linear(PNormPush, means, p=4.0),
        "exponential push": linear(PNormPush, means, p=1.0),
        "logistic, y > 0": linear(CostSensitive, sums),
        "RankSVM": linear(RankSVM, means),
    }
    for name in TREES:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is left out: it is not installed.")
        else:
            found[f"{name} {importlib.import_module(name).__version__}"] = partial(trees, name=name, small=small)
    return found
