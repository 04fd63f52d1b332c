"""Logistic regression of being relevant: a start for climbs that costs little."""

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem.lists import Floats
from rerank.search.tables import RowTables

STEPS, ENOUGH = 10, 1e-2  # Newton steps at most, and how much of the loss, a sum over rows, they have to promise
A_TERM = 1e-9  # seconds for a product of two entries


def seconds(tables: RowTables) -> float:
    """About what :func:`weights` cost."""
    return A_TERM * STEPS * float(tables.rows.shape[0]) * tables.n_features**2


def sizes(tables: RowTables) -> Floats:
    """Deviation of each column inside lists; infinite where it has none."""
    size = np.sqrt(np.diag(tables.spread))
    return np.where(size > 1e-9 * size.max(initial=1e-300), size, np.inf)


def weights(tables: RowTables) -> Floats:
    """Weights of the rows' columns by which rows above the lowest grade are likely; rows are those of all lists."""
    size = sizes(tables)
    return fitted(tables.rows / size, tables.lists.level > 0) / size


def fitted(rows: Floats, relevant: NDArray[np.bool_]) -> Floats:
    """Weights of columns of deviation 1, by Newton's method, with a regulariser of strength 1."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import expit

    rows = np.column_stack([rows - rows.mean(axis=0), np.ones(len(rows))])
    w = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = expit(rows @ w)
        slope = rows.T @ (chance - relevant) + w
        bend = (rows.T * (chance * (1.0 - chance))) @ rows + np.eye(w.size)
        move = cho_solve(cho_factor(bend), slope)
        w = w - move
        if current().now or float(slope @ move) < ENOUGH:
            break
    return np.asarray(w[:-1])
