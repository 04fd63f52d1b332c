r"""Bounds of supports whose features have few values: rows that are equal on a support stay together.

No weights on a support part the rows of a group that is equal there: its positives lose to its negatives.  So the best
``j`` positives of any scorer lose at least as many pairs as in the list of groups by falling share of positives, taken
in fractions: after ``x`` negatives no order of groups has shown more positives.  Nor do they lose fewer than the group
with the fewest negatives has.  These least numbers of lost pairs bound every statistic.  A group with more negatives
than places that earn earns nothing and is left out.  Where each lost pair costs the same the order by shares is the
best one, group by group.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.search.compiled import inner, kernel
from rerank.search.tables import places_of, starts

MOST_VALUES = 16  # values of a feature up to which rows are put into groups
MOST_GROUPS = 1024  # groups of a support beyond which it is not bounded


class Groups(NamedTuple):
    """What the kernel takes."""

    code: Any  # uint8 (d, n): number of the value of each row
    values: Any  # int64 (d,): how many values, 0 for a feature with too many
    rows: Any  # int32 (E,), list by list, positives first
    n_positive: Any  # int64 (U,)
    n_rows: Any  # int64 (U,)
    coef_start: Any
    coef: Any
    hit_start: Any
    hits: Any  # what the j-th positive of a list multiplies with what its place earns
    even: Any  # bool (U,): whether places earn less by equal steps
    ideal: float
    step: Any  # int64 (U,): places that a positive takes from the next, 1 or 0


def groups_of(problem: Problem) -> Groups | None:
    """The values of features as numbers; None if fewer than two features have few values."""
    n, d = problem.X.shape
    code, values = np.zeros((d, n), np.uint8), np.zeros(d, np.int64)
    for j, column in enumerate(problem.X.T):
        if np.unique(column[:64]).size <= MOST_VALUES:
            found, of = np.unique(column, return_inverse=True)
            if found.size <= MOST_VALUES:
                code[j], values[j] = of, found.size
    if np.count_nonzero(values) < 2:
        return None
    units = problem.units
    places = [places_of(u.factor, u.coefficients) for u in units]
    entries: list[NDArray[Any]] = [part for u in units for part in (u.positive, u.negative)]
    sizes = np.array([[u.positive.size for u in units], [u.positive.size + u.negative.size for u in units]], np.int64)
    even = np.array([_even(b, n) for b, n in zip(places, sizes[1], strict=True)]) & (not problem.weighs_hits)
    hits, steps = [u.hits for u in units], np.array([not u.alone for u in units], np.int64)
    paid = starts(places), np.concatenate(places), starts(hits), np.concatenate(hits).astype(np.float64)
    rows, ideal = np.concatenate(entries).astype(np.int32), sum(u.ideal for u in units)
    return Groups(code, values, rows, sizes[0], sizes[1], *paid, even, ideal, steps)


def _even(places: Floats, rows: int) -> bool:
    """Whether every place earns a fixed amount more than the next, so that only the number of lost pairs matters."""
    if places.size < max(rows - 1, 1) or rows < 2:
        return False
    steps = -np.diff(np.append(places, 0.0) if places.size == rows - 1 else places)
    return bool((np.abs(steps - steps.mean()) <= 1e-12 * places[0]).all())


def bound_by_groups(groups: Groups, supports: NDArray[np.int32], limits: Floats, bounds: Floats) -> None:
    """Lower ``bounds`` (m,) to what no value exceeds on the supports (m, s), -inf where none is above its limit."""
    s = supports.shape[1]
    prefix, held = np.zeros((s + 1, groups.code.shape[1]), np.int16), np.full(s, -1, np.int64)
    lower_bounds(groups, supports, limits, bounds, prefix, held, np.zeros((3, MOST_GROUPS), np.int64))


@kernel()
def lower_bounds(groups: Any, supports: Any, limits: Any, bounds: Any, prefix: Any, held: Any, counts: Any) -> None:
    """As :func:`bound_by_groups`; the last three are memory."""
    m, s = supports.shape
    n = groups.code.shape[1]
    positives, negatives, touched = counts[0], counts[1], counts[2]
    for i in range(m):
        many = 1
        for j in range(s):
            many *= groups.values[supports[i, j]]
            many = min(many, MOST_GROUPS + 1)
        if many == 0 or many > MOST_GROUPS:
            continue
        fresh = False
        for j in range(s):
            feature = supports[i, j]
            if fresh or held[j] != feature:
                fresh = True
                held[j] = feature
                times = np.int16(groups.values[feature])
                code, before, after = groups.code[feature], prefix[j], prefix[j + 1]
                for r in range(n):
                    after[r] = np.int16(before[r] * times + code[r])
        total, rest, begin = 0.0, groups.ideal, 0
        for u in range(groups.n_rows.size):
            at, places = groups.coef_start[u], groups.coef_start[u + 1] - groups.coef_start[u]
            P, E = groups.n_positive[u], groups.n_rows[u]
            met = 0
            for e in range(E):
                g = prefix[s, groups.rows[begin + e]]
                if positives[g] + negatives[g] == 0:
                    touched[met] = g
                    met += 1
                if e < P:
                    positives[g] += 1
                else:
                    negatives[g] += 1
            hits = groups.hits[groups.hit_start[u] : groups.hit_start[u + 1]]
            total += _worth(
                groups.coef[at : at + places], hits, groups.step[u], groups.even[u], positives, negatives, touched[:met]
            )
            for e in range(met):
                positives[touched[e]] = 0
                negatives[touched[e]] = 0
            for p in range(min(P, places) if groups.step[u] else P):
                rest -= hits[p] * groups.coef[at + groups.step[u] * p]
            begin += E
            if total + rest <= limits[i]:
                break
        total += max(rest, 0.0)
        bounds[i] = -np.inf if total <= limits[i] else min(bounds[i], total)


@inner()
def _worth(coef: Any, hits: Any, step: int, even: bool, positives: Any, negatives: Any, groups: Any) -> float:
    """What the positives of a list earn at most; sorts ``groups`` by falling share of positives."""
    for i in range(1, groups.size):
        g = groups[i]
        k = i
        while k > 0 and positives[g] * negatives[groups[k - 1]] > positives[groups[k - 1]] * negatives[g]:
            groups[k] = groups[k - 1]
            k -= 1
        groups[k] = g
    earned = 0.0
    above, shown = 0, 0
    fewest = coef.size
    for g in groups:
        if positives[g] > 0:
            fewest = min(fewest, negatives[g])
    for g in groups:
        if negatives[g] >= coef.size:
            continue  # nothing in it or behind it earns, so the others stand as if it were not there
        for j in range(1, positives[g] + 1):
            # In fractions the j-th positive of the group stands behind so many of its negatives.
            own = negatives[g] if even else (j * negatives[g] + positives[g] - 1) // positives[g]
            place = step * (shown + j - 1) + max(above + own, fewest)
            if place >= coef.size:
                return earned
            earned += hits[shown + j - 1] * coef[place]
        shown += positives[g]
        above += negatives[g]
    return earned
