"""Levels of undecided pairs, and the value of lost counts, compiled.

A level holds, column by column, the pairs that the boxes below it still have to evaluate.
"""

from __future__ import annotations

from typing import Any

from rerank.search.compiled import inner


@inner()
def copy(old: Any, new: Any) -> None:
    """``new[: old.size] = old``; a slice assignment would compile for a second, its error messages with it."""
    for p in range(old.size):
        new[p] = old[p]


@inner()
def put(numbers: Any, i: int, c: Any, h: Any, bound: float) -> None:
    """Write the numbers of box ``i``: see :class:`rerank.search.boxes.nodes.NodeBatch`."""
    k = c.size
    for j in range(k):
        numbers[i, j] = c[j]
        numbers[i, k + j] = h[j]
    numbers[i, 2 * k] = bound


@inner()
def allowed(c: Any, within: Any) -> bool:
    """Whether a centre is within the limits (2, k); there are none where they are empty."""
    inside = True
    for j in range(within.shape[1]):
        inside = inside and within[0, j] <= c[j] <= within[1, j]
    return inside


@inner()
def gather(row: Any, start: int, keep: Any, n: int, to: int) -> None:
    """``row[to + q] = row[start + keep[q]]``."""
    old = row[start:to]
    new = row[to : to + n]
    for q in range(n):
        new[q] = old[keep[q]]


@inner()
def find_runs(S: Any, ends: Any, unit_of: Any, mark: Any) -> int:
    """Ends of the runs of equal slots, and how many there are; their lists are marked."""
    runs = 0
    for p in range(1, S.size):
        ends[runs] = p
        runs += 1 if S[p] != S[p - 1] else 0
    if S.size:
        ends[runs] = S.size
        runs += 1
    for r in range(runs):
        mark[unit_of[S[ends[r] - 1]]] = True
    return runs


@inner()
def mark_lists(S: Any, Q: Any, unit_of: Any, mark: Any) -> None:
    """Mark the lists of pairs that count in several slots."""
    for p in range(S.size):
        for s in range(S[p], S[p] + Q[p]):
            mark[unit_of[s]] = True


@inner()
def unit_value(total: float, u: int, lost: Any, slots: Any, count: Any) -> float:
    """``total + sum_j hits[j] coef[j + lost_(j)]`` of one binary list by counting sort.

    ``coef`` ends with the last place that earns something; ``count`` is scratch space, all zero before and after.
    """
    base = slots.coef_start[u]
    places = slots.coef_start[u + 1] - base
    a = slots.unit_start[u]
    z = slots.unit_start[u + 1]
    if z - a == 1:
        only = lost[slots.unit_slots[a]]
        return total + (slots.hits[a] * slots.coef[base + only] if only < places else 0.0)
    top = 0
    for s in range(a, z):
        x = lost[slots.unit_slots[s]]
        if x < places:
            count[x] += 1
            if x >= top:
                top = x + 1
    place = 0
    for x in range(top):
        k = count[x]
        count[x] = 0
        for _ in range(k):
            if place + x < places:
                total += slots.hits[a + place] * slots.coef[base + place + x]
            place += 1
    return total


@inner()
def total_value(units: Any, lost: Any, slots: Any, count: Any) -> float:
    """Value of the binary lists ``units``."""
    total = 0.0
    for i in range(units.size):
        total += unit_value(0.0, units[i], lost, slots, count)
    return total


@inner()
def decided(value: float, units: Any, mark: Any, lost: Any, slots: Any, count: Any, undecided: Any) -> Any:
    """``value`` and that of the lists not marked; how many are, which come to ``undecided``; ``mark`` is cleared."""
    m = 0
    for q in range(units.size):
        u = units[q]
        if mark[u]:
            undecided[m] = u
            m += 1
            mark[u] = False
        else:
            value += unit_value(0.0, u, lost, slots, count)
    return value, m
