"""One list in a box that separates most of its pairs: these are counted, and only the others are formed; compiled.

With the rows sorted by their scores at the centre, those that a row has surely lost to, or surely beaten, are at the
two ends.  Only the rows between are compared one by one.
"""

from __future__ import annotations

from typing import Any

from rerank.search.compiled import inner
from rerank.search.rows.unit import earned, interval


@inner()
def refine_near(
    instance: Any, u: int, gone: int, more: int, kept: int, positives: int, c: Any, h: Any, least: float, most: float,
    limit: float, scratch: Any,
) -> Any:  # fmt: skip
    """As :func:`rerank.search.rows.unit.refine`, and how many pairs were formed; more than ``limit``: nothing else."""
    gone += more
    places = instance.places[u] - gone
    others = kept - positives
    widest = _sort(instance, kept, positives, c, h, scratch)
    middles = scratch.lowest[:others]
    formed = 0
    for i in range(positives):
        first, last = _between(instance, i, c, h, least, most, widest, middles, scratch)
        formed += last - first
    if formed > limit:
        return 0.0, 0, 0, 0, formed
    by_all, beaten, lost_of = scratch.by_all, scratch.beaten, scratch.lost
    by_all[:others] = 0
    beaten[:others] = 0
    alive = 0
    for i in range(positives):
        row = scratch.kept[i]
        first, last = _between(instance, i, c, h, least, most, widest, middles, scratch)
        lost = others - last
        for p in range(first, last):
            high, low = _ends(instance.rows, row, scratch.kept[positives + p], c, h)
            scratch.highest[p] = high
            scratch.upper[p] = low
            lost += 1 if high < least else 0
        if lost < places:
            # Both arrays hold differences: what is added at a place counts from there on.
            _add(by_all, last, others, others)
            _add(beaten, 0, first, others)
            for p in range(first, last):
                if scratch.highest[p] < least:
                    _add(by_all, p, p + 1, others)
                if scratch.upper[p] >= most:
                    _add(beaten, p, p + 1, others)
            lost_of[alive] = lost
            scratch.kept[alive] = row
            alive += 1
    bound = earned(instance, u, gone, lost_of, alive, scratch.count)
    enough = min(alive, instance.counted[u], places)
    again, lost_to, beats = 0, 0, 0
    left = alive
    for p in range(others):
        lost_to += by_all[p]
        beats += beaten[p]
        again += 1 if lost_to == alive else 0
        if lost_to < alive and beats < enough:
            scratch.kept[left] = scratch.kept[positives + p]
            left += 1
    return bound, left, alive, again, formed


@inner()
def _sort(instance: Any, kept: int, positives: int, c: Any, h: Any, scratch: Any) -> float:
    """Put the irrelevant rows in the order of their scores at the centre, these into ``lowest``; the widest interval.

    Each row looks for its place among the sorted scores: a sort with an index would compile a second sort.
    """
    others, widest = kept - positives, 0.0
    for q in range(others):
        m, r = interval(instance.rows, scratch.kept[positives + q], c, h)
        scratch.highest[q] = m
        scratch.lowest[q] = m
        widest = max(widest, r)
    middles, taken, placed = scratch.lowest[:others], scratch.by_all, scratch.lost
    middles.sort()
    taken[:others] = 0
    for q in range(others):
        first = _place(middles, scratch.highest[q])
        placed[first + taken[first]] = scratch.kept[positives + q]
        taken[first] += 1
    for p in range(others):
        scratch.kept[positives + p] = placed[p]
    return widest


@inner()
def _between(
    instance: Any, i: int, c: Any, h: Any, least: float, most: float, widest: float, middles: Any, scratch: Any
) -> Any:
    """Where the rows begin and end that a relevant row has neither surely beaten nor surely lost to."""
    m, r = interval(instance.rows, scratch.kept[i], c, h)
    spare = widest + instance.tolerance  # the sums here are rounded, too
    return _place(middles, m - r - most - spare), _place(middles, m + r - least + spare)


@inner()
def _place(x: Any, limit: float) -> int:
    """How many of the ascending ``x`` are below ``limit``."""
    a, z = 0, x.size
    while a < z:
        at = (a + z) // 2
        if x[at] < limit:
            a = at + 1
        else:
            z = at
    return a


@inner()
def _ends(rows: Any, row: int, other: int, c: Any, h: Any) -> Any:
    """Largest and smallest difference of two rows."""
    m, r = 0.0, 0.0
    for j in range(c.size):
        d = rows[row, j] - rows[other, j]
        m += c[j] * d
        r += h[j] * abs(d)
    return m + r, m - r


@inner()
def _add(differences: Any, first: int, last: int, size: int) -> None:
    """Count one more from ``first`` up to ``last``, of ``size`` places."""
    if first < last:
        differences[first] += 1
        if last < size:
            differences[last] -= 1
