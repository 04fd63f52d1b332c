r"""The inner loop of the branch and bound: depth first over boxes of weights, compiled.

:func:`explorer` makes one long body because numba makes one compiled loop of it, in which the arrays of a box stay in
local variables; passing them on to functions of their own costs time in every box.

In a box with centre ``c`` and half-widths ``h`` the scaled difference of a pair lies in ``c.D +- h.|D|``.  A
pair whose upper end misses the margin is lost in the whole box, one whose lower end reaches it is won, and
the children of the box evaluate the other pairs alone: every *level* is a copy of the pairs that are still
undecided, stored column by column.

Rounding: ``tolerance`` covers the error of the scaled features and of the products (see
:func:`rerank.search.tables.tolerance`); a pair counts as lost in a bound only below ``epsilon - tolerance``,
and as won in a value only above ``epsilon + tolerance``.
"""

from typing import Any

import numpy as np

from rerank.search.boxes.nodes import GROUPED, IDLE, LEVEL, NAME, QUOTAS, SIDES
from rerank.search.boxes.pairs import (
    allowed,
    beyond,
    copy,
    count_lost,
    count_runs,
    crossing,
    decided,
    excluded,
    find_runs,
    gather,
    heaviest,
    importance,
    impose,
    lost_weight,
    mark_lists,
    matters,
    movements,
    norms,
    put,
    reach,
    total_value,
    undecided,
    widest,
)
from rerank.search.boxes.quotas import NONE, PATIENCE, standing, steered
from rerank.search.boxes.relaxation import HOPE, PAD, must_lose, shrink
from rerank.search.compiled import kernel
from rerank.search.workspace import LEVELS, LISTS, RUNS, SIZE, START

STUCK = 5  # splits a feature that decide nothing, after which a box is unresolved,
FEW = 16  # if no more pairs, and rows of quotas, than this are undecided in it; exact arithmetic fathoms it then
LEAST_MARGIN = 1e-9  # with a smaller one some boxes come down to the pads of cuts, and stay open
AGAIN = 0.7  # of a box, after a cut: if no more is left, it is explored again before it is split
WHOLE = 1e-6  # by how much a loss must pass a whole number to be rounded up to the next


def explorer(linear: bool, ruled: bool) -> Any:
    """The kernel for linear problems or for the others, with rows on the weights and quotas or without.

    Each is compiled without what only another needs: rules alone took a quarter of compiling.
    """

    def explore(given: Any, workspace: Any, memory: Any, counts: Any, sums: Any, limits: Any) -> None:
        """Explore boxes, the last first, until none is left, the work is spent, or memory for boxes or splits ends.

        The memory holds numbers (n, 2 k + 1) and labels (n, 5 + m) of boxes to explore, the same of those too small to
        split whose bound beats the value found, and splits (n, 3). A row of these is the name of a split box, its
        coordinate (or ``k - 1 + g`` for group ``g``) and the name of its first child; the second child's is one more.
        Without a row no record is kept. ``counts`` (5,) says how many boxes and splits these hold, how many boxes were
        explored, and the name of the next new box; ``sums`` (3,) the best value met, whose weights are in a new
        PairSpace, the largest bound of a box that was fathomed or set aside, and evaluations of a pair, of which there
        is a ``work_limit``. A box is fathomed when its bound is at most the best value plus ``slack``, and set aside up
        to the ``target``; no coordinate is split below the ``smallest`` half-width. Once one was too
        small, here or before as ``soon`` says, boxes with quotas in doubt are left to signs after few splits in vain.
        """
        numbers, labels, small_numbers, small_labels, splits = memory
        slack, target, work_limit, smallest, soon = limits
        slots, within, walls = given.paid, given.within, given.walls
        D, level, base = workspace.columns, workspace.level, workspace.base
        count, mark, lost_at, active_at = workspace.count, workspace.mark, workspace.lost, workspace.active
        S, Q, G = workspace.places[0], workspace.places[1], workspace.places[2]
        margins, axes, groups, keep = workspace.margins, workspace.axes, workspace.groups, workspace.keep
        slope, side, ends = workspace.slope, workspace.side, workspace.ends
        lost, central = lost_at[lost_at.shape[0] - 2], lost_at[lost_at.shape[0] - 1]
        c, h, best = axes[0], axes[1], axes[2]
        k = c.size
        W = D[k]
        safe = 2.0 * given.tolerance
        spread = 0.0
        margin = given.epsilon
        whitened = given.basis.size > 0
        n_sides, record, quotas = side.size, splits.shape[0] > 0, workspace.quotas
        cuts = linear and not record and margin > LEAST_MARGIN
        cuts = cuts and given.spacing == 0.0  # on a grid ends of boxes have to lie on it
        top, n_small, n_splits, boxes, next_name = counts[0], counts[1], counts[2], counts[3], counts[4]
        found, aside, work = sums[0], sums[1], sums[2]
        limit = max(found + slack, target)
        while top > 0 and work < work_limit and top < numbers.shape[0] and n_small < small_numbers.shape[0]:
            if record and n_splits == splits.shape[0]:
                break
            top -= 1
            bound = numbers[top, 2 * k]
            if bound <= limit:
                aside = max(aside, bound)
                continue
            boxes += 1
            for j in range(k):
                c[j] = numbers[top, j]
                h[j] = numbers[top, k + j]
            if ruled and excluded(c, h, walls):
                continue
            for j in range(n_sides):
                side[j] = labels[top, SIDES + j]
            name, v, idle = labels[top, NAME], labels[top, LEVEL], labels[top, IDLE]
            by_group = labels[top, GROUPED] == 1
            above = bound
            n, a = level[v, SIZE], level[v, START]
            work += n + 32
            asked_at, asked, in_doubt, met = labels[top, QUOTAS], 0, 0, True
            if ruled:
                asked_at, asked, in_doubt, met, looked = standing(given.quotas, quotas, asked_at, c, h)
                work += looked
                if in_doubt == NONE:
                    continue
            if whitened:
                least, largest, here = norms(given.basis, c, h)
                margin = given.epsilon * least
                spread = given.epsilon * (largest - least)
                safe = given.epsilon * (here - least) + 2.0 * given.tolerance
            elif given.spacing > 0.0:
                over = beyond(h, given.spacing, given.tolerance)
                safe = over if over < 0.0 else 2.0 * given.tolerance
                spread = over - given.tolerance if over < 0.0 else 0.0
            middle, radius, weight = margins[0, :n], margins[1, :n], W[a : a + n]
            reach(D, a, c, h, margin, given.tolerance, middle, radius)
            if n_sides > 0 and side[0] != 0:
                impose(middle, G[a : a + n], side, groups[0])
            # ---- bound: the value of all weights in the box; value: that of its centre
            gone = 0.0
            if linear:
                gone, value = lost_weight(middle, radius, weight, safe)
                gone += base[v]
                bound = min(bound, given.total - gone)
                value = given.total - base[v] - value
            else:
                active, slot, span = active_at[v, : level[v, LISTS]], S[a : a + n], Q[a : a + n]
                copy(lost_at[v], lost)
                copy(lost, central)
                if given.single:
                    count_runs(middle, radius, slot, ends[v], level[v, RUNS], safe, lost, central)
                else:
                    count_lost(middle, radius, slot, span, weight, safe, lost, central)
                bound = min(bound, base[v] + total_value(active, lost, slots, count))
                value = found
                if bound > limit:
                    value = base[v] + total_value(active, central, slots, count)
            if value > found and met and allowed(c, within, walls):
                found = value
                limit = max(found + slack, target)
                copy(c, best)
            if bound <= limit:
                aside = max(aside, bound)
                continue
            # ---- a better bound by the relaxation; a proof holds the multipliers of boxes that it fathoms
            left = 1.0
            if linear and (given.integral or not record):
                need = given.total - gone - limit
                if given.integral:
                    need = np.ceil(need) - 1.0 + WHOLE
                if need < HOPE * (given.total - gone - value):
                    more, gain, word = must_lose(D, a, n, given.tolerance, need, record, margins, axes)
                    if cuts and gain > need > more:
                        left = shrink(c, h, gain - need, axes[3], smallest)
                    if given.integral:
                        more = np.ceil(more - WHOLE)
                    shown = min(bound, given.total - gone - more)
                    if shown <= limit:
                        aside = max(aside, shown)
                        if record:
                            splits[n_splits, 0] = name
                            splits[n_splits, 1] = -1
                            splits[n_splits, 2] = word
                            n_splits += 1
                        continue
                    bound = bound if record else shown
            # ---- the pairs that the children have to evaluate
            kept = undecided(middle, radius, spread, keep)
            if not linear:
                kept = matters(keep, kept, slot, span, lost, active, slots)
            idle = idle + 1 if kept == n and in_doubt == asked else 0
            if 5 * kept <= 4 * n and v + 1 < LEVELS:
                b = a + n
                for j in range(k + 1):
                    gather(D[j], a, keep, kept, b)
                if n_sides > 0:
                    gather(G, a, keep, kept, b)
                level[v + 1, START] = b
                level[v + 1, SIZE] = kept
                if linear:
                    base[v + 1] = gone
                else:
                    gather(S, a, keep, kept, b)
                    gather(Q, a, keep, kept, b)
                    slot, span = S[b : b + kept], Q[b : b + kept]
                    if given.single:
                        level[v + 1, RUNS] = find_runs(slot, ends[v + 1], slots.unit_of, mark)
                    else:
                        mark_lists(slot, span, slots.unit_of, mark)
                    copy(lost, lost_at[v + 1])
                    base[v + 1], m = decided(base[v], active, mark, lost, slots, count, active_at[v + 1])
                    level[v + 1, LISTS] = m
                    active = active_at[v + 1, :m]
                v += 1
                a, n = b, kept
                middle, weight = margins[0, :n], W[a : a + n]
            if linear and left < AGAIN:
                put(numbers, top, c, h, bound)
                labels[top, LEVEL] = v
                top += 1
                continue
            if not linear:
                importance(slot, span, weight, lost, active, slots, slope, middle)
                weight = middle
            movements(D, a, n, weight, h, smallest, axes[3], axes[4])
            crossed = crossing(c, h, walls, axes[5]) if ruled else 0.0
            which, upward = widest(h, smallest, crossed, axes[3], axes[4], axes[5])
            if ruled and in_doubt > 0 and (not met or kept == 0):
                which, upward = steered(quotas.amount, h, smallest, which, upward)
            # Two splits by groups in a row only if the first brought the bound down; otherwise the box has to shrink.
            group = 0
            if n_sides > 0 and met and side[n_sides - 1] == 0 and not (by_group and bound >= above):
                group = heaviest(G[a : a + n], weight, groups[1], groups[2])
            stuck = STUCK * k
            if ruled and in_doubt > 0 and (soon or n_small > 0) and not whitened:
                stuck = (kept + in_doubt) // PATIENCE
            if (which < 0 and group == 0) or (idle > stuck and kept <= FEW and in_doubt <= FEW):
                put(small_numbers, n_small, c, h, bound)
                copy(labels[top], small_labels[n_small])
                n_small += 1
                continue
            # ---- two children; the one in which the undecided pairs gain more comes last and is explored first
            if record:
                splits[n_splits, 0] = name
                splits[n_splits, 1] = which if group == 0 else k - 1 + group
                splits[n_splits, 2] = next_name
                n_splits += 1
            place = 0
            centre, move = c[which], 0.0
            if group > 0:
                upward = groups[1, group] >= groups[2, group]
                while side[place] != 0:
                    place += 1
            else:
                move = 0.5 * h[which]
                h[which] = move + PAD if cuts else move
            for turn in range(2):
                up = (turn == 1) == upward
                if group > 0:
                    side[place] = group if up else -group
                else:
                    c[which] = centre + move if up else centre - move
                put(numbers, top, c, h, bound)
                labels[top, NAME] = next_name + (0 if up else 1)
                labels[top, LEVEL] = v
                labels[top, IDLE] = idle
                labels[top, QUOTAS] = asked_at
                labels[top, GROUPED] = 1 if group > 0 else 0
                for j in range(n_sides):
                    labels[top, SIDES + j] = side[j]
                top += 1
            next_name += 2
        counts[0], counts[1], counts[2], counts[3], counts[4] = top, n_small, n_splits, boxes, next_name
        sums[0], sums[1], sums[2] = found, aside, work

    named = f"explore_{'linear' if linear else 'lists'}{'_ruled' if ruled else ''}"
    explore.__name__ = explore.__qualname__ = named
    # Of sums that may be reordered, lists have whole numbers, and what :func:`widest` rounds. Its loops over pairs have
    # forms by NumPy.
    return kernel(exact=not linear, share=0.5, python=explore)(explore)


explore_linear, explore_linear_ruled = explorer(linear=True, ruled=False), explorer(linear=True, ruled=True)
explore_lists, explore_lists_ruled = explorer(linear=False, ruled=False), explorer(linear=False, ruled=True)
