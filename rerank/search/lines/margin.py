"""Where on a line a pair is won by the margin, compiled: the margin is in units of the norm, which bends there."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner


@inner()
def envelope(w: Any, u: Any) -> Any:
    """Pieces of ``max_j |w_j + tau u_j|`` from left to right: how many ends between them, ends, slopes, intercepts."""
    k = w.size
    lines = 2 * k
    slope = np.empty(lines)
    level = np.empty(lines)
    for j in range(k):
        slope[2 * j] = u[j]
        level[2 * j] = w[j]
        slope[2 * j + 1] = -u[j]
        level[2 * j + 1] = -w[j]
    breaks = np.empty(lines)
    slopes = np.empty(lines + 1)
    levels = np.empty(lines + 1)
    now = 0
    for i in range(1, lines):
        if slope[i] < slope[now] or (slope[i] == slope[now] and level[i] > level[now]):
            now = i
    pieces = 0
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
        breaks[pieces] = nearest
        pieces += 1
        slopes[pieces] = slope[follow]
        levels[pieces] = level[follow]
        now = follow
    return pieces, breaks, slopes, levels


@inner()
def won_from(A: float, B: float, epsilon: float, n: int, breaks: Any, slopes: Any, levels: Any) -> float:
    """Left end of the interval where ``A + B tau - epsilon N(tau) >= 0``; ``inf`` where it is empty."""
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
