"""Before training: whether there is anything to learn, the first vectors, and the engine."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.latent.engines.blocks import START, seed_of
from rerank.latent.engines.interface import Engine, Factors
from rerank.latent.log import Log


@dataclass(frozen=True, eq=False)
class Begun:
    """What training goes on from: seed, shards if they are known, epochs, looks and factors so far."""

    seed: int
    n_shards: int | None
    epoch: int
    looks: list[dict[str, Any]]
    factors: Factors


def check_logs(log: Log, validation: Log | None, known: Factors, n_shards: int) -> None:
    """Raise :class:`InputError` where there is nothing to learn from, or shapes do not fit."""
    if log.n_records == 0 or log.n_items < 2:
        raise InputError(
            f"log has {log.n_records} records of {log.n_items} items; learning takes one record and two items at least."
        )
    if log.n_items < 2 * n_shards:
        raise InputError(
            f"log has {log.n_items} items for n_shards={n_shards}; give two items a shard at least."
        )
    shape = (log.n_users, log.n_items)
    if validation is not None and (validation.n_users, validation.n_items) != shape:
        raise InputError(
            f"validation has shape {validation.n_users, validation.n_items}, the log {shape}; "
            "give the same users and items."
        )
    if validation is not None and validation.n_records == 0:
        raise InputError(
            "validation has no records, but training is to stop by them; give a part with one record at least (a "
            "larger validation_fraction, where users have few), or none at all."
        )
    if log.n_users < len(known.U) or log.n_items < len(known.V):
        raise InputError(
            f"log has shape {shape}, the model knows {len(known.U), len(known.V)}; keep all users and items that it "
            "knows and add new ones behind them."
        )


def grown(known: Factors, n_users: int, n_items: int, scale: float, seed: int) -> Factors:
    """Factors with normal rows for the users and items that are new."""
    rng = np.random.default_rng(seed_of(seed, START, len(known.U), len(known.V)))
    d = known.U.shape[1]
    U, V = np.empty((n_users, d), dtype=np.float32), np.empty((n_items, d), dtype=np.float32)
    GU, GV = np.zeros(n_users, dtype=np.float32), np.zeros(n_items, dtype=np.float32)
    for rows, squares, old, G in ((U, GU, known.U, known.GU), (V, GV, known.V, known.GV)):
        rows[: len(old)], squares[: len(old)] = old, G
        rng.standard_normal(out=rows[len(old) :], dtype=np.float32)
        rows[len(old) :] *= scale
    return Factors(U, V, GU, GV)


def engine_of(name: str, n_jobs: int | None, advice: str = "") -> Engine:
    """The engine of a name; ``advice`` says what to do when it loses its workers time and again."""
    if name == "local":
        from rerank.latent.engines.local import LocalEngine

        return LocalEngine(n_jobs)
    try:
        module = importlib.import_module("rerank.latent.engines.ray_engine")
    except ImportError as error:
        if error.name != "ray":  # an installation that is damaged says more than we could
            raise
        raise InputError(
            "engine is 'ray', which needs the package ray; install exact-rerank[ray] or use engine='local'."
        ) from None
    engine: Engine = module.RayEngine(n_jobs, advice)
    return engine


def advice_for(checkpoint: str | os.PathLike[str] | None) -> str:
    """What to do about an engine that loses its workers time and again."""
    if checkpoint is None:
        return "look into the memory of the machines, and give checkpoint= a folder, so that nothing is run twice"
    return (
        f"look into the memory of the machines and call fit again, which goes on from {os.fspath(checkpoint)}"
    )
