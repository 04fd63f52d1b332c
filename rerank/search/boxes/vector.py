"""Loops over the pairs of one box, written so that they fill the vector unit."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def reach(D: Any, a: int, n: int, c: Any, h: Any, epsilon: float, tolerance: float, M: Any, R: Any) -> None:
    """``M = c.D - epsilon`` and ``R = h.|D| + tolerance`` for the pairs ``a .. a + n``, column by column."""
    for p in range(n):
        M[p] = -epsilon
        R[p] = tolerance
    k = D.shape[0]
    j = 0
    # Two columns at a time halve the traffic of M and R.  Slices of the last axis are contiguous: the compiler has
    # to know.
    while j + 1 < k:
        x = D[j, a : a + n]
        y = D[j + 1, a : a + n]
        cx = c[j]
        cy = c[j + 1]
        hx = h[j]
        hy = h[j + 1]
        for p in range(n):
            M[p] += cx * x[p] + cy * y[p]
            R[p] += hx * abs(x[p]) + hy * abs(y[p])
        j += 2
    if j < k:
        x = D[j, a : a + n]
        cx = c[j]
        hx = h[j]
        for p in range(n):
            M[p] += cx * x[p]
            R[p] += hx * abs(x[p])


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def lost_weight(M: Any, R: Any, W: Any, safe: float) -> Any:
    """Weight of the pairs that are lost in the whole box, and of those lost at the centre."""
    whole = 0.0
    centre = 0.0
    for p in range(M.size):
        whole += W[p] if M[p] + R[p] < 0.0 else 0.0
        centre += W[p] if M[p] < safe else 0.0
    return whole, centre


@njit(cache=True, nogil=True)
def norms(S: Any, c: Any, h: Any) -> Any:
    """``max_j |(S u)_j|``: least and largest over the box, and at its centre."""
    least = 0.0
    most = 0.0
    here = 0.0
    for i in range(S.shape[0]):
        middle = 0.0
        reach = 0.0
        for j in range(S.shape[1]):
            middle += S[i, j] * c[j]
            reach += abs(S[i, j]) * h[j]
        middle = abs(middle)
        least = max(least, middle - reach)
        most = max(most, middle + reach)
        here = max(here, middle)
    return least, most, here


@njit(cache=True, nogil=True)
def undecided(M: Any, R: Any, spread: float, keep: Any) -> int:
    """Positions of the pairs neither won nor lost in the whole box; branch-free, since none here can be foretold."""
    i = 0
    for p in range(M.size):
        keep[i] = p
        i += 1 if (M[p] + R[p] >= 0.0) & (M[p] - R[p] <= spread) else 0
    return i


@njit(cache=True, nogil=True)
def gather(row: Any, start: int, keep: Any, n: int, to: int) -> None:
    """``row[to + q] = row[start + keep[q]]``."""
    old = row[start:to]
    new = row[to : to + n]
    for q in range(n):
        new[q] = old[keep[q]]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def moved(row: Any, weight: Any) -> Any:
    """``sum_p weight_p |row_p|`` and ``sum_p weight_p row_p``."""
    size = 0.0
    pull = 0.0
    for p in range(row.size):
        size += weight[p] * abs(row[p])
        pull += weight[p] * row[p]
    return size, pull


@njit(cache=True, nogil=True)
def copy(old: Any, new: Any) -> None:
    """``new[: old.size] = old``; a slice assignment would compile for a second, its error messages with it."""
    for p in range(old.size):
        new[p] = old[p]
