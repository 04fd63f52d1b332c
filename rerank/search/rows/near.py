"""One list in a box that separates most of its pairs: these are counted, and only the others are formed; compiled.

With the rows sorted by their scores at the centre, those that a row has surely lost to, or surely beaten, are at the
two ends.  Only the rows between are compared one by one.
"""

from __future__ import annotations

from typing import Any

from rerank.search.compiled import inner
from rerank.search.rows.unit import descend, earned, heaped, interval


@inner()
def refine_near(
    rows: Any, paid: Any, tolerance: float, u: int, gone: int, kept: int, positives: int, least: float, most: float,
    limit: float, space: Any,
) -> Any:  # fmt: skip
    """As :func:`rerank.search.rows.unit.refine`, and how many pairs were formed; more than ``limit``: nothing else."""
    c, h, left_rows, lost_of = space.axes[0], space.axes[1], space.kept, space.lost
    k = c.size
    places = paid.places[u] - gone
    others = kept - positives
    middles, highest, lowest = space.columns[k, :others], space.columns[k + 1, :others], space.ends[1]
    by_all, beaten = space.tallies[0, :others], space.tallies[1, :others]
    # The sums here are rounded, too.
    spare = _sort(rows, left_rows, positives, c, h, middles, highest, by_all, lost_of) + tolerance
    formed = 0
    for i in range(positives):
        first, last = _between(rows, left_rows[i], c, h, least, most, spare, middles)
        formed += last - first
    if formed > limit:
        return 0.0, 0, 0, 0, formed
    for q in range(others):
        by_all[q] = 0
        beaten[q] = 0
    alive = 0
    for i in range(positives):
        row = left_rows[i]
        first, last = _between(rows, row, c, h, least, most, spare, middles)
        lost = others - last
        for p in range(first, last):
            high, low = _ends(rows, row, left_rows[positives + p], c, h)
            highest[p] = high
            lowest[p] = low
            lost += 1 if high < least else 0
        if lost < places:
            # Both arrays hold differences: what is added at a place counts from there on.
            _add(by_all, last, others)
            _add(beaten, 0, first)
            for p in range(first, last):
                if highest[p] < least:
                    _add(by_all, p, p + 1)
                if lowest[p] >= most:
                    _add(beaten, p, p + 1)
            lost_of[alive] = lost
            left_rows[alive] = row
            alive += 1
    bound = earned(paid, u, gone, lost_of, alive, space.count)
    enough = min(alive, paid.counted[u], places)
    again, lost_to, beats = 0, 0, 0
    left = alive
    for p in range(others):
        lost_to += by_all[p]
        beats += beaten[p]
        again += 1 if lost_to == alive else 0
        if lost_to < alive and beats < enough:
            left_rows[left] = left_rows[positives + p]
            left += 1
    return bound, left, alive, again, formed


@inner()
def _sort(
    rows: Any, left_rows: Any, positives: int, c: Any, h: Any, middles: Any, scores: Any, taken: Any, placed: Any
) -> float:
    """Put the irrelevant rows in the order of their scores at the centre, the ``middles``; the widest interval.

    Each row looks for its place among the sorted scores: a sort with an index would have to be compiled.
    """
    others, widest = middles.size, 0.0
    for q in range(others):
        m, r = interval(rows, left_rows[positives + q], c, h)
        scores[q] = m
        taken[q] = 0
        widest = max(widest, r)
    heaped(scores, 0, others, others, middles)
    descend(middles, others)
    for q in range(others // 2):
        middles[q], middles[others - 1 - q] = middles[others - 1 - q], middles[q]
    for q in range(others):
        first = _place(middles, scores[q])
        placed[first + taken[first]] = left_rows[positives + q]
        taken[first] += 1
    for p in range(others):
        left_rows[positives + p] = placed[p]
    return widest


@inner()
def _between(rows: Any, row: int, c: Any, h: Any, least: float, most: float, spare: float, middles: Any) -> Any:
    """Where the rows begin and end that a relevant row has neither surely beaten nor surely lost to."""
    m, r = interval(rows, row, c, h)
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
def _add(differences: Any, first: int, last: int) -> None:
    """Count one more from ``first`` up to ``last``."""
    if first < last:
        differences[first] += 1
        if last < differences.size:
            differences[last] -= 1
