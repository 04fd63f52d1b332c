r"""Quotas in one box of weights, compiled: whether no weights in it meet them, all do, or the centre does.

A quota asks of a list that the ``wanted``-th largest score of some rows exceeds the ``rival``-th largest of the others
(:mod:`rerank.problem.quotas`).  With each score between two ends in the box, so are these two.  A row that surely
stands above both, or below both, leaves the box, and its children look at the rest.  Where few rows are left, the
intervals of their differences decide more.
"""

from typing import Any

from rerank.problem.quotas import APART
from rerank.search.compiled import inner
from rerank.search.rows.unit import heaped, measure
from rerank.search.workspace import LEVELS

BEGIN, OPEN, ASKED = range(3)  # columns of ``QuotaSpace.level``
AHEAD, BOTH, WANTED, RIVAL = range(4)  # rows of ``QuotaSpace.demands`` at a level
FEW, PER_ROW = 2000, 64  # differences that are formed in any case, and so many more for each row that is left
PATIENCE = 4  # pairs and rows in doubt for each split in vain, until a box is left to signs
ROWS_OF_SIGNS = 16  # rows of lists and of quotas that are few enough for them
NONE = -1  # what :func:`stand` answers where no weights in the box meet the quotas


@inner()
def nth(x: Any, begin: int, end: int, most: int, heap: Any) -> float:
    """The ``most``-th largest of ``x[begin:end]``, of which there are as many."""
    heaped(x, begin, end, most, heap)
    return float(heap[0])


@inner()
def stand(quotas: Any, space: Any, v: int, c: Any, h: Any) -> Any:
    """Rows that are left at level ``v + 1``, or :data:`NONE`; whether the centre meets the quotas; work.
    ``space.amount`` is given what splitting each coordinate would move, and in which direction rows wanted rise.
    """
    which, level, demands = space.which, space.level, space.demands
    lower, upper, middle = space.ends[0], space.ends[1], space.ends[2]
    begin, out, made, here, work = level[v, BEGIN], level[v, BEGIN] + level[v, ASKED], 0, True, 0.0
    level[v + 1, BEGIN], level[v + 1, OPEN], level[v + 1, ASKED] = out, 0, 0
    safe, apart = 2.0 * quotas.tolerance, 2.0 * quotas.tolerance + APART
    for j in range(c.size):
        space.amount[0, j] = 0.0
        space.amount[1, j] = 0.0
    for at in range(level[v, OPEN]):
        own, n = demands[v, AHEAD, at], demands[v, BOTH, at]
        wanted, rival = demands[v, WANTED, at], demands[v, RIVAL, at]
        work += n
        measure(quotas.rows, which, begin, n, c, h, space.ends)
        most, least = nth(upper, 0, own, wanted, space.heap), nth(lower, 0, own, wanted, space.heap)
        rival_most, rival_least = nth(upper, own, n, rival, space.heap), nth(lower, own, n, rival, space.heap)
        if most <= rival_least - safe:
            return NONE, False, work
        here = here and nth(middle, 0, own, wanted, space.heap) > nth(middle, own, n, rival, space.heap) + apart
        top, bottom = min(most, rival_most) + apart, max(least, rival_least) - apart
        kept, ahead = 0, 0
        for i in range(n):
            if lower[i] > top:
                wanted -= 1 if i < own else 0
                rival -= 0 if i < own else 1
            elif upper[i] >= bottom:
                space.kept[kept] = which[begin + i]
                kept += 1
                ahead += 1 if i < own else 0
        begin += n
        if 0 < wanted <= ahead and 0 < rival <= kept - ahead and ahead * (kept - ahead) <= FEW + PER_ROW * kept:
            work += 0.25 * ahead * (kept - ahead)
            ahead, kept, wanted = compare(quotas.rows, space.kept, ahead, kept, wanted, rival, c, h, apart)
        if wanted <= 0 or rival > kept - ahead:
            continue  # met in the whole box
        if wanted > ahead or rival <= 0:
            return NONE, False, work
        for i in range(kept):
            row = space.kept[i]
            which[out + i] = row
            sign = 1.0 if i < ahead else -1.0
            for j in range(c.size):
                space.amount[0, j] += abs(quotas.rows[row, j])
                space.amount[1, j] += sign * quotas.rows[row, j]
        out += kept
        demands[v + 1, AHEAD, made], demands[v + 1, BOTH, made] = ahead, kept
        demands[v + 1, WANTED, made], demands[v + 1, RIVAL, made] = wanted, rival
        made += 1
    level[v + 1, OPEN], level[v + 1, ASKED] = made, out - level[v + 1, BEGIN]
    return level[v + 1, ASKED], here, work


@inner()
def compare(rows: Any, kept: Any, ahead: int, n: int, wanted: int, rival: int, c: Any, h: Any, safe: float) -> Any:
    """Leave out the rows wanted that the intervals of differences decide; their number, that of all rows, and wanted.

    One with ``rival`` others surely at or above it is behind; one that all but fewer than so many are below is ahead.
    """
    left = 0
    for i in range(ahead):
        behind, before = 0, 0
        for q in range(ahead, n):
            m, r = 0.0, 0.0
            for j in range(c.size):
                difference = rows[kept[i], j] - rows[kept[q], j]
                m += c[j] * difference
                r += h[j] * abs(difference)
            behind += 1 if m + r < -safe or (m == 0.0 and r == 0.0) else 0
            before += 1 if m - r > safe else 0
        if n - ahead - before < rival:
            wanted -= 1
        elif behind < rival:
            kept[left] = kept[i]
            left += 1
    for q in range(ahead, n):
        kept[left + q - ahead] = kept[q]
    return left, left + n - ahead, wanted


@inner()
def steered(amount: Any, h: Any, smallest: float, which: int, upward: Any) -> Any:
    """The coordinate whose halving moves the rows of quotas most, and whether wanted ones rise in its upper half."""
    most = 0.0
    for j in range(h.size):
        if h[j] > smallest and h[j] * amount[0, j] > most:
            most = h[j] * amount[0, j]
            which = j
            upward = amount[1, j] > 0.0
    return which, upward


@inner()
def standing(quotas: Any, space: Any, v: int, c: Any, h: Any) -> Any:
    """As :func:`stand`, with the level at which children begin, and rows that were asked about, which may be none."""
    asked = space.level[v, ASKED]
    if asked == 0:
        return v, asked, 0, True, 0.0
    left, met, work = stand(quotas, space, v, c, h)
    fewer = left != NONE and 5 * left <= 4 * asked and v + 2 < LEVELS
    return v + 1 if fewer else v, asked, left, met, work
