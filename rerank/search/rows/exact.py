"""Exact arithmetic for long lists: on the few rows that can matter at a point or in a small box.

The N-th largest lower end of the irrelevant rows rules out every row that cannot reach it (as in
:mod:`rerank.problem.partitions`). The problem of the rows that are left has the same value, and few pairs.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem, RankedList
from rerank.search.boxes.vertices import Exact
from rerank.search.places import last_hit
from rerank.search.sizes import OutOfTimeError
from rerank.search.tables import tables

if TYPE_CHECKING:
    from rerank.search.domain import Domain
    from rerank.search.rows.lines import RowLines

Floats = NDArray[np.float64]

MOST_PAIRS = 200_000
"""Pairs for which a table is made; a box with more is left open, a point with more loses the pairs in doubt."""


@dataclass(frozen=True, eq=False)
class RowExact:
    """Values of points and of small boxes; the counterpart of :class:`rerank.search.boxes.vertices.Exact`."""

    problem: Problem
    lines: RowLines
    domain: Domain

    def value(self, w: Floats) -> float:
        """Value of ``w`` in the tables' unit; every pair is decided exactly where there are few in doubt."""
        least, most = (self.lines.value(w, sign) for sign in (1.0, -1.0))
        if least == most:
            return least
        near = self._near(w, np.zeros(w.size))
        return least if near is None else max(least, self._inner(near, near.value(w)))

    def largest(
        self, features: NDArray[np.intp], centre: Floats, half: Floats
    ) -> tuple[float, list[Floats]] | None:
        """Largest value in a box and the points that have it; None if that would take too long."""
        c, h = np.zeros(self.domain.n_features), np.zeros(self.domain.n_features)
        c[features], h[features] = centre, half
        near = self._near(c, h)
        found = None if near is None else near.largest(features, centre, half)
        return None if found is None or near is None else (self._inner(near, found[0]), found[1])

    def _inner(self, near: Exact, value: float) -> float:
        return near.tables.to_value(value) - self.lines.tables.constant

    def _near(self, centre: Floats, half: Floats) -> Exact | None:
        """Exact arithmetic on the rows that can matter in a box; None where they have too many pairs, or time is up."""
        t = self.lines.tables
        middle, reach = np.empty(len(self.problem.X)), np.empty(len(self.problem.X))
        middle[t.order], reach[t.order] = t.rows @ centre, np.abs(t.rows) @ half + t.tolerance
        lists = [_cut(item, middle[item.rows], reach[item.rows], t.epsilon) for item in self.problem.lists]
        problem = replace(self.problem, lists=tuple(lists))
        if sum(unit.positive.size * unit.negative.size for unit in problem.units) > MOST_PAIRS:
            return None
        # The rows that are left out earn nothing, so the constant is that of the whole lists.
        with suppress(OutOfTimeError):
            return Exact(problem, tables(problem, scale=self.domain.scale), self.domain)
        return None


def _cut(item: RankedList, middle: Floats, reach: Floats, epsilon: float) -> RankedList:
    """The rows of a list that can reach the places that earn something, and are not behind every hit that counts."""
    places = int(np.count_nonzero(item.coefficients))
    lower, limit = middle - reach, -np.inf
    if 0 < places <= np.count_nonzero(item.gains == 0):
        limit = _last(lower[item.gains == 0], places)
    if item.hits is not None:
        above = [lower[item.gains >= g] for g in item.thresholds()]
        behind = [_last(ends, last_hit(item.hits[: ends.size])) for ends in above]
        limit = max(limit, min(behind, default=-np.inf))
    left = np.flatnonzero(middle + reach > limit - epsilon)
    return replace(
        item, rows=item.rows[left], gains=item.gains[left],
        coefficients=item.coefficients[item.coefficients.size - left.size :],
        hits=None if item.hits is None else item.hits[: left.size],
    )  # fmt: skip


def _last(ends: Floats, places: int) -> float:
    """The smallest of so many largest ends."""
    return float(np.partition(ends, -places)[-places])
