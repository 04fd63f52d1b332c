"""Where the partners of every row begin and end, written down once for many sums over them, compiled.

A product with the Hessian of the squared hinge loss adds up a vector over the partners of every row.  Within one
Newton step the partners stay, so :func:`record` keeps the ends of their ranges, and :func:`sums` streams through
the nodes with one prefix sum each.  See :mod:`rerank.scorers.pair_counts` for the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.pair_counts import LEAF, split


@njit(cache=True, nogil=True)
def record(nodes: Any, first: Any, z: Any, above: Any, below: Any, bits: Any, ends: Any, tables: Any) -> Any:
    """Fill ``bits`` and ``ends``, node after node, and the ``tables`` (m, LEAF) of small leaves.

    ``z``, ``above`` and ``below`` (2, m) hold what :func:`rerank.scorers.pair_counts.margins` found in their first
    row and are used up.  In a table 1 stands for a partner above, -1 for one below.  Leaves of more than ``LEAF``
    rows keep no pairs.  Returns the places of the rows in the order in which :func:`sums` leaves them.
    """
    m = first.size
    last = np.empty(m, np.uint32)
    ones = np.empty(m + 1, np.uint32)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            to = (z[1 - s, a:b], above[1 - s, a:b], below[1 - s, a:b])
            split(c, c - a, z[s, a:b], above[s, a:b], below[s, a:b], to, bits[at:], ends[at:], ones)
            continue
        for k in range(a, b):
            last[k] = z[s, k]
        if _has_table(a, b, first):
            _table(first, z[s, a:b], above[s, a:b], tables[a:b])
    return last


@njit(cache=True, nogil=True)
def _has_table(a: int, b: int, first: Any) -> Any:
    return b - a <= LEAF and first[b - 1] > a


@njit(cache=True, nogil=True)
def _table(first: Any, z: Any, above: Any, table: Any) -> None:
    for k in range(z.size):
        for j in range(np.int64(above[k])):
            if first[z[j]] > first[z[k]]:
                table[k, j] = 1
                table[j, k] = -1


@njit(cache=True, nogil=True)
def sums(nodes: Any, first: Any, bits: Any, ends: Any, tables: Any, v: Any, total: Any) -> None:
    """``sum v`` over the partners of every row.

    ``v`` and ``total`` (2, m) hold the vector by list and score in ``v[0]``, zeros in ``total[0]``, where the sums
    end in the order that :func:`record` returned.
    """
    prefix = np.empty(first.size + 2)
    few = np.zeros(LEAF)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            here, there = (v[s, a:b], total[s, a:b]), (v[1 - s, a:b], total[1 - s, a:b])
            _carry(c - a, bits[at:], ends[at:], here, there, prefix)
            continue
        for k in range(a, b):
            total[0, k] = total[s, k]
        if _has_table(a, b, first):
            _add_table(tables[a:b], v[s, a:b], few, total[0, a:b])


@njit(cache=True, nogil=True)
def _carry(h: int, bits: Any, ends: Any, here: Any, there: Any, prefix: Any) -> None:
    v, total = here
    v_to, total_to = there
    n = v.size
    left, right = np.int64(0), np.int64(h)
    sum_left, sum_right = 0.0, 0.0
    for k in range(n):
        bit = np.int64(bits[k])
        share = np.float64(bit)
        x = v[k]
        new = np.uint32(left + bit * (right - left))
        v_to[new] = x
        total_to[new] = total[k]
        prefix[np.uint32(new + bit)] = sum_left + share * (sum_right - sum_left)
        sum_right += x * share
        sum_left += x - x * share
        right += bit
        left += 1 - bit
    prefix[h] = sum_left
    prefix[n + 1] = sum_right
    for k in range(h):
        total_to[k] += prefix[np.uint32(ends[k] + h + 1)]
    for k in range(h, n):
        total_to[k] += sum_left - prefix[ends[k]]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _add_table(table: Any, v: Any, few: Any, total: Any) -> None:
    few[:] = 0.0
    for k in range(v.size):
        few[k] = v[k]
    for k in range(v.size):
        s = 0.0
        for j in range(LEAF):
            s += abs(np.float64(table[k, j])) * few[j]
        total[k] += s
