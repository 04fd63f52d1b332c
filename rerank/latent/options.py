"""Before training: options, their ranges and the defaults that depend on the log, checks of the logs, first vectors."""

import os
from dataclasses import fields
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of, real, whole
from rerank.latent.engines import ENGINES
from rerank.latent.engines.interface import START, Factors, Settings, seed_of
from rerank.latent.engines.ray_shard import MOST
from rerank.latent.log import Log

_CHOICES = {
    "loss": ("robirank", "warp"),
    "optimizer": ("adagrad", "sgd"),
    "xi": ("auto", "exact"),
    "engine": tuple(ENGINES),
}
_COUNTS = (
    *("n_factors", "n_epochs", "n_negatives", "visit_size", "n_passes", "xi_samples", "block_bytes"),
    *("evaluate_every", "patience", "validation_k", "validation_users", "checkpoint_every"),
)
# Smallest value, and the smallest that is too large.
_RANGES = {
    "alpha": (0.0, np.inf),
    "popular": (0.0, 1.0),
    "validation_fraction": (0.0, 1.0),
    **dict.fromkeys(("learning_rate", "decay", "init_scale"), (1e-12, np.inf)),
}
_DEFAULT_BY_LOG = ("alpha", "n_shards", "n_jobs")  # None leaves the choice to the model


def checked(model: Any) -> dict[str, Any]:
    """The options as texts and plain numbers."""
    chosen = {name: getattr(model, name) for name in (*_CHOICES, *_COUNTS, *_RANGES, "n_shards", "n_jobs", "verbose")}
    if chosen["xi"] in ("chebyshev", "sampled"):
        raise InputError(
            f"xi is {chosen['xi']!r}, which is gone; use 'auto', which sums over xi_samples items where that saves at "
            "least half of the work, or 'exact'."
        )
    for name, value in chosen.items():
        if name in _CHOICES:
            one_of(name, value, _CHOICES[name])
        elif name == "verbose" or (value is None and name in _DEFAULT_BY_LOG):
            continue
        elif name in _RANGES:
            chosen[name] = real(name, value, *_RANGES[name])
        elif name == "block_bytes":  # a message holds at least one sub-block
            chosen[name] = whole(name, value, 1, MOST, ", the bytes of a message")
        else:
            chosen[name] = whole(name, value)
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint is {model.checkpoint!r}; give the path of a folder, or None.")
    return chosen


def settings_of(chosen: dict[str, Any], n_shards: int, seed: int) -> Settings:
    """The options of a run; a penalty that is not given is still to be found."""
    names = {field.name for field in fields(Settings)}
    known = {name: value for name, value in chosen.items() if name in names and value is not None}
    return Settings(**known | {"n_shards": n_shards, "seed": seed})


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
