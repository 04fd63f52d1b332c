"""TopPush's problem made of the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from rerank.scorers.data import Ints, RankingData
from rerank.scorers.toppush.losses import Loss
from rerank.scorers.toppush.problem import TopPushProblem
from rerank.scorers.toppush.threshold import threshold_of


def problem_of(data: RankingData, loss: Loss, threshold: str, k: float | None) -> TopPushProblem:
    """Split the rows by :meth:`RankingData.sides`; errors as there.

    Products are taken in float64 on a copy of the rows, since float32 cannot resolve a gap of 1e-6.
    """
    (up, list_of), (down, negative_list) = data.sides()
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
        positives=positives,
        negatives=negatives,
        positive_rows=up,
        negative_rows=down,
        list_of=list_of,
        negative_list=negative_list,
        weight=data.weight[up],
        threshold=threshold_of(threshold, k, start, data.weight[down]),
        loss=loss,
        n_rows=data.y.size,
        n_features=data.X.shape[1],
        columns=columns,
        centre=centre,
    )


def _used(X: Any) -> tuple[Any, Ints | None]:
    """Drop the empty columns of a sparse X, if most are: vectors over all columns cost more than short rows."""
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
