"""From lost counts to value, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def unit_value(u: int, lost: Any, instance: Any, count: Any) -> float:
    """``sum_j coef[j + lost_(j)]`` of one binary list by counting sort.

    ``coef`` ends with the last place that earns something; ``count`` is scratch space, all zero before and after.
    """
    base = instance.coef_start[u]
    places = instance.coef_start[u + 1] - base
    a = instance.unit_start[u]
    z = instance.unit_start[u + 1]
    if z - a == 1:
        only = lost[instance.unit_slots[a]]
        return instance.coef[base + only] if only < places else 0.0
    top = 0
    for s in range(a, z):
        x = lost[instance.unit_slots[s]]
        if x < places:
            count[x] += 1
            if x >= top:
                top = x + 1
    total = 0.0
    place = 0
    for x in range(top):
        k = count[x]
        count[x] = 0
        for _ in range(k):
            if place + x < places:
                total += instance.coef[base + place + x]
            place += 1
    return total


@njit(cache=True, nogil=True)
def total_value(units: Any, n_units: int, lost: Any, instance: Any, count: Any) -> float:
    """Value of the first ``n_units`` of ``units``."""
    total = 0.0
    for i in range(n_units):
        total += unit_value(units[i], lost, instance, count)
    return total


@njit(cache=True, nogil=True)
def find_runs(S: Any, ends: Any) -> int:
    """Ends of the runs of equal slots, and how many there are."""
    runs = 0
    for p in range(1, S.size):
        ends[runs] = p
        runs += 1 if S[p] != S[p - 1] else 0
    if S.size:
        ends[runs] = S.size
        runs += 1
    return runs


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def count_runs(M: Any, R: Any, S: Any, ends: Any, runs: int, safe: float, whole: Any, centre: Any) -> None:
    """:func:`count_lost` where every pair counts once in one slot: sums over runs, which the vector unit can do."""
    p = 0
    for r in range(runs):
        a = 0.0
        b = 0.0
        for q in range(p, ends[r]):
            a += 1.0 if M[q] + R[q] < 0.0 else 0.0
            b += 1.0 if M[q] < safe else 0.0
        whole[S[p]] += np.int32(a)
        centre[S[p]] += np.int32(b)
        p = ends[r]


@njit(cache=True, nogil=True)
def count_lost(M: Any, R: Any, S: Any, Q: Any, W: Any, safe: float, whole: Any, centre: Any) -> None:
    """Add to the lost counts of the slots: pairs lost in the whole box, and pairs lost at the centre."""
    for p in range(M.size):
        if M[p] < safe:
            m = int(W[p])
            gone = m if M[p] + R[p] < 0.0 else 0
            for s in range(S[p], S[p] + Q[p]):
                centre[s] += m
                whole[s] += gone


@njit(cache=True, nogil=True)
def matters(keep: Any, n: int, S: Any, Q: Any, lost: Any, units: Any, n_units: int, instance: Any) -> int:
    """Drop from ``keep`` the pairs of items that have lost every place that earns something: they stay there."""
    spent = False
    for i in range(n_units):
        u = units[i]
        places = instance.coef_start[u + 1] - instance.coef_start[u]
        for r in range(instance.unit_start[u], instance.unit_start[u + 1]):
            spent |= lost[instance.unit_slots[r]] >= places
    if not spent:
        return n
    i = 0
    for q in range(n):
        p = keep[q]
        alive = False
        for s in range(S[p], S[p] + Q[p]):
            u = instance.unit_of[s]
            alive |= lost[s] < instance.coef_start[u + 1] - instance.coef_start[u]
        keep[i] = p
        i += 1 if alive else 0
    return i


@njit(cache=True, nogil=True)
def importance(
    S: Any, Q: Any, W: Any, lost: Any, units: Any, n_units: int, instance: Any, slope: Any, out: Any
) -> None:
    """How much a pair matters for a split: what the next place costs its item, and a tenth of the mean on top.

    Flat stretches of the coefficients cost nothing, but their pairs must come to a decision too.
    """
    for i in range(n_units):
        u = units[i]
        base = instance.coef_start[u]
        places = instance.coef_start[u + 1] - base
        for r in range(instance.unit_start[u], instance.unit_start[u + 1]):
            s = instance.unit_slots[r]
            x = lost[s]
            near = instance.coef[base + x] if x < places else 0.0
            far = instance.coef[base + x + 1] if x + 1 < places else 0.0
            slope[s] = near - far
    mean = 0.0
    for p in range(out.size):
        t = slope[S[p]]
        for s in range(S[p] + 1, S[p] + Q[p]):
            t += slope[s]
        out[p] = t
        mean += t
    mean = 0.1 * mean / max(out.size, 1) if mean > 0.0 else 1.0
    for p in range(out.size):
        out[p] = (out[p] + mean) * W[p]
