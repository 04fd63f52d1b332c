"""Scores of rows and sums over rows, compiled: the same bits with any number of threads of the linear algebra.

Lines and climbs go where these numbers send them, in worker processes with other numbers of threads, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import kernel


def scores_of(rows: Any, w: Any) -> Any:
    """``rows @ w``; columns of weight 0 are left out."""
    out = np.empty(rows.shape[0])
    _scores(rows, w, out)
    return out


def weighted_sum(rows: Any, shares: Any) -> Any:
    """``shares @ rows``; rows of share 0 are left out."""
    out = np.zeros(rows.shape[1])
    _weighted(rows, shares, out)
    return out


@kernel(fastmath={"reassoc", "nsz"})
def _scores(rows: Any, w: Any, out: Any) -> None:
    used, only = 0, 0
    for j in range(w.size):
        if w[j] != 0.0:
            used += 1
            only = j
    if used == 1:
        for i in range(out.size):
            out[i] = rows[i, only] * w[only]
        return
    for i in range(out.size):
        row = rows[i]
        total = 0.0
        for j in range(w.size):
            total += row[j] * w[j]
        out[i] = total


@kernel(fastmath={"reassoc", "nsz"})
def _weighted(rows: Any, shares: Any, out: Any) -> None:
    for i in range(rows.shape[0]):
        share = shares[i]
        if share != 0.0:
            row = rows[i]
            for j in range(out.size):
                out[j] += share * row[j]
