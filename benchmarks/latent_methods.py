"""Methods of the comparison: what is drawn in a trial, and a fit that stops by validation.

A trial trains in steps of some epochs, looks at precision@10 on the validation part after each, and ends after three
looks without a better one; its result is the best look.  Seconds are CPU seconds of one thread, without the looks.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rerank.latent import LatentRoBiRank, evaluate

FACTORS = 32
PATIENCE = 3

Scores = Callable[[Any], Any]
Options = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """``draw`` gives the options of a trial; ``steps`` trains on and on and yields scores at each look."""

    draw: Callable[[np.random.Generator], Options]
    steps: Callable[[Any, Options, int], Iterator[Scores]]
    looks: int


@dataclass(frozen=True, eq=False)
class Trial:
    """Best look of a trial: precision@10 on the validation part, CPU seconds until then, and the scores."""

    options: Options
    precision: float
    seconds: float
    total: float
    scores: Scores | None


def run(method: Method, train: Any, validation: Any, options: Options, seed: int) -> Trial:
    """Train until the validation says stop."""
    best = Trial(options, -1.0, 0.0, 0.0, None)
    spent, waited = 0.0, 0
    with threadpool_limits(1):
        steps = method.steps(train, options, seed)
        for _ in range(method.looks):
            began = time.process_time()
            scores = next(steps)
            spent += time.process_time() - began
            found = evaluate(scores, validation, 10, train).means()["precision"]
            if found > best.precision:
                best, waited = Trial(options, found, spent, spent, scores), 0
            else:
                waited += 1
                if waited == PATIENCE:
                    break
    return Trial(best.options, best.precision, best.seconds, spent, best.scores)


def products(U: Any, V: Any, bias: Any = 0.0) -> Scores:
    """Scores of vectors, kept as they are now."""
    U, V, bias = U.copy(), V.copy(), np.copy(bias)
    return lambda users: U[users] @ V.T + bias


def robirank(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    model = LatentRoBiRank(FACTORS, n_jobs=1, random_state=seed, evaluate_every=5, **options)
    while True:
        model.partial_fit(train, 5)
        yield products(model.user_factors_, model.item_factors_)


def draw_robirank(rng: np.random.Generator) -> Options:
    return {"alpha": float(10 ** rng.uniform(-2, -0.4)), "n_negatives": int(rng.choice([100, 200, 400]))}


def draw_own_warp(rng: np.random.Generator) -> Options:
    return {
        "loss": "warp",
        "alpha": float(10 ** rng.uniform(-2, 0.5)),
        "learning_rate": float(10 ** rng.uniform(-1.7, -0.7)),
    }


def lightfm_warp(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    from lightfm import LightFM

    model = LightFM(FACTORS, loss="warp", random_state=seed, **options)
    while True:
        model.fit_partial(train, epochs=5, num_threads=1)
        yield products(model.user_embeddings, model.item_embeddings, model.item_biases)


def draw_lightfm(rng: np.random.Generator) -> Options:
    options: Options = {
        "learning_rate": float(10 ** rng.uniform(-2, -0.8)),
        "max_sampled": int(rng.choice([10, 30, 100])),
    }
    strength = float(10 ** rng.uniform(-7, -4))
    return {**options, "item_alpha": strength, "user_alpha": strength}


def als(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        FACTORS, iterations=5, num_threads=1, use_gpu=False, random_state=seed, **options
    )
    while True:
        model.fit(train, show_progress=False)
        yield products(np.asarray(model.user_factors), np.asarray(model.item_factors))


def draw_als(rng: np.random.Generator) -> Options:
    return {"regularization": float(10 ** rng.uniform(-2, 2.3)), "alpha": float(10 ** rng.uniform(0, 2))}


def popularity(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    counts = np.asarray(train.sum(axis=0), dtype=np.float32).ravel()
    while True:
        yield lambda users: np.tile(counts, (len(users), 1))


def ease(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    """Items from items [Steck2019, eq. 8]; needs the dense Gram matrix, so for small catalogues only."""
    G = np.asarray((train.T @ train).todense(), dtype=np.float64)
    G[np.diag_indices(len(G))] += options["strength"]
    P = np.linalg.inv(G)
    B = (-P / np.diag(P)).astype(np.float32)
    np.fill_diagonal(B, 0.0)
    while True:
        yield lambda users: np.asarray(train[users] @ B)


def methods(n_items: int) -> dict[str, Method]:
    """Those that can run here."""
    found = {
        "RoBiRank": Method(draw_robirank, robirank, 12),
        "own WARP": Method(draw_own_warp, robirank, 12),
        "popularity": Method(lambda rng: {}, popularity, 1),
    }
    if importlib.util.find_spec("lightfm"):
        found["lightfm WARP"] = Method(draw_lightfm, lightfm_warp, 12)
    if importlib.util.find_spec("implicit"):
        found["implicit ALS"] = Method(draw_als, als, 8)
    if n_items <= 5000:
        found["EASE"] = Method(lambda rng: {"strength": float(10 ** rng.uniform(1, 3.5))}, ease, 1)
    return found
