"""Where on a line a pair is won by the margin, compiled: the margin is in units of the norm, which bends there."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner


@inner()
def envelope(w: Any, u: Any, sign: float, k: int, pieces: Any) -> int:
    """How many ends lie between the pieces of ``max_j |w_j + sign tau u_j|`` over ``j < k``, from left to right.

    ``pieces`` (5, 2 k + 1) is given the ends, slopes and intercepts of the pieces; its last two rows are scratch.
    """
    lines = 2 * k
    breaks, slopes, levels, slope, level = pieces[0], pieces[1], pieces[2], pieces[3], pieces[4]
    for j in range(k):
        slope[2 * j] = sign * u[j]
        level[2 * j] = w[j]
        slope[2 * j + 1] = -sign * u[j]
        level[2 * j + 1] = -w[j]
    now = 0
    for i in range(1, lines):
        if slope[i] < slope[now] or (slope[i] == slope[now] and level[i] > level[now]):
            now = i
    n = 0
    slopes[0] = slope[now]
    levels[0] = level[now]
    while True:
        nearest = np.inf
        follow = -1
        for i in range(lines):
            if slope[i] > slope[now]:
                t = (level[now] - level[i]) / (slope[i] - slope[now])
                if t < nearest or (t == nearest and slope[i] > slope[follow]):
                    nearest = t
                    follow = i
        if follow < 0:
            break
        breaks[n] = nearest
        n += 1
        slopes[n] = slope[follow]
        levels[n] = level[follow]
        now = follow
    return n


@inner()
def won_from(A: float, B: float, epsilon: float, n: int, pieces: Any) -> float:
    """Left end of the interval where ``A + B tau - epsilon N(tau) >= 0``; ``inf`` where it is empty."""
    breaks, slopes, levels = pieces[0], pieces[1], pieces[2]
    if B - epsilon * slopes[0] < 0.0:
        return -np.inf
    for i in range(n):
        t = breaks[i]
        if A + B * t - epsilon * (levels[i] + slopes[i] * t) >= 0.0:
            d = B - epsilon * slopes[i]
            if d > 0.0:
                return -(A - epsilon * levels[i]) / d
            return (
                breaks[i - 1] if i > 0 else -np.inf
            )  # flat on the margin, and rounding hid it one break earlier
    d = B - epsilon * slopes[n]
    return -(A - epsilon * levels[n]) / d if d > 0.0 else np.inf
