"""Options of the model: their ranges, and the defaults that depend on the log."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of, real, whole
from rerank.latent.engines import ENGINES
from rerank.latent.engines.interface import Settings
from rerank.latent.engines.ray_messages import MOST
from rerank.latent.log import Log

_CHOICES = {
    "loss": ("robirank", "warp"),
    "optimizer": ("adagrad", "sgd"),
    "xi": ("auto", "exact"),
    "engine": tuple(ENGINES),
}
_COUNTS = (
    "n_factors", "n_epochs", "n_negatives", "visit_size", "n_passes", "xi_samples", "block_bytes", "evaluate_every",
    "patience", "validation_k", "validation_users", "checkpoint_every",
)  # fmt: skip
# Smallest value, and the smallest that is too large.
_RANGES = {
    "alpha": (0.0, np.inf),
    "learning_rate": (1e-12, np.inf),
    "decay": (1e-12, np.inf),
    "popular": (0.0, 1.0),
    "init_scale": (1e-12, np.inf),
    "validation_fraction": (0.0, 1.0),
}
_DEFAULT_BY_LOG = ("alpha", "n_shards", "n_jobs")  # None leaves the choice to the model


def checked(model: Any) -> dict[str, Any]:
    """The options as texts and plain numbers.

    Raises
    ------
    InputError
        For an option out of range.
    """
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


def check_still(chosen: dict[str, Any], n_factors: int, n_shards: int) -> None:
    """Raise :class:`InputError` if an option was changed that is fixed by training."""
    for name, was in (("n_factors", n_factors), ("n_shards", n_shards)):
        if chosen[name] not in (None, was):
            raise InputError(
                f"{name} is {chosen[name]!r}, but the model was trained with {was}; set it back to go on, or "
                "call fit to begin anew."
            )


def shards_for(log: Log) -> int:
    """Up to 4 shards, but at least 50,000 records and 1000 items a shard.

    Blocks with fewer items would be a poor sample of all items.
    """
    return int(max(1, min(4, log.n_records // 50_000, log.n_items // 1000)))


def settings_of(chosen: dict[str, Any], log: Log, n_shards: int, seed: int) -> Settings:
    """The options of a run; ``alpha`` is by default 5 over the mean number of records of a user, at most 0.15."""
    alpha = chosen["alpha"]
    if alpha is None:
        alpha = min(0.15, 5.0 * int((np.diff(log.indptr) > 0).sum()) / log.n_records)
    names = {field.name for field in fields(Settings)}
    known = {name: value for name, value in chosen.items() if name in names}
    return Settings(**known | {"alpha": alpha, "n_shards": n_shards, "seed": seed})
