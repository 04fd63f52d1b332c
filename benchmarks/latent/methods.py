"""Methods of the comparison: what is drawn in a trial, and training that is looked at again and again.

Every method yields its scores after each step of some epochs, and is judged by precision@10 on the validation part at
each of these looks.  Seconds are CPU seconds of one thread, without the looks.

A part of ``python -m benchmarks.latent --quality``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.latent import LatentRoBiRank

FACTORS = 32
EPOCHS = 5  # between two looks

Scores = Callable[[Any], Any]
Options = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """``first`` is what its authors or their examples recommend, ``draw`` gives the options of the later trials;
    ``steps`` trains on and on and yields scores at each look; there are ``looks`` and ``trials`` at most.
    """

    first: Options
    draw: Callable[[np.random.Generator], Options]
    steps: Callable[[Any, Options, int], Iterator[Scores]]
    looks: int
    trials: int = 1000


def powers(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is even between those of two."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def products(U: Any, V: Any, bias: Any = 0.0) -> Scores:
    """Scores of vectors, kept as they are now."""
    U, V, bias = U.copy(), V.copy(), np.copy(bias)
    return lambda users: U[users] @ V.T + bias


def robirank(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    model = LatentRoBiRank(FACTORS, n_jobs=1, random_state=seed, evaluate_every=EPOCHS, **options)
    while True:
        model.partial_fit(train, EPOCHS)
        yield products(model.user_factors_, model.item_factors_)


def draw_robirank(rng: np.random.Generator) -> Options:
    return {
        "alpha": powers(rng, 0.03, 0.3),
        "learning_rate": powers(rng, 0.15, 0.5),
        "n_negatives": int(rng.choice([100, 200, 400])),
        "visit_size": int(rng.choice([4, 8])),
    }


def draw_own_warp(rng: np.random.Generator) -> Options:
    return {"loss": "warp", "alpha": powers(rng, 0.01, 3.0), "learning_rate": powers(rng, 0.02, 0.2)}


def lightfm_warp(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    from lightfm import LightFM

    model = LightFM(FACTORS, loss="warp", random_state=seed, **options)
    while True:
        model.fit_partial(train, epochs=EPOCHS, num_threads=1)
        yield products(model.user_embeddings, model.item_embeddings, model.item_biases)


def draw_lightfm(rng: np.random.Generator) -> Options:
    return {
        "learning_rate": powers(rng, 0.01, 0.2),
        "max_sampled": int(rng.choice([10, 30, 100])),
        "item_alpha": powers(rng, 1e-6, 1e-3),
        "user_alpha": powers(rng, 1e-6, 1e-3),
    }


def als(train: Any, options: Options, seed: int) -> Iterator[Scores]:
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        FACTORS, iterations=EPOCHS, num_threads=1, use_gpu=False, random_state=seed, **options
    )
    while True:
        model.fit(train, show_progress=False)
        yield products(np.asarray(model.user_factors), np.asarray(model.item_factors))


def draw_als(rng: np.random.Generator) -> Options:
    return {"regularization": powers(rng, 0.01, 200.0), "alpha": powers(rng, 1.0, 100.0)}


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


def draw_ease(rng: np.random.Generator) -> Options:
    return {"strength": powers(rng, 10.0, 3000.0)}


def methods(n_items: int) -> dict[str, Method]:
    """Those that can run here."""
    found = {"popularity": Method({}, lambda rng: {}, popularity, 1, 1)}
    if importlib.util.find_spec("lightfm"):
        found["lightfm WARP"] = Method({"learning_rate": 0.05, "max_sampled": 10}, draw_lightfm, lightfm_warp, 12)
    found["RoBiRank"] = Method({}, draw_robirank, robirank, 12)
    if importlib.util.find_spec("implicit"):
        found["implicit ALS"] = Method({"regularization": 0.01, "alpha": 1.0}, draw_als, als, 8)
    found["own WARP"] = Method({"loss": "warp", "learning_rate": 0.05}, draw_own_warp, robirank, 12, 10)
    if n_items <= 5000:
        found["EASE"] = Method({"strength": 300.0}, draw_ease, ease, 1, 5)
    return found
