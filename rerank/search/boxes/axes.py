r"""What the boxes of a support are made of: its features, the axes of the boxes, its antiparallel pairs.

Boxes in coordinates ``u`` with ``w = S u`` leave a pair undecided while ``|c.D'| <= h.|D'|``, ``D' = S^T D``.
If the features are correlated, few boxes of the cube ``max|w_j| = 1`` are short in the directions in
which differences are long.  With ``S`` the inverse square root of the differences' covariance all boxes are.
The margin asks ``w.D >= epsilon`` at ``max|w_j| = 1``, that is ``u.D' >= epsilon max_j |(S u)_j|``, and that
maximum is bounded in every box.

On features with few values most pairs are equal on a support: four flags have 81 differences, however many pairs there
are.  Where every lost pair costs the same on each place (AUC), boxes are explored on these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import numpy as np

from rerank.problem.lists import Floats, Indices
from rerank.search.boxes.antiparallel import NO_GROUPS, AntiparallelPairs, antiparallel_pairs
from rerank.search.boxes.listing import MOST_FREE, MOST_VERTICES
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.domain import Domain

LEAST_RATIO = 2.0  # of longest to shortest spread; below it, whitened axes do not save time
CLEAR = 20.0  # margins by which differences have to spread in every direction
MOST_RATIO = 100.0  # nearly collinear features are not stretched further
MOST_VALUES = 64  # of the differences on a feature, and
MOST_MERGED = 4096  # on a support, up to which pairs that are equal there are merged;
WORTH = 4  # so many pairs for one that is left, at least


@dataclass(eq=False)
class Axes:
    """The axes of the boxes of each support; found when they are asked for."""

    tables: Any
    columns: Sequence[Indices]  # the supports
    domain: Domain
    whitened: bool = False  # whether correlated features get boxes in a whitened basis
    antiparallel: dict[int, AntiparallelPairs] = field(default_factory=dict)
    bases: dict[int, Floats | None] = field(default_factory=dict)
    codes: dict[int, tuple[int, Indices]] = field(default_factory=dict)

    def change(self, whitened: bool) -> None:
        """Take whitened axes, or the features' own."""
        self.whitened, self.bases = whitened, {}

    def support(self, batch: NodeBatch) -> Support:
        """The batch's support; antiparallel pairs are searched for if a first job did not fathom it."""
        i = batch.support
        features = self.columns[i]
        ends = self.domain.within(features), self.domain.part(features).walls
        plain = Support(features, self.basis(i), NO_GROUPS, *ends)
        if self.tables.by_rows or self.domain.by_sum:  # weights may win antiparallel pairs that include the margin
            return plain
        pairs = self.pairs(i)
        fresh = (batch.halves >= 0.5).any() or not batch.names.any()  # boxes of screening are all named 0
        first = fresh and len(self.columns) > 1 and batch.sides.shape[1] == 0
        if first and i not in self.antiparallel and pairs is self.tables:
            return plain
        return replace(plain, antiparallel=self.grouped(i), pairs=pairs)

    def pairs(self, support: int) -> Any:
        """The tables with pairs merged that are equal on the support, where those are few."""
        features, t = self.columns[support], self.tables
        if not t.linear or t.by_rows or len(self.columns) == 1:
            return t
        many, key = 1, np.zeros(t.size, np.intp)
        for j in features.tolist():
            values, code = self._coded(j)
            many *= values
            if not 0 < many <= min(MOST_MERGED, t.size // WORTH):
                return t
            key = key * values + code
        first = np.full(many, -1)
        first[key[::-1]] = np.arange(t.size)[::-1]
        met = first >= 0
        p, loss = first[met], np.bincount(key, t.loss, many)[met]
        return replace(
            t,
            pairs=t.pairs[:, p],
            loss=loss,
            slot=t.slot[p],
            span=t.span[p],
            multiplicity=t.multiplicity[p],
            upper=t.upper[p],
            lower=t.lower[p],
        )

    def few(self, support: int) -> bool:
        """Whether vertices of all of a support can be listed (:mod:`rerank.search.boxes.listing`)."""
        free, t = self.columns[support].size - 1, self.pairs(support)
        plain = not (self.domain.anchored or self.domain.by_sum or self.domain.walls.size or t.quotas.any)
        listed = t is not self.tables and plain and 0 < free <= MOST_FREE
        return listed and comb(t.size + 2 * free, free) <= MOST_VERTICES

    def _coded(self, j: int) -> tuple[int, Indices]:
        """How many differences there are on a feature, and which one each pair has; 0 where they are many."""
        if j not in self.codes:
            row = self.tables.pairs[j]
            values = np.unique(row[:: 1 + row.size // 1024])
            if values.size <= MOST_VALUES:
                values = np.unique(row)
            few = values.size <= MOST_VALUES
            self.codes[j] = (values.size, np.searchsorted(values, row)) if few else (0, np.empty(0, np.intp))
        return self.codes[j]

    def grouped(self, support: int) -> AntiparallelPairs:
        """The antiparallel pairs of a support, searched for once."""
        if support not in self.antiparallel:
            self.antiparallel[support] = antiparallel_pairs(self.pairs(support), self.columns[support])
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


def whitened_basis(covariance: Floats, epsilon: float) -> Floats | None:
    """``S`` (k, k) with rows of L1 norm at most 1, for a covariance of differences; None where it would not help. The
    rows' norm keeps ``|w_j| <= 1`` for ``max|u_j| <= 1``. Directions in which no pair clears the margin must not be
    stretched: they would fill the cube of ``u`` with boxes in which nothing can be decided.
    """
    if covariance.shape[0] < 3:
        return None
    values, axes = np.linalg.eigh(covariance)
    top = float(values[-1])
    if values[0] < (CLEAR * epsilon) ** 2 or values[0] * LEAST_RATIO**2 >= top:
        return None
    root = 1.0 / np.sqrt(np.maximum(values, top / MOST_RATIO**2))
    S = (axes * root) @ axes.T
    return np.ascontiguousarray(S / np.abs(S).sum(axis=1).max())


def whitened_tolerance(plain: float, k: int) -> float:
    """Rounding of ``u.D' - epsilon N(u)`` with ``D' = S^T D`` rounded, and of the weights ``S u / N(u)`` reported.
    ``D'`` is off by ``k`` times as much as ``D`` in each of ``k`` entries, and rounding ``w`` moves every product by as
    much again.
    """
    return 4.0 * k * plain
