r"""What an order of groups of rows is worth: one statistic, tied rows in expectation over their orders.

A block of p relevant and q other rows that are tied shares what its places earn.  With W(x) what the first x places
earn, a fraction of a place its share, a block from place a to b earns :math:`\frac{p}{p + q}(W(b) - W(a))`.  For AUC
that is :math:`p (Q - q_{above} - q/2)`, with Q all other rows: a tie counts one half.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

AREA, PLACES, PARTIAL, HITS = 0, 1, 2, 3
"""How a statistic is computed: AUC, by what the first places earn, area up to a false positive rate, and the relevant
rows among so many first ones."""


class Worth(NamedTuple):
    """A statistic on the lists of a table, for kernels. Rows are counted in ``unit`` to a row.

    The value of an order is the sum over lists of what its blocks earn, divided by ``scale``, plus ``constant``. One
    list's AUC is a quotient of whole numbers, so that equal values are equal as doubles.
    """

    kind: int
    unit: float
    constant: float
    scale: NDArray[np.float64]  # (lists,): infinite for a list that does not count
    others: NDArray[np.float64]  # (lists,): rows that are not relevant
    limit: NDArray[np.float64]  # (lists,): of these, how many count in a partial area; of hits, the first rows
    earned: NDArray[np.float64]  # what the first x places of a list earn, list after list
    start: NDArray[np.int64]  # (lists,): where a list begins in ``earned``


@njit(cache=True, nogil=True)
def first_places(worth: Any, of: int, rows: float) -> float:
    """What the places down to ``rows`` earn, in units of a row."""
    place = rows / worth.unit
    whole = np.int64(place)
    part = place - whole
    at = worth.start[of] + whole
    value = worth.earned[at]
    if part > 0.0:
        value += part * (worth.earned[at + 1] - value)
    return value


@njit(cache=True, nogil=True)
def block(worth: Any, of: int, p: float, q: float, above_p: float, above_q: float) -> float:
    """What a block of tied rows earns below so many relevant and other rows of its list."""
    if worth.kind == AREA:
        return p * (worth.others[of] - above_q - 0.5 * q)
    if worth.kind == PLACES:
        if p == 0.0:
            return 0.0
        start = above_p + above_q
        return p / (p + q) * (first_places(worth, of, start + p + q) - first_places(worth, of, start))
    if worth.kind == HITS:
        return p / (p + q) * max(0.0, min(p + q, worth.limit[of] - above_p - above_q))
    counted = min(q, worth.limit[of] - above_q)
    if counted <= 0.0:
        return 0.0
    return counted * (above_p + 0.5 * p * (counted / q))


@njit(cache=True, nogil=True, fastmath=True)
def best_area(p: Any, q: Any) -> float:
    """AUC's pairs won in the best order of groups: of each two groups the better order, the larger of two products."""
    relevant = other = apart = 0.0
    for g in range(p.size):
        own_p, own_q = p[g], q[g]
        relevant += own_p
        other += own_q
        part = 0.0
        for h in range(p.size):
            part += abs(own_p * q[h] - p[h] * own_q)
        apart += part
    return 0.5 * relevant * other + 0.25 * apart


@njit(cache=True, nogil=True)
def by_share(p: Any, q: Any, n: int) -> None:
    """Sort groups by share of relevant rows, the largest first, in place."""
    for i in range(1, n):
        a, b = p[i], q[i]
        j = i
        while j > 0 and a * q[j - 1] > p[j - 1] * b:
            p[j], q[j] = p[j - 1], q[j - 1]
            j -= 1
        p[j], q[j] = a, b


@njit(cache=True, nogil=True)
def in_order(worth: Any, of: int, p: Any, q: Any, n: int) -> float:
    """What blocks earn in their order, in units of pairs or of places."""
    total = above_p = above_q = 0.0
    for i in range(n):
        total += block(worth, of, p[i], q[i], above_p, above_q)
        above_p += p[i]
        above_q += q[i]
    return total


@njit(cache=True, nogil=True)
def best_order(groups: Any, worth: Any, p: Any, q: Any) -> float:
    """The value that no order of groups exceeds; ``groups`` are numbers of rows (2 lists, groups); p, q memory."""
    total = worth.constant
    for of in range(worth.scale.size):
        relevant, other = groups[2 * of], groups[2 * of + 1]
        if worth.kind == AREA:
            total += best_area(relevant, other) / worth.scale[of]
            continue
        n = 0
        for g in range(relevant.size):
            if relevant[g] + other[g] > 0.0:
                p[n], q[n] = relevant[g], other[g]
                n += 1
        by_share(p, q, n)
        total += in_order(worth, of, p, q, n) / worth.scale[of]
    return total
