"""Compiled search for the level above which smoothed multipliers of the negatives begin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# No share of a list is smaller than this: a list that is not pulled at all still has a level.
LEAST = 1e-280


@njit(cache=True, nogil=True)
def levels(start: Any, v: Any, cap: Any, pull: Any, theta: Any, parts: Any) -> None:
    """For each list the root theta of ``sum_j clip(v_j - theta, 0, A cap_j) = A``, A its entry of ``pull``.

    ``cap`` (n,) is empty where nothing is capped.  ``theta`` (G,) starts near the roots and ends there; ``parts``
    (G, 4) gets the number of entries between their bounds, and of those at the upper bound the sums of ``cap``, of
    ``cap^2`` and of ``cap v``.  Entries that a bracket of the root decides leave the search.
    """
    most = 0
    for g in range(start.size - 1):
        most = max(most, start[g + 1] - start[g])
    w = np.empty(most)
    c = np.empty(most if cap.size else 0)
    for g in range(start.size - 1):
        first = start[g]
        last = start[g + 1]
        held = cap[first:last] if cap.size else cap
        theta[g] = _level(v[first:last], held, max(pull[g], LEAST), theta[g], w, c, parts[g])


@njit(cache=True, nogil=True)
def _bracket(v: Any, cap: Any, A: float) -> Any:
    """Two levels with the root between them."""
    high = v[0]
    low = np.inf
    for j in range(v.size):
        high = max(high, v[j])
        if cap.size:
            low = min(low, v[j] - A * cap[j])
    return (low if cap.size else high - A), high


@njit(cache=True, nogil=True)
def _level(v: Any, cap: Any, A: float, theta: float, w: Any, c: Any, parts: Any) -> float:
    """One list; ``w`` and ``c`` are room for the undecided entries and their caps."""
    capped = cap.size > 0
    low, high = _bracket(v, cap, A)
    n = 0
    for j in range(v.size):
        if v[j] >= low:
            w[n] = v[j]
            if capped:
                c[n] = cap[j]
            n += 1
    if not low <= theta <= high:
        theta = low + (high - low) / 2
    # Sums over the entries known to be at their upper bound wherever the root is.
    full = 0.0
    full2 = 0.0
    full_v = 0.0
    for _ in range(300):
        total = 0.0
        between = 0
        top = full
        top2 = full2
        top_v = full_v
        kept = 0
        for i in range(n):
            x = w[i]
            if x <= low and low < theta:
                continue
            room = c[i] if capped else 0.0
            if capped and x - A * room >= high:
                full += room
                full2 += room * room
                full_v += room * x
                top += room
                top2 += room * room
                top_v += room * x
                continue
            w[kept] = x
            if capped:
                c[kept] = room
            kept += 1
            z = x - theta
            if z > 0.0:
                if capped and z >= A * room:
                    top += room
                    top2 += room * room
                    top_v += room * x
                else:
                    total += z
                    between += 1
        n = kept
        parts[0] = between
        parts[1] = top
        parts[2] = top2
        parts[3] = top_v
        excess = total + A * (top - 1.0)
        if abs(excess) <= 1e-15 * A:
            break
        if excess > 0.0:
            low = theta
        else:
            high = theta
        new = theta + excess / between if between > 0 else low
        if not low < new < high:
            new = low + (high - low) / 2
        if not low < new < high:
            break
        theta = new
    return theta
