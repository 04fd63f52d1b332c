"""One list in one box: its bound, its value at the centre, and the rows that can leave, compiled."""

from typing import Any

import numpy as np

from rerank.search.compiled import inner


@inner()
def measure(rows: Any, which: Any, begin: int, n: int, c: Any, h: Any, ends: Any) -> None:
    """Lower and upper end of the score over the box, and score at the centre, of ``which[begin : begin + n]``."""
    for i in range(n):
        m, r = interval(rows, which[begin + i], c, h)
        ends[0, i], ends[1, i], ends[2, i] = m - r, m + r, m


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
    n = heaped(x, begin, end, most, heap)
    descend(heap, n)
    return n


@inner()
def descend(heap: Any, n: int) -> None:
    """Put ``heap[:n]``, the least of which is the first, in descending order."""
    for last in range(n - 1, 0, -1):
        least, value = heap[0], heap[last]
        _sink(heap, last, value)
        heap[last] = least


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
def earned(paid: Any, u: int, gone: int, n: int, memory: Any) -> float:
    """``sum_j h_j coef[step j + gone + lost_(j)]`` over the positives whose place earns something; ``memory.lost``."""
    lost, count = memory.lost, memory.count
    places = paid.places[u] - gone
    base = paid.coef_start[u] + gone
    hits, weighs, step = paid.hit_start[u], paid.hits.size > 0, paid.step[u]
    top = 0
    for i in range(n):
        x = lost[i]
        if x < places:
            count[x] += 1
            top = max(top, x + 1)
    total, place = 0.0, 0
    for x in range(top):
        for _ in range(count[x]):
            if step * place + x < places:
                total += paid.coef[base + step * place + x] * (paid.hits[hits + place] if weighs else 1.0)
            place += 1
        count[x] = 0
    return total


@inner()
def enough(paid: Any, u: int, gone: int) -> int:
    """Of how many of the best positives a list's places can pay, once so many negatives are above all of them."""
    places = paid.places[u] - gone
    return paid.counted[u] if paid.step[u] == 0 and places > 0 else min(paid.counted[u], places)


def most_of(x: Any, most: int) -> float:
    """The least of the ``most`` largest."""
    return float(np.partition(x, -most)[-most])


def _worth(
    paid: Any, u: int, gone: int, ahead: Any, behind: Any, positives: int, n: int, margin: float, memory: Any
) -> float:
    limits, rivals = ahead[:positives] - margin, np.sort(behind[positives:n])
    if paid.counted[u] == 1:
        limits = np.full(positives, ahead[:positives].max(initial=-np.inf) - margin)
    lost = rivals.size - np.searchsorted(rivals, limits, side="right")
    places = paid.places[u] - gone
    memory.lost[:positives] = lost if paid.counted[u] == 1 else np.minimum(lost, places)
    return float(np.cumsum(np.append(0.0, terms(paid, u, gone, lost)))[-1])


def terms(paid: Any, u: int, gone: int, lost: Any) -> Any:
    """The terms of :func:`earned`, in its order."""
    lost, hits = np.sort(lost), np.arange(lost.size)
    places = paid.step[u] * hits + lost
    earns = (places < paid.places[u] - gone) & (lost < paid.places[u] - gone)
    value = paid.coef[paid.coef_start[u] + gone + places[earns]]
    return value * paid.hits[paid.hit_start[u] + hits[earns]] if paid.hits.size else value


@inner(python=_worth)
def worth(
    paid: Any, u: int, gone: int, ahead: Any, behind: Any, positives: int, n: int, margin: float, memory: Any
) -> float:
    """Value of a list where positive i loses to negative k if ``ahead[i] - behind[k] < margin``. With upper ends
    against lower ends it is a bound on the box, with the scores at the centre the value there. Where only the best
    positive earns something, the others are given its lost pairs.
    """
    lost = memory.lost
    if paid.counted[u] == 1:
        best = -np.inf
        for i in range(positives):
            best = max(best, ahead[i])
        behind_them = 0
        for i in range(positives, n):
            behind_them += 1 if behind[i] > best - margin else 0
        lost[:positives] = behind_them
        return earned(paid, u, gone, positives, memory)
    known = largest(behind, positives, n, paid.places[u] - gone, memory.heap)
    for i in range(positives):
        lost[i] = above(memory.heap, known, ahead[i] - margin)
    return earned(paid, u, gone, positives, memory)


@inner()
def add_unit(rows: Any, kept: int, positives: int, weight: float, at: int, space: Any) -> None:
    """Write the kept rows of a list to the levels' rows from ``at`` on, and add to the axes what a split would move."""
    amount, balance, kept_rows, which = space.axes[3], space.axes[4], space.kept, space.which
    up = weight / max(positives, 1)
    down = weight / max(kept - positives, 1)
    for i in range(kept):
        row = kept_rows[i]
        which[at + i] = row
        sign = up if i < positives else -down
        for j in range(amount.size):
            z = sign * rows[row, j]
            amount[j] += abs(z)
            balance[j] += z


@inner()
def filtered(
    given: Any, u: int, gone: int, begin: int, positives: int, n: int, least: float, most: float, space: Any
) -> Any:
    """The rows that are left: ``kept`` in all, how many of them positives, negatives gone from the top. A positive
    leaves that has lost every place, or that all positives that can be paid are above; a negative that all other
    positives have lost to, or that so many beat.
    """
    places, most_paid = given.paid.places[u] - gone, enough(given.paid, u, gone)
    which, lower, upper = space.which, space.ends[0], space.ends[1]
    heap, lost, left = space.memory.heap, space.memory.lost, space.kept
    mine = 0
    top, bottom = -np.inf, np.inf
    for i in range(positives):
        if lost[i] < places:
            lost[mine], lower[mine], upper[mine], left[mine] = lost[i], lower[i], upper[i], which[begin + i]
            mine += 1
            top = max(top, upper[i])
            bottom = min(bottom, lower[i])
    kept = mine
    if 0 < most_paid < mine:
        heaped(lower, 0, mine, most_paid, heap)
        bottom = heap[0]
        kept = 0
        for i in range(mine):
            if upper[i] - bottom >= -given.tolerance:
                lost[kept], left[kept] = lost[i], left[i]
                kept += 1
        mine = kept
    gone = 0
    if mine > 0:
        for i in range(positives, n):
            if top - lower[i] < least:
                gone += 1
            elif bottom - upper[i] < most:
                left[kept] = which[begin + i]
                kept += 1
    return kept, mine, gone


@inner()
def refine(
    rows: Any, paid: Any, u: int, gone: int, kept: int, positives: int, least: float, most: float, space: Any
) -> Any:
    """The bound by intervals of pairs among the kept rows, and the rows that are left; see :func:`filtered`."""
    c, h, left_rows, columns, lost_of = space.axes[0], space.axes[1], space.kept, space.columns, space.memory.lost
    k = c.size
    by_all, beaten = space.tallies[0], space.tallies[1]
    places = paid.places[u] - gone
    others = kept - positives
    lowest, highest = columns[k, :others], columns[k + 1, :others]
    for q in range(others):
        row = left_rows[positives + q]
        for j in range(k):
            columns[j, q] = rows[row, j]
        by_all[q] = 0
        beaten[q] = 0
    alive = 0
    for i in range(positives):
        row = left_rows[i]
        lost = _against(rows[row], columns, c, h, least, lowest, highest)
        if lost < places:
            for q in range(others):
                by_all[q] += 1 if highest[q] < least else 0
                beaten[q] += 1 if lowest[q] >= most else 0
            lost_of[alive], left_rows[alive] = lost, row
            alive += 1
    bound = earned(paid, u, gone, alive, space.memory)
    left = alive
    needed = min(alive, enough(paid, u, gone))
    again = 0
    for q in range(others):
        if by_all[q] == alive:
            again += 1
        elif beaten[q] < needed:
            left_rows[left] = left_rows[positives + q]
            left += 1
    return bound, left, alive, again


@inner()
def _against(row: Any, columns: Any, c: Any, h: Any, least: float, lowest: Any, highest: Any) -> int:
    """Ends of the differences of a positive to the other rows, and how many it has lost to in the whole box."""
    others = highest.size
    for q in range(others):
        highest[q] = 0.0
        lowest[q] = 0.0
    for j in range(c.size):
        column = columns[j, :others]
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
