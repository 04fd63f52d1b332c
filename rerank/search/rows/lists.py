"""Lists of rows as the kernels take them, and the memory of the lines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Paid(NamedTuple):
    """What the places of binary lists earn, best place first, and what the j-th best positive multiplies that with.

    ``hits`` is empty where that is 1 for all; ``counted`` of the best positives of a list can earn something.
    """

    places: Any  # that earn something, at most as many as the list has rows
    coef_start: Any
    coef: Any
    hit_start: Any
    hits: Any
    counted: Any


class Lists(NamedTuple):
    """Rows ``begin[q] .. begin[q + 1]`` make a list, the highest gain first.

    A row of ``level`` l is a positive of the first l of the list's binary lists, which begin at ``first_unit``.
    """

    begin: Any
    level: Any
    first_unit: Any
    paid: Paid


class Margin(NamedTuple):
    """The margin along a line: ``epsilon`` times the norm, its ends, and the norm's pieces forward and backward.

    Pieces are a number and ends, slopes and intercepts (:func:`rerank.search.lines.kernel.envelope`).
    """

    epsilon: float
    least: float
    most: float
    n: int
    pieces: Any
    n_back: int
    pieces_back: Any


class LineScratch(NamedTuple):
    """Arrays of one line, and of one list on it; :meth:`larger` ones replace them when full."""

    which: Any
    parts: Any  # of the line, which are still to be searched
    lower: Any
    upper: Any
    heap: Any
    lost: Any
    count: Any
    upto: Any
    steps: Any  # (3, n): where, of which pair, and what the value gains
    changes: Any  # (2, n): where the value changes, and by how much
    order: Any  # (2, n): of steps or of changes, and the stack that sorting them needs
    envelopes: Any  # (2, 5, n): pieces of the norm forward and backward
    rivals: Any  # (2, n): rows that one may win or lose against on a piece, and where the rows of a level begin

    def larger(self) -> LineScratch:
        """The scratch with room for twice as many steps and changes."""
        steps, changes, order = (np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype) for x in self[8:11])
        return self._replace(steps=steps, changes=changes, order=order)


def line_scratch(lists: Lists, features: int) -> LineScratch:
    """Memory for lines on the lists."""
    sizes, units = np.diff(lists.begin), np.diff(lists.first_unit)
    n, places = int(sizes.max(initial=1)), int(lists.paid.places.max(initial=1))
    return LineScratch(
        which=np.empty(6 * n + 64, np.int32), parts=np.empty((96, 5)), lower=np.empty(n), upper=np.empty(n),
        heap=np.empty(places + 1), lost=np.empty(int((units * sizes).max(initial=1)), np.int64),
        count=np.zeros(places + 1, np.int64), upto=np.empty(int(units.max(initial=1)) * (places + 1), np.int64),
        steps=np.empty((3, 4096)), changes=np.empty((2, 4096)), order=np.empty((2, 4096), np.int64),
        envelopes=np.empty((2, 5, 2 * features + 1)), rivals=np.empty((2, max(n, 64) + 1), np.int64),
    )  # fmt: skip
