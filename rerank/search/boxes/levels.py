"""Levels of undecided pairs, and the value of lost counts, compiled.

A level holds, column by column, the pairs that the boxes below it still have to evaluate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rerank.search.compiled import inner

LEVELS = 96  # every level drops a fifth of its parent's pairs, so 96 levels outlast 10^9 pairs


class Instance(NamedTuple):
    """What does not change: pairs, slots, coefficients of places (see :class:`rerank.search.tables.Tables`)."""

    pairs: Any
    basis: Any  # weights are basis @ coordinates; empty where they are the coordinates
    slot: Any
    span: Any
    weight: Any
    group: Any
    n_groups: int
    single: bool
    linear: bool
    integral: bool
    total: float
    epsilon: float
    tolerance: float
    spacing: float  # see :func:`rerank.search.tables.spacing`; 0 in a basis
    unit_start: Any
    unit_slots: Any
    unit_of: Any
    coef_start: Any
    coef: Any
    hits: Any
    least: Any  # coordinates within the limits; boxes reach a little farther; empty without limits
    most: Any


class Levels(NamedTuple):
    """Undecided pairs of the boxes on the way from the root; level 0 is the instance itself."""

    D: Any
    W: Any
    S: Any
    Q: Any
    G: Any
    start: Any
    size: Any
    base: Any  # linear: weight already lost; otherwise value of the binary lists that are decided
    lost: Any
    active: Any  # binary lists that are not decided
    n_active: Any
    ends: Any  # where runs of pairs of one slot end
    runs: Any


@inner()
def copy(old: Any, new: Any) -> None:
    """``new[: old.size] = old``; a slice assignment would compile for a second, its error messages with it."""
    for p in range(old.size):
        new[p] = old[p]


@inner()
def allowed(c: Any, least: Any, most: Any) -> bool:
    """Whether a centre is within the limits; there are none where ``least`` is empty."""
    inside = True
    for j in range(least.size):
        inside = inside and least[j] <= c[j] <= most[j]
    return inside


@inner()
def gather(row: Any, start: int, keep: Any, n: int, to: int) -> None:
    """``row[to + q] = row[start + keep[q]]``."""
    old = row[start:to]
    new = row[to : to + n]
    for q in range(n):
        new[q] = old[keep[q]]


@inner()
def find_runs(S: Any, ends: Any) -> int:
    """Ends of the runs of equal slots, and how many there are."""
    runs = 0
    for p in range(1, S.size):
        ends[runs] = p
        runs += 1 if S[p] != S[p - 1] else 0
    if S.size:
        ends[runs] = S.size
        runs += 1
    return runs


@inner()
def unit_value(u: int, lost: Any, instance: Any, count: Any) -> float:
    """``sum_j hits[j] coef[j + lost_(j)]`` of one binary list by counting sort.

    ``coef`` ends with the last place that earns something; ``count`` is scratch space, all zero before and after.
    """
    base = instance.coef_start[u]
    places = instance.coef_start[u + 1] - base
    a = instance.unit_start[u]
    z = instance.unit_start[u + 1]
    if z - a == 1:
        only = lost[instance.unit_slots[a]]
        return instance.hits[a] * instance.coef[base + only] if only < places else 0.0
    top = 0
    for s in range(a, z):
        x = lost[instance.unit_slots[s]]
        if x < places:
            count[x] += 1
            if x >= top:
                top = x + 1
    total = 0.0
    place = 0
    for x in range(top):
        k = count[x]
        count[x] = 0
        for _ in range(k):
            if place + x < places:
                total += instance.hits[a + place] * instance.coef[base + place + x]
            place += 1
    return total


@inner()
def total_value(units: Any, n_units: int, lost: Any, instance: Any, count: Any) -> float:
    """Value of the first ``n_units`` of ``units``."""
    total = 0.0
    for i in range(n_units):
        total += unit_value(units[i], lost, instance, count)
    return total


@inner()
def descend(levels: Any, v: int, keep: Any, kept: int, grouped: bool) -> None:
    """Make level ``v + 1`` of the kept pairs of level ``v``."""
    a = levels.start[v]
    b = a + levels.size[v]
    for j in range(levels.D.shape[0]):
        gather(levels.D[j], a, keep, kept, b)
    gather(levels.W, a, keep, kept, b)
    if grouped:
        gather(levels.G, a, keep, kept, b)
    levels.start[v + 1] = b
    levels.size[v + 1] = kept


@inner()
def descend_lists(
    instance: Any, levels: Any, v: int, keep: Any, kept: int, lost: Any, mark: Any, count: Any
) -> None:
    """Lost counts of level ``v + 1``, and the value of the binary lists in which no pair is undecided any more."""
    a = levels.start[v]
    b = levels.start[v + 1]
    gather(levels.S, a, keep, kept, b)
    gather(levels.Q, a, keep, kept, b)
    if instance.single:
        levels.runs[v + 1] = find_runs(levels.S[b : b + kept], levels.ends[v + 1])
        for r in range(levels.runs[v + 1]):
            mark[instance.unit_of[levels.S[b + levels.ends[v + 1, r] - 1]]] = True
    else:
        for q in range(b, b + kept):
            for s in range(levels.S[q], levels.S[q] + levels.Q[q]):
                mark[instance.unit_of[s]] = True
    copy(lost, levels.lost[v + 1])
    decided = levels.base[v]
    m = 0
    for q in range(levels.n_active[v]):
        u = levels.active[v, q]
        if mark[u]:
            levels.active[v + 1, m] = u
            m += 1
            mark[u] = False
        else:
            decided += unit_value(u, lost, instance, count)
    levels.n_active[v + 1] = m
    levels.base[v + 1] = decided
