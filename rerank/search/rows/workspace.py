"""What the kernel for rows is given: the tables as it takes them, and its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.search.rows.levels import LEVELS, Instance, Levels, Scratch

if TYPE_CHECKING:
    from rerank.search.rows.tables import RowTables

Floats = NDArray[np.float64]
NO_LIMITS = np.empty(0)

MOST_REFINED = 50_000
"""Negatives of one list that there is room for when pairs are formed."""


def instance(
    t: RowTables, basis: Floats | None = None, rows: Floats | None = None, tolerance: float | None = None,
    within: tuple[Floats, Floats] = (NO_LIMITS, NO_LIMITS),
) -> Instance:  # fmt: skip
    """The tables as the kernel takes them; with ``rows`` in the coordinates of a ``basis``, and limits of these."""
    parts = (
        t.rows if rows is None else rows, np.empty((0, 0)) if basis is None else basis,
        t.places, t.coef_start, t.coef, t.hit_start, t.hits, t.counted, t.first_places, *within,
    )  # fmt: skip
    # Processes are given read-only maps, and the kernel is compiled for plain arrays.
    arrays = [np.require(x, requirements=["C", "W"]) for x in parts]
    spacing = t.spacing if basis is None else 0.0
    return Instance._make([*arrays, t.epsilon, t.tolerance if tolerance is None else tolerance, spacing])


def levels(t: RowTables) -> Levels:
    """Levels with every row on the first."""
    n, units = t.entries.size, t.n_rows.size
    made = Levels(
        rows=np.empty(6 * n + 64, np.int32),
        start=np.zeros(LEVELS, np.int64),
        size=np.zeros(LEVELS, np.int64),
        base=np.zeros(LEVELS),
        n_units=np.zeros(LEVELS, np.int64),
        unit=np.zeros((LEVELS, units), np.int32),
        gone=np.zeros((LEVELS, units), np.int32),
        n_positive=np.zeros((LEVELS, units), np.int32),
        n_rows=np.zeros((LEVELS, units), np.int32),
    )
    made.rows[:n] = t.entries
    made.size[0], made.n_units[0] = n, units
    made.unit[0], made.n_positive[0], made.n_rows[0] = np.arange(units), t.n_positive, t.n_rows
    return made


def scratch(t: RowTables, n_boxes: int, features: int) -> Scratch:
    """Arrays for exploring so many boxes."""
    n = int(t.n_rows.max(initial=1))
    places, refined = int(t.places.max(initial=1)), min(n, MOST_REFINED)
    return Scratch(
        lower=np.empty(n), upper=np.empty(n), middle=np.empty(n), heap=np.empty(places + 1),
        lost=np.zeros(n, np.int64), count=np.zeros(places + 1, np.int64), kept=np.empty(n, np.int32),
        columns=np.empty((features, refined)), highest=np.empty(refined), lowest=np.empty(refined),
        by_all=np.zeros(refined, np.int64), beaten=np.zeros(refined, np.int64),
        c=np.empty(features), h=np.empty(features), best=np.zeros(features), amount=np.zeros(features),
        balance=np.zeros(features), side=np.zeros(0, np.int32), notes=np.zeros((n_boxes, 3), np.int64),
    )  # fmt: skip
