"""Levels of undecided pairs, compiled: each holds, column by column, what the boxes below it still have to look at."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from rerank.search.boxes.places import find_runs, unit_value
from rerank.search.boxes.vector import copy, gather

LEVELS = 96  # every level drops a fifth of its parent's pairs, so 96 levels outlast 10^9 pairs


class Instance(NamedTuple):
    """What does not change: pairs, slots, worth of places (see :class:`rerank.search.tables.Tables`)."""

    pairs: Any
    frame: Any  # weights are frame @ coordinates; empty where they are the coordinates
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
    unit_start: Any
    unit_slots: Any
    unit_of: Any
    coef_start: Any
    coef: Any


class Levels(NamedTuple):
    """Undecided pairs of the boxes on the way from the root; level 0 is the instance itself."""

    D: Any
    W: Any
    S: Any
    Q: Any
    G: Any
    start: Any
    size: Any
    base: Any  # linear: weight already lost; otherwise value of the binary lists that are settled
    lost: Any
    active: Any  # binary lists that are not settled
    n_active: Any
    ends: Any  # where runs of pairs of one slot end
    runs: Any


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def settle(
    instance: Any, levels: Any, v: int, keep: Any, kept: int, lost: Any, mark: Any, count: Any
) -> None:
    """Lost counts of level ``v + 1``, and the binary lists in which nothing is undecided any more."""
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
    settled = levels.base[v]
    m = 0
    for q in range(levels.n_active[v]):
        u = levels.active[v, q]
        if mark[u]:
            levels.active[v + 1, m] = u
            m += 1
            mark[u] = False
        else:
            settled += unit_value(u, lost, instance, count)
    levels.n_active[v + 1] = m
    levels.base[v + 1] = settled
