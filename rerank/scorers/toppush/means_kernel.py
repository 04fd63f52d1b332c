"""Compiled means of the largest scores of many lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def top_means(start: Any, weight: Any, k: Any, scores: Any, found: Any) -> None:
    """For each list g the mean of its ``k_g`` largest scores into ``found``, a row of weight v counted v times."""
    for g in range(k.size):
        held = scores[start[g] : start[g + 1]]
        order = np.argsort(-held)
        left = k[g]
        total = 0.0
        taken = 0.0
        for i in order:
            part = min(weight[start[g] + i], left)
            total += part * held[i]
            taken += part
            left -= part
            if left <= 0.0:
                break
        found[g] = total / taken
