"""TopPush's problem made of the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from rerank.errors import InputError
from rerank.scorers.data import RankingData
from rerank.scorers.toppush.losses import Loss
from rerank.scorers.toppush.problem import TopPushProblem
from rerank.scorers.toppush.threshold import threshold_of

Ints = NDArray[np.int64]


def problem_of(data: RankingData, loss: Loss, threshold: str, k: float | None) -> TopPushProblem:
    """Split the rows; those of weight 0 and lists of one kind only are left out.

    Products are taken in float64 on a copy of the rows, since a gap of 1e-6 is below what float32 can tell.

    Raises
    ------
    InputError
        If no list holds both a positive and a negative of positive weight.
    """
    some = data.weight > 0
    positive = some & data.relevant
    negative = some & ~positive
    both = (np.bincount(data.group[positive], minlength=data.n_groups) > 0) & (
        np.bincount(data.group[negative], minlength=data.n_groups) > 0
    )
    if not both.any():
        raise InputError(
            "No list holds both a positive and a negative of weight > 0; TopPush compares them inside each list."
        )
    rows = data.order[both[data.group[data.order]]]
    up, down = rows[positive[rows]], rows[negative[rows]]
    number = np.cumsum(both) - 1
    list_of, negative_list = number[data.group[up]], number[data.group[down]]
    start = np.concatenate([[0], np.cumsum(np.bincount(negative_list))]).astype(np.int64)
    X, columns = _used(data.X)
    positives, negatives = _rows(X, up), _rows(X, down)
    centre = np.zeros(X.shape[1])
    if not issparse(X):
        # Large common parts of the columns would cost digits in every product.
        centre = positives.mean(axis=0)
        positives -= centre
        negatives -= centre
    return TopPushProblem(
        positives,
        negatives,
        up,
        down,
        list_of,
        negative_list,
        data.weight[up],
        threshold_of(threshold, k, start, data.weight[down]),
        loss,
        data.X.shape[1],
        columns,
        centre,
    )


def _used(X: Any) -> tuple[Any, Ints | None]:
    """Drop the columns of a sparse X that hold nothing, if most do: long vectors cost more than short rows."""
    d = X.shape[1]
    if not issparse(X) or X.nnz > 10 * d:
        return X, None
    some = np.bincount(X.indices, minlength=d) > 0
    columns = np.flatnonzero(some)
    if 2 * columns.size > d or not columns.size:
        return X, None
    place = (np.cumsum(some) - 1).astype(X.indices.dtype)
    return csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], columns.size)), columns


def _rows(X: Any, rows: Ints) -> Any:
    part = X[rows].astype(np.float64, copy=False)
    if not issparse(part):
        return np.ascontiguousarray(part)
    part = part.tocsr()
    part.sum_duplicates()
    return part
