"""Where the partners of every row begin and end, stored once for many sums over them, compiled.

A product with the Hessian of the squared hinge loss adds up a vector over the partners of every row.  Within one
Newton step the partners stay the same, so :func:`record` keeps the ends of their ranges, and :func:`sums` passes
through the nodes with one prefix sum each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.ranksvm.pair_counts import LEAF, split, two


@njit(cache=True, nogil=True)
def record(nodes: Any, size: int, first: Any, order: Any, found: Any) -> Any:
    """Bits and ends of ``size`` entries, node after node, tables of small leaves, and the rows as :func:`sums` ends.

    ``found`` and ``order`` are those of :func:`.pair_counts.counts`.  In a table 1 stands for a partner
    above, -1 for one below.  Leaves of more than ``LEAF`` rows keep no pairs.
    """
    m = first.size
    z, above, below = two(found[1]), two(found[2]), two(found[3])
    bits, ends = np.empty(size, np.uint8), np.empty(size, np.uint32)
    owner = np.empty(m, np.int64)
    ones = np.empty(m + 1, np.uint32)
    few = 0
    for n in range(nodes.shape[1]):
        few += nodes[0, n] == nodes[1, n] and _has_table(nodes[0, n], nodes[2, n], first)
    tables = np.zeros((m if few else 0, LEAF), np.int8)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            to = (z[1 - s, a:b], above[1 - s, a:b], below[1 - s, a:b])
            split(c, c - a, z[s, a:b], above[s, a:b], below[s, a:b], to, bits[at:], ends[at:], ones)
            continue
        for k in range(a, b):
            owner[k] = order[z[s, k]]
        if _has_table(a, b, first):
            _table(first, z[s, a:b], above[s, a:b], tables[a:b])
    return bits, ends, tables, owner


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
def sums(nodes: Any, first: Any, recorded: Any, rows: Any, weight: Any, u: Any) -> Any:
    """``sum weight_j u_j`` over the partners of every row (m,); ``rows`` are those by list and score."""
    bits, ends, tables, owner = recorded
    m = first.size
    v, total = np.empty((2, m)), np.empty((2, m))
    for k in range(m):
        v[0, k] = weight[rows[k]] * u[rows[k]]
    total[0] = 0.0
    prefix = np.empty(m + 2)
    few = np.zeros(LEAF)
    result = np.empty(m)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            here, there = (v[s, a:b], total[s, a:b]), (v[1 - s, a:b], total[1 - s, a:b])
            _carry(c - a, bits[at:], ends[at:], here, there, prefix)
            continue
        if _has_table(a, b, first):
            _add_table(tables[a:b], v[s, a:b], few, total[s, a:b])
        for k in range(a, b):
            result[owner[k]] = total[s, k]
    return result


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
