"""Coarse boxes over many supports, compiled: which supports hold nothing better than the incumbent.

Each support is searched depth first on the sums of :mod:`.screening_rows`, without looking for points:
the side that is halved is the one along which all pairs move most; a table says which, without evaluating pairs.
Boxes that are left, small ones mostly, go to the box search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.boxes.levels import copy
from rerank.search.boxes.stack import copied, empty, put
from rerank.search.compiled import inner, kernel
from rerank.search.supports.screening_rows import (
    FACE,
    LEVELS,
    MOST_BOXES,
    SIGNED_FACE,
    SIGNED_SPLIT,
    SPLIT,
    begin,
    bound,
    halve,
    open_face,
    reductions,
)

FIXED = 15  # level of the side that the face fixes
BITS, LEVEL = 4, 15  # a side is its level in the last bits, and its number from the lower end in sides of its size
CALL = 2**14  # places of a call
MOST_LEFT = 500  # boxes of a support; beyond, its box search begins with whole faces


@inner()
def _widest(sides: Any, spread: Any, features: Any) -> int:
    """The side whose halving moves the pairs most; -1 if all are at the last level."""
    best = -1
    most = 0.0
    for j in range(sides.size):
        level = sides[j] & LEVEL
        if level < LEVELS:
            size = spread[features[j]] * (1.0 if level == SPLIT else 2.0 ** (SPLIT - level + 1.0))
            if size > most or best < 0:
                most = size
                best = j
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
def _fathom(
    layout: Any, features: Any, rows: Any, limit: float, most: int, stack: Any, scratch: Any, open_: Any, n: int,
    name: int,
) -> Any:  # fmt: skip
    """Halve the face at the bottom of the stack, and put what is left to the ``n`` open boxes.

    The last number returned is that of the boxes, some ``most``.
    """
    sums, at, sides, tops, low, centre, half = stack
    lane, lost, count = scratch
    boxes = 0
    top = 1
    while top > 0:
        top -= 1
        which = _widest(sides[top], layout.spread, features)
        if which < 0 or boxes >= most:
            if n == open_.bound.size:
                open_ = copied(open_, n, 2 * n)
            _place(sides[top], low, centre, half)
            put(open_, n, centre, half, tops[top], name, open_.side[n])
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
                sums[parent, a:z],
                rows[which, level, a:z],
                layout.threshold,
                sums[left, a:z],
                sums[right, a:z],
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
    return open_, n, boxes


@kernel()
def screen(layout: Any, supports: Any, limits: Any, signed: Any, bounds: Any) -> Any:
    """Bound the values on supports; the open boxes, named by the number of their support, and how many there were.

    Parameters
    ----------
    layout : Layout
    supports : int32 (m, s)
        Neighbours share most of their features: the reductions of those are kept.
    limits : float64 (m,)
    signed : bool (d,)
        Weights that must not be negative.
    bounds : float64 (m,)
        Filled in: what no value exceeds, -inf where none is above its limit.
    """
    m, s = supports.shape
    E = layout.idle.size
    rows = np.empty((s, LEVELS, E), np.int16)
    whole = np.empty(E, np.int16)
    depth = s * LEVELS + 3
    stack = (
        np.empty((depth, E), np.int16), np.arange(depth), np.zeros((depth, s), np.int64), np.empty(depth),
        np.empty(s), np.empty(s), np.empty(s),
    )  # fmt: skip
    places = 1
    for u in range(layout.unit_start.size - 1):
        places = max(places, layout.coef_start[u + 1] - layout.coef_start[u])
    scratch = (
        np.zeros(layout.lane_slot.size, np.int16),
        np.zeros(layout.unit_of.size, np.int64),
        np.zeros(places + 1, np.int64),
    )
    held = np.full(s, -1, np.int64)
    one_way = np.zeros(s, np.bool_)
    open_ = empty(64, s, 0)
    n = total = 0
    for i in range(m):
        for j in range(s):
            one_way[j] = signed[supports[i, j]]
            if held[j] != supports[i, j]:
                held[j] = supports[i, j]
                reductions(layout.up[held[j]], layout.down[held[j]], rows[j])
        begin(rows, layout.idle, one_way, whole)
        left = np.int64(MOST_BOXES)  # a plain constant would compile its callee twice
        first = n
        for face in range(2 * s):
            j = face // 2
            if one_way[j] and face % 2 == 1:
                continue
            for q in range(s):
                stack[2][0, q] = SIGNED_SPLIT if one_way[q] else SPLIT
                stack[4][q] = 0.0 if one_way[q] else -1.0
            stack[2][0, j] = FIXED
            stack[4][j] = -1.0 if face % 2 == 1 else 1.0
            open_face(
                whole, rows[j, SIGNED_FACE if one_way[j] else FACE], face % 2 == 1, stack[0][stack[1][0]]
            )
            stack[3][0] = np.inf
            most = left // (2 * s - face)
            open_, n, boxes = _fathom(layout, supports[i], rows, limits[i], most, stack, scratch, open_, n, i)
            total += boxes
            left -= boxes
        bounds[i] = open_.bound[first:n].max() if n > first else -np.inf
        n = n if n - first <= MOST_LEFT else first
    return copied(open_, n, n), total
