"""Scores of a run made comparable with those of other runs, query by query.

Arrays have three axes, ``(runs, queries, documents)``. A missing document is NaN.

========  ====================================================  ==============================
name      value of a document that the run has                   scores all equal in the query
========  ====================================================  ==============================
none      its score                                              the score
minmax    (score - lowest) / (highest - lowest)                  1
l2        score / sqrt(sum of the squared scores)                1 / sqrt(n), 0 where all are 0
z         (score - mean) / standard deviation                    0
rank      1 / (k + place)                                        by place
sigmoid   1 / (1 + exp(-score))                                  the same for all
========  ====================================================  ==============================

A fit measures the scores of "sigmoid" from a centre, by a width: see :func:`curves_of`.

Lowest, mean and so on are those of the documents that the run has for the query. Places count from 1, as a search
engine lists the documents: equal scores in the order of the rows, which is that of the run's file where a run is read.
The deviation is that of the whole list (divided by the number of documents).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NORMALISERS = ("none", "minmax", "l2", "z", "rank", "sigmoid")
MISSING = ("lowest", "zero", "impute")
K = 60.0  # the constant of reciprocal rank fusion [CormackClarkeButtcher2009]
CONSTANT = 1.0
"""Min-max value where all scores of a run are equal, one hit alone among them: that of Elasticsearch and OpenSearch."""


def normalised(
    scores: Floats, normaliser: str, k: float = K, missing: str = "lowest", absent: Mask | None = None
) -> Floats:
    """Comparable scores, without NaN, of scores (runs, queries, documents) that are NaN where a document is ``absent``.

    ``k`` is for "rank". A ``missing`` document gets, on the normalised scale, by "lowest" the lowest value that the run
    gives in the query; after "minmax" and "rank" it is 0, the value of the worst score and of an infinite rank, and
    after "l2" at most 0, which is what engines give. By "zero" it gets 0, by "impute" the mean of the values that the
    run gives in the query. A run without a document for the query gives 0 to all, by every rule.
    """
    absent = np.isnan(scores) if absent is None else absent
    if not absent.any():
        return _values(scores, normaliser, k, None)
    values = _values(scores, normaliser, k, absent)
    if missing == "lowest" and normaliser not in ("minmax", "rank"):
        lowest = np.fmin.reduce(values, axis=-1, keepdims=True)
        lowest = np.where(np.isnan(lowest), 0.0, lowest)
        return np.where(absent, np.minimum(lowest, 0.0) if normaliser == "l2" else lowest, values)
    values = np.where(absent, 0.0, values)
    if missing == "impute":
        # Divided before they are summed: scores that are not normalised may be as large as numbers get.
        return np.where(absent, (values / _count(absent)).sum(axis=-1, keepdims=True), values)
    return values


def curves_of(scores: Floats) -> Floats:
    """Centre and width (runs, 2) of each run's sigmoid: mean and deviation of its scores (n, runs) in all queries,
    since that of large scores, such as BM25's, is 1; 0 and 1 where that is no scale.
    """
    found = np.tile([0.0, 1.0], (scores.shape[1], 1))
    for own, column in zip(found, scores.T):
        known = column[~np.isnan(column)]
        with np.errstate(over="ignore", invalid="ignore"):
            ends = (known.mean(), known.std()) if known.size else (0.0, 0.0)
        if np.isfinite(ends).all() and ends[1] > 0:
            own[:] = ends
    return found


def _count(absent: Mask) -> Floats:
    """Number of documents that a run has, at least 1, by list."""
    return np.maximum(absent.shape[-1] - absent.sum(axis=-1, keepdims=True), 1).astype(np.float64)


def _values(scores: Floats, normaliser: str, k: float, absent: Mask | None) -> Floats:
    """Normalised scores, those of missing documents NaN, by "rank" anything."""
    if normaliser == "none":
        return scores
    if normaliser == "rank":
        return _reciprocal_places(scores, k, absent)
    if normaliser == "l2":
        return _of_length_one(scores)
    if normaliser == "sigmoid":
        # Both forms are exact to rounding, and neither overflows on its side.
        small = np.exp(-np.abs(scores))
        return np.where(scores >= 0, 1.0, small) / (1.0 + small)
    unit = _minmax(scores, absent)
    return unit if normaliser == "minmax" else _z(unit, absent)


def _minmax(scores: Floats, absent: Mask | None) -> Floats:
    low, high = np.fmin.reduce(scores, axis=-1, keepdims=True), np.fmax.reduce(scores, axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        span = high - low  # NaN where the run has nothing
    if np.isinf(span).any():  # numbers near the largest there are
        return _minmax(scores / 4.0, absent)
    unit, equal = scores - low, span == 0
    if not equal.any():
        unit /= span
        return unit
    unit /= np.where(equal, 1.0, span)
    return unit + CONSTANT * equal  # which were 0


def _z(unit: Floats, absent: Mask | None) -> Floats:
    """Standard scores of min-max values, which are those of the scores, and cannot overflow."""
    count: Any = unit.shape[-1]
    if absent is None:
        unit = there = unit - unit.mean(axis=-1, keepdims=True)
    else:
        count = _count(absent)
        unit = unit - np.where(absent, 0.0, unit).sum(axis=-1, keepdims=True) / count
        there = np.where(absent, 0.0, unit)
    spread = np.sqrt(np.einsum("...i,...i->...", there, there)[..., None] / count)
    # Values 0 and 1 are both among those that are not all equal, so their deviation is far from rounding.
    tiny = spread * unit.shape[-1] < 0.25
    if tiny.any():
        unit *= ~tiny
        spread += tiny
    unit /= spread
    return unit


def _of_length_one(scores: Floats) -> Floats:
    """Scores divided by the length of the list's vector; 0 stays 0."""
    size = np.fmax.reduce(np.abs(scores), axis=-1, keepdims=True)
    unit = scores / np.where(size > 0, size, 1.0)  # NaN where the run has nothing
    length = np.sqrt(np.nansum(unit * unit, axis=-1, keepdims=True))
    return np.asarray(unit / np.where(length > 0, length, 1.0))


def _reciprocal_places(scores: Floats, k: float, absent: Mask | None) -> Floats:
    """``1 / (k + place)`` of each document in its list; the entries of missing documents mean nothing."""
    key = -scores if absent is None else np.where(absent, np.inf, -scores)
    order, found = np.argsort(key, axis=-1, kind="stable"), np.empty_like(scores, order="C")
    own = 1.0 / (k + np.arange(1.0, scores.shape[-1] + 1.0))
    np.put_along_axis(found, order, np.broadcast_to(own, scores.shape), -1)
    return found


def cut(scores: Floats, depth: int) -> Floats:
    """The scores of the first ``depth`` documents of each list, equal ones in the order of the rows."""
    length = scores.shape[-1]
    if length <= depth:
        return scores
    order = np.argsort(np.where(np.isnan(scores), np.inf, -scores), axis=-1, kind="stable")
    found = scores.copy()
    np.put_along_axis(found, order[..., depth:], np.nan, -1)
    return found
