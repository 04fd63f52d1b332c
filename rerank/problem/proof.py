"""The record of an exact search: the tree of boxes by which it covered all weights, for anyone to check.

A proof claims that no admissible weights are worth more than ``bound``.  It says how the surface of the cube was
cut into boxes, and nothing about why they cannot beat the bound: :func:`rerank.certificate.verify_proof`
recomputes that exactly.  ``docs/proofs.md`` describes the tree and the file for readers who write their own checker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats, Indices

VERSION = 1
LEAF = 0  # code of a box that is fathomed by its interval bound
LISTED = 1  # code of a box that is fathomed by listing the vertices in it
COORDINATE = 2  # code of a split at the middle of the first coordinate of a support
PRICED = 2**16 - 1  # code of a box that is fathomed by multipliers on its pairs (:func:`unpacked`)
LINE = 1000  # the code of a split by line g = 1, 2, ... of a support is ``LINE + g``


GRAINS, MOST_MOVED, SHARES = 7, 14, 127  # steps from centre to side; coordinates that have them; steps of the share


def unpacked(word: int, k: int) -> tuple[Floats, float]:
    """A point of a box, in half-widths from its centre, and a share, which say what multipliers the pairs have. Four
    bits for each coordinate, those of the first come last, before them seven bits for the share.
    """
    moved = min(k, MOST_MOVED)
    steps = np.array([(word >> 4 * j & 15) - GRAINS for j in range(moved)] + [0] * (k - moved))
    return steps / GRAINS, (word >> 4 * MOST_MOVED) / SHARES


@dataclass(frozen=True, eq=False)
class Circuits:
    """Sets of pairs that no admissible weights win together, for one list with two classes, and what they show.

    In coordinates ``v``, the largest ``v . sum_p multiplier_p D_p`` is below the margin times the sum of a circuit's
    multipliers. The j-th best positive loses at least ``least_j`` pairs. Otherwise all rows but some ``n+ - j``
    positives and some ``least_j - 1`` negatives would be in order, but whichever leave, a circuit is left.
    """

    sizes: NDArray[np.int64]  # (m,): number of pairs of each circuit
    pairs: NDArray[np.int64]  # (n, 2): rows (upper, lower) of the pairs of all circuits, one after the other
    multipliers: NDArray[np.int64]  # (n,): positive
    least: NDArray[np.int64]  # (J,)

    @classmethod
    def none(cls) -> Circuits:
        """No circuits."""
        empty = np.empty(0, np.int64)
        return cls(empty, np.empty((0, 2), np.int64), empty, empty)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Flat arrays, by the names that they have in a file."""
        return {f"circuit_{name}": part.ravel() for name, part in vars(self).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Circuits:
        """Those that :meth:`arrays` described."""
        sizes, pairs, multipliers, least = (arrays[f"circuit_{part.name}"] for part in fields(cls))
        return cls(sizes, pairs.reshape(-1, 2), multipliers, least)


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
        -1 where a weight must not be positive, else 1.  Boxes and lines are those of coordinates
        (:func:`rerank.problem.problem.coordinates`), ``flip * w`` where weights have no limits.
    supports : tuple of intp arrays
        Sets of features that may carry weight, small sets first.
    left_out : int or None
        Smallest size of support that is not listed; ``ideal - C * left_out`` bounds those.
    codes : uint16 (n,)
        The trees of all faces of all supports in preorder: ``LEAF``, ``LISTED``, ``COORDINATE + j`` for a split
        at the middle of the support's j-th coordinate (upper half first), ``LINE + g`` for a split by line g
        (``w.D_g >= 0`` first), ``PRICED`` for a leaf with multipliers.
    lines : tuple of int64 arrays (m, 2)
        For each support the pairs of rows (upper, lower) whose scaled difference ``D_g`` is the direction of
        line ``g = 1..m``.
    fingerprint : str
        :func:`rerank.problem.digest` of the problem.
    version : int
        Version of the format.
    multipliers : int64 (m,)
        Those of the priced leaves, in their order (``unpacked``).
    circuits : Circuits or None
        They show the bound, if there are any; there are no supports, lines and codes then.
    """

    value: float
    bound: float
    weights: Floats
    flip: NDArray[np.int8]
    supports: tuple[Indices, ...]
    left_out: int | None
    codes: NDArray[np.uint16]
    lines: tuple[NDArray[np.int64], ...]
    fingerprint: str
    version: int = VERSION
    circuits: Circuits | None = None
    multipliers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
