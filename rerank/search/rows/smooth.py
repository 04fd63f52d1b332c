r"""A smooth stand-in for the value of lists and its slopes, compiled.

What a list earns is ``sum_p drop_p * (gains among its first p rows)``, where place ``p`` earns ``drop_p`` more than the
next.  "Among the first p" is "score above a threshold"; here a row counts by how far it is above the threshold in
units of a width ``h``, and the threshold is where the rows count as ``p`` in all.  With ``h`` going to 0 the value
becomes the statistic's, but for weights of hits, which are left out.  The threshold moves with the scores, so the slope
of a row at ``t`` widths above it is ``drop_p k(t) (gain - mean gain) / h``, with the mean taken over the rows near the
threshold by the weights ``k(t)`` (implicit differentiation).  ``k`` is the biweight kernel, 0 beyond ``h``: rows far
away cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner, kernel
from rerank.search.rows.unit import descend, heaped

EXACT = 1e-6  # rows by which the count at a threshold may be off
STEPS = 40  # of the search for a threshold at most
AROUND = 3.0  # widths below the last place that counts, beyond which a row is left out


@kernel()
def smoothed(scores: Any, lists: Any, h: float, slopes: Any, scratch: Any) -> float:
    """The smooth value of all lists; ``slopes`` receives its derivative by each score.

    Parameters
    ----------
    scores : float64 (n,)
    lists : SmoothLists
    h : float
        Width, in the unit of the scores.
    slopes : float64 (n,)
    scratch : SmoothScratch
    """
    total = 0.0
    s, g, slope, row, heap = scratch.s, scratch.g, scratch.slope, scratch.row, scratch.heap
    slopes[:] = 0.0
    for q in range(lists.begin.size - 1):
        first, end = lists.begin[q], lists.begin[q + 1]
        k0, k1 = lists.first_target[q], lists.first_target[q + 1]
        if k0 == k1:
            continue
        size = end - first
        known = heaped(scores, first, end, min(int(lists.target[k1 - 1]) + 1, size), heap)
        far = heap[0] - AROUND * h
        descend(heap, known)
        n = 0
        for i in range(first, end):
            if scores[i] > far:
                s[n], g[n], slope[n], row[n] = scores[i], lists.gain[i], 0.0, i
                n += 1
        for k in range(k0, k1):
            p = lists.target[k]
            at = min(max(int(p), 1), known - 1)
            theta = heap[0] if known < 2 else 0.5 * (heap[at - 1] + heap[at])
            theta = _threshold(s[:n], p, theta, h)
            counted, near, gain_near = _gains(s[:n], g[:n], theta, 1.0 / h)
            total += lists.drop[k] * counted
            if near > 0.0:
                _slopes(s[:n], g[:n], slope[:n], theta, 1.0 / h, gain_near / near, lists.drop[k] / h)
        for i in range(n):
            slopes[row[i]] = slope[i]
    return total


@inner()
def _threshold(s: Any, p: float, theta: float, h: float) -> float:
    """Where the rows count as ``p``: Newton's steps between ends that close in."""
    low, high = -np.inf, np.inf
    for _ in range(STEPS):
        count, density = _counts(s, theta, 1.0 / h)
        over = count - p
        if abs(over) < EXACT:
            break
        if over > 0.0:
            low = theta
        else:
            high = theta
        step = h * over / density if density > 1e-9 else (h if over > 0.0 else -h)
        theta += min(max(step, -h), h)
        if not low < theta < high:
            theta = 0.5 * (low + high)
        if high - low < 1e-12 * h:
            break
    return theta


@inner(fastmath={"reassoc", "nsz"})
def _counts(s: Any, theta: float, scale: float) -> Any:
    count = 0.0
    density = 0.0
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        count += 0.5 + 0.9375 * t * (1.0 + r * (0.2 * r - 2.0 / 3.0))
        density += (1.0 - r) * (1.0 - r)
    return count, 0.9375 * density


@inner(fastmath={"reassoc", "nsz"})
def _gains(s: Any, g: Any, theta: float, scale: float) -> Any:
    counted = 0.0
    near = 0.0
    gain_near = 0.0
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        counted += g[i] * (0.5 + 0.9375 * t * (1.0 + r * (0.2 * r - 2.0 / 3.0)))
        k = (1.0 - r) * (1.0 - r)
        near += k
        gain_near += k * g[i]
    return counted, near, gain_near


@inner()
def _slopes(s: Any, g: Any, slope: Any, theta: float, scale: float, mean: float, drop: float) -> None:
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        slope[i] += 0.9375 * drop * (1.0 - r) * (1.0 - r) * (g[i] - mean)
