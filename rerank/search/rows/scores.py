"""Scores of rows and sums over rows, compiled: the same bits with any number of threads of the linear algebra.

Lines and climbs go where these numbers send them, in worker processes with other numbers of threads, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import kernel


@kernel(fastmath={"reassoc", "nsz"})
def scores_of(rows: Any, w: Any) -> Any:
    """``rows @ w``; columns of weight 0 are left out."""
    n, some = rows.shape[0], np.flatnonzero(w)
    out = np.empty(n)
    if some.size == 1:
        j = some[0]
        for i in range(n):
            out[i] = rows[i, j] * w[j]
        return out
    for i in range(n):
        row = rows[i]
        total = 0.0
        for j in range(w.size):
            total += row[j] * w[j]
        out[i] = total
    return out


@kernel(fastmath={"reassoc", "nsz"})
def weighted_sum(rows: Any, shares: Any) -> Any:
    """``shares @ rows``; rows of share 0 are left out."""
    out = np.zeros(rows.shape[1])
    for i in range(rows.shape[0]):
        share = shares[i]
        if share != 0.0:
            row = rows[i]
            for j in range(out.size):
                out[j] += share * row[j]
    return out
