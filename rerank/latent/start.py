"""Before training: checks of the logs, and the first vectors."""

from __future__ import annotations

import numpy as np

from rerank.errors import InputError
from rerank.latent.engines.blocks import START, seed_of
from rerank.latent.engines.interface import Factors, Settings
from rerank.latent.log import Log


def check_logs(log: Log, validation: Log | None, known: Factors, n_shards: int) -> None:
    """Raise :class:`InputError` if there is nothing to learn from, or shapes do not fit."""
    if log.n_records == 0 or log.n_items < 2:
        raise InputError(
            f"log has {log.n_records} records of {log.n_items} items; learning takes at least one record and two items."
        )
    if log.n_items < 2 * n_shards:
        raise InputError(
            f"log has {log.n_items} items for n_shards={n_shards}; give at least two items for each shard."
        )
    shape = (log.n_users, log.n_items)
    if validation is not None and (validation.n_users, validation.n_items) != shape:
        raise InputError(
            f"validation has shape {validation.n_users, validation.n_items}, the log {shape}; "
            "give the same users and items."
        )
    if validation is not None and validation.n_records == 0:
        raise InputError(
            "validation has no records, but training is to stop by them; give a part with at least one record (a "
            "larger validation_fraction, if users have few), or none at all."
        )
    if log.n_users < len(known.U) or log.n_items < len(known.V):
        raise InputError(
            f"log has shape {shape}, the model knows {len(known.U), len(known.V)}; keep all users and items that it "
            "knows and add new ones behind them."
        )


def extended(known: Factors, log: Log, settings: Settings) -> Factors:
    """Factors with normal random rows for the users and items that are new."""
    rng = np.random.default_rng(seed_of(settings.seed, START, len(known.U), len(known.V)))
    n_users, n_items, d = log.n_users, log.n_items, settings.n_factors
    U, V = np.empty((n_users, d), dtype=np.float32), np.empty((n_items, d), dtype=np.float32)
    GU, GV = np.zeros(n_users, dtype=np.float32), np.zeros(n_items, dtype=np.float32)
    for rows, squares, old, G in ((U, GU, known.U, known.GU), (V, GV, known.V, known.GV)):
        rows[: len(old)], squares[: len(old)] = old, G
        rng.standard_normal(out=rows[len(old) :], dtype=np.float32)
        rows[len(old) :] *= settings.init_scale
    return Factors(U, V, GU, GV)
