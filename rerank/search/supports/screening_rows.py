r"""Pairs in integers of 16 bits and the sums of a coarse box over them, compiled.

A pair's largest scaled difference in a box is a sum over the features, ``max(low_j D_j, high_j D_j)``.  Halving a
side lowers it by a multiple of ``|D_j|`` that depends on the level alone, or by nothing if the pair gains more in the
half that is kept.  So a child's sums are its parent's minus one row, in integers of 16 bits.  This is much faster
than the box kernel, which drops decided pairs, finds better points and goes to any depth.

Rounding: sums start rounded up and are lowered by amounts rounded down, except where a side comes to end at 0: there
the feature's share is 0, and the row that leads to it subtracts all that was added (sparse features need that).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.boxes.levels import unit_value
from rerank.search.compiled import inner

LEVELS = 11  # rows of reductions a feature: three kinds of first ones, then halvings
FACE, SPLIT, SIGNED_FACE, SIGNED_SPLIT = 0, 1, 2, 3  # a free side is split at 0, then like a signed one
ROWS = 4  # rows of a block, added up together
MOST_BOXES = 3000  # of a support, until it is left to the box search


class Layout(NamedTuple):
    """Pairs in quanta, in an order in which the lost pairs of all slots are counted side by side."""

    up: Any  # int16 (d, E), differences rounded away from zero
    down: Any  # int16 (d, E), towards zero
    idle: Any  # int16 (E,), large in places without a pair
    spread: Any  # mean size of a feature's differences
    threshold: Any  # a pair is lost below
    even: bool  # every pair costs ``lane_loss[0]``, and int16 holds their number
    linear: bool
    total: float
    block: Any  # where blocks of ROWS rows begin; a place's lane is its position in the row
    lane_slot: Any
    lane_loss: Any  # linear: what a lost pair of the lane costs, rounded down
    slots: Any  # as in the tables


@inner()
def halve(parent: Any, row: Any, threshold: Any, left: Any, right: Any) -> Any:
    """Sums of both children and how many of each are lost; no more than 2^15 - 1 places a call."""
    lost_left = np.int16(0)
    lost_right = np.int16(0)
    zero = np.int16(0)
    for p in range(parent.size):
        # Without the casts numba's integers have 64 bits, and a vector holds a quarter as many.
        x = np.int16(parent[p] - max(row[p], zero))
        y = np.int16(parent[p] + min(row[p], zero))
        left[p] = x
        right[p] = y
        lost_left = np.int16(lost_left + np.int16(x < threshold))
        lost_right = np.int16(lost_right + np.int16(y < threshold))
    return lost_left, lost_right


@inner()
def _tally(sums: Any, block: Any, threshold: Any, lane: Any) -> None:
    """How many pairs of each lane are lost."""
    for i in range(lane.size):
        lane[i] = 0
    for b in range(block.size - 1):
        a = block[b]
        n = (block[b + 1] - a) // ROWS
        first = sums[a : a + n]
        second = sums[a + n : a + 2 * n]
        third = sums[a + 2 * n : a + 3 * n]
        fourth = sums[a + 3 * n : a + 4 * n]
        for i in range(n):
            x = np.int16(np.int16(first[i] < threshold) + np.int16(second[i] < threshold))
            y = np.int16(np.int16(third[i] < threshold) + np.int16(fourth[i] < threshold))
            lane[i] = np.int16(lane[i] + np.int16(x + y))


@inner(fastmath={"reassoc", "nsz"})
def _loss(lane: Any, lane_loss: Any) -> float:
    """What the lost pairs cost."""
    gone = 0.0
    for i in range(lane.size):
        gone += lane_loss[i] * lane[i]
    return gone


@inner()
def _earned(lane: Any, lane_slot: Any, slots: Any, lost: Any, count: Any) -> float:
    """What the slots' items earn at best (see :func:`rerank.search.boxes.levels.unit_value`)."""
    for s in range(lost.size):
        lost[s] = 0
    for i in range(lane.size):
        lost[lane_slot[i]] += lane[i]
    total = 0.0
    for u in range(slots.unit_start.size - 1):
        total = unit_value(total, u, lost, slots, count)
    return total


@inner(inline="always")
def bound(sums: Any, n_lost: int, layout: Any, lane: Any, lost: Any, count: Any) -> float:
    """What no weights in a box with these sums exceed."""
    if layout.even:
        return layout.total - layout.lane_loss[0] * n_lost
    _tally(sums, layout.block, layout.threshold, lane)
    if layout.linear:
        return layout.total - _loss(lane, layout.lane_loss)
    return _earned(lane, layout.lane_slot, layout.slots, lost, count)


@inner()
def reductions(up: Any, down: Any, rows: Any) -> None:
    """``rows[level]``: by how much sums fall with the upper end of a side (positive) or the lower one (negative)."""
    for p in range(up.size):
        rows[FACE, p] = np.int16(up[p] + down[p])
        rows[SPLIT, p] = up[p]
        rows[SIGNED_FACE, p] = down[p]
    for level in range(SIGNED_SPLIT, LEVELS):
        # Whole rows by a constant shift: the vector unit can do that, by a variable one it cannot.
        before = rows[level - 1]
        after = rows[level]
        for p in range(before.size):
            after[p] = np.int16(np.int16(before[p] - np.int16(before[p] >> 15)) >> 1)


@inner()
def begin(rows: Any, idle: Any, one_way: Any, whole: Any) -> None:
    """Sums over all weights of the cube: each feature's size, or its positive part where the weight has a sign."""
    for p in range(idle.size):
        whole[p] = idle[p]
    for j in range(one_way.size):
        most = rows[j, SPLIT]
        if one_way[j]:
            for p in range(whole.size):
                whole[p] = np.int16(whole[p] + max(most[p], np.int16(0)))
        else:
            for p in range(whole.size):
                whole[p] = np.int16(whole[p] + max(most[p], np.int16(-most[p])))


@inner()
def open_face(whole: Any, row: Any, negative: bool, sums: Any) -> None:
    """Sums on a face of the cube."""
    sign = np.int16(1 if negative else -1)
    for p in range(whole.size):
        sums[p] = np.int16(whole[p] - max(np.int16(sign * row[p]), np.int16(0)))
