"""The best few of many scores, row by row."""

from __future__ import annotations

from typing import Any

from numba import njit

LANES = 64  # scores that are compared with the least of the best at once


@njit(cache=True, nogil=True)
def best(S: Any, items: Any, values: Any) -> None:
    """The largest scores of each row of ``S`` (b, n), largest first; ties go to the lower index.

    ``items`` (b, k) and ``values`` (b, k) begin as -1 and -inf, and stay so behind a row's last score above -inf.
    Most scores are below the least of the best so far, and a stretch of them is passed over by its largest.
    """
    n = S.shape[1]
    for i in range(S.shape[0]):
        row = S[i]
        for low in range(0, n, LANES):
            high = min(low + LANES, n)
            if _any_above(row, low, high, values[i, -1]):
                for j in range(low, high):
                    if row[j] > values[i, -1]:
                        _insert(row[j], j, items[i], values[i])


@njit(cache=True, nogil=True)
def _any_above(row: Any, low: int, high: int, least: Any) -> Any:
    found = 0
    for j in range(low, high):
        found += row[j] > least
    return found > 0


@njit(cache=True, nogil=True)
def _insert(score: Any, j: int, items: Any, values: Any) -> None:
    """Put a score behind those that are as large; the last one falls out."""
    at = values.size - 1
    while at > 0 and values[at - 1] < score:
        values[at] = values[at - 1]
        items[at] = items[at - 1]
        at -= 1
    values[at] = score
    items[at] = j
