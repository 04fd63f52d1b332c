"""Boxes as the search and its workers exchange them: what a job is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.search.boxes.antiparallel import AntiparallelPairs

Floats = NDArray[np.float64]
Names = NDArray[np.int64]

NAMES = 2**36  # names of boxes a job may give


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """Boxes of one support, explored together; ``sides`` holds the sides of antiparallel pairs chosen for each."""

    support: int
    centres: Floats
    halves: Floats
    bounds: Floats
    names: Names
    sides: NDArray[np.int32]

    @property
    def bound(self) -> float:
        """Largest bound of its boxes."""
        return float(self.bounds.max())

    def part(self, i: NDArray[np.intp]) -> NodeBatch:
        """Some of its boxes."""
        return NodeBatch(
            self.support, self.centres[i], self.halves[i], self.bounds[i], self.names[i], self.sides[i]
        )


@dataclass(frozen=True, eq=False)
class Findings:
    """What exploring one batch gave: a better point, open boxes, boxes too small to split, and the splits.

    ``aside`` is the largest bound of the boxes that were fathomed or set aside.
    """

    support: int
    value: float
    weights: Floats | None
    open: NodeBatch | None
    unresolved: NodeBatch | None
    splits: Names
    aside: float
    boxes: int
    work: float


@dataclass(frozen=True, eq=False)
class Support:
    """Features that carry weight, the basis of their boxes (None: their own axes), and their antiparallel pairs.

    ``within`` holds the smallest and the largest coordinate of each feature; two empty arrays without limits.
    """

    features: NDArray[np.intp]
    basis: Floats | None
    antiparallel: AntiparallelPairs
    within: tuple[Floats, Floats] = (np.empty(0), np.empty(0))

    def weights(self, u: Floats, d: int) -> Floats:
        """Weights of all ``d`` features at box coordinates ``u``."""
        w = np.zeros(d)
        if self.basis is None:
            w[self.features] = u
        else:
            v = self.basis @ u
            w[self.features] = v / np.abs(v).max()
        return w
