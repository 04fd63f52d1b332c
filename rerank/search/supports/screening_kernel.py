r"""Coarse boxes over many supports, compiled: which supports hold nothing better than the incumbent.

Each support is searched depth first on sums of integers, without looking for points:
the side that is halved is the one along which all pairs move most; a table says which, without evaluating pairs.
Boxes that are left, small ones mostly, go to the box search.

A pair's largest scaled difference in a box is a sum over the features, ``max(low_j D_j, high_j D_j)``.  Halving a
side lowers it by a multiple of ``|D_j|`` that depends on the level alone, or by nothing if the pair gains more in the
half that is kept.  So a child's sums are its parent's minus one row, in integers of 16 bits.  This is much faster
than the box kernel, which drops decided pairs, finds better points and goes to any depth.

Rounding: sums start rounded up and are lowered by amounts rounded down, except where a side comes to end at 0: there
the feature's share is 0, and the row that leads to it subtracts all that was added (sparse features need that).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats
from rerank.search.boxes.pairs import copy, put, unit_value
from rerank.search.compiled import inner, kernel

LEVELS = 11  # rows of reductions a feature: three kinds of first ones, then halvings
FACE, SPLIT, SIGNED_FACE, SIGNED_SPLIT = 0, 1, 2, 3  # a free side is split at 0, then like a signed one
ROWS = 4  # rows of a block, added up together
MOST_BOXES = 3000  # of a support, until it is left to the box search
FIXED = 15  # level of the side that the face fixes
BITS, LEVEL = 4, 15  # a side is its level in the last bits, and its number from the lower end in sides of its size
CALL = 2**14  # places of a call
MOST_LEFT = 500  # boxes of a support; beyond, its box search begins with whole faces


class LaneLayout(NamedTuple):
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
        first, second = sums[a : a + n], sums[a + n : a + 2 * n]
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
    """What the slots' items earn at best (see :func:`rerank.search.boxes.pairs.unit_value`)."""
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
        before, after = rows[level - 1], rows[level]
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


@inner()
def _widest(sides: Any, spread: Any, features: Any) -> int:
    """The side whose halving moves the pairs most; -1 if all are at the last level."""
    best, most = -1, 0.0
    for j in range(sides.size):
        level = sides[j] & LEVEL
        if level < LEVELS:
            size = spread[features[j]] * (1.0 if level == SPLIT else 2.0 ** (SPLIT - level + 1.0))
            if size > most or best < 0:
                most, best = size, j
    return best


@inner()
def _place(sides: Any, low: Any, centre: Any, half: Any) -> None:
    """Where a box is; ``low`` holds the lower ends of its face."""
    for j in range(low.size):
        level = sides[j] & LEVEL
        size = 0.0 if level == FIXED else 2.0 if level == SPLIT else 2.0 ** (SIGNED_SPLIT - level)
        half[j] = 0.5 * size
        centre[j] = low[j] + ((sides[j] >> BITS) + 0.5) * size


@inner()
def _fathom(layout: Any, features: Any, rows: Any, limit: float, most: int, memory: Any, n: int, name: int) -> Any:
    """Halve the face at the bottom of the stack, put what is left to the ``n`` open boxes; these, and some ``most``."""
    sums, at, sides, tops = memory.sums, memory.at, memory.sides, memory.tops
    low, centre, half = memory.place[0], memory.place[1], memory.place[2]
    lane, lost, count = memory.lane, memory.lost, memory.count
    boxes, top = 0, 1
    while top > 0:
        top -= 1
        which = _widest(sides[top], layout.spread, features)
        if which < 0 or boxes >= most:
            _place(sides[top], low, centre, half)
            put(memory.open, n, centre, half, tops[top])
            memory.names[n] = name
            n += 1
            continue
        boxes += 2
        above = tops[top]
        level = sides[top, which] & LEVEL
        lower = ((sides[top, which] >> BITS) << (BITS + 1)) + (SIGNED_SPLIT if level == SPLIT else level + 1)
        parent, left, right = at[top], at[top + 1], at[top + 2]
        n_left = n_right = 0
        for a in range(0, layout.idle.size, CALL):
            z = min(a + CALL, layout.idle.size)
            n_left, n_right = halve(
                sums[parent, a:z], rows[which, level, a:z], layout.threshold, sums[left, a:z], sums[right, a:z]
            )
        # The children replace the parent, one above the other; rows that are free stay above them.
        kept = top
        for child, n_lost in ((left, n_left), (right, n_right)):
            here = min(above, bound(sums[child], n_lost, layout, lane, lost, count))
            if here > limit:
                if kept > top:
                    copy(sides[top], sides[kept])
                sides[kept, which] = lower if child == left else lower + (1 << BITS)
                at[kept] = child
                tops[kept] = here
                kept += 1
        if kept == top + 1:
            at[top + 1] = left + right - at[top]
            at[top + 2] = parent
        elif kept == top + 2:
            at[top + 2] = parent
        top = kept
    return n, boxes


class Memory(NamedTuple):
    """What screening supports of ``s`` features takes; ``open`` and ``names`` are replaced when full."""

    rows: Any  # int16 (s, LEVELS, E): reductions of the features of a support,
    held: Any  # which they are, and whether their weights must not be negative
    one_way: Any
    whole: Any  # int16 (E,)
    sums: Any  # int16 (depth, E), a stack of boxes: which sums are theirs, sides and bounds
    at: Any
    sides: Any
    tops: Any
    place: Any  # (3, s): low ends of a face; centre and half-widths of a box
    lane: Any
    lost: Any
    count: Any
    names: Any  # int64 (n,): number of the support of each open box,
    open: Any  # float64 (n, 2 s + 1): centre, half-widths and bound


def memory(layout: Any, s: int) -> Memory:
    """Memory for supports of ``s`` features."""
    E, depth, room = layout.idle.size, s * LEVELS + 3, MOST_BOXES + 2 * s
    places = int(np.diff(layout.slots.coef_start).max(initial=1))
    support = np.empty((s, LEVELS, E), np.int16), np.full(s, -1, np.int64), np.zeros(s, np.bool_), np.empty(E, np.int16)
    stack = np.empty((depth, E), np.int16), np.arange(depth), np.zeros((depth, s), np.int64), np.empty(depth)
    lane, lost = np.zeros(layout.lane_slot.size, np.int16), np.zeros(layout.slots.unit_of.size, np.int32)
    counts = lane, lost, np.zeros(places + 1, np.int64)
    return Memory(*support, *stack, np.empty((3, s)), *counts, np.empty(room, np.int64), np.empty((room, 2 * s + 1)))


def screened(
    layout: Any, supports: NDArray[np.int32], limits: Floats, signed: NDArray[np.bool_], bounds: Floats
) -> tuple[NDArray[np.int64], Floats, int]:
    """Bound values on supports (m, s); the support of each open box, these boxes, and how many boxes there were.
    Neighbours share most of their features: the reductions of those are kept. Weights of ``signed`` (d,) must not be
    negative. ``bounds`` (m,) is filled in: what no value exceeds, -inf where none is above its limit.
    """
    space, (i, n, total) = memory(layout, supports.shape[1]), (0, 0, 0)
    while True:
        i, n, boxes = screen(layout, supports, limits, signed, bounds, i, n, space)
        total += boxes
        if i == len(supports):
            return space.names[:n], space.open[:n], total
        names, open_ = (np.concatenate([part, np.empty_like(part)]) for part in (space.names, space.open))
        space = space._replace(names=names, open=open_)


@kernel()
def screen(layout: Any, supports: Any, limits: Any, signed: Any, bounds: Any, i: int, n: int, memory: Any) -> Any:
    """As :func:`screened` from support ``i`` on, with ``n`` boxes open; both when memory ends, and how many boxes."""
    m, s = supports.shape
    rows, held, one_way, sides, place = memory.rows, memory.held, memory.one_way, memory.sides, memory.place
    total = 0
    while i < m and n + MOST_BOXES + 2 * s <= memory.names.size:
        for j in range(s):
            one_way[j] = signed[supports[i, j]]
            if held[j] != supports[i, j]:
                held[j] = supports[i, j]
                reductions(layout.up[held[j]], layout.down[held[j]], rows[j])
        begin(rows, layout.idle, one_way, memory.whole)
        left = np.int64(MOST_BOXES)  # a plain constant would compile its callee twice
        first = n
        for face in range(2 * s):
            j = face // 2
            if one_way[j] and face % 2 == 1:
                continue
            for q in range(s):
                sides[0, q] = SIGNED_SPLIT if one_way[q] else SPLIT
                place[0, q] = 0.0 if one_way[q] else -1.0
            sides[0, j] = FIXED
            place[0, j] = -1.0 if face % 2 == 1 else 1.0
            row = rows[j, SIGNED_FACE if one_way[j] else FACE]
            open_face(memory.whole, row, face % 2 == 1, memory.sums[memory.at[0]])
            memory.tops[0] = np.inf
            n, boxes = _fathom(layout, supports[i], rows, limits[i], left // (2 * s - face), memory, n, i)
            total += boxes
            left -= boxes
        bounds[i] = -np.inf
        for q in range(first, n):
            bounds[i] = max(bounds[i], memory.open[q, 2 * s])
        n = n if n - first <= MOST_LEFT else first
        i += 1
    return i, n, total
