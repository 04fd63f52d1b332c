"""One list on one piece of a line, compiled: its value where the piece begins, and the steps of its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.boxes.levels import copy
from rerank.search.compiled import inner
from rerank.search.lines.margin import won_from
from rerank.search.rows.unit import worth

BLOCK = 64  # rows that are compared with another at a time

@inner()
def middle(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> Any:
    """Value of a list in the middle of ``a .. z``, and no step."""
    which, at, value = scratch.which, 0.5 * (a + z), 0.0
    for i in range(m):
        scratch.lower[i] = A[which[start + i]] + at * B[which[start + i]]
    positives = m
    for u in range(lists.first_unit[q], lists.first_unit[q + 1]):
        t = u - lists.first_unit[q]
        while positives > 0 and lists.level[which[start + positives - 1]] <= t:
            positives -= 1
        value += worth(lists, u, 0, scratch.lower, scratch.lower, positives, m, margin.most, scratch)
    return value, 0, scratch.when, scratch.gain


@inner()
def swept(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> Any:
    """Value of a list at ``a``, how many steps it takes on ``a .. z``, where, and what it gains there."""
    here, there, lost = scratch.lower, scratch.upper, scratch.lost
    which, level = scratch.which[start : start + m], lists.level
    when, pair, n = scratch.when, scratch.pair, 0
    for i in range(m):
        here[i] = A[which[i]] + a * B[which[i]]
        there[i] = A[which[i]] + z * B[which[i]]
    lost[: (lists.first_unit[q + 1] - lists.first_unit[q]) * m] = 0
    open_ = np.empty(BLOCK + 1, np.int64)
    begins = np.empty(m, np.int64)  # where the rows begin that have the level of this one
    for i in range(m):
        begins[i] = begins[i - 1] if i > 0 and level[which[i]] == level[which[i - 1]] else i
    for i in range(m):
        mine, end = level[which[i]], m
        while level[which[end - 1]] < mine:
            first = begins[end - 1]
            other = level[which[first]]
            behind = 0
            for stop in range(end, first, -BLOCK):
                block = max(first, stop - BLOCK)
                sure, unsure = _compared(here, there, i, block, stop, margin.least, margin.most, open_)
                behind += sure
                for e in range(unsure):
                    k = open_[e]
                    x = here[i] - here[k]
                    y = there[i] - there[k]
                    left, right = _won_on(A, B, which[i], which[k], x >= margin.most, y >= margin.most, margin)
                    if n + 2 > when.size:
                        when, pair = longer(when, n + 2), longer(pair, n + 2)
                    if left < right:
                        if a < left <= z:
                            when[n], pair[n] = left, i * m + k + 1
                            n += 1
                        if a < right <= z:
                            when[n], pair[n] = right, -(i * m + k + 1)
                            n += 1
                    if not left <= a < right:
                        behind += 1
            for t in range(other, mine):
                lost[t * m + i] += behind
            end = first
    value, gain = _followed(lists, q, when, pair, n, m, which, scratch)
    return value, n, when, gain


@inner()
def _compared(
    here: Any, there: Any, i: int, first: int, stop: int, least: float, most: float, open_: Any
) -> Any:
    """How many of the rows ``first .. stop`` stay above row ``i`` on a piece, and of how many that is not known.

    These are written into ``open_``, last first. Most rows stay above or below, and without branches several are
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
            open_[n] = k
            n += 1 - ((x < least) & (y < least)) - ((x >= most) & (y >= most))
    return behind, unsure


@inner()
def _won_on(A: Any, B: Any, i: int, k: int, first: bool, last: bool, margin: Any) -> Any:
    """Ends of the interval on which row ``i`` wins against row ``k``, infinite where the ``first`` or ``last`` is."""
    x, y, left, right = A[i] - A[k], B[i] - B[k], -np.inf, np.inf
    if not first:
        left = won_from(x, y, margin.epsilon, margin.n, margin.breaks, margin.slopes, margin.levels)
    if not last:
        right = -won_from(
            x, -y, margin.epsilon, margin.n_back, margin.breaks_back, margin.slopes_back, margin.levels_back
        )
    return left, right


@inner()
def _followed(lists: Any, q: int, when: Any, pair: Any, n: int, m: int, which: Any, scratch: Any) -> Any:
    """Value of a list with the ``lost`` pairs of its rows, and the gain of every step; steps are put in order."""
    value, gain, lost, upto, level = 0.0, scratch.gain, scratch.lost, scratch.upto, lists.level
    units = lists.first_unit[q + 1] - lists.first_unit[q]
    places, weighs = lists.places[lists.first_unit[q]], lists.hits.size > 0
    upto[: units * (places + 1)] = 0
    for t in range(units):
        first, coef = t * (places + 1), lists.coef_start[lists.first_unit[q] + t]
        hits = lists.hit_start[lists.first_unit[q] + t]
        for i in range(m):
            if level[which[i]] <= t:
                break
            if lost[t * m + i] < places:
                upto[first + lost[t * m + i]] += 1
        place = 0
        for x in range(places):
            for _ in range(upto[first + x]):
                if place + x < places:
                    value += lists.coef[coef + place + x] * (lists.hits[hits + place] if weighs else 1.0)
                place += 1
            upto[first + x] = place
    if n > gain.size:
        gain = np.empty(when.size)
    _sort(when, pair, n)
    for e in range(n):
        p = int(abs(pair[e])) - 1
        i, k, total = p // m, p % m, 0.0
        for t in range(level[which[k]], level[which[i]]):
            first, coef = t * (places + 1), lists.coef_start[lists.first_unit[q] + t]
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
            step = lists.coef[coef + near] if near < places else 0.0
            step -= lists.coef[coef + near + 1] if near + 1 < places else 0.0
            if weighs:
                step *= lists.hits[lists.hit_start[lists.first_unit[q] + t] + nth]
            total += step if pair[e] > 0 else -step
        gain[e] = total
    return value, gain


@inner()
def _sort(when: Any, pair: Any, n: int) -> None:
    """Put the first ``n`` entries of both in the order of ``when``."""
    if n > 40:
        order = np.argsort(when[:n])
        own = np.empty((2, n))  # indexing by an array would take a second to compile
        for e in range(n):
            own[0, e], own[1, e] = when[order[e]], pair[order[e]]
        for e in range(n):
            when[e], pair[e] = own[0, e], own[1, e]
        return
    for e in range(1, n):
        t, p, at = when[e], pair[e], e
        while at > 0 and when[at - 1] > t:
            when[at], pair[at] = when[at - 1], pair[at - 1]
            at -= 1
        when[at], pair[at] = t, p


@inner()
def longer(x: Any, least: int) -> Any:
    """``x`` with room for at least so many entries."""
    out = np.empty(max(2 * x.size, least))
    copy(x, out)
    return out
