r"""The inner loop of the exact search: depth first over boxes of weights, compiled.

In a box with centre ``c`` and half-widths ``h`` the scaled difference of a pair lies in ``c.D +- h.|D|``.  A
pair whose upper end misses the margin is lost in the whole box, one whose lower end reaches it is won, and
the children of the box need to look at the rest alone: every *level* is a copy of the pairs that are still
undecided, stored column by column.

Rounding: ``tolerance`` covers the error of the scaled features and of the products (see
:func:`rerank.search.tables.tolerance`); a pair counts as lost in a bound only below ``epsilon - tolerance``,
and as won in a value only above ``epsilon + tolerance``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.search.boxes.levels import LEVELS, descend, settle
from rerank.search.boxes.places import count_lost, count_runs, importance, matters, total_value
from rerank.search.boxes.relaxation import HOPE, must_lose
from rerank.search.boxes.sides import heaviest, impose
from rerank.search.boxes.stack import copied, longer, put
from rerank.search.boxes.vector import copy, lost_weight, moved, norms, reach, undecided

STUCK = 5  # idle splits a feature after which a box is handed over for an exact answer,
FEW = 16  # if no more pairs than this are undecided in it
WHOLE = 1e-6  # by how much a loss must pass a whole number to be rounded up to the next


@njit(cache=True, nogil=True)
def _coordinate(D: Any, a: int, n: int, weight: Any, h: Any, smallest: float) -> Any:
    """Coordinate whose halving moves the undecided pairs most, and the side they pull to; -1 if all are too small."""
    which = -1
    most = -1.0
    upward = True
    for j in range(h.size):
        if h[j] > smallest:
            size, pull = moved(D[j, a : a + n], weight)
            if h[j] * size > most:
                most = h[j] * size
                which = j
                upward = pull > 0.0
    return which, upward


@njit(cache=True, nogil=True)
def explore(
    instance: Any,
    room: Any,
    todo: Any,
    incumbent: float,
    slack: float,
    work_limit: float,
    smallest: float,
    record: bool,
    next_name: int,
) -> Any:
    """Explore boxes, the last one first, until none is left or the work is spent.

    Parameters
    ----------
    instance : Instance
    room : Room
        Fresh, see :func:`rerank.search.boxes.workspace.room`.
    todo : Boxes
    incumbent, slack : float
        A box is given up when its bound is at most their sum.
    work_limit : float
        Pairs to look at.
    smallest : float
        Half-width below which a coordinate is not split.
    record : bool
        Whether to keep the splits.
    next_name : int
        First of the names to give to new boxes.

    Returns
    -------
    found, best : float, float64 (k,)
        Best value met, or the incumbent, and its weights.
    open, stubborn : Boxes
        Boxes left to explore, and boxes too small to split whose bound beats the value found.
    splits : int64 (n, 3)
        Name of a split box, coordinate (or ``k - 1 + g`` for line ``g``), name of its first child; the second
        child's is one more.
    boxes, work : int, float
        Number of boxes looked at, and of pairs.
    """
    k = instance.pairs.shape[0]
    levels, desk = room.levels, room.desk
    D, W, S, Q, G = levels.D, levels.W, levels.S, levels.Q, levels.G
    count, lost, central, slope, mark = desk.count, desk.lost, desk.central, desk.slope, desk.mark
    M, R, keep = desk.M, desk.R, desk.keep
    chosen, forward, backward = desk.chosen, desk.forward, desk.backward
    c, h, f, best, splits = desk.c, desk.h, desk.f, desk.best, desk.splits
    linear = instance.linear
    safe = 2.0 * instance.tolerance
    spread = 0.0
    margin = instance.epsilon
    framed = instance.frame.size > 0
    n_forces = f.size
    n_splits = 0
    # Of each box: its level, splits in a row that decided nothing, whether the last split was by a line.
    notes = desk.notes
    n_small = np.int64(0)
    small = copied(todo, n_small, n_small + 1)
    top = todo.bound.size
    stack = todo
    boxes = 0
    work = 0.0
    found = incumbent
    while top > 0 and work < work_limit:
        top -= 1
        bound = stack.bound[top]
        if bound <= found + slack:
            continue
        boxes += 1
        for j in range(k):
            c[j] = stack.centre[top, j]
            h[j] = stack.half[top, j]
        for j in range(n_forces):
            f[j] = stack.force[top, j]
        name = stack.name[top]
        by_line = notes[top, 2] == 1
        v = notes[top, 0]
        idle = notes[top, 1]
        above = bound
        n = levels.size[v]
        a = levels.start[v]
        work += n + 32
        if framed:
            least, most, here = norms(instance.frame, c, h)
            margin = instance.epsilon * least
            spread = instance.epsilon * (most - least)
            safe = instance.epsilon * (here - least) + 2.0 * instance.tolerance
        reach(D, a, n, c, h, margin, instance.tolerance, M, R)
        if n_forces > 0 and f[0] != 0:
            impose(M[:n], G[a : a + n], f, chosen)
        # ---- what no weights in the box can exceed, and what its centre attains
        gone = 0.0
        if linear:
            gone, value = lost_weight(M[:n], R[:n], W[a : a + n], safe)
            gone += levels.base[v]
            bound = min(bound, instance.total - gone)
            value = instance.total - levels.base[v] - value
        else:
            copy(levels.lost[v], lost)
            copy(lost, central)
            if instance.single:
                count_runs(M, R, S[a : a + n], levels.ends[v], levels.runs[v], safe, lost, central)
            else:
                count_lost(M[:n], R[:n], S[a : a + n], Q[a : a + n], W[a : a + n], safe, lost, central)
            bound = min(
                bound,
                levels.base[v] + total_value(levels.active[v], levels.n_active[v], lost, instance, count),
            )
            value = found
            if bound > found + slack:
                value = levels.base[v] + total_value(
                    levels.active[v], levels.n_active[v], central, instance, count
                )
        if value > found:
            found = value
            copy(c, best)
        if bound <= found + slack:
            continue
        # ---- what the undecided pairs must lose together; a proof holds splits that the plain bound settles
        if linear and not record:
            need = instance.total - gone - found - slack
            if instance.integral:
                need = np.ceil(need) - 1.0 + WHOLE
            if need < HOPE * (instance.total - gone - value):
                more = must_lose(
                    D, a, h, M[:n], R[:n], W[a : a + n], instance.tolerance, need, desk.relaxation
                )
                if instance.integral:
                    more = np.ceil(more - WHOLE)
                bound = min(bound, instance.total - gone - more)
                if bound <= found + slack:
                    continue
        # ---- the pairs that the children have to look at
        kept = undecided(M[:n], R[:n], spread, keep)
        if not linear:
            kept = matters(
                keep, kept, S[a : a + n], Q[a : a + n], lost, levels.active[v], levels.n_active[v], instance
            )
        idle = idle + 1 if kept == n else 0
        if 5 * kept <= 4 * n and v + 1 < LEVELS:
            descend(levels, v, keep, kept, instance.n_groups > 0)
            if linear:
                levels.base[v + 1] = gone
            else:
                settle(instance, levels, v, keep, kept, lost, mark, count)
            v += 1
            a = levels.start[v]
            n = kept
        weight = W[a : a + n]
        if not linear:
            importance(
                S[a : a + n],
                Q[a : a + n],
                weight,
                lost,
                levels.active[v],
                levels.n_active[v],
                instance,
                slope,
                M[:n],
            )
            weight = M[:n]
        which, upward = _coordinate(D, a, n, weight, h, smallest)
        # Two splits by lines in a row only if the first brought the bound down; otherwise the box has to shrink.
        line = 0
        if n_forces > 0 and f[n_forces - 1] == 0 and not (by_line and bound >= above):
            line = heaviest(G[a : a + n], weight, forward, backward)
        if (which < 0 and line == 0) or (idle > STUCK * k and kept <= FEW):
            if n_small == small.bound.size:
                small = copied(small, n_small, 2 * n_small)
            put(small, n_small, c, h, bound, name, f)
            n_small += 1
            continue
        # ---- two children; the one that the undecided pairs pull to comes last and is explored first
        while top + 2 > stack.bound.size:
            stack = copied(stack, top, 2 * stack.bound.size)
            notes = longer(notes)
        if record:
            if n_splits == splits.shape[0]:
                splits = longer(splits)
            splits[n_splits, 0] = name
            splits[n_splits, 1] = which if line == 0 else k - 1 + line
            splits[n_splits, 2] = next_name
            n_splits += 1
        if line > 0:
            upward = forward[line] >= backward[line]
            place = 0
            while f[place] != 0:
                place += 1
        else:
            middle = c[which]
            h[which] *= 0.5
        for turn in range(2):
            up = (turn == 1) == upward
            if line > 0:
                f[place] = line if up else -line
            else:
                c[which] = middle + h[which] if up else middle - h[which]
            put(stack, top, c, h, bound, next_name + (0 if up else 1), f)
            notes[top, 0] = v
            notes[top, 1] = idle
            notes[top, 2] = 1 if line > 0 else 0
            top += 1
        next_name += 2
    return (
        found,
        best,
        copied(stack, top, top),
        copied(small, n_small, n_small),
        splits[:n_splits],
        boxes,
        work,
    )
