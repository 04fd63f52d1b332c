"""The rows that the boxes on the way from the root still have to evaluate, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

from rerank.search.compiled import inner

LEVELS = 96  # every level drops a fifth of its parent's rows, so 96 levels outlast 10^9 rows


class Instance(NamedTuple):
    """What does not change: rows, what places earn (see :class:`rerank.search.rows.tables.RowTables`)."""

    rows: Any
    basis: Any  # weights are basis @ coordinates; empty where they are the coordinates, of norm 1
    places: Any
    coef_start: Any
    coef: Any
    hit_start: Any
    hits: Any
    counted: Any
    weight: Any  # of a list, in the choice of the feature to split
    least: Any  # as in :class:`rerank.search.boxes.levels.Instance`
    most: Any
    epsilon: float
    tolerance: float
    spacing: float  # see :func:`rerank.search.tables.spacing`; 0 in a basis


class Levels(NamedTuple):
    """Row numbers list by list, positives first, and what is known of the rows that have left."""

    rows: Any
    start: Any
    size: Any
    base: Any  # value of the lists that are decided
    n_units: Any
    unit: Any
    gone: Any  # negatives that every positive has lost to
    n_positive: Any
    n_rows: Any


class Scratch(NamedTuple):
    """Arrays of one list in one box, and of one box."""

    lower: Any
    upper: Any
    middle: Any
    heap: Any
    lost: Any
    count: Any  # of positives by lost pairs; all zero between lists
    kept: Any
    columns: Any  # the negatives that are left, feature by feature,
    highest: Any  # largest and smallest difference of one positive to each of them,
    lowest: Any
    by_all: Any  # positives that lost to each, and that beat each, in the whole box
    beaten: Any
    c: Any
    h: Any
    best: Any
    amount: Any
    balance: Any
    side: Any
    notes: Any


@inner()
def close(levels: Any, v: int) -> None:
    """Make level ``v`` empty; it begins where level ``v - 1`` ends."""
    levels.start[v] = levels.start[v - 1] + levels.size[v - 1]
    levels.size[v] = 0
    levels.n_units[v] = 0


@inner()
def add_unit(
    instance: Any, levels: Any, v: int, u: int, gone: int, kept: int, positives: int, scratch: Any
) -> None:
    """Add the kept rows of a list to level ``v``, and to ``amount`` what a split of each feature would move."""
    start = levels.start[v] + levels.size[v]
    at = levels.n_units[v]
    levels.unit[v, at] = u
    levels.gone[v, at] = gone
    levels.n_positive[v, at] = positives
    levels.n_rows[v, at] = kept
    levels.n_units[v] = at + 1
    levels.size[v] += kept
    weight = instance.weight[u]
    up = weight / max(positives, 1)
    down = weight / max(kept - positives, 1)
    for i in range(kept):
        row = scratch.kept[i]
        levels.rows[start + i] = row
        sign = up if i < positives else -down
        for j in range(scratch.amount.size):
            z = sign * instance.rows[row, j]
            scratch.amount[j] += abs(z)
            scratch.balance[j] += z
