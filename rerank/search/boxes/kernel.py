r"""The inner loop of the branch and bound: depth first over boxes of weights, compiled.

:func:`explore` is one long body because numba makes one compiled loop of it, in which the arrays of a box stay in
local variables; passing them on to functions of their own costs time in every box.

In a box with centre ``c`` and half-widths ``h`` the scaled difference of a pair lies in ``c.D +- h.|D|``.  A
pair whose upper end misses the margin is lost in the whole box, one whose lower end reaches it is won, and
the children of the box evaluate the other pairs alone: every *level* is a copy of the pairs that are still
undecided, stored column by column.

Rounding: ``tolerance`` covers the error of the scaled features and of the products (see
:func:`rerank.search.tables.tolerance`); a pair counts as lost in a bound only below ``epsilon - tolerance``,
and as won in a value only above ``epsilon + tolerance``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.boxes.levels import LEVELS, allowed, copy, descend, descend_lists, total_value
from rerank.search.boxes.pairs import (
    beyond,
    coordinate,
    count_lost,
    count_runs,
    heaviest,
    importance,
    impose,
    lost_weight,
    matters,
    norms,
    reach,
    undecided,
)  # fmt: skip
from rerank.search.boxes.relaxation import HOPE, must_lose
from rerank.search.boxes.stack import copied, longer, put
from rerank.search.compiled import kernel

STUCK = 5  # splits a feature that decide nothing, after which a box is unresolved,
FEW = 16  # if no more pairs than this are undecided in it; exact arithmetic fathoms it then
WHOLE = 1e-6  # by how much a loss must pass a whole number to be rounded up to the next


@kernel()
def explore(
    instance: Any, workspace: Any, todo: Any, incumbent: float, slack: float, target: float, work_limit: float,
    smallest: float, record: bool, next_name: int,
) -> Any:  # fmt: skip
    """Explore boxes, the last one first, until none is left or the work is spent.

    Parameters
    ----------
    instance : Instance
    workspace : Workspace
        A new one, see :func:`rerank.search.boxes.workspace.workspace`.
    todo : Boxes
    incumbent, slack : float
        A box is fathomed when its bound is at most their sum.
    target : float
        A box whose bound is at most this is set aside: it is not explored now.
    work_limit : float
        Evaluations of a pair after which to stop.
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
    open, unresolved : Boxes
        Boxes left to explore, and boxes too small to split whose bound beats the value found.
    splits : int64 (n, 3)
        Name of a split box, coordinate (or ``k - 1 + g`` for group ``g``), name of its first child; the second
        child's is one more.
    aside : float
        Largest bound of a box that was fathomed or set aside; -inf without one.
    boxes, work : int, float
        Number of boxes explored, and of evaluations of a pair.
    """
    k = instance.pairs.shape[0]
    levels, arrays = workspace.levels, workspace.arrays
    D, W, S, Q, G = levels.D, levels.W, levels.S, levels.Q, levels.G
    count, lost, central, slope, mark = arrays.count, arrays.lost, arrays.central, arrays.slope, arrays.mark
    M, R, keep = arrays.M, arrays.R, arrays.keep
    chosen, forward, backward = arrays.chosen, arrays.forward, arrays.backward
    c, h, side, best, splits = arrays.c, arrays.h, arrays.side, arrays.best, arrays.splits
    linear = instance.linear
    safe = 2.0 * instance.tolerance
    spread = 0.0
    margin = instance.epsilon
    whitened = instance.basis.size > 0
    n_sides = side.size
    n_splits = 0
    # Of each box: its level, splits in a row that decided nothing, whether the last split was by a group.
    notes = arrays.notes
    n_unresolved: Any = np.int64(0)
    unresolved = copied(todo, n_unresolved, n_unresolved + 1)
    top = todo.bound.size
    stack = todo
    boxes = 0
    work = 0.0
    found = incumbent
    limit = max(found + slack, target)
    aside = -np.inf
    while top > 0 and work < work_limit:
        top -= 1
        bound = stack.bound[top]
        if bound <= limit:
            aside = max(aside, bound)
            continue
        boxes += 1
        for j in range(k):
            c[j] = stack.centre[top, j]
            h[j] = stack.half[top, j]
        for j in range(n_sides):
            side[j] = stack.side[top, j]
        name = stack.name[top]
        by_group = notes[top, 2] == 1
        v = notes[top, 0]
        idle = notes[top, 1]
        above = bound
        n = levels.size[v]
        a = levels.start[v]
        work += n + 32
        if whitened:
            least, largest, here = norms(instance.basis, c, h)
            margin = instance.epsilon * least
            spread = instance.epsilon * (largest - least)
            safe = instance.epsilon * (here - least) + 2.0 * instance.tolerance
        elif instance.spacing > 0.0:
            over = beyond(h, instance.spacing, instance.tolerance)
            safe = over if over < 0.0 else 2.0 * instance.tolerance
            spread = over - instance.tolerance if over < 0.0 else 0.0
        reach(D, a, n, c, h, margin, instance.tolerance, M, R)
        if n_sides > 0 and side[0] != 0:
            impose(M[:n], G[a : a + n], side, chosen)
        # ---- bound: the value of all weights in the box; value: that of its centre
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
            most = total_value(levels.active[v], levels.n_active[v], lost, instance, count)
            bound = min(bound, levels.base[v] + most)
            value = found
            if bound > limit:
                there = total_value(levels.active[v], levels.n_active[v], central, instance, count)
                value = levels.base[v] + there
        if value > found and allowed(c, instance.least, instance.most):
            found = value
            limit = max(found + slack, target)
            copy(c, best)
        if bound <= limit:
            aside = max(aside, bound)
            continue
        # ---- a better bound by the relaxation; a proof holds boxes that the plain bound fathoms
        if linear and not record:
            need = instance.total - gone - limit
            if instance.integral:
                need = np.ceil(need) - 1.0 + WHOLE
            if need < HOPE * (instance.total - gone - value):
                more = must_lose(
                    D, a, h, M[:n], R[:n], W[a : a + n], instance.tolerance, need, arrays.relaxation
                )
                if instance.integral:
                    more = np.ceil(more - WHOLE)
                bound = min(bound, instance.total - gone - more)
                if bound <= limit:
                    aside = max(aside, bound)
                    continue
        # ---- the pairs that the children have to evaluate
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
                descend_lists(instance, levels, v, keep, kept, lost, mark, count)
            v += 1
            a = levels.start[v]
            n = kept
        weight = W[a : a + n]
        if not linear:
            importance(
                S[a : a + n], Q[a : a + n], weight, lost, levels.active[v], levels.n_active[v], instance, slope,
                M[:n],
            )  # fmt: skip
            weight = M[:n]
        which, upward = coordinate(D, a, n, weight, h, smallest)
        # Two splits by groups in a row only if the first brought the bound down; otherwise the box has to shrink.
        group = 0
        if n_sides > 0 and side[n_sides - 1] == 0 and not (by_group and bound >= above):
            group = heaviest(G[a : a + n], weight, forward, backward)
        if (which < 0 and group == 0) or (idle > STUCK * k and kept <= FEW):
            if n_unresolved == unresolved.bound.size:
                unresolved = copied(unresolved, n_unresolved, 2 * n_unresolved)
            put(unresolved, n_unresolved, c, h, bound, name, side)
            n_unresolved += 1
            continue
        # ---- two children; the one in which the undecided pairs gain more comes last and is explored first
        while top + 2 > stack.bound.size:
            stack = copied(stack, top, 2 * stack.bound.size)
            notes = longer(notes)
        if record:
            if n_splits == splits.shape[0]:
                splits = longer(splits)
            splits[n_splits, 0] = name
            splits[n_splits, 1] = which if group == 0 else k - 1 + group
            splits[n_splits, 2] = next_name
            n_splits += 1
        if group > 0:
            upward = forward[group] >= backward[group]
            place = 0
            while side[place] != 0:
                place += 1
        else:
            middle = c[which]
            h[which] *= 0.5
        for turn in range(2):
            up = (turn == 1) == upward
            if group > 0:
                side[place] = group if up else -group
            else:
                c[which] = middle + h[which] if up else middle - h[which]
            put(stack, top, c, h, bound, next_name + (0 if up else 1), side)
            notes[top, 0] = v
            notes[top, 1] = idle
            notes[top, 2] = 1 if group > 0 else 0
            top += 1
        next_name += 2
    left, small = copied(stack, top, top), copied(unresolved, n_unresolved, n_unresolved)
    return found, best, left, small, splits[:n_splits], aside, boxes, work
