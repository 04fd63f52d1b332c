"""One number for a problem: a SHA-256 of everything that the value of a weight vector depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.problem import Problem


def digest(problem: Problem) -> str:
    """SHA-256 of data, lists, margin, price and limits, in little-endian doubles and 64-bit integers."""
    sha = hashlib.sha256(b"rerank problem 1")
    for part in _parts(problem):
        # Adding zero makes the two zeros one, so that equal data have equal digests.
        sha.update((part + 0).astype("<f8" if part.dtype.kind == "f" else "<i8").tobytes())
    return sha.hexdigest()


def _parts(problem: Problem) -> Iterator[NDArray[Any]]:
    limit = -1 if problem.max_features is None else problem.max_features
    yield np.array([*problem.X.shape, len(problem.lists), limit, *problem.signs.tolist()], dtype=np.int64)
    yield np.array([problem.epsilon, problem.C])
    if Fraction(float(problem.epsilon)) != problem.epsilon.exact:  # files of doubles keep their digest
        yield np.frombuffer(problem.epsilon.text.encode(), np.uint8).astype(np.int64)
    yield from (problem.X, problem.low, problem.high)
    for item in problem.lists:
        yield np.array([item.rows.size, *item.rows], dtype=np.int64)
        yield from (item.gains, item.coefficients, np.array([item.weight, item.constant, item.scale]))
        if item.hits is not None:  # no number of rows is negative, so these are not taken for another list
            yield np.array([-1, *item.hits], dtype=np.int64)
    if problem.limits is not None:
        yield from problem.limits
