r"""Points of a set of questions: the order of groups that they give, listed once each, and the best one.

Vectors of points that order the ``2^k`` groups of ``k`` questions alike, ties included, are one order: of the 10,000
vectors of four questions with points from -5 to 5 but 0 some 6,000 are.  What an order says of the groups that answer
no to the last questions is an order of fewer questions, so that orders form a tree.

Inside a set the tree is searched depth first.  A node fixes the order of groups whose answers to the last questions are
equal: for each such answers a chain.  No order that keeps the chains finds more relevant rows in its first t places
than the concave hulls of the chains, merged by share: so their value, each piece of a hull a tie, is a bound, since
every statistic here is a sum over t of differences that are not negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rerank.scorecard.limits import keeps
from rerank.scorecard.worth import by_share, in_order

MOST_PLACES = 2**26
"""Places of groups, of at least 32, by all vectors of points of one set of questions that are listed."""


MOST_QUESTIONS = 15
"""Of a card: the places of its groups are numbers of 16 bits."""


class Orders(NamedTuple):
    """The orders that vectors of points give, as a tree; nodes level by level, the root alone at level 0.

    The node at level j holds the place of each group of the first j questions, 0 on top, equal for ties: bit i of a
    group's number is its answer to question i.
    """

    level: NDArray[np.int64]  # (k + 2,): first node of each level
    child: NDArray[np.int64]  # (nodes + 1,): first child of each node
    start: NDArray[np.int64]  # (nodes + 1,): where the places of a node begin
    place: NDArray[np.int16]
    points: NDArray[np.int64]  # (leaves, k): the smallest points that give each leaf's order
    vectors: NDArray[np.int64]  # (leaves,): how many vectors give it


@njit(cache=True)
def _places(points: Any, out: Any) -> None:
    """Place of each group by each vector, from the top; equal totals share a place."""
    size = 1 << points.shape[1]
    total = np.zeros(size, np.int64)
    for v in range(points.shape[0]):
        for i in range(points.shape[1]):
            for s in range(1 << i):
                total[s | (1 << i)] = total[s] + points[v, i]
        order = np.argsort(total)
        place = 0
        for at in range(size - 1, -1, -1):
            if at < size - 1 and total[order[at]] < total[order[at + 1]]:
                place += 1
            out[v, order[at]] = place


def few(domains: Sequence[Sequence[int]]) -> bool:
    """Whether the vectors of points are few enough to be listed with the places of the groups."""
    return math.prod(map(len, domains)) << max(5, len(domains)) <= MOST_PLACES


@lru_cache(maxsize=64)
def orders(domains: tuple[tuple[int, ...], ...]) -> Orders:
    """The orders of the groups of some questions, by the points that each may have (none of them 0)."""
    k = len(domains)
    points = np.stack(np.meshgrid(*domains, indexing="ij"), -1).reshape(-1, k).astype(np.int64)
    size = np.abs(points).sum(axis=1)
    points = points[np.lexsort([-points[:, i] for i in reversed(range(k))] + [np.abs(points).max(axis=1), size])]
    names = np.zeros((len(points), k + 1), np.int64)
    every = []
    for j in range(1, k + 1):
        place = np.empty((len(points), 1 << j), np.int16)
        _places(np.ascontiguousarray(points[:, :j]), place)
        _, names[:, j] = np.unique(place.view(f"V{2 << j}")[:, 0], return_inverse=True)
        every.append(place)
    by_tree = np.lexsort([names[:, j] for j in range(k, -1, -1)])
    level, child = [0, 1], []
    new = np.zeros(len(points), dtype=bool)
    new[0] = True
    firsts = [np.flatnonzero(new)]
    for j in range(1, k + 1):
        new[1:] |= names[by_tree[1:], j] != names[by_tree[:-1], j]
        firsts.append(np.flatnonzero(new))
        level.append(level[-1] + firsts[-1].size)
    for j in range(k):
        child.append(level[j + 1] + np.searchsorted(firsts[j + 1], firsts[j]))
    leaves = level[k + 1] - level[k]
    child.append(np.full(leaves + 1, level[k + 1]))
    places = [np.zeros(1, np.int16)] + [every[j - 1][by_tree[firsts[j]]].ravel() for j in range(1, k + 1)]
    width = np.concatenate([np.full(level[j + 1] - level[j], 1 << j) for j in range(k + 1)])
    ends = np.append(firsts[k], len(points))
    # Vectors come smallest first, and the sort is stable: the first of a leaf is its smallest.
    return Orders(
        np.array(level), np.concatenate(child), np.concatenate([[0], np.cumsum(width)]), np.concatenate(places),
        points[by_tree[firsts[k]]], np.diff(ends),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def best_below(node: int, j: int, k: int, tree: Any, groups: Any, worth: Any) -> float:
    """The value that no order below a node at level ``j`` exceeds; at level ``k`` the value of its order."""
    lists = worth.scale.size
    size, chains = 1 << j, 1 << (k - j)
    p, q = np.empty(1 << k), np.empty(1 << k)
    at_p, at_q = np.empty(size), np.empty(size)
    start = tree.start[node]
    total = worth.constant
    for of in range(lists):
        n = 0
        for chain in range(chains):
            at_p[:] = 0.0
            at_q[:] = 0.0
            for s in range(size):
                place = tree.place[start + s]
                at_p[place] += groups[(chain << j) | s, 2 * of]
                at_q[place] += groups[(chain << j) | s, 2 * of + 1]
            bottom = n
            for place in range(size):
                a, b = at_p[place], at_q[place]
                if a + b == 0.0:
                    continue
                while j < k and n > bottom and a * q[n - 1] >= p[n - 1] * b:  # a larger share: the two are pooled
                    n -= 1
                    a += p[n]
                    b += q[n]
                p[n], q[n] = a, b
                n += 1
        if j < k:
            by_share(p, q, n)
        total += in_order(worth, of, p, q, n) / worth.scale[of]
    return total


@njit(cache=True, nogil=True)
def best_points(
    tree: Any, groups: Any, worth: Any, limit: float, strict: bool, rise: bool, limits: Any, band: Any, people: Any,
    together: Any, flagged: Any, hits: float, leaf: Any, value: Any,
) -> int:  # fmt: skip
    """Orders of one set of questions with a value of at least ``limit``, or above it if ``strict``.

    Parameters
    ----------
    tree : Orders
    groups : int64 (2^k, 2 lists)
        Rows of each group: relevant and other ones of each list.
    rise : bool
        Keep the best order alone: what is found becomes the limit.
    limits, band, people
        What a card has to keep; see :func:`rerank.scorecard.limits.keeps`.
    together : int64 (2^k, 2)
        Rows of each group in one list.
    flagged : Worth
        Relevant rows among as many first ones as a cut may flag.
    hits : float
        A cut flags so many relevant rows at least; 0 without such a limit.
    leaf, value : arrays (m,)
        Filled in: leaves of the orders and their values.

    Returns
    -------
    found : int
        How many; the length of the arrays if they are full, and then some may be missing.
    """
    k = tree.level.size - 2
    found = 0
    node = np.empty(k + 1, np.int64)
    end = np.empty(k + 1, np.int64)
    node[0], end[0] = 0, 1
    j = 0
    while j >= 0:
        if node[j] == end[j]:
            j -= 1
            if j >= 0:
                node[j] += 1
            continue
        # Chains of one or two groups hardly bound anything.
        top = np.inf if j < min(k, 2) else best_below(node[j], j, k, tree, groups, worth)
        missed = hits > 0.0 and j < k and best_below(node[j], j, k, tree, together, flagged) < hits
        if missed or top < limit or (strict and top <= limit):
            node[j] += 1
            continue
        if j < k:
            node[j + 1], end[j + 1] = tree.child[node[j]], tree.child[node[j] + 1]
            j += 1
            continue
        if keeps(tree.place, tree.start[node[k]], k, limits, band, people):
            if rise:
                limit, strict, found = top, True, 0
            leaf[found] = node[k] - tree.level[k]
            value[found] = top
            found += 1
            if found == leaf.size and not rise:
                return found
        node[j] += 1
    return found


def listed(points: NDArray[np.int64]) -> Orders:
    """Vectors of points (v, k) as leaves, one each, without a tree above them: for :func:`best_below` at level k."""
    v, k = points.shape
    place = np.empty((v, 1 << k), np.int16)
    _places(points, place)
    none = np.zeros(1, np.int64)
    return Orders(none, none, np.arange(v + 1) << k, place.ravel(), points, np.ones(v, np.int64))
