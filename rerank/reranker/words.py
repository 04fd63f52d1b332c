"""What a fit did to a first stage, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.reranker.columns import Columns
    from rerank.reranker.first_stage import FirstStage
    from rerank.reranker.settings import Settings

Floats = NDArray[np.float64]

MOST = 6
"""Corrections that a sentence names."""


CORRECTIONS = "Corrections"
"""How the sentence on them begins."""


def corrections_in_words(names: Sequence[str], weights: Floats, spread: Floats) -> str:
    """One sentence on what a fit changed, the largest corrections first; ``""`` if it changed nothing.

    Parameters
    ----------
    names : sequence of str, length p
    weights : float64 array (p,)
        In deviations of the first stage's score for one deviation of the column.
    spread : float64 array (p,)
        Deviation of each column.
    """
    order = [int(j) for j in np.argsort(-np.abs(weights), kind="stable") if weights[j] != 0]
    if not order:
        return ""
    told = [_one(names[j], float(weights[j]), float(spread[j])) for j in order[:MOST]]
    more = f", and {len(order) - MOST} smaller ones" if len(order) > MOST else ""
    return f"{CORRECTIONS}, in deviations of the first stage's score: {', '.join(told)}{more}."


def kept_in_words(settings: Settings, stage: FirstStage | None, columns: Columns) -> tuple[str, ...]:
    """A sentence if a first stage that is kept ranks by more columns than ``max_features`` allows weights."""
    if stage is None or settings.max_features is None:
        return ()
    used = len(columns.inputs) if stage.coef is None else int(np.count_nonzero(stage.coef))
    if used <= settings.max_features:
        return ()
    return (
        f"max_features={settings.max_features} limits what is fitted after the first stage; that is kept, and ranks by "
        f"{used} columns.",
    )


def _one(name: str, weight: float, spread: float) -> str:
    step = _round_step(spread)
    return f"{weight * (step / spread):+.2g} per {step:g} of {name}"


def _round_step(spread: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a deviation."""
    power = 10.0 ** math.floor(math.log10(spread))
    return next((many * power for many in (5.0, 2.0) if many * power <= spread), power)
