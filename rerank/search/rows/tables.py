"""The problem as flat arrays of rows, for lists too long for a table of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.places import MOST_NUMBERS, places_of, starts
from rerank.search.tables import tolerance

if TYPE_CHECKING:
    from rerank.problem import Problem, RankedList

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

FROM_PAIRS = 200_000
"""Pairs from which a search may be one by rows."""

LONG = 40
"""Pairs for each row from which lists count as long: on short lists the boxes of pairs are tighter and no slower."""

MOST_PAIRS = 5_000_000
"""Pairs from which boxes of short lists are searched by rows, too."""


@dataclass(frozen=True, eq=False)
class RowTables:
    """Rows list by list, positives first, and what places earn.

    A list here is binary: a list with several grades stands once for each of its thresholds.

    Attributes
    ----------
    rows : float64 (n, d)
        Scaled features, those of a list minus one point: differences stay the same.
    entries : int32 (E,)
        Row numbers.
    n_positive, n_rows : int32 (U,)
        Of each list.
    coef_start, coef
        What the places of each list earn, best place first; trailing zeros are left out.
    constant, epsilon, tolerance : float
        Of the problem; the tolerance covers two rows.
    """

    rows: Floats
    entries: Ints
    n_positive: Ints
    n_rows: Ints
    coef_start: Ints
    coef: Floats
    constant: float
    epsilon: float
    tolerance: float
    integral = False
    linear = False
    grain = 0.0
    total = 0.0

    @cached_property
    def size(self) -> int:
        """What one evaluation of everything counts as."""
        return int(self.entries.size)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @cached_property
    def places(self) -> Ints:
        """Places of each list that earn something, at most as many as it has rows."""
        return np.minimum(np.diff(self.coef_start), self.n_rows).astype(np.int32)

    @cached_property
    def ideal(self) -> float:
        """Value of all positives on top."""
        lists = zip(self.coef_start[:-1], np.minimum(self.places, self.n_positive), strict=True)
        return float(sum(self.coef[first : first + n].sum() for first, n in lists))

    @cached_property
    def slack(self) -> float:
        """A box is fathomed when its bound beats the incumbent by no more than this (rounding of sums)."""
        return 1e-13 * max(float(self.coef.sum()), 1e-300)

    def to_value(self, inner: float) -> float:
        """From the kernels' unit to the problem's."""
        return float(self.constant + inner)

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences of rows, of every so many where there are very many."""
        return 2.0 * np.atleast_2d(np.cov(self.rows[:: 1 + self.rows.size // MOST_NUMBERS].T))

    @cached_property
    def first_places(self) -> Floats:
        """What the first place of each list earns."""
        return self.coef[self.coef_start[:-1]]


def lines_by_rows(problem: Problem) -> bool:
    """Whether lines are searched by rows: many pairs, and most places earn nothing."""
    places = sum(int(np.count_nonzero(unit.coefficients)) for unit in problem.units)
    return number_of_pairs(problem) > FROM_PAIRS and 2 * places <= _rows(problem)


def by_rows(problem: Problem) -> bool:
    """Whether boxes are searched by rows, too: long lists, or too many pairs for a table."""
    return lines_by_rows(problem) and number_of_pairs(problem) > min(LONG * _rows(problem), MOST_PAIRS)


def number_of_pairs(problem: Problem) -> int:
    """Pairs of all lists."""
    return sum(unit.positive.size * unit.negative.size for unit in problem.units)


def _rows(problem: Problem) -> int:
    return sum(unit.positive.size + unit.negative.size for unit in problem.units)


def _centre(rows: Floats, item: RankedList, anchored: bool) -> Floats:
    """What is subtracted from the rows of a list: rows near it have the narrowest intervals.

    Any point will do. Rows near the last place that earns something decide the value: those around it by the given
    score of an anchored problem, else the relevant rows.
    """
    near: Any = item.gains > 0
    if anchored:
        places = max(int(np.count_nonzero(item.coefficients)), 2)
        near = np.argsort(-rows[:, 0], kind="stable")[places // 2 : 2 * places]
    chosen = rows[near]
    return chosen.mean(axis=0) if chosen.size else rows[0]


def row_tables(problem: Problem, scale: Floats) -> RowTables:
    """Flatten a problem; ``scale`` holds what columns are multiplied by, so that weights become coordinates."""
    scaled = problem.scaled * scale
    rows = np.zeros_like(scaled)
    for item in problem.lists:
        rows[item.rows] = scaled[item.rows] - _centre(scaled[item.rows], item, problem.anchored)
    units = problem.units
    places = [places_of(unit.factor, unit.coefficients) for unit in units]
    entries: list[Any] = [part for unit in units for part in (unit.positive, unit.negative)]
    return RowTables(
        rows=rows,
        entries=np.concatenate([np.empty(0), *entries]).astype(np.int32),
        n_positive=np.array([unit.positive.size for unit in units], np.int32),
        n_rows=np.array([unit.positive.size + unit.negative.size for unit in units], np.int32),
        coef_start=starts(places),
        coef=np.concatenate([np.empty(0), *places]),
        constant=problem.constant,
        epsilon=problem.epsilon,
        tolerance=4.0 * tolerance(problem),
    )
