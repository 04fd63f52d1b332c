"""Columns that are the label again, or number the rows in an order that knows it."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io.frames import column, is_sparse, numbers, some_rows

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SAMPLE = 500
"""Rows that are looked at before a whole column is."""

CHANCE = 1e-4
"""A column of as many labels in another order is not told apart from chance above this share of all orders."""

SEPARATED = 0.98
"""Share of the pairs of rows with different labels that a numbering of the rows has to order alike."""


def leaks(table: Any, names: Sequence[str], which: Sequence[int] | Indices, y: Floats) -> list[str]:
    """A sentence for each column that is a one-to-one copy of the label, or a numbering that orders it.

    Parameters
    ----------
    table : table (n, d)
    names : sequence of str
        Of all its columns.
    which : sequence of int
        The columns that are looked at.
    y : float64 array (n,)
        Grades.
    """
    if is_sparse(table) or not _tells(y):
        return []
    n, found = y.size, []
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    few, own = some_rows(table, sample), y[sample]
    for j in which:
        seen = _values(few, int(j))
        if (_copies(seen, own) and _copies(_values(table, int(j)), y)) or (
            _numbers_rows(seen, None) and _numbers_rows(_values(table, int(j)), y)
        ):
            what = (
                "is the label again, in the same or another coding"
                if _copies(seen, own)
                else ("numbers the rows, and their order tells the label almost without a mistake")
            )
            found.append(
                f"The column {names[int(j)]!r} {what}: a ranking by it proves nothing. Leave it out of X (--features "
                "names the columns to use)."
            )
    return found


def _tells(y: Floats) -> bool:
    """Whether there are so many rows that no column agrees with the labels by chance."""
    counts = np.unique(y, return_counts=True)[1]
    orders = lgamma(y.size + 1) - sum(lgamma(count + 1) for count in counts.tolist())
    return counts.size > 1 and orders > -log(CHANCE)


def _values(table: Any, j: int) -> NDArray[Any]:
    """A column: numbers, inf where they are missing, or the text of what it holds."""
    values = column(table, j)
    found = numbers(values)
    if found is not None:
        return np.where(np.isnan(found), np.inf, found)
    plain = values.to_numpy() if hasattr(values, "to_numpy") else values
    return np.array([str(one) for one in np.asarray(plain, dtype=object)], dtype=object)


def _copies(values: NDArray[Any], y: Floats) -> bool:
    """Whether each label has one value, and each value one label."""
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    stands = values[first]
    return len(set(stands.tolist())) == stands.size and bool(np.all(values == stands[codes]))


def _numbers_rows(values: NDArray[Any], y: Floats | None) -> bool:
    """Whether values are whole and distinct; with labels also whether they number rows and order these.

    They number rows, or some of the rows of a larger table, if they lie so close that other whole numbers would not be
    distinct but by chance: of n drawn from w, all differ with a probability of about exp(-n^2 / 2w).
    """
    if values.dtype.kind != "f" or np.any(values != np.floor(values)) or np.any(np.isinf(values)):
        return False
    if np.unique(values).size < values.size:
        return False
    if y is None:
        return True
    n, width = y.size, values.max() - values.min() + 1
    if width > max(n, n * n / (-2 * log(CHANCE))):
        return False
    places = np.argsort(np.argsort(values))
    relevant = y > y.min()
    m = int(relevant.sum())
    pairs = m * (n - m)
    share = (float(places[relevant].sum()) - m * (m - 1) / 2) / pairs
    return max(share, 1 - share) >= SEPARATED
