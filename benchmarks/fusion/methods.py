"""What is compared: from training queries to scores of the test documents, with CPU seconds and what a fit says.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.exact import rivals
from benchmarks.fusion.collections import STAT
from benchmarks.fusion.lists import Floats, Part
from rerank.problem import problem_of
from rerank.reranker.fusion.estimator import ScoreFusion
from rerank.statistics import parse

SECONDS = 2.0
"""CPU seconds of a fit without folds, and of the methods that search as long as they may."""
GUARDED = 10.0
"""CPU seconds of a guarded fit."""

Answer = tuple[Floats, dict[str, Any]]
Method = Callable[[Part, Part, float], Answer]
"""Scores of test documents from training queries, and what is said; some may take as many CPU seconds as guarded."""


def rrf(train: Part, test: Part, seconds: float) -> Answer:
    """Equal weights of 1/(60 + rank)."""
    return test.X["rank"].mean(axis=1), {}


def minmax(train: Part, test: Part, seconds: float) -> Answer:
    """Equal weights of min-max scores."""
    return test.X["minmax"].mean(axis=1), {}


def zscores(train: Part, test: Part, seconds: float) -> Answer:
    """Equal weights of z-scores."""
    return test.X["z"].mean(axis=1), {}


def single(train: Part, test: Part, seconds: float) -> Answer:
    """The run that is best on the training queries."""
    means = [train.values(train.X["rank"][:, j]).mean() for j in range(len(train.runs))]
    return test.X["rank"][:, int(np.argmax(means))], {}


def guarded(train: Part, test: Part, seconds: float) -> Answer:
    """ScoreFusion with its defaults."""
    est = ScoreFusion(STAT, time_limit=GUARDED, random_state=0).fit(train.runs, train.qrels)
    return est.fuse_arrays(test.found.joined.scores, test.lists), {
        "kept": est.null_kept_, "null": est.null_, "normaliser": est.normaliser_
    }  # fmt: skip


def free(train: Part, test: Part, seconds: float) -> Answer:
    """ScoreFusion without radius and folds: weights of reciprocal ranks, not negative, fitted exactly."""
    est = ScoreFusion(STAT, normalise="rank", radius=None, cv=None, time_limit=SECONDS, random_state=0)
    est.fit(train.runs, train.qrels)
    result = est.result_
    return est.fuse_arrays(test.found.joined.scores, test.lists), {"gap": result.gap, "value": result.value}


def _judge(train: Part, seconds: float) -> rivals.Judge:
    gains = np.exp2(train.y.astype(np.float64)) - 1.0
    problem = problem_of(train.X["rank"], gains, parse(STAT), train.lists, epsilon=1e-9)
    # The columns keep their scale: weights of the problem are those of columns divided by their ranges.
    return rivals.Judge(problem, seconds)


def _weights(judge: rivals.Judge, train: Part) -> Floats:
    spread = train.X["rank"].max(axis=0) - train.X["rank"].min(axis=0)
    return np.asarray(judge.best[1] / np.where(spread > 0, spread, 1.0))


def coordinate_ascent(train: Part, test: Part, seconds: float) -> Answer:
    """Coordinate ascent on the statistic from equal weights, with restarts; weights of both signs."""
    return _ascent(train, test, SECONDS, -np.inf)


def ascent_at_least_0(train: Part, test: Part, seconds: float) -> Answer:
    """The same with weights that are not negative, and as much time as guarded took."""
    return _ascent(train, test, seconds, 0.0)


def _ascent(train: Part, test: Part, seconds: float, least: float) -> Answer:
    judge = _judge(train, seconds)
    with suppress(rivals.TimeIsUp):
        rivals.coordinate_ascent(judge, np.random.default_rng(0), least)
    return test.X["rank"] @ _weights(judge, train), {}


def optuna(train: Part, test: Part, seconds: float) -> Answer:
    """Optuna's default sampler over weights between 0 and 1, with as much time as guarded took."""
    import optuna as package

    package.logging.set_verbosity(package.logging.ERROR)
    judge, d = _judge(train, seconds), len(train.runs)

    def value(trial: Any) -> float:
        return judge(np.array([trial.suggest_float(f"w{j}", 0.0, 1.0) for j in range(d)]))

    study = package.create_study(direction="maximize", sampler=package.samplers.TPESampler(seed=0))
    with suppress(rivals.TimeIsUp):
        study.optimize(value, n_trials=None)
    return test.X["rank"] @ _weights(judge, train), {}


def ranx(train: Part, test: Part, seconds: float) -> Answer:
    """Weighted sum of min-max scores by ranx, its weights from a grid of tenths: all of them, so few runs only."""
    import ranx as package

    graded = zip(train.qrels.qid, train.qrels.docid, train.qrels.grade.tolist())
    judged = _by_query((query, document, grade) for query, document, grade in graded if grade > 0)
    runs = [_by_query(zip(run.qid, run.docid, run.score.tolist())) for run in train.runs.values()]
    common = [query for query in judged if all(query in run for run in runs)]  # it takes no others
    if not common:
        return minmax(train, test, seconds)
    best = package.optimize_fusion(
        qrels=package.Qrels({query: judged[query] for query in common}),
        runs=[package.Run({query: run[query] for query in common}) for run in runs],
        norm="min-max", method="wsum", metric="ndcg_burges@10",
    )  # fmt: skip
    return test.X["minmax"] @ np.array(best["weights"]), {}


def _by_query(triples: Iterable[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, document, number in triples:
        found.setdefault(query, {})[document] = number
    return found


def ranksvm(train: Part, test: Part, seconds: float) -> Answer:
    """RankSVM on reciprocal ranks."""
    from rerank.scorers import RankSVM

    scale = train.X["rank"].std(axis=0)
    scale[scale == 0] = 1.0
    est = RankSVM().fit(train.X["rank"] / scale, train.y, qid=train.lists)
    return np.asarray(est.decision_function(test.X["rank"] / scale)), {}


def _grouped(given: Part) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.argsort(given.lists, kind="stable")
    return order, np.bincount(given.lists)


def lightgbm(train: Part, test: Part, seconds: float) -> Answer:
    """LightGBM's lambdarank, a hundred small trees."""
    from lightgbm import LGBMRanker

    order, sizes = _grouped(train)
    est = LGBMRanker(n_estimators=100, num_leaves=15, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
    est.fit(train.X["rank"][order], train.y[order], group=sizes)
    return np.asarray(est.predict(test.X["rank"])), {}


def xgboost(train: Part, test: Part, seconds: float) -> Answer:
    """XGBoost's rank:ndcg, a hundred small trees."""
    from xgboost import XGBRanker

    order, _ = _grouped(train)
    est = XGBRanker(objective="rank:ndcg", n_estimators=100, max_depth=4, learning_rate=0.05, n_jobs=1, random_state=0)
    est.fit(train.X["rank"][order], train.y[order], qid=train.lists[order])
    return np.asarray(est.predict(test.X["rank"]), dtype=np.float64), {}


METHODS: dict[str, Method] = {
    "guarded": guarded, "free": free, "RRF": rrf, "min-max": minmax, "z": zscores, "best single": single,
    "coordinate ascent": coordinate_ascent, "ascent >= 0": ascent_at_least_0, "optuna": optuna, "RankSVM": ranksvm,
    "LightGBM": lightgbm, "XGBoost": xgboost, "ranx": ranx,
}  # fmt: skip
MOST = {"ranx": 3}
"""Runs that a method can take."""


def lacking(row: Mapping[str, Any], runs: int) -> list[str]:
    """Methods that a row of measurements lacks."""
    return [name for name in METHODS if name not in row and runs <= MOST.get(name, runs)]


def measured(train: Part, test: Part, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row lacks: mean nDCG@10 of the test queries by each method, its CPU seconds, and what it says."""
    found: dict[str, Any] = {}
    for name in lacking(row, len(train.runs)):
        seconds = (found | dict(row)).get("guarded", {}).get("seconds", GUARDED)
        began = time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            scores, said = METHODS[name](train, test, seconds)
        seconds = time.process_time() - began
        found[name] = {"ndcg": float(test.values(scores).mean()), "seconds": round(seconds, 3), **said}
    return found
