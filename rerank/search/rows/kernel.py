r"""The inner loop of the branch and bound for long lists: one interval a row, compiled.

In a box with centre ``c`` and half-widths ``h`` the score of row ``z`` lies in ``c.z +- h.|z|``.  A positive whose
upper end misses the margin to the lower end of a negative has lost to it in the whole box.  So the sorted lower ends of
the negatives give every positive a least number of lost pairs, and these give the bound.  A row that cannot change the
value any more in the box leaves it, and its children evaluate the other rows alone.  Pairs are formed only among the
rows that are left, where they are few: their own interval is never wider, and often half as wide.

Rounding: ``tolerance`` covers both rows of a pair.  A pair counts as lost in a bound only below ``margin - tolerance``,
and as won in a value only above ``margin + tolerance``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.boxes.levels import allowed, copy
from rerank.search.boxes.pairs import beyond, norms
from rerank.search.boxes.stack import copied, longer, put
from rerank.search.compiled import inner, kernel
from rerank.search.rows.levels import LEVELS, add_unit, close
from rerank.search.rows.near import refine_near
from rerank.search.rows.unit import filtered, measure, refine, worth

STUCK = 25  # splits a feature that let no row leave, after which a box is unresolved
FEW = 2000  # pairs that are formed in any case, and
PER_ROW = 128  # so many more for each row that is left,
NEAR_PER_ROW = 8  # and so many where only those are formed that their rows' intervals do not separate
SORTED = 8.0  # evaluations of a row that finding these costs


@inner()
def assess(instance: Any, levels: Any, v: int, beaten: float, scratch: Any) -> Any:
    """Bound of the box ``c +- h`` of the scratch, value at its centre, and work; the rows left make level ``v + 1``.

    Pairs are not formed for a single list whose bound is at most ``beaten``.
    """
    c, h = scratch.c, scratch.h
    low, high, here = 1.0, 1.0, 1.0
    if instance.basis.size > 0:
        low, high, here = norms(instance.basis, c, h)
    over = beyond(h, instance.spacing, instance.tolerance)
    least = instance.epsilon * low - instance.tolerance
    most = instance.epsilon * high + over
    here = instance.epsilon * here + over
    bound = levels.base[v]
    value = levels.base[v]
    decided = levels.base[v]
    work = 0.0
    begin = levels.start[v]
    close(levels, v + 1)
    for at in range(levels.n_units[v]):
        u = levels.unit[v, at]
        gone: Any = np.int64(levels.gone[v, at])  # one type of counts, so that nothing is compiled twice
        positives: Any = np.int64(levels.n_positive[v, at])
        rows: Any = np.int64(levels.n_rows[v, at])
        work += rows
        measure(instance.rows, levels.rows, begin, rows, c, h, scratch)
        value += worth(instance, u, gone, scratch.middle, scratch.middle, positives, rows, here, scratch)
        mine = worth(instance, u, gone, scratch.upper, scratch.lower, positives, rows, least, scratch)
        places = instance.places[u] - gone
        kept, positives, more = filtered(
            instance, levels.rows, begin, positives, rows, places, instance.counted[u], least, most, scratch
        )
        pairs = positives * (kept - positives)
        open_ = levels.n_units[v] > 1 or bound + mine > beaten
        if open_ and pairs > 0 and kept - positives <= scratch.highest.size:
            if pairs <= FEW + PER_ROW * kept:
                work += 0.25 * pairs
                mine, kept, positives, again = refine(
                    instance, u, gone, more, kept, positives, c, h, least, most, scratch
                )
                more += again
            else:
                limit = FEW + NEAR_PER_ROW * kept
                found, left, alive, again, formed = refine_near(
                    instance, u, gone, more, kept, positives, c, h, least, most, limit, scratch
                )
                work += SORTED * kept
                if formed <= limit:
                    work += formed
                    mine, kept, positives = found, left, alive
                    more += again
        bound += mine
        if kept == positives or positives == 0:
            decided += mine
        else:
            add_unit(instance, levels, v + 1, u, gone + more, kept, positives, scratch)
        begin += rows
    levels.base[v + 1] = decided
    return bound, value, work


@inner()
def widest(h: Any, amount: Any, smallest: float) -> int:
    """The feature whose halving moves the rows most; -1 if all are too small to be split."""
    which = -1
    most = -1.0
    for j in range(h.size):
        if h[j] > smallest and h[j] * amount[j] > most:
            most = h[j] * amount[j]
            which = j
    return which


@kernel()
def explore(
    instance: Any, levels: Any, scratch: Any, todo: Any, incumbent: float, slack: float, target: float,
    work_limit: float, smallest: float, next_name: int,
) -> Any:  # fmt: skip
    """Explore boxes, the last one first, until none is left or the work is spent.

    Parameters and what is returned are those of :func:`rerank.search.boxes.kernel.explore`, without splits;
    ``work`` counts evaluations of a row, or of a pair where pairs are formed.
    """
    k = instance.rows.shape[1]
    c, h, side, notes = scratch.c, scratch.h, scratch.side, scratch.notes
    n_unresolved, boxes, work, found = 0, 0, 0.0, incumbent
    limit, aside = max(found + slack, target), -np.inf
    unresolved = copied(todo, 0, 1)
    stack, top = todo, todo.bound.size
    while top > 0 and work < work_limit:
        top -= 1
        above = stack.bound[top]
        if above <= limit:
            aside = max(aside, above)
            continue
        boxes += 1
        for j in range(k):
            c[j] = stack.centre[top, j]
            h[j] = stack.half[top, j]
            scratch.amount[j] = 0.0
            scratch.balance[j] = 0.0
        name, v, idle = stack.name[top], notes[top, 0], notes[top, 1]
        bound, value, done = assess(instance, levels, v, limit, scratch)
        work += done
        bound = min(above, bound)
        if value > found and allowed(c, instance.least, instance.most):
            found = value
            limit = max(found + slack, target)
            copy(c, scratch.best)
        if bound <= limit:
            aside = max(aside, bound)
            continue
        n, left = levels.size[v], levels.size[v + 1]
        idle = idle + 1 if left == n else 0
        if 5 * left <= 4 * n and v + 2 < LEVELS:
            v += 1
        which = widest(h, scratch.amount, smallest)
        if which < 0 or (idle > STUCK * k and left <= FEW):
            if n_unresolved == unresolved.bound.size:
                unresolved = copied(unresolved, n_unresolved, 2 * n_unresolved)
            put(unresolved, n_unresolved, c, h, bound, name, side)
            n_unresolved += 1
            continue
        while top + 2 > stack.bound.size:
            stack = copied(stack, top, 2 * stack.bound.size)
            notes = longer(notes)
        # The child that lifts the positives comes last and is explored first.
        middle = c[which]
        h[which] *= 0.5
        for turn in range(2):
            up = (turn == 1) == (scratch.balance[which] > 0.0)
            c[which] = middle + h[which] if up else middle - h[which]
            put(stack, top, c, h, bound, next_name + (0 if up else 1), side)
            notes[top, 0], notes[top, 1] = v, idle
            top += 1
        next_name += 2
    remaining, small = copied(stack, top, top), copied(unresolved, n_unresolved, n_unresolved)
    return found, scratch.best, remaining, small, aside, boxes, work
