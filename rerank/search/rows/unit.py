"""One list in one box: its bound, its value at the centre, and the rows that can leave, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner


@inner()
def measure(rows: Any, which: Any, begin: int, n: int, c: Any, h: Any, scratch: Any) -> None:
    """Score at the centre, and its ends over the box, of the rows ``which[begin : begin + n]``."""
    for i in range(n):
        m, r = interval(rows, which[begin + i], c, h)
        scratch.middle[i], scratch.lower[i], scratch.upper[i] = m, m - r, m + r


@inner()
def interval(rows: Any, row: int, c: Any, h: Any) -> Any:
    """Score of a row at the centre of a box, and how far it goes from there within the box."""
    m, r = 0.0, 0.0
    for j in range(c.size):
        z = rows[row, j]
        m += c[j] * z
        r += h[j] * abs(z)
    return m, r


@inner()
def largest(x: Any, begin: int, end: int, most: int, heap: Any) -> int:
    """The ``most`` largest of ``x[begin:end]``, descending, in ``heap``; how many there are."""
    if most >= end - begin:  # all of them
        n = end - begin
        for i in range(n):
            heap[i] = -x[begin + i]
        heap[:n].sort()
        for i in range(n):
            heap[i] = -heap[i]
        return n
    n = heaped(x, begin, end, most, heap)
    for last in range(n - 1, 0, -1):
        least = heap[0]
        value = heap[last]
        _sink(heap, last, value)
        heap[last] = least
    return n


@inner()
def heaped(x: Any, begin: int, end: int, most: int, heap: Any) -> int:
    """The ``most`` largest of ``x[begin:end]`` in ``heap``, the least of them first; how many there are."""
    n = 0
    for i in range(begin, end):
        value = x[i]
        if n < most:
            at = n
            n += 1
            while at > 0 and heap[(at - 1) // 2] > value:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = value
        elif value > heap[0]:
            _sink(heap, n, value)
    return n


@inner()
def _sink(heap: Any, n: int, value: float) -> None:
    """Put ``value`` in the place of the least of ``heap[:n]``."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@inner()
def above(heap: Any, n: int, limit: float) -> int:
    """How many of the descending ``heap[:n]`` exceed ``limit``."""
    a, z = 0, n
    while a < z:
        middle = (a + z) // 2
        if heap[middle] > limit:
            a = middle + 1
        else:
            z = middle
    return a


@inner()
def earned(instance: Any, u: int, gone: int, lost: Any, n: int, count: Any) -> float:
    """``sum_j h_j coef[j + gone + lost_(j)]`` over the positives whose place earns something."""
    places = instance.places[u] - gone
    base = instance.coef_start[u] + gone
    hits, weighs = instance.hit_start[u], instance.hits.size > 0
    top = 0
    for i in range(n):
        x = lost[i]
        if x < places:
            count[x] += 1
            top = max(top, x + 1)
    total = 0.0
    place = 0
    for x in range(top):
        for _ in range(count[x]):
            if place + x < places:
                total += instance.coef[base + place + x] * (instance.hits[hits + place] if weighs else 1.0)
            place += 1
        count[x] = 0
    return total


@inner()
def worth(
    instance: Any, u: int, gone: int, ahead: Any, behind: Any, positives: int, n: int, margin: float, scratch: Any
) -> float:
    """Value of a list where positive i loses to negative k if ``ahead[i] - behind[k] < margin``.

    With upper ends against lower ends it is a bound on the box, with the scores at the centre the value there.
    Where only the best positive earns something, the others are given its lost pairs.
    """
    if instance.counted[u] == 1:
        best = -np.inf
        for i in range(positives):
            best = max(best, ahead[i])
        lost = 0
        for i in range(positives, n):
            lost += 1 if behind[i] > best - margin else 0
        scratch.lost[:positives] = lost
        return earned(instance, u, gone, scratch.lost, positives, scratch.count)
    known = largest(behind, positives, n, instance.places[u] - gone, scratch.heap)
    for i in range(positives):
        scratch.lost[i] = above(scratch.heap, known, ahead[i] - margin)
    return earned(instance, u, gone, scratch.lost, positives, scratch.count)


@inner()
def filtered(
    instance: Any, which: Any, begin: int, positives: int, n: int, places: int, counted: int, least: float,
    most: float, scratch: Any,
) -> Any:  # fmt: skip
    """The rows that are left: ``kept`` in all, how many of them positives, negatives gone from the top.

    A positive leaves that has lost every place, or that as many others as are ``counted`` are above; a negative that
    all other positives have lost to, or that so many beat.
    """
    mine = 0
    top, bottom = -np.inf, np.inf
    for i in range(positives):
        if scratch.lost[i] < places:
            scratch.lost[mine] = scratch.lost[i]
            scratch.lower[mine] = scratch.lower[i]
            scratch.upper[mine] = scratch.upper[i]
            scratch.kept[mine] = which[begin + i]
            mine += 1
            top = max(top, scratch.upper[i])
            bottom = min(bottom, scratch.lower[i])
    kept = mine
    if 0 < min(counted, places) < mine:
        heaped(scratch.lower, 0, mine, min(counted, places), scratch.heap)
        bottom = scratch.heap[0]
        kept = 0
        for i in range(mine):
            if scratch.upper[i] - bottom >= -instance.tolerance:
                scratch.lost[kept] = scratch.lost[i]
                scratch.kept[kept] = scratch.kept[i]
                kept += 1
        mine = kept
    gone = 0
    if mine > 0:
        for i in range(positives, n):
            if top - scratch.lower[i] < least:
                gone += 1
            elif bottom - scratch.upper[i] < most:
                scratch.kept[kept] = which[begin + i]
                kept += 1
    return kept, mine, gone


@inner()
def refine(
    instance: Any, u: int, gone: int, more: int, kept: int, positives: int, c: Any, h: Any, least: float, most: float,
    scratch: Any,
) -> Any:  # fmt: skip
    """The bound by intervals of pairs among the kept rows, and the rows that are left; see :func:`filtered`."""
    k = c.size
    gone += more
    places = instance.places[u] - gone
    others = kept - positives
    for q in range(others):
        row = scratch.kept[positives + q]
        for j in range(k):
            scratch.columns[j, q] = instance.rows[row, j]
        scratch.by_all[q] = 0
        scratch.beaten[q] = 0
    alive = 0
    for i in range(positives):
        row = scratch.kept[i]
        lost = _against(instance.rows[row], scratch, others, c, h, least)
        if lost < places:
            for q in range(others):
                scratch.by_all[q] += 1 if scratch.highest[q] < least else 0
                scratch.beaten[q] += 1 if scratch.lowest[q] >= most else 0
            scratch.lost[alive] = lost
            scratch.kept[alive] = row
            alive += 1
    bound = earned(instance, u, gone, scratch.lost, alive, scratch.count)
    left = alive
    enough = min(alive, instance.counted[u], places)
    again = 0
    for q in range(others):
        if scratch.by_all[q] == alive:
            again += 1
        elif scratch.beaten[q] < enough:
            scratch.kept[left] = scratch.kept[positives + q]
            left += 1
    return bound, left, alive, again


@inner(fastmath={"reassoc", "nsz"})
def _against(row: Any, scratch: Any, others: int, c: Any, h: Any, least: float) -> int:
    """Ends of the differences of a positive to the other rows, and how many it has lost to in the whole box."""
    highest = scratch.highest[:others]
    lowest = scratch.lowest[:others]
    for q in range(others):
        highest[q] = 0.0
        lowest[q] = 0.0
    for j in range(c.size):
        column = scratch.columns[j, :others]
        x, cj, hj = row[j], c[j], h[j]
        for q in range(others):
            d = x - column[q]
            m = cj * d
            r = hj * abs(d)
            highest[q] += m + r
            lowest[q] += m - r
    lost = 0
    for q in range(others):
        lost += 1 if highest[q] < least else 0
    return lost
