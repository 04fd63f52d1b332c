"""Options of the model: their ranges, the defaults that depend on the log, and what the shards and training get."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.options import real, whole
from rerank.latent.engines import ENGINES
from rerank.latent.engines.interface import Settings
from rerank.latent.engines.ray_messages import MOST
from rerank.latent.log import Log
from rerank.latent.progress import Plan

_CHOICES = {
    "loss": ("robirank", "warp"),
    "optimizer": ("adagrad", "sgd"),
    "xi": ("auto", "exact", "chebyshev", "sampled"),
    "engine": tuple(ENGINES),
}
_COUNTS = (
    "n_factors", "n_epochs", "n_negatives", "visit_size", "n_passes", "xi_samples", "block_bytes", "evaluate_every",
    "patience", "validation_k", "validation_users", "checkpoint_every",
)  # fmt: skip
_MAYBE = ("n_shards", "n_jobs")  # None leaves the choice to the model
# Smallest value, and the smallest that is too large.
_RANGES = {
    "alpha": (0.0, np.inf),
    "learning_rate": (1e-12, np.inf),
    "decay": (1e-12, np.inf),
    "popular": (0.0, 1.0),
    "init_scale": (1e-12, np.inf),
    "validation_fraction": (0.0, 1.0),
}


def check(model: Any) -> None:
    """Raise :class:`InputError` for an option out of range."""
    for name, known in _CHOICES.items():
        value = getattr(model, name)
        if not isinstance(value, str) or value not in known:
            raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}.")
    for name in (*_COUNTS, *_MAYBE):
        count_in(model, name)
    for name in _RANGES:
        number_in(model, name)
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise InputError(f"checkpoint is {model.checkpoint!r}; give the path of a folder, or None.")


def count_in(model: Any, name: str) -> int:
    """An option that is a whole number, as int; 0 if it is None and None is allowed."""
    value = getattr(model, name)
    if value is None and name in _MAYBE:
        return 0
    # A message holds at least one sub-block.
    most, of = (MOST, ", the bytes of a message") if name == "block_bytes" else (None, "")
    return whole(name, value, 1, most, of)


def number_in(model: Any, name: str) -> float:
    """An option that is a number, as float; NaN for the ``alpha`` that is None."""
    value = getattr(model, name)
    return np.nan if value is None and name == "alpha" else real(name, value, *_RANGES[name])


def shards_for(model: Any, log: Log) -> int:
    """``n_shards``; by default up to 4, but at least 50,000 records and 1000 items a shard.

    Blocks with fewer items would be a poor sample of all items.
    """
    return count_in(model, "n_shards") or int(max(1, min(4, log.n_records // 50_000, log.n_items // 1000)))


def alpha_for(model: Any, log: Log) -> float:
    """``alpha``; by default 5 over the mean number of records of a user, at most 0.15."""
    if model.alpha is not None:
        return number_in(model, "alpha")
    return min(0.15, 5.0 * int((np.diff(log.indptr) > 0).sum()) / log.n_records)


def settings_of(model: Any, alpha: float, n_shards: int, seed: int) -> Settings:
    """The options that shards need."""
    own: dict[str, Any] = {"alpha": alpha, "n_shards": n_shards, "seed": seed}
    for name in (f.name for f in fields(Settings) if f.name not in own):
        own[name] = (
            count_in(model, name) if name in _COUNTS
            else number_in(model, name) if name in _RANGES
            else getattr(model, name)
        )  # fmt: skip
    return Settings(**own)


def plan_of(model: Any, n_epochs: int) -> Plan:
    """How long to train."""
    return Plan(
        n_epochs,
        count_in(model, "evaluate_every"),
        count_in(model, "patience"),
        count_in(model, "validation_k"),
        model.verbose,
        count_in(model, "checkpoint_every"),
    )


def check_still(model: Any, n_factors: int, n_shards: int | None) -> None:
    """Raise :class:`InputError` if an option was changed that is fixed by training."""
    for name, was in (("n_factors", n_factors), ("n_shards", n_shards)):
        if count_in(model, name) not in (0, was):
            raise InputError(
                f"{name} is {getattr(model, name)!r}, but the model was trained with {was}; set it back to go on, or "
                "call fit to begin anew."
            )
