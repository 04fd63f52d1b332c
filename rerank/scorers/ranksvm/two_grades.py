"""Sums over active pairs where no list has more than two utilities, as with 0/1 labels: one merge a list, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def two_grades(
    by_score: Any, first: Any, after: Any, start: Any, place: Any, weight: Any, p: Any, sums: Any
) -> None:
    """The ``sums`` (3, m) of :func:`rerank.scorers.ranksvm.pair_counts.counts`, from the rows in order of score.

    With the rows of each grade sorted by score, those that score less than ``p_i + 1`` are a prefix of the higher
    grade and those that score more than ``p_j - 1`` a suffix of the lower one, and both ends only move forward.
    """
    m = p.size
    rows, q = np.empty(m, np.int64), np.empty(m)
    head = np.arange(m)
    for row in by_score:
        run = first[place[row]]
        rows[head[run]], q[head[run]] = row, p[row]
        head[run] += 1
    # Sums of the weights, and of them times the scores, before each row.
    W, Q = np.empty(m + 1), np.empty(m + 1)
    W[0] = Q[0] = 0.0
    for k in range(m):
        w = weight[rows[k]]
        W[k + 1], Q[k + 1] = W[k] + w, Q[k] + w * q[k]
    end = np.empty(m, np.uint32)
    for g in range(start.size - 1):
        a, b = np.uint64(start[g]), np.uint64(start[g + 1])
        c = np.uint64(after[a])
        _merge(q, a, c, b, end)
        for k in range(a, c):
            i, e = rows[k], end[k]
            sums[0, i], sums[1, i], sums[2, i] = W[e] - W[c], 0.0, Q[e] - Q[c]
        for k in range(c, b):
            i, e = rows[k], end[k]
            sums[0, i], sums[1, i], sums[2, i] = 0.0, W[c] - W[e], Q[c] - Q[e]


@njit(cache=True, nogil=True)
def _merge(q: Any, a: Any, c: Any, b: Any, end: Any) -> None:
    """Where the partners of the rows below ``c`` end, and where those of the rows from ``c`` on begin.

    One of the two indices advances at each step, without a branch.
    """
    one: Any = np.uint64(1)
    i, j = a, c
    while i < c and j < b:
        near = np.uint64(q[j] - q[i] < 1.0)
        end[i], end[j] = j, i
        j += near
        i += one - near
    for k in range(i, c):
        end[k] = b
    for k in range(j, b):
        end[k] = c
