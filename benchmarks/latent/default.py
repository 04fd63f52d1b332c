"""The default penalty beside the fixed cap of 0.15 that it replaced, and beside ALS tuned over 4 x 3 settings.

``sparse`` is a log made here: 3,000 users with 17 records on average of 9,000 items.  ALS takes the setting that is
best on the validation part of the first seed.  All figures are of the validation part, which chooses nothing else.

Printed by ``python -m benchmarks.latent --default``.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.latent.methods import FACTORS, products
from benchmarks.latent.quality import parts, warm
from rerank.latent import LatentRoBiRank, evaluate, split_log

CAP = 0.15
STRENGTHS, WEIGHTS = (0.01, 1.0, 10.0, 50.0), (1.0, 10.0, 40.0)
ITERATIONS = 15


def default(where: Path, name: str, seeds: int) -> None:
    """Print means of precision@10 on the validation part, and medians of CPU seconds of one thread."""
    splits = [sparse(seed) if name == "sparse" else parts(where, name, seed)[:2] for seed in range(seeds)]
    warm()
    print(f"\n{name}, {seeds} seeds    p@10   CPU s", flush=True)
    with threadpool_limits(1):
        found = [robirank(split, seed, None) for seed, split in enumerate(splits)]
        told("default", found, [f"{penalty:.3f}" for *_, penalty in found])
        if found[0][2] > CAP:
            told("alpha=0.15", [robirank(split, seed, CAP) for seed, split in enumerate(splits)], [])
        if importlib.util.find_spec("implicit"):
            settings = [(r, w) for r in STRENGTHS for w in WEIGHTS]
            best = max(settings, key=lambda setting: als(splits[0], 0, *setting)[0])
            told("implicit ALS", [als(split, seed, *best) for seed, split in enumerate(splits)], list(map(str, best)))


def robirank(split: Any, seed: int, alpha: float | None) -> tuple[float, float, float]:
    """Precision, seconds and penalty of a fit."""
    train, validation = split
    began = time.process_time()
    model = LatentRoBiRank(FACTORS, alpha=alpha, n_jobs=1, random_state=seed).fit(train)
    spent = time.process_time() - began
    return evaluate(model.score_items, validation, 10, train).means()["precision"], spent, model.alpha_


def als(split: Any, seed: int, strength: float, weight: float) -> tuple[float, float]:
    """Precision and seconds of a fit."""
    from implicit.als import AlternatingLeastSquares

    train, validation = split
    model = AlternatingLeastSquares(
        FACTORS, strength, weight, iterations=ITERATIONS, num_threads=1, use_gpu=False, random_state=seed
    )
    began = time.process_time()
    model.fit(train, show_progress=False)
    spent = time.process_time() - began
    scores = products(np.asarray(model.user_factors), np.asarray(model.item_factors))
    return evaluate(scores, validation, 10, train).means()["precision"], spent


def told(title: str, found: list[Any], more: list[str]) -> None:
    """A line of the table."""
    precision, seconds = (np.array([run[k] for run in found]) for k in range(2))
    print(f"{title:18} {precision.mean():.4f} {np.median(seconds):7.1f}  {', '.join(more)}", flush=True)


def sparse(seed: int) -> tuple[Any, Any]:
    """Training and validation part of a log of popular items and twelve tastes, with few records of each user."""
    rng = np.random.default_rng(0)
    n_users, n_items, tastes = 3000, 9000, 12
    U, V = rng.standard_normal((n_users, tastes)), rng.standard_normal((n_items, tastes))
    popular = 1.2 * rng.standard_normal(n_items)
    users, items = [], []
    for x in range(n_users):
        k = int(np.clip(np.exp(rng.normal(2.6, 0.7)), 4, 200))
        scores = 0.9 * V @ U[x] + popular + rng.gumbel(size=n_items)
        users += [x] * k
        items += np.argpartition(-scores, k)[:k].tolist()
    log = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=(n_users, n_items))
    _, validation, train = split_log(log, (0.2, 0.1), seed)
    return train, validation
