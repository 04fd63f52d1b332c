"""What the kernel for rows reads of a problem, and the memory that exploring one node batch takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.boxes.axes import whitened_tolerance
from rerank.search.boxes.nodes import Support
from rerank.search.places import writable
from rerank.search.rows.lists import Paid
from rerank.search.rows.tables import RowTables

LEVELS = 96  # every level drops a fifth of its parent's rows, so 96 levels outlast 10^9 rows
START, SIZE, UNITS = range(3)  # columns of ``Workspace.level``
UNIT, GONE, POSITIVES, ROWS = range(4)  # rows of ``Workspace.units`` at a level
MOST_REFINED = 50_000
"""Negatives of one list that there is room for when pairs are formed."""


class Given(NamedTuple):
    """What does not change (see :class:`rerank.search.rows.tables.RowTables`)."""

    rows: Any
    basis: Any  # weights are basis @ coordinates; empty where they are the coordinates, of norm 1
    within: Any  # coordinates within the limits, as for pairs
    paid: Paid
    epsilon: float
    tolerance: float
    spacing: float  # 0 in a basis


class Workspace(NamedTuple):
    """Rows of the boxes on the way from the root, level by level, and what is computed of one list in one box."""

    which: Any  # int32: rows of the levels, list by list, positives first
    level: Any  # int64 (LEVELS, 3): where its rows begin, how many rows and how many lists there are
    base: Any  # float64 (LEVELS,): value of the lists that are decided
    units: Any  # int32 (LEVELS, 4, U): lists, negatives that every positive has lost to, positives, and rows of each
    ends: Any  # float64 (3, n): lower and upper ends of scores, and the scores at the centre
    heap: Any
    lost: Any
    count: Any  # of positives by lost pairs; all zero between lists
    kept: Any
    columns: Any  # float64 (k + 2, m): negatives that are left, feature by feature; ends of one positive's differences
    tallies: Any  # int64 (2, m): positives that lost to each of them, and that beat each, in the whole box
    axes: Any  # float64 (5, k): centre and half-widths, the best point, what a split moves, and in which direction


def given(t: RowTables, support: Support) -> Given:
    """What the kernel reads, on one support and in its basis."""
    features, basis, plain = support.features, np.empty((0, 0)), support.basis is None
    rows = t.rows if features.size == t.n_features else t.rows[:, features]
    if support.basis is not None:
        basis, rows = support.basis, rows @ support.basis
    made: Given = writable(Given(
        rows, basis, support.within, t.lists.paid, t.epsilon,
        t.tolerance if plain else whitened_tolerance(t.tolerance, features.size), t.spacing if plain else 0.0,
    ))  # fmt: skip
    return made


def workspace(t: RowTables, features: int) -> Workspace:
    """Memory for exploring boxes, with every row on the first level."""
    size, units, n = t.entries.size, t.n_rows.size, int(t.n_rows.max(initial=1))
    places, refined = int(t.lists.paid.places.max(initial=1)), min(n, MOST_REFINED)
    made = Workspace(
        which=np.empty(6 * size + 64, np.int32), level=np.zeros((LEVELS, 3), np.int64), base=np.zeros(LEVELS),
        units=np.zeros((LEVELS, 4, units), np.int32), ends=np.empty((3, n)), heap=np.empty(places + 1),
        lost=np.zeros(n, np.int64), count=np.zeros(places + 1, np.int64), kept=np.empty(n, np.int32),
        columns=np.empty((features + 2, refined)), tallies=np.zeros((2, refined), np.int64),
        axes=np.zeros((5, features)),
    )  # fmt: skip
    made.which[:size], made.level[0] = t.entries, (0, size, units)
    made.units[0] = np.arange(units), np.zeros(units), t.n_positive, t.n_rows
    return made
