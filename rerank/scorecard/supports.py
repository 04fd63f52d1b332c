r"""Bounds of sets of questions: what the best order of the groups of rows that a set tells apart is worth.

``s`` questions put the rows into ``2^s`` groups of equal answers.  Over all scores on the groups, linear or not, the
best order is by share of relevant rows, descending: for neighbouring blocks A above B that begin at place o, with r
their shares, m their rows, :math:`D_A, D_B` what the first :math:`m_A, m_B` of their :math:`m_A + m_B` places earn and
T what all do, order AB less order BA is :math:`(r_A - r_B)(D_A + D_B - T)`, and D falls with the place, so that
:math:`D_A + D_B \ge T`.  A tie is worth no more than AB for the same reason.

Answers are bits.  The number of rows that answer yes to all questions of a set T is one AND and a population count;
from these numbers for all subsets of T inclusion and exclusion give the groups.  Those of smaller sets are kept, so a
set costs one AND over the rows: a set is a node of a tree, the child by question d of node i stands at
``first[i] + d``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from rerank.scorecard.worth import best_order

PIECE = 1024
"""Words of each question that are counted at a time."""


@intrinsic
def popcount(typing: Any, word: Any) -> Any:
    """Number of bits of a uint64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True, nogil=True)
def count(words: Any, other: Any) -> int:
    """Bits that are set in both arrays of words."""
    total = np.uint64(0)
    for w in range(words.size):
        total += popcount(words[w] & other[w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def keep_common(words: Any, other: Any) -> None:
    """Keep the bits that are set in the other array, too."""
    for w in range(words.size):
        words[w] &= other[w]


@njit(cache=True, nogil=True)
def count_children(
    low: int, high: int, size: int, bits: Any, starts: Any, factor: Any, cell: Any, elements: Any, held: Any, out: Any
) -> None:
    """Rows that answer yes to all ``size`` questions of the children of the nodes ``low`` to ``high``, by cell.

    The words are taken piece by piece, so that a piece of all questions stays near the processor.
    """
    n = bits.shape[0]
    out[:] = 0
    for part in range(factor.size):
        for begin in range(starts[part], starts[part + 1], PIECE):
            end = min(begin + PIECE, starts[part + 1])
            child = 0
            for prefix in range(low, high):
                last = -1
                if size == 1:
                    held[begin:end] = ~np.uint64(0)
                else:
                    last = elements[prefix, size - 2]
                    held[begin:end] = bits[elements[prefix, 0], begin:end]
                    for i in range(1, size - 1):
                        keep_common(held[begin:end], bits[elements[prefix, i], begin:end])
                for d in range(last + 1, n):
                    out[child, cell[part]] += count(held[begin:end], bits[d, begin:end]) * factor[part]
                    child += 1


@njit(cache=True, nogil=True)
def groups(by_subset: Any) -> None:
    """Turn numbers of rows that answer yes at least to a subset into those that answer yes to it alone, in place."""
    n = by_subset.size
    step = 1
    while step < n:
        for begin in range(0, n, 2 * step):
            for s in range(step):
                by_subset[begin + s] -= by_subset[begin + step + s]
        step *= 2


@njit(cache=True, nogil=True)
def bound_children(
    low: int, high: int, size: int, limit: float, all_yes: Any, counts: Any, first: Any, elements: Any, clash: Any,
    asked: Any, needed: Any, places: Any, worth: Any, out_set: Any, out_bound: Any,
) -> int:  # fmt: skip
    """Bound the sets of ``size`` questions whose nodes without the last one are ``low`` to ``high``.

    Sets that break a rule, or whose bound is below ``limit``, are left out.  ``all_yes`` are the numbers of
    :func:`count_children`, ``counts`` those of all smaller sets.  Returns the number of sets kept.
    """
    n, cells = clash.shape[0], counts.shape[1]
    subsets = 1 << (size - 1)
    node = np.empty(subsets, np.int64)
    before = np.empty((cells, subsets))
    rows = np.empty((cells, 2 * subsets))
    p, q = np.empty(2 * subsets), np.empty(2 * subsets)
    found = child = 0
    for prefix in range(low, high):
        clashing = False
        for i in range(size - 1):
            for j in range(i):
                clashing |= clash[elements[prefix, i], elements[prefix, j]]
        node[0] = 0
        for i in range(size - 1):
            for s in range(1 << i):
                node[s | (1 << i)] = first[node[s]] + elements[prefix, i]
        for c in range(cells):
            for s in range(subsets):
                before[c, s] = counts[node[s], c]
            groups(before[c])
        for s in range(subsets):
            node[s] = first[node[s]]
        for d in range(elements[prefix, size - 2] + 1 if size > 1 else 0, n):
            child += 1
            barred = clashing
            for i in range(size - 1):
                barred |= clash[elements[prefix, i], d]
            if barred or not allowed(elements, prefix, size, d, asked, needed, places):
                continue
            for c in range(cells):
                for s in range(subsets - 1):
                    rows[c, s] = counts[node[s] + d, c]
                rows[c, subsets - 1] = all_yes[child - 1, c]
                groups(rows[c, :subsets])
                for s in range(subsets):
                    rows[c, subsets + s] = before[c, s] - rows[c, s]
            bound = best_order(rows, worth, p, q)
            if bound >= limit:
                for i in range(size - 1):
                    out_set[found, i] = elements[prefix, i]
                out_set[found, size - 1] = d
                out_bound[found] = bound
                found += 1
    return found


@njit(cache=True, nogil=True)
def bound_more(members: Any, bits: Any, starts: Any, factor: Any, cell: Any, totals: Any, worth: Any, out: Any) -> None:
    """Bounds of some questions with one more, for each that there is, to ``out`` (questions,)."""
    n, W = bits.shape
    cells, size = totals.size, 1 << members.size
    words = np.empty((size, W), np.uint64)
    words[0] = ~np.uint64(0)
    for i in range(members.size):
        for s in range(1 << i):
            words[s | (1 << i)] = words[s] & bits[members[i]]
    whole = np.empty((cells, 2 * size))
    p, q = np.empty(2 * size), np.empty(2 * size)
    for d in range(n):
        whole[:] = 0.0
        for s in range(size):
            for part in range(factor.size):
                low, high = starts[part], starts[part + 1]
                whole[cell[part], s] += count(words[s, low:high], words[s, low:high]) * factor[part]
                whole[cell[part], s | size] += count(words[s, low:high], bits[d, low:high]) * factor[part]
        for c in range(cells):
            whole[c, 0] = totals[c]  # words are padded
            groups(whole[c])
        out[d] = best_order(whole, worth, p, q)


@njit(cache=True, nogil=True)
def allowed(elements: Any, prefix: int, size: int, d: int, asked: Any, needed: Any, places: Any) -> bool:
    """Whether the questions of a node and ``d`` keep the rules, but for clashes.

    ``places`` are the columns of the questions, behind them how many of them there may be.
    """
    for rule in range(len(asked)):
        begun, met = asked[rule, d], needed[rule, d]
        for i in range(size - 1):
            begun |= asked[rule, elements[prefix, i]]
            met |= needed[rule, elements[prefix, i]]
        if begun and not met:
            return False
    different = 1
    for i in range(size - 1):
        new = places[elements[prefix, i]] != places[d]
        for j in range(i):
            new &= places[elements[prefix, i]] != places[elements[prefix, j]]
        different += new
    return different <= places[places.size - 1]
