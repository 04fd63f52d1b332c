"""Corrections of a first stage in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST = 6
"""Corrections that are told."""


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


def _one(name: str, weight: float, spread: float) -> str:
    step = _round_step(spread)
    return f"{weight * (step / spread):+.2g} per {step:g} of {name}"


def _round_step(spread: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a deviation."""
    power = 10.0 ** math.floor(math.log10(spread))
    return next((many * power for many in (5.0, 2.0) if many * power <= spread), power)
