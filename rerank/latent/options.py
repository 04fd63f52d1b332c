"""Options of the model: their ranges, and what engine and training make of them."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.latent.engine import Settings
from rerank.latent.log import Log
from rerank.latent.progress import Plan

CHOICES = {
    "loss": ("robirank", "warp"),
    "optimizer": ("adagrad", "sgd"),
    "xi": ("auto", "exact", "chebyshev", "sampled"),
    "engine": ("local", "ray"),
}
COUNTS = (
    "n_factors", "n_epochs", "n_negatives", "visit_size", "n_passes", "xi_samples", "block_bytes", "evaluate_every",
    "patience", "validation_k", "validation_users", "checkpoint_every",
)  # fmt: skip
# Blocks travel in pieces of whole sub-blocks, and a message of an engine is not to be longer than this.
MOST_BYTES = 2**26
# Least value, and the first that is too large.
RANGES = {
    "alpha": (0.0, np.inf),
    "learning_rate": (1e-12, np.inf),
    "decay": (1e-12, np.inf),
    "popular": (0.0, 1.0),
    "init_scale": (1e-12, np.inf),
    "validation_fraction": (0.0, 1.0),
}


def check(model: Any) -> None:
    """Raise :class:`InputError` for an option out of range."""
    for name, known in CHOICES.items():
        if getattr(model, name) not in known:
            raise InputError(
                f"{name} is {getattr(model, name)!r}; it must be one of {', '.join(map(repr, known))}."
            )
    for name in (*COUNTS, "n_shards", "n_jobs"):
        value = getattr(model, name)
        if value is None and name not in COUNTS:
            continue
        if not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{name} is {value!r}; it must be a whole number, at least 1.")
    for name, (least, end) in RANGES.items():
        value = getattr(model, name)
        if value is None and name == "alpha":
            continue
        if not least <= value < end:
            raise InputError(f"{name} is {value!r}; it must be at least {least:g} and below {end:g}.")
    if model.block_bytes > MOST_BYTES:
        raise InputError(f"block_bytes is {model.block_bytes!r}; it must be {MOST_BYTES} (64 MB) at most.")
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint is {model.checkpoint!r}; give the path of a folder, or None.")


def shards_for(n_records: int, n_items: int) -> int:
    """Shards where none are asked for: up to 4, but 50,000 records and 1000 items a shard, so that blocks of items
    stay a good sample of all.
    """
    return int(max(1, min(4, n_records // 50_000, n_items // 1000)))


def alpha_for(log: Log) -> float:
    """The penalty where none is asked for: 5 over the mean number of records of a user, 0.15 at most."""
    return min(0.15, 5.0 * int((np.diff(log.indptr) > 0).sum()) / log.n_records)


def settings_of(model: Any, alpha: float, n_shards: int, seed: int) -> Settings:
    """What the shards have to know."""
    own = ("alpha", "n_shards", "seed")
    named = {f.name: getattr(model, f.name) for f in fields(Settings) if f.name not in own}
    return Settings(alpha=alpha, n_shards=n_shards, seed=seed, **named)


def plan_of(model: Any, n_epochs: int) -> Plan:
    """How long to train."""
    return Plan(
        n_epochs,
        model.evaluate_every,
        model.patience,
        model.validation_k,
        model.verbose,
        model.checkpoint_every,
    )
