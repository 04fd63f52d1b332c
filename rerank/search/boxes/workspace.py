"""What the kernel for pairs reads of a problem, and the memory that exploring one node batch takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.boxes.axes import whitened_tolerance
from rerank.search.boxes.nodes import Support
from rerank.search.places import Slots, writable
from rerank.search.tables import Tables

LEVELS = 96  # every level drops a fifth of its parent's pairs, so 96 levels outlast 10^9 pairs
START, SIZE, LISTS, RUNS = range(4)  # columns of ``Workspace.level``


class Given(NamedTuple):
    """What does not change (see :class:`rerank.search.tables.Tables`)."""

    basis: Any  # weights are basis @ coordinates; empty where they are the coordinates
    within: Any  # coordinates within the limits; boxes reach a little farther; empty without limits
    slots: Slots
    single: bool
    integral: bool
    total: float
    epsilon: float
    tolerance: float
    spacing: float  # 0 in a basis


class Workspace(NamedTuple):
    """Undecided pairs of the boxes on the way from the root, level by level, and what is computed of one box.

    Few arrays of two dimensions: the time to compile grows with the number of arrays.
    """

    columns: Any  # float64 (k + 1, n): differences of pairs, and their weights last
    places: Any  # int32 (3, n): slot, span and group of each
    level: Any  # int64 (LEVELS, 4): where its pairs begin, and how many pairs, undecided lists and runs there are
    base: Any  # float64 (LEVELS,): weight lost (linear), or value of the lists that are decided
    lost: Any  # int32 (LEVELS, slots): lost pairs; the last two rows are of one box, in all of it and at its centre
    active: Any  # int32 (LEVELS, lists): those that are not decided
    ends: Any  # int32 (LEVELS, slots + 1): where runs of pairs of one slot end
    margins: Any  # float64 (5, P): M and R, and three more for the relaxation
    keep: Any  # int32 (P + 1,)
    slope: Any  # float64 (slots,)
    count: Any  # int64, of items at a place; all zero between boxes
    mark: Any  # bool, of lists; none between boxes
    groups: Any  # float64 (3, groups + 1): side chosen; weight forward and backward
    axes: Any  # float64 (5, k): centre and half-widths, the best point, two sums of the relaxation
    side: Any  # int64


def given(t: Tables, support: Support) -> Given:
    """What the kernel reads, on one support and in its basis."""
    plain, tolerance = support.basis is None, t.tolerance
    if not plain:
        tolerance = whitened_tolerance(tolerance, support.features.size)
    made: Given = writable(Given(
        np.empty((0, 0)) if plain else support.basis, support.within, t.slots, t.single, t.integral,
        t.total, t.epsilon, tolerance, t.spacing if plain else 0.0,
    ))  # fmt: skip
    return made


def workspace(t: Tables, support: Support, n_sides: int) -> Workspace:
    """Memory for exploring boxes with so many sides; every pair is on level 0."""
    groups, k, P = support.antiparallel, support.features.size, t.size
    n_units, n_slots = t.slots.unit_start.size - 1, t.slots.unit_of.size
    most, depth = 5 * P + 64, 3 if t.linear else LEVELS + 2
    made = Workspace(
        columns=np.empty((k + 1, most)),
        places=np.empty((3, 1 if t.linear and not n_sides else most), np.int32),
        level=np.zeros((LEVELS, 4), np.int64),
        base=np.zeros(LEVELS),
        lost=np.zeros((depth, n_slots), np.int32),
        active=np.zeros((depth, n_units), np.int32),
        ends=np.zeros((depth, n_slots + 1), np.int32),
        margins=np.empty((5 if t.linear else 2, P)),
        keep=np.empty(P + 1, np.int32),
        slope=np.zeros(n_slots),
        count=np.zeros(int(np.diff(t.slots.coef_start).max(initial=1)) + 1, np.int64),
        mark=np.zeros(n_units + 1, np.bool_),
        groups=np.zeros((3, groups.count + 1)),
        axes=np.zeros((5, k)),
        side=np.zeros(n_sides, np.int64),
    )
    pairs = t.pairs if k == t.n_features else t.pairs[support.features]
    made.columns[:k, :P] = pairs if support.basis is None else support.basis.T @ pairs
    made.columns[k, :P] = t.weight
    if groups.count:
        made.places[2, :P] = groups.group
    if not t.linear:
        made.places[0, :P], made.places[1, :P] = t.slot, t.span
        if t.single:
            last = np.flatnonzero(np.append(t.slot[1:] != t.slot[:-1], True)) if P else np.empty(0, np.int64)
            made.ends[0, : last.size] = last + 1
            made.level[0, RUNS] = last.size
    made.level[0, SIZE], made.level[0, LISTS] = P, n_units
    made.active[0] = np.arange(n_units)
    return made
