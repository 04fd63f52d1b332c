"""What the kernels read of a problem, and the memory that exploring one node batch, or following a line, takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.boxes.axes import whitened_tolerance
from rerank.search.boxes.nodes import Support
from rerank.search.compiled import writable
from rerank.search.tables import Lists, RowTables, Tables

LEVELS = 96  # every level drops a fifth of its parent's pairs, or rows, so 96 levels outlast 10^9 of them
START, SIZE, LISTS, RUNS = range(4)  # columns of ``level``; there are no runs of rows
UNIT, GONE, POSITIVES, ROWS = range(4)  # rows of ``RowSpace.units`` at a level
MOST_REFINED = 50_000  # negatives of one list that there is room for when pairs are formed


class Given(NamedTuple):
    """What does not change in a search by pairs, or by rows (:mod:`rerank.search.tables`)."""

    rows: Any  # those of the tables, in the basis; by pairs there are none
    basis: Any  # weights are basis @ coordinates; empty where they are the coordinates
    within: Any  # coordinates within the limits; boxes reach a little farther; empty without limits
    walls: Any  # rows on the coordinates, a.u >= b: (m, k + 2) coefficients, b, rounding
    paid: Any  # Paid of rows, Slots of pairs
    single: bool
    integral: bool
    total: float
    epsilon: float
    tolerance: float
    spacing: float  # 0 in a basis
    quotas: Any  # QuotaRows in the basis


class QuotaSpace(NamedTuple):
    """Rows of quotas in the boxes on the way from the root, level by level, and what is computed of one box."""

    which: Any  # int32: rows of the levels, demand by demand
    level: Any  # int64 (LEVELS, 3): where its rows begin, how many demands are open, and how many rows they have
    demands: Any  # int64 (LEVELS, 4, demands): rows wanted, all rows, and the places that are compared
    ends: Any  # float64 (3, n): lower and upper ends of scores, and the scores at the centre
    heap: Any
    kept: Any
    amount: Any  # float64 (2, k): what a split moves, and in which direction


class PairSpace(NamedTuple):
    """Undecided pairs of the boxes on the way from the root, level by level, and what is computed of one box. Few
    arrays of two dimensions: the time to compile grows with the number of arrays.
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
    axes: Any  # float64 (6, k): centre and half-widths, the best point, what a split moves, where, and on row limits
    side: Any  # int64
    quotas: Any  # QuotaSpace


class ListSpace(NamedTuple):
    """What is computed of the positives of one list, from the largest scores of its negatives."""

    heap: Any
    lost: Any  # int64: negatives that each positive loses to
    count: Any  # int64, of positives by lost pairs; all zero between lists


class RowSpace(NamedTuple):
    """Rows of the boxes on the way from the root, level by level, and what is computed of one list in one box."""

    which: Any  # int32: rows of the levels, list by list, positives first
    level: Any  # int64 (LEVELS, 3): where its rows begin, how many rows and how many lists there are
    base: Any  # float64 (LEVELS,): value of the lists that are decided
    units: Any  # int32 (LEVELS, 4, U): lists, negatives that every positive has lost to, positives, and rows of each
    ends: Any  # float64 (3, n): lower and upper ends of scores, and the scores at the centre
    memory: Any  # ListSpace
    kept: Any
    columns: Any  # float64 (k + 2, m): negatives that are left, feature by feature; ends of one positive's differences
    tallies: Any  # int64 (2, m): positives that lost to each of them, and that beat each, in the whole box
    axes: Any  # float64 (6, k): centre and half-widths, the best point, what a split moves, where, and on row limits
    quotas: Any  # QuotaSpace


class LinePairs(NamedTuple):
    """Tables of pairs as lines read them (:class:`rerank.search.tables.Tables`), on some features."""

    pairs: Any
    slot: Any
    span: Any
    weight: Any
    slots: Any
    count_start: Any
    linear: bool
    total: float
    epsilon: float


class LineMargin(NamedTuple):
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
    memory: Any  # ListSpace, for the positives of all its binary lists
    upto: Any
    steps: Any  # (3, n): where, of which pair, and what the value gains
    changes: Any  # (2, n): where the value changes, and by how much
    order: Any  # (2, n): of steps or of changes, and the stack that sorting them needs
    envelopes: Any  # (2, 5, n): pieces of the norm forward and backward
    rivals: Any  # (2, n): rows that one may win or lose against on a piece, and where the rows of a level begin

    def larger(self) -> LineScratch:
        """The scratch with room for twice as many steps and changes."""
        steps, changes, order = (np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype) for x in self[6:9])
        return self._replace(steps=steps, changes=changes, order=order)


def given(t: Tables | RowTables, support: Support) -> Given:
    """What the kernel reads, on one support and in its basis."""
    features, plain = support.features, support.basis is None
    basis, rows, quotas = np.empty((0, 0)) if support.basis is None else support.basis, np.empty((0, 0)), t.quotas

    def on(rows: Any) -> Any:
        rows = rows if features.size == t.n_features else rows[:, features]
        return rows if plain else rows @ basis

    if isinstance(t, RowTables):
        rows = on(t.rows)
    if quotas.any:
        wider = quotas.tolerance if plain else whitened_tolerance(quotas.tolerance, features.size)
        quotas = quotas._replace(rows=on(quotas.rows), tolerance=wider)
    walls = support.walls
    if not plain and len(walls):  # sides are 0 there, so that the norm of weights does not count
        walls = np.column_stack([walls[:, :-2] @ basis, walls[:, -2], 4.0 * features.size * walls[:, -1]])
    kind = isinstance(t, Tables) and t.single, t.integral
    paid = t.lists.paid if isinstance(t, RowTables) else t.slots
    rounding = (t.tolerance, t.spacing) if plain else (whitened_tolerance(t.tolerance, features.size), 0.0)
    made: Given = writable(
        Given(rows, basis, support.within, walls, paid, *kind, t.total, t.epsilon, *rounding, quotas)
    )
    return made


def quota_space(t: Tables | RowTables, k: int) -> QuotaSpace:
    """Memory for the quotas of boxes with ``k`` coordinates, with every row on the first level."""
    q, sizes = t.quotas, np.diff(t.quotas.begin)
    size, count, longest = int(q.begin[-1]), q.wanted.size, int(sizes.max(initial=1))
    most = max(int(q.wanted.max(initial=0)), int(q.rival.max(initial=0)))
    made = QuotaSpace(
        np.empty(6 * size + 64, np.int32),
        np.zeros((LEVELS, 3), np.int64),
        np.zeros((LEVELS, 4, count), np.int64),
        np.empty((3, longest)),
        np.empty(most + 1),
        np.empty(longest, np.int32),
        np.zeros((2, k)),
    )
    made.which[:size], made.level[0] = np.arange(size), (0, count, size)
    made.demands[0] = q.ahead, sizes, q.wanted, q.rival
    return made


def pair_space(t: Tables, support: Support, n_sides: int) -> PairSpace:
    """Memory for exploring boxes with so many sides; every pair is on level 0."""
    groups, k, P = support.antiparallel, support.features.size, t.size
    n_units, n_slots = t.slots.unit_start.size - 1, t.slots.unit_of.size
    most, depth = 5 * P + 64, 3 if t.linear else LEVELS + 2
    made = PairSpace(
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
        axes=np.zeros((6, k)),
        side=np.zeros(n_sides, np.int64),
        quotas=quota_space(t, k),
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


def row_space(t: RowTables, features: int) -> RowSpace:
    """Memory for exploring boxes, with every row on the first level."""
    size, units, n = t.entries.size, t.n_rows.size, int(t.n_rows.max(initial=1))
    places, refined = int(t.lists.paid.places.max(initial=1)), min(n, MOST_REFINED)
    made = RowSpace(
        which=np.empty(6 * size + 64, np.int32),
        level=np.zeros((LEVELS, 3), np.int64),
        base=np.zeros(LEVELS),
        units=np.zeros((LEVELS, 4, units), np.int32),
        ends=np.empty((3, n)),
        memory=ListSpace(np.empty(places + 1), np.zeros(n, np.int64), np.zeros(places + 1, np.int64)),
        kept=np.empty(n, np.int32),
        columns=np.empty((features + 2, refined)),
        tallies=np.zeros((2, refined), np.int64),
        axes=np.zeros((6, features)),
        quotas=quota_space(t, features),
    )
    made.which[:size], made.level[0] = t.entries, (0, size, units)
    made.units[0] = np.arange(units), np.zeros(units), t.n_positive, t.n_rows
    return made


def line_pairs(t: Tables, features: Any = None) -> LinePairs:
    """The pairs on some features, or on all."""
    pairs = t.pairs if features is None else np.ascontiguousarray(t.pairs[features])
    return LinePairs(pairs, t.slot, t.span, t.weight, t.slots, t.count_start, t.linear, t.total, t.epsilon)


def line_scratch(lists: Lists, features: int) -> LineScratch:
    """Memory for lines on the lists."""
    sizes, units = np.diff(lists.begin), np.diff(lists.first_unit)
    n, places = int(sizes.max(initial=1)), int(lists.paid.places.max(initial=1))
    lost = np.empty(int((units * sizes).max(initial=1)), np.int64)
    return LineScratch(
        which=np.empty(6 * n + 64, np.int32),
        parts=np.empty((96, 5)),
        lower=np.empty(n),
        upper=np.empty(n),
        memory=ListSpace(np.empty(places + 1), lost, np.zeros(places + 1, np.int64)),
        upto=np.empty(int(units.max(initial=1)) * (places + 1), np.int64),
        steps=np.empty((3, 4096)),
        changes=np.empty((2, 4096)),
        order=np.empty((2, 4096), np.int64),
        envelopes=np.empty((2, 5, 2 * features + 1)),
        rivals=np.empty((2, max(n, 64) + 1), np.int64),
    )
