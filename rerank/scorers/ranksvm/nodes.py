"""Nodes: ranges of rows laid out by list and utility, each cut in two between different utilities, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LEAF = 16


@njit(cache=True, nogil=True)
def plan(first: Any, after: Any, start: Any, parts: int) -> Any:
    """Nodes in an order in which every node comes before its halves; size of all nodes that are cut.

    ``first`` and ``after`` (m,) bound the run of equal utilities around each place of the layout, ``start`` the
    lists.  A node is not cut further at ``LEAF`` rows, or a share of ``1 / parts`` of its list.  The rows of the
    result: ``low``, ``middle``, ``high``, the buffer ``side`` that the node reads, and where its record begins,
    ``at``.  A leaf has ``middle == low``.
    """
    runs = 0
    for k in range(first.size):
        runs += 1 if first[k] == k else 0
    nodes = np.empty((5, 2 * runs), np.int64)
    stack = np.empty((3, runs + 1), np.int64)
    found, at = 0, 0
    for g in range(start.size - 1):
        leaf = max(LEAF, (start[g + 1] - start[g]) // parts)
        depth = 0
        stack[0, 0], stack[1, 0], stack[2, 0] = start[g], start[g + 1], 0
        while depth >= 0:
            a, b, side = stack[0, depth], stack[1, depth], stack[2, depth]
            depth -= 1
            c = a
            if b - a > leaf and after[a] < b:
                half = (a + b) // 2
                c = np.int64(first[half])
                if c == a or (after[half] < b and after[half] - half < half - c):
                    c = np.int64(after[half])
            nodes[0, found] = a
            nodes[1, found] = c
            nodes[2, found] = b
            nodes[3, found] = side
            nodes[4, found] = at
            found += 1
            if c > a:
                at += b - a
                for lo, hi in ((c, b), (a, c)):
                    depth += 1
                    stack[0, depth], stack[1, depth], stack[2, depth] = lo, hi, 1 - side
    return nodes[:, :found].copy(), at
