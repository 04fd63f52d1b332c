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


@intrinsic
def popcount(typing: Any, word: Any) -> Any:
    """Number of bits of a uint64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True, nogil=True)
def count(words: Any, other: Any, starts: Any, factor: Any, cell: Any, out: Any) -> None:
    """Rows whose bit is set in both arrays of words, put to ``out`` by cell; parts of the words count ``factor``."""
    out[:] = 0
    for part in range(factor.size):
        total = np.uint64(0)
        for w in range(starts[part], starts[part + 1]):
            total += popcount(words[w] & other[w])
        out[cell[part]] += np.int64(total) * factor[part]


@njit(cache=True, nogil=True)
def groups(by_subset: Any) -> None:
    """Turn numbers of rows that answer yes at least to a subset into those that answer yes to it alone, in place."""
    n, cells = by_subset.shape
    step = 1
    while step < n:
        for s in range(n):
            if not s & step:
                for c in range(cells):
                    by_subset[s, c] -= by_subset[s | step, c]
        step *= 2


@njit(cache=True, nogil=True)
def bound_children(
    low: int, high: int, size: int, limit: float, bits: Any, starts: Any, factor: Any, cell: Any,
    counts: Any, first: Any, elements: Any, clash: Any, asked: Any, needed: Any, places: Any, worth: Any,
    out_set: Any, out_bound: Any,
) -> Any:  # fmt: skip
    """Bound the sets of ``size`` questions whose nodes without the last one are ``low`` to ``high``.

    Sets that break a rule, or whose bound is below ``limit``, are left out.  Counts are kept where the tree has a node.
    Returns the number of sets kept and how many were bounded.
    """
    n, W = bits.shape
    cells = counts.shape[1]
    subsets = 1 << (size - 1)
    held = np.empty(W, np.uint64)
    node = np.empty(subsets, np.int64)
    at_least = np.empty((2 * subsets, cells), np.int64)
    kept = np.empty(cells, np.int64)
    found = bounded = 0
    for prefix in range(low, high):
        clashing = False
        for i in range(size - 1):
            for j in range(i):
                clashing |= clash[elements[prefix, i], elements[prefix, j]]
        if clashing and first[prefix] + n - 1 >= counts.shape[0]:
            continue  # no larger set needs the counts
        last = -1
        if size == 1:
            held[:] = ~np.uint64(0)
        else:
            last = elements[prefix, size - 2]
            held[:] = bits[elements[prefix, 0]]
            for i in range(1, size - 1):
                for w in range(W):
                    held[w] &= bits[elements[prefix, i], w]
        node[0] = 0
        for i in range(size - 1):
            for s in range(1 << i):
                node[s | (1 << i)] = first[node[s]] + elements[prefix, i]
        for d in range(last + 1, n):
            barred = clashing
            for i in range(size - 1):
                barred |= clash[elements[prefix, i], d]
            own = first[prefix] + d
            if barred and own >= counts.shape[0]:
                continue
            count(held, bits[d], starts, factor, cell, kept)
            if own < counts.shape[0]:
                counts[own] = kept
            if barred or not allowed(elements, prefix, size, d, asked, needed, places):
                continue
            for s in range(subsets):
                at_least[s] = counts[node[s]]
                at_least[s | subsets] = kept if s == subsets - 1 else counts[first[node[s]] + d]
            groups(at_least)
            bounded += 1
            bound = best_order(at_least, worth)
            if bound >= limit:
                for i in range(size - 1):
                    out_set[found, i] = elements[prefix, i]
                out_set[found, size - 1] = d
                out_bound[found] = bound
                found += 1
    return found, bounded


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
