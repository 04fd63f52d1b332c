"""Boxes as the search, its workers and the kernels hold them: what a job is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats, Indices
from rerank.search.boxes.antiparallel import AntiparallelPairs

Names = NDArray[np.int64]

NAMES = 2**36  # names of boxes a job may give
NAME, LEVEL, IDLE, GROUPED, QUOTAS, SIDES = range(6)
"""Labels of a box: name, level, splits in a row that decided nothing, whether the last was by a group, level of quotas,
and sides."""


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """Boxes of one support, explored together, a row each."""

    support: int
    numbers: Floats  # (n, 2 k + 1): centres, half-widths and bounds
    labels: Names  # (n, 5 + m): what :data:`SIDES` lists; the last are sides chosen

    @classmethod
    def of(
        cls, support: int, centres: Floats, halves: Floats, bounds: Floats, names: Names, sides: int = 0
    ) -> NodeBatch:
        """Boxes for which no sides are chosen yet; there is room for so many."""
        labels = np.zeros((bounds.size, SIDES + sides), np.int64)
        labels[:, 0] = names
        return cls(support, np.column_stack([centres, halves, bounds]), labels)

    @property
    def centres(self) -> Floats:
        """Centre of each box."""
        return self.numbers[:, : self.numbers.shape[1] // 2]

    @property
    def halves(self) -> Floats:
        """Half-widths of each box."""
        return self.numbers[:, self.numbers.shape[1] // 2 : -1]

    @property
    def bounds(self) -> Floats:
        """What no value in a box exceeds."""
        return self.numbers[:, -1]

    @property
    def names(self) -> Names:
        """Name of each box."""
        return self.labels[:, 0]

    @property
    def sides(self) -> Names:
        """Sides of antiparallel pairs chosen for each box."""
        return self.labels[:, SIDES:]

    @property
    def bound(self) -> float:
        """Largest bound of its boxes."""
        return float(self.bounds.max())

    def part(self, i: Indices) -> NodeBatch:
        """Some of its boxes."""
        return NodeBatch(self.support, self.numbers[i], self.labels[i])

    def bounded(self, bounds: Floats) -> NodeBatch:
        """The boxes with other bounds."""
        return NodeBatch(self.support, np.column_stack([self.numbers[:, :-1], bounds]), self.labels)


@dataclass(frozen=True, eq=False)
class Findings:
    """What exploring one batch gave."""

    support: int
    value: float
    weights: Floats | None  # a better point
    open: NodeBatch | None
    unresolved: NodeBatch | None  # boxes too small to split
    splits: Names
    aside: float  # largest bound of the boxes that were fathomed or set aside
    boxes: int
    work: float


@dataclass(frozen=True, eq=False)
class Support:
    """Features that carry weight, and what the boxes on them are made of."""

    features: Indices
    basis: Floats | None  # of the boxes; None: their own axes
    antiparallel: AntiparallelPairs
    within: Floats = field(default_factory=lambda: np.empty((2, 0)))  # ends of coordinates; empty without limits
    walls: Floats = field(default_factory=lambda: np.empty((0, 2)))  # rows on its weights, as of a Domain
    pairs: Any = None  # the tables with equal pairs merged; None for the whole ones

    def weights(self, u: Floats, d: int) -> Floats:
        """Weights of all ``d`` features at box coordinates ``u``."""
        w = np.zeros(d)
        if self.basis is None:
            w[self.features] = u
        else:
            v = self.basis @ u
            w[self.features] = v / np.abs(v).max()
        return w
