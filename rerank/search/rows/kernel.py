r"""The inner loop of the branch and bound for long lists: one interval a row, compiled.

In a box with centre ``c`` and half-widths ``h`` the score of row ``z`` lies in ``c.z +- h.|z|``.  A positive whose
upper end misses the margin to the lower end of a negative has lost to it in the whole box.  So the sorted lower ends of
the negatives give every positive a least number of lost pairs, and these give the bound.  A row that cannot change the
value any more in the box leaves it, and its children evaluate the other rows alone.  Pairs are formed only among the
rows that are left, where they are few: their own interval is never wider, and often half as wide.

Rounding: ``tolerance`` covers both rows of a pair.  A pair counts as lost in a bound only below ``margin - tolerance``,
and as won in a value only above ``margin + tolerance``.
"""

from typing import Any

import numpy as np

from rerank.search.boxes.nodes import IDLE, LEVEL, NAME, QUOTAS
from rerank.search.boxes.pairs import allowed, beyond, copy, crossing, excluded, norms, put, widest
from rerank.search.boxes.quotas import NONE, PATIENCE, ROWS_OF_SIGNS, standing, steered
from rerank.search.compiled import inner, kernel
from rerank.search.rows.unit import add_unit, filtered, measure, refine, worth
from rerank.search.workspace import GONE, LEVELS, LISTS, POSITIVES, ROWS, SIZE, START, UNIT

STUCK = 25  # splits a feature that let no row leave, after which a box is unresolved
FEW = 2000  # pairs that are formed in any case, and
PER_ROW = 128  # so many more for each row that is left


@inner()
def assess(given: Any, space: Any, v: int, beaten: float) -> Any:
    """Bound of the box of the workspace, value at its centre, and work; the rows left make level ``v + 1``. Pairs are
    not formed for a single list whose bound is at most ``beaten``.
    """
    c, h, level, paid = space.axes[0], space.axes[1], space.level, given.paid
    lower, upper, middle = space.ends[0], space.ends[1], space.ends[2]
    low, high, here = 1.0, 1.0, 1.0
    if given.basis.size > 0:
        low, high, here = norms(given.basis, c, h)
    over = beyond(h, given.spacing, given.tolerance)
    least = given.epsilon * low - given.tolerance
    most = given.epsilon * high + over
    here = given.epsilon * here + over
    bound, value, decided = space.base[v], space.base[v], space.base[v]
    work = 0.0
    begin = level[v, START]
    units, children = space.units[v], space.units[v + 1]
    level[v + 1, START] = level[v, START] + level[v, SIZE]
    level[v + 1, SIZE] = 0
    level[v + 1, LISTS] = 0
    for at in range(level[v, LISTS]):
        u: Any = np.int64(units[UNIT, at])  # one type of whole numbers, so that nothing is compiled twice
        gone: Any = np.int64(units[GONE, at])
        positives: Any = np.int64(units[POSITIVES, at])
        rows: Any = np.int64(units[ROWS, at])
        work += rows
        measure(given.rows, space.which, begin, rows, c, h, space.ends)
        value += worth(paid, u, gone, middle, middle, positives, rows, here, space.memory)
        mine = worth(paid, u, gone, upper, lower, positives, rows, least, space.memory)
        kept, positives, more = filtered(given, u, gone, begin, positives, rows, least, most, space)
        pairs = positives * (kept - positives)
        open_ = level[v, LISTS] > 1 or bound + mine > beaten
        if open_ and 0 < pairs <= FEW + PER_ROW * kept and kept - positives <= space.columns.shape[1]:
            work += 0.25 * pairs
            mine, kept, positives, again = refine(given.rows, paid, u, gone + more, kept, positives, least, most, space)
            more += again
        bound += mine
        if kept == positives or positives == 0:
            decided += mine
        else:
            made = level[v + 1, LISTS]
            children[UNIT, made] = u
            children[GONE, made] = gone + more
            children[POSITIVES, made] = positives
            children[ROWS, made] = kept
            top = paid.coef[paid.coef_start[u]]
            add_unit(given.rows, kept, positives, top, level[v + 1, START] + level[v + 1, SIZE], space)
            level[v + 1, LISTS] = made + 1
            level[v + 1, SIZE] += kept
        begin += rows
    space.base[v + 1] = decided
    return bound, value, work


def explorer(ruled: bool) -> Any:
    """The kernel with rows on the weights and quotas, or without them, which compiles in less time."""

    def explore(given: Any, space: Any, memory: Any, counts: Any, sums: Any, limits: Any) -> None:
        """Explore boxes, the last one first, until none is left, the work is spent, or memory for boxes ends.
        Parameters are those of :func:`rerank.search.boxes.kernel.explorer`, but no split is recorded; work counts
        evaluations of a row, or of a pair where pairs are formed.
        """
        level, axes, quotas = space.level, space.axes, space.quotas
        c, h, amount, balance = axes[0], axes[1], axes[3], axes[4]
        k = c.size
        numbers, labels, small_numbers, small_labels, _ = memory
        slack, target, work_limit, smallest, soon = limits
        top, n_small, boxes, next_name = counts[0], counts[1], counts[3], counts[4]
        found, aside, work = sums[0], sums[1], sums[2]
        limit = max(found + slack, target)
        while top > 0 and work < work_limit and top < numbers.shape[0] and n_small < small_numbers.shape[0]:
            top -= 1
            above = numbers[top, 2 * k]
            if above <= limit:
                aside = max(aside, above)
                continue
            boxes += 1
            for j in range(k):
                c[j] = numbers[top, j]
                h[j] = numbers[top, k + j]
                amount[j] = 0.0
                balance[j] = 0.0
            if ruled and excluded(c, h, given.walls):
                continue
            v, idle = labels[top, LEVEL], labels[top, IDLE]
            asked_at, asked, in_doubt, met = labels[top, QUOTAS], 0, 0, True
            if ruled:
                asked_at, asked, in_doubt, met, looked = standing(given.quotas, quotas, asked_at, c, h)
                work += looked
                if in_doubt == NONE:
                    continue
            bound, value, done = assess(given, space, v, limit)
            work += done
            bound = min(above, bound)
            if value > found and met and allowed(c, given.within, given.walls):
                found = value
                limit = max(found + slack, target)
                copy(c, axes[2])
            if bound <= limit:
                aside = max(aside, bound)
                continue
            n, left = level[v, SIZE], level[v + 1, SIZE]
            idle = idle + 1 if left == n and in_doubt == asked else 0
            if 5 * left <= 4 * n and v + 2 < LEVELS:
                v += 1
            crossed = crossing(c, h, given.walls, axes[5]) if ruled else 0.0
            which, upward = widest(h, smallest, crossed, amount, balance, axes[5])
            if ruled and in_doubt > 0 and (not met or left == 0):
                which, upward = steered(quotas.amount, h, smallest, which, upward)
            stuck = STUCK * k
            if ruled and in_doubt > 0 and (soon or n_small > 0) and given.basis.size == 0:
                stuck = (left + in_doubt) // PATIENCE if left <= ROWS_OF_SIGNS >= in_doubt else stuck
            if which < 0 or (idle > stuck and left <= FEW and in_doubt <= FEW):
                put(small_numbers, n_small, c, h, bound)
                copy(labels[top], small_labels[n_small])
                n_small += 1
                continue
            # The child that lifts the positives comes last and is explored first.
            centre = c[which]
            h[which] *= 0.5
            for turn in range(2):
                up = (turn == 1) == upward
                c[which] = centre + h[which] if up else centre - h[which]
                put(numbers, top, c, h, bound)
                labels[top, NAME] = next_name + (0 if up else 1)
                labels[top, LEVEL] = v
                labels[top, IDLE] = idle
                labels[top, QUOTAS] = asked_at
                top += 1
            next_name += 2
        counts[0], counts[1], counts[3], counts[4] = top, n_small, boxes, next_name
        sums[0], sums[1], sums[2] = found, aside, work

    explore.__name__ = explore.__qualname__ = "explore_ruled" if ruled else "explore"
    return kernel()(explore)


explore, explore_ruled = explorer(ruled=False), explorer(ruled=True)
