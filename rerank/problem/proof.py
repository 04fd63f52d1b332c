"""The record of an exact search: the tree of boxes by which it covered all weights, for anyone to check.

A proof claims that no admissible weights are worth more than ``bound``.  It says how the surface of the cube
was cut into boxes and nothing about why they cannot beat the bound: :mod:`rerank.certificate.check` recomputes
that, exactly. ``docs/proofs.md`` describes tree and file for readers who write a checker of their own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.problem import Problem

VERSION = 1
LEAF = 0  # code of a box settled by its interval bound
LISTED = 1  # code of a box settled by listing the vertices in it
COORDINATE = 2  # code of a split at the middle of the first coordinate of a support
LINE = 1000  # code of a split by line g >= 1 of a support is LINE + g


@dataclass(frozen=True, eq=False)
class Proof:
    """What a search claims, and the tree of boxes that shows it.

    Attributes
    ----------
    value : float
        What the search says ``weights`` are worth, in the unit of ``evaluate``.
    bound : float
        No admissible weights have a larger ``V(w) - C |w|_0``.
    weights : float64 (d,)
        The best weights found, in scaled space.
    flip : int8 (d,)
        -1 where a weight must not be positive, else 1.  Boxes and lines live in the space of ``flip * w``.
    supports : tuple of intp arrays
        Sets of features that may carry weight, small sets first.
    left_out : int or None
        Smallest size of support that is not listed; ``ideal - C * left_out`` bounds those.
    codes : uint16 (n,)
        The trees of all faces of all supports in preorder: :data:`LEAF`, :data:`LISTED`, ``COORDINATE + j``
        for a split at the middle of the support's j-th coordinate (upper half first), ``LINE + g`` for a
        split by line g (``w.D_g >= 0`` first).
    lines : tuple of int64 arrays (m, 2)
        For each support the pairs of rows (upper, lower) whose scaled difference ``D_g`` is the direction of
        line ``g = 1..m``.
    fingerprint : str
        :func:`fingerprint` of the problem.
    version : int
        Version of the format.
    """

    value: float
    bound: float
    weights: NDArray[np.float64]
    flip: NDArray[np.int8]
    supports: tuple[NDArray[np.intp], ...]
    left_out: int | None
    codes: NDArray[np.uint16]
    lines: tuple[NDArray[np.int64], ...]
    fingerprint: str
    version: int = VERSION

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the proof to a file; see :func:`rerank.certificate.proof_file.save`."""
        from rerank.certificate.proof_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Proof:
        """Read a proof from a file; see :func:`rerank.certificate.proof_file.load`."""
        from rerank.certificate.proof_file import load

        return load(path)


def fingerprint(problem: Problem) -> str:
    """SHA-256 of everything a value depends on, in little-endian doubles and 64-bit integers.

    The same number as ``rerank.certificate.digest``, which the search may not import.
    """
    sha = hashlib.sha256(b"rerank problem 1")
    for part in _parts(problem):
        # Adding zero makes the two zeros one, so that equal data have equal fingerprints.
        sha.update((part + 0).astype("<f8" if part.dtype.kind == "f" else "<i8").tobytes())
    return sha.hexdigest()


def _parts(problem: Problem) -> Iterator[NDArray[Any]]:
    limit = -1 if problem.max_features is None else problem.max_features
    yield np.array([*problem.X.shape, len(problem.lists), limit, *problem.signs.tolist()], dtype=np.int64)
    yield np.array([problem.epsilon, problem.C])
    yield from (problem.X, problem.low, problem.high)
    for item in problem.lists:
        yield np.array([item.rows.size, *item.rows], dtype=np.int64)
        yield from (item.gains, item.coefficients, np.array([item.weight, item.constant, item.scale]))
