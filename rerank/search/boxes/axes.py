"""What the boxes of a support are made of: its features, the axes of the boxes, its antiparallel pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.antiparallel import NO_GROUPS, AntiparallelPairs, antiparallel_pairs
from rerank.search.boxes.basis import whitened_basis
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.domain import Domain
from rerank.search.rows.tables import RowTables

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Axes:
    """The axes of the boxes of each support; found when they are asked for.

    Parameters
    ----------
    tables : Tables or RowTables
    columns : sequence of intp arrays
        The supports.
    domain : Domain
        The weights that are allowed.
    whitened : bool
        Whether correlated features get boxes in a whitened basis (:mod:`rerank.search.boxes.basis`).
    """

    tables: Any
    columns: Sequence[NDArray[np.intp]]
    domain: Domain
    whitened: bool = False
    antiparallel: dict[int, AntiparallelPairs] = field(default_factory=dict)
    bases: dict[int, Floats | None] = field(default_factory=dict)

    def change(self, whitened: bool) -> None:
        """Take whitened axes, or the features' own."""
        self.whitened, self.bases = whitened, {}

    def support(self, batch: NodeBatch) -> Support:
        """The batch's support; antiparallel pairs are searched for if a first job did not fathom it."""
        i = batch.support
        features = self.columns[i]
        if isinstance(self.tables, RowTables):
            return Support(features, self.basis(i), NO_GROUPS, self.domain.within(features))
        if i not in self.antiparallel:
            fresh = (batch.halves >= 0.5).any() or not batch.names.any()  # boxes of screening are all named 0
            if batch.sides.shape[1] == 0 and len(self.columns) > 1 and fresh:
                return Support(features, self.basis(i), NO_GROUPS, self.domain.within(features))
        return Support(features, self.basis(i), self.grouped(i), self.domain.within(features))

    def grouped(self, support: int) -> AntiparallelPairs:
        """The antiparallel pairs of a support, searched for once."""
        if support not in self.antiparallel:
            self.antiparallel[support] = antiparallel_pairs(self.tables, self.columns[support])
        return self.antiparallel[support]

    def basis(self, support: int) -> Floats | None:
        """The basis of a support's boxes, None for the features' own axes."""
        if not self.whitened:
            return None
        if support not in self.bases:
            features = self.columns[support]
            free = not (self.domain.signed[features].any() or self.domain.anchored)
            covariance = self.tables.covariance[np.ix_(features, features)]
            self.bases[support] = whitened_basis(covariance, self.tables.epsilon) if free else None
        return self.bases[support]
