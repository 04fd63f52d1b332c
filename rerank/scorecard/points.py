r"""Points of a set of questions: the order of groups that they give, listed once each, and the best one.

Vectors of points that order the ``2^k`` groups of ``k`` questions alike, ties included, are one order: of the 10,000
vectors of four questions with points from -5 to 5 but 0 some 6,000 are.  What an order says of the groups that answer
no to the last questions is an order of fewer questions, so that orders form a tree.

Inside a set the tree is searched depth first.  A node fixes the order of groups whose answers to the last questions are
equal: for each such answers a chain.  No order that keeps the chains finds more relevant rows in its first t places
than the concave hulls of the chains, merged by share: so their value, each piece of a hull a tie, is a bound, since
every statistic here is a sum over t of differences that are not negative.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Places of groups, of at least 32, by all vectors of points of one set of questions that are listed.
MOST_PLACES = 2**26
CHUNK = 2**20  # places that are sorted at a time
MOST_QUESTIONS = 15  # of a card: the places of its groups are numbers of 16 bits


class Orders(NamedTuple):
    """The orders that vectors of points give, as a tree; nodes level by level, the root alone at level 0. The node at
    level j holds the place of each group of the first j questions, 0 on top, equal for ties: bit i of a group's number
    is its answer to question i.
    """

    level: NDArray[np.int64]  # (k + 2,): first node of each level
    child: NDArray[np.int64]  # (nodes + 1,): first child of each node
    start: NDArray[np.int64]  # (nodes + 1,): where the places of a node begin
    place: NDArray[np.int16]
    points: NDArray[np.int64]  # (leaves, k): the smallest points that give each leaf's order
    vectors: NDArray[np.int64]  # (leaves,): how many vectors give it


def few(domains: Sequence[Sequence[int]]) -> bool:
    """Whether the vectors of points are few enough to be listed with the places of the groups."""
    return math.prod(map(len, domains)) << max(5, len(domains)) <= MOST_PLACES


def places_of(points: NDArray[np.int64]) -> NDArray[np.int16]:
    """Place of each group by each vector (v, k) of points, from the top, (v, 2^k); equal totals share a place."""
    v, k = points.shape
    place = np.empty((v, 1 << k), np.int16)
    answers = (np.arange(1 << k) >> np.arange(k)[:, None]) & 1
    some = max(1, CHUNK >> k)
    for begin in range(0, v, some):
        totals = points[begin : begin + some] @ answers
        order = np.argsort(-totals, axis=1, kind="stable")
        falls = np.diff(np.take_along_axis(totals, order, axis=1), axis=1) != 0
        by_place = np.concatenate(
            [np.zeros((len(totals), 1), np.int16), np.cumsum(falls, axis=1, dtype=np.int16)], axis=1
        )
        np.put_along_axis(place[begin : begin + some], order, by_place, axis=1)
    return place


@lru_cache(maxsize=64)
def orders(domains: tuple[tuple[int, ...], ...], total: int) -> Orders:
    """The orders of the groups of some questions, by the points that each may have (none of them 0); of a card those
    above 0 add up to ``total`` at most, which some points do.
    """
    k = len(domains)
    points = np.stack(np.meshgrid(*domains, indexing="ij"), -1).reshape(-1, k).astype(np.int64)
    points = points[np.maximum(points, 0).sum(axis=1) <= total]
    size = np.abs(points).sum(axis=1)
    points = points[np.lexsort([-points[:, i] for i in reversed(range(k))] + [np.abs(points).max(axis=1), size])]
    names = np.zeros((len(points), k + 1), np.int64)
    every = []
    for j in range(1, k + 1):
        place = places_of(points[:, :j])
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
        np.array(level),
        np.concatenate(child),
        np.concatenate([[0], np.cumsum(width)]),
        np.concatenate(places),
        points[by_tree[firsts[k]]],
        np.diff(ends),
    )
