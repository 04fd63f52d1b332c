"""One list on one piece of a line, compiled: its value where the piece begins, and the steps of its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner
from rerank.search.lines.kernel import won_from
from rerank.search.rows.unit import worth

BLOCK = 64  # rows that are compared with another at a time
SHORT = 15  # entries up to which insertion sorts sooner


@inner()
def middle(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> float:
    """Value of a list in the middle of ``a .. z``."""
    which, at, value = scratch.which, 0.5 * (a + z), 0.0
    for i in range(m):
        scratch.lower[i] = A[which[start + i]] + at * B[which[start + i]]
    positives = m
    for u in range(lists.first_unit[q], lists.first_unit[q + 1]):
        t = u - lists.first_unit[q]
        while positives > 0 and lists.level[which[start + positives - 1]] <= t:
            positives -= 1
        value += worth(
            lists.paid, u, 0, scratch.lower, scratch.lower, positives, m, margin.most, scratch.heap, scratch.lost,
            scratch.count,
        )  # fmt: skip
    return value


@inner()
def crossings(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> int:
    """How many steps the value of a list takes on ``a .. z``, -1 if there is no room; its lost pairs at ``a``."""
    here, there, lost = scratch.lower, scratch.upper, scratch.lost
    which, level = scratch.which[start : start + m], lists.level
    steps, n = scratch.steps, 0
    for i in range(m):
        here[i] = A[which[i]] + a * B[which[i]]
        there[i] = A[which[i]] + z * B[which[i]]
    for i in range((lists.first_unit[q + 1] - lists.first_unit[q]) * m):
        lost[i] = 0
    rivals, begins = scratch.rivals[0], scratch.rivals[1]
    for i in range(m):
        begins[i] = begins[i - 1] if i > 0 and level[which[i]] == level[which[i - 1]] else i
    for i in range(m):
        mine, end = level[which[i]], m
        while level[which[end - 1]] < mine:
            first, behind = begins[end - 1], 0
            other = level[which[first]]
            for stop in range(end, first, -BLOCK):
                block = max(first, stop - BLOCK)
                sure, unsure = _compared(here, there, i, block, stop, margin.least, margin.most, rivals)
                behind += sure
                for e in range(unsure):
                    k = rivals[e]
                    x = here[i] - here[k]
                    y = there[i] - there[k]
                    left, right = _won_on(A, B, which[i], which[k], x >= margin.most, y >= margin.most, margin)
                    if n + 2 > steps.shape[1]:
                        return -1
                    if left < right:
                        if a < left <= z:
                            steps[0, n], steps[1, n] = left, i * m + k + 1
                            n += 1
                        if a < right <= z:
                            steps[0, n], steps[1, n] = right, -(i * m + k + 1)
                            n += 1
                    if not left <= a < right:
                        behind += 1
            for t in range(other, mine):
                lost[t * m + i] += behind
            end = first
    return n


@inner()
def _compared(
    here: Any, there: Any, i: int, first: int, stop: int, least: float, most: float, rivals: Any
) -> Any:
    """How many of the rows ``first .. stop`` stay above row ``i`` on a piece, and of how many that is not known.

    These are written into ``rivals``, last first. Most rows stay above or below, and without branches several are
    compared at a time.
    """
    behind, ahead = 0, 0
    for k in range(first, stop):
        x = here[i] - here[k]
        y = there[i] - there[k]
        behind += (x < least) & (y < least)
        ahead += (x >= most) & (y >= most)
    unsure = stop - first - behind - ahead
    n = 0
    if unsure > 0:
        for k in range(stop - 1, first - 1, -1):
            x = here[i] - here[k]
            y = there[i] - there[k]
            rivals[n] = k
            n += 1 - ((x < least) & (y < least)) - ((x >= most) & (y >= most))
    return behind, unsure


@inner()
def _won_on(A: Any, B: Any, i: int, k: int, first: bool, last: bool, margin: Any) -> Any:
    """Ends of the interval on which row ``i`` wins against row ``k``, infinite where the ``first`` or ``last`` is."""
    x, y, left, right = A[i] - A[k], B[i] - B[k], -np.inf, np.inf
    if not first:
        left = won_from(x, y, margin.epsilon, margin.n, margin.pieces)
    if not last:
        right = -won_from(x, -y, margin.epsilon, margin.n_back, margin.pieces_back)
    return left, right


@inner()
def followed(lists: Any, q: int, n: int, start: int, m: int, scratch: Any) -> float:
    """Value of a list with the ``lost`` pairs of its rows, and the gain of each of the ``n`` steps in their order."""
    value, lost, upto, level, paid = 0.0, scratch.lost, scratch.upto, lists.level, lists.paid
    which = scratch.which[start : start + m]
    pair, gain = scratch.steps[1], scratch.steps[2]
    units = lists.first_unit[q + 1] - lists.first_unit[q]
    places, weighs = paid.places[lists.first_unit[q]], paid.hits.size > 0
    for i in range(units * (places + 1)):
        upto[i] = 0
    for t in range(units):
        first, coef = t * (places + 1), paid.coef_start[lists.first_unit[q] + t]
        hits = paid.hit_start[lists.first_unit[q] + t]
        for i in range(m):
            if level[which[i]] <= t:
                break
            if lost[t * m + i] < places:
                upto[first + lost[t * m + i]] += 1
        place = 0
        for x in range(places):
            for _ in range(upto[first + x]):
                if place + x < places:
                    value += paid.coef[coef + place + x] * (paid.hits[hits + place] if weighs else 1.0)
                place += 1
            upto[first + x] = place
    for e in range(n):
        p = int(abs(pair[e])) - 1
        i, k, total = p // m, p % m, 0.0
        for t in range(level[which[k]], level[which[i]]):
            first, coef = t * (places + 1), paid.coef_start[lists.first_unit[q] + t]
            x = lost[t * m + i]
            # Of the rows with at most ``least`` lost pairs it is the last, at this place:
            least = x - 1 if pair[e] > 0 else x
            lost[t * m + i] += -1 if pair[e] > 0 else 1
            if least >= places:
                continue
            if pair[e] > 0:
                upto[first + least] += 1
            nth = upto[first + least] - 1
            near = nth + least
            if pair[e] < 0:
                upto[first + least] -= 1
            step = paid.coef[coef + near] if near < places else 0.0
            step -= paid.coef[coef + near + 1] if near + 1 < places else 0.0
            if weighs:
                step *= paid.hits[paid.hit_start[lists.first_unit[q] + t] + nth]
            total += step if pair[e] > 0 else -step
        gain[e] = total
    return value


@inner()
def put_in_order(when: Any, pair: Any, n: int, spare: Any, order: Any) -> None:
    """Put the first ``n`` entries of both in the order of ``when``."""
    if n > 40:
        argsort(when, n, order[0], order[1])
        for row in (when, pair):
            for e in range(n):
                spare[e] = row[order[0, e]]
            for e in range(n):
                row[e] = spare[e]
        return
    for e in range(1, n):
        t, p, at = when[e], pair[e], e
        while at > 0 and when[at - 1] > t:
            when[at], pair[at] = when[at - 1], pair[at - 1]
            at -= 1
        when[at], pair[at] = t, p


@inner()
def argsort(x: Any, n: int, order: Any, stack: Any) -> None:
    """The order of the first ``n`` entries, by quicksort with the median of three; the stack is scratch.

    With numpy's own a kernel compiles a second longer.  The order of equal entries decides how sums are rounded.
    """
    for e in range(n):
        order[e] = e
    stack[0], stack[1] = 0, n - 1
    top = 2
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        while high - low >= SHORT:
            middle = (low + high) // 2
            for a, b in ((low, middle), (middle, high), (low, middle)):
                if x[order[b]] < x[order[a]]:
                    order[a], order[b] = order[b], order[a]
            pivot = x[order[middle]]
            order[middle], order[high] = order[high], order[middle]
            i, k = low, high - 1
            while True:
                while i < high and x[order[i]] < pivot:
                    i += 1
                while k >= low and x[order[k]] > pivot:
                    k -= 1
                if i >= k:
                    break
                order[i], order[k] = order[k], order[i]
                i += 1
                k -= 1
            order[i], order[high] = order[high], order[i]
            # The larger part waits, so that few ever do.
            if high - i > i - low:
                stack[top], stack[top + 1] = i + 1, high
                high = i - 1
            else:
                stack[top], stack[top + 1] = low, i - 1
                low = i + 1
            top += 2
        for e in range(low + 1, high + 1):
            which, at = order[e], e
            while at > low and x[which] < x[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = which
