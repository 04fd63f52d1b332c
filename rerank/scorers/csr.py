"""Products of the rows of a CSR matrix with vectors, compiled; sums are float64 whatever the precision of the entries.

Rows come as ``entries = (data, columns, start)`` with unsigned columns: numba then leaves out the handling of negative
indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


def entries_of(X: Any) -> Any:
    """The entries of a CSR matrix, not copied."""
    return X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr


@njit(cache=True, nogil=True)
def scores(entries: Any, w: Any) -> Any:
    """``X w`` (n,)."""
    data, columns, start = entries
    found = np.empty(start.size - 1)
    for i in range(found.size):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += data[k] * w[columns[k]]
        found[i] = s
    return found


@njit(cache=True, nogil=True)
def back(entries: Any, r: Any, d: int) -> Any:
    """``X^T r`` (d,)."""
    data, columns, start = entries
    found = np.zeros(d)
    for i in range(r.size):
        x = r[i]
        if x != 0.0:
            for k in range(start[i], start[i + 1]):
                found[columns[k]] += data[k] * x
    return found
