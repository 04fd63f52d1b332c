"""What is compared: from training queries to scores of the test documents, with CPU seconds and what a fit says.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.exact import rivals
from benchmarks.fusion.collections import STAT
from benchmarks.fusion.lists import Floats, Part
from rerank.fusion import ScoreFusion
from rerank.problem import problem_of
from rerank.statistics import parse

SECONDS, EXACT = 0.5, 1.0
"""CPU seconds of coordinate ascent, and of an exact fit without folds."""
GUARDED = 10.0
"""CPU seconds of a guarded fit, at most."""

Answer = tuple[Floats, dict[str, Any]]
Method = Callable[[Part, Part], Answer]
"""Scores of test documents from training queries, and what is said."""


def rrf(train: Part, test: Part) -> Answer:
    """Equal weights of 1/(60 + rank)."""
    return test.X["rank"].mean(axis=1), {}


def minmax(train: Part, test: Part) -> Answer:
    """Equal weights of min-max scores."""
    return test.X["minmax"].mean(axis=1), {}


def zscores(train: Part, test: Part) -> Answer:
    """Equal weights of z-scores."""
    return test.X["z"].mean(axis=1), {}


def single(train: Part, test: Part) -> Answer:
    """The run that is best on the training queries."""
    means = [train.values(train.X["rank"][:, j]).mean() for j in range(len(train.runs))]
    return test.X["rank"][:, int(np.argmax(means))], {}


def guarded(train: Part, test: Part) -> Answer:
    """ScoreFusion with its defaults."""
    est = ScoreFusion(STAT, time_limit=GUARDED, random_state=0).fit(train.runs, train.qrels)
    evidence = est.evidence_
    chosen = est.null_ if evidence is None or evidence.taken is None else evidence.options[evidence.taken]
    return _scores(est, test), {"chosen": chosen}


def free(train: Part, test: Part) -> Answer:
    """ScoreFusion without radius and folds: weights of min-max scores, not negative, fitted exactly."""
    est = ScoreFusion(STAT, normalise="minmax", radius=None, cv=None, time_limit=EXACT, random_state=0)
    est.fit(train.runs, train.qrels)
    return _scores(est, test), {"gap": est.result_.gap, "value": est.result_.value}


def _scores(est: ScoreFusion, test: Part) -> Floats:
    return np.nan_to_num(est.fuse_arrays(test.found.joined.scores, test.lists))


def logistic(train: Part, test: Part) -> Answer:
    """Logistic regression of relevance on min-max scores, by scikit-learn; weights of both signs."""
    from sklearn.linear_model import LogisticRegression

    if not train.relevant().any():
        return minmax(train, test)
    est = LogisticRegression(C=100.0, max_iter=1000).fit(train.X["minmax"], train.relevant())
    return np.asarray(est.decision_function(test.X["minmax"])), {}


def ascent_at_least_0(train: Part, test: Part) -> Answer:
    """Coordinate ascent on the statistic of min-max scores, from equal weights, with restarts; no weight below 0."""
    problem = problem_of(train.X["minmax"], train.y.astype(np.float64), parse(STAT), train.lists, epsilon=1e-9)
    # The columns keep their scale: weights of the problem are those of columns divided by their ranges.
    judge = rivals.Judge(problem, SECONDS)
    with suppress(rivals.TimeIsUp):
        rivals.coordinate_ascent(judge, np.random.default_rng(0), 0.0)
    spread = train.X["minmax"].max(axis=0) - train.X["minmax"].min(axis=0)
    return test.X["minmax"] @ np.asarray(judge.best[1] / np.where(spread > 0, spread, 1.0)), {}


def _grouped(given: Part) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.argsort(given.lists, kind="stable")
    return order, np.bincount(given.lists)


def lightgbm(train: Part, test: Part) -> Answer:
    """LightGBM's lambdarank, a hundred small trees."""
    from lightgbm import LGBMRanker

    order, sizes = _grouped(train)
    est = LGBMRanker(n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
    est.fit(train.X["rank"][order], train.y[order], group=sizes)
    return np.asarray(est.predict(test.X["rank"])), {}


METHODS: dict[str, Method] = {
    "guarded": guarded,
    "RRF": rrf,
    "min-max": minmax,
    "z": zscores,
    "best single": single,
    "logistic": logistic,
    "ascent >= 0": ascent_at_least_0,
    "exact >= 0": free,
    "LightGBM": lightgbm,
}


def lacking(row: Mapping[str, Any]) -> list[str]:
    """Methods that a row of measurements lacks."""
    return [name for name in METHODS if name not in row]


def measured(train: Part, test: Part, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row lacks: mean nDCG@10 of the test queries by each method, its CPU seconds, and what it says."""
    found: dict[str, Any] = {}
    for name in lacking(row):
        began = time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            scores, said = METHODS[name](train, test)
        seconds = time.process_time() - began
        found[name] = {"ndcg": round(float(test.values(scores).mean()), 6), "seconds": round(seconds, 3), **said}
    return found
