"""Lists as the kernels of the lines take them, and their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rerank.search.rows.tables import RowTables


class Lists(NamedTuple):
    """Rows ``begin[q] .. begin[q + 1]`` make a list, the highest gain first.

    A row of ``level`` l is a positive of the first l of the list's binary lists, which begin at ``first_unit``.
    """

    begin: Any
    level: Any
    first_unit: Any
    places: Any  # of each binary list, and where what they earn begins, as in RowTables
    coef_start: Any
    coef: Any
    hit_start: Any
    hits: Any
    counted: Any


class Margin(NamedTuple):
    """The margin along a line: ``epsilon`` times the norm, its ends, and the norm's pieces forward and backward."""

    epsilon: float
    least: float
    most: float
    n: int
    breaks: Any
    slopes: Any
    levels: Any
    n_back: int
    breaks_back: Any
    slopes_back: Any
    levels_back: Any


class LineScratch(NamedTuple):
    """Arrays of one list on one line; ``at``, ``change``, ``when``, ``pair`` and ``gain`` are replaced when full."""

    which: Any
    pieces: Any
    lower: Any
    upper: Any
    heap: Any
    lost: Any
    count: Any
    upto: Any
    when: Any
    pair: Any
    gain: Any
    at: Any
    change: Any


def lists_of(t: RowTables) -> Lists:
    """The lists of the tables."""
    # One type of whole numbers but for the rows' own: each mixture of two compiles functions again.
    begin, first_unit, places, coef_start, hit_start, counted = (
        x.astype(np.int64) for x in (t.begin, t.first_unit, t.places, t.coef_start, t.hit_start, t.counted)
    )
    level, coef, hits = (np.require(x, requirements=["C", "W"]) for x in (t.level, t.coef, t.hits))
    return Lists(begin, level, first_unit, places, coef_start, coef, hit_start, hits, counted)


def line_scratch(t: RowTables) -> LineScratch:
    """Memory for lines on the tables."""
    n = int(np.diff(t.begin).max(initial=1))
    units = np.diff(t.first_unit)
    places = int(t.places.max(initial=1))
    return LineScratch(
        which=np.empty(6 * n + 64, np.int32), pieces=np.empty((96, 5)), lower=np.empty(n), upper=np.empty(n),
        heap=np.empty(places + 1), lost=np.empty(int((units * np.diff(t.begin)).max(initial=1)), np.int64),
        count=np.zeros(places + 1, np.int64), upto=np.empty(int(units.max(initial=1)) * (places + 1), np.int64),
        when=np.empty(256), pair=np.empty(256), gain=np.empty(256), at=np.empty(4096), change=np.empty(4096),
    )  # fmt: skip
