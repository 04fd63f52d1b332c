"""The tree of a proof: whether its codes are complete, the boxes of its nodes, the sides of lines chosen on the way.

The ends of boxes are binary fractions of few digits, so that centres and half-widths are exact doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.problem.proof import COORDINATE, PRICED

Mask = NDArray[np.bool_]
NARROWEST = 2.0**-50  # half-widths above this keep centres exact in 53 bits


class UnprovenError(Exception):
    """The proof does not show what it claims; the message says where."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Nodes of the tree with their boxes."""

    nodes: Indices  # (m,): where their codes stand
    centres: Floats  # (m, k)
    halves: Floats
    sides: Indices  # (m,): the set of chosen sides of lines of each, a number into :class:`Sides`

    def __getitem__(self, which: Indices | Mask | slice) -> Boxes:
        return Boxes(self.nodes[which], self.centres[which], self.halves[which], self.sides[which])

    @classmethod
    def join(cls, parts: list[Boxes]) -> Boxes:
        """All boxes of several."""
        columns = zip(*((b.nodes, b.centres, b.halves, b.sides) for b in parts))
        return cls(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True, eq=False)
class Branch:
    """Subtrees that share the pairs still open, and the lost counts of those that are decided."""

    boxes: Boxes  # roots of the subtrees
    open: Indices  # pairs that are not decided
    lost: NDArray[np.int64]  # (S,): lost counts of the decided pairs
    hull: tuple[Floats, Floats] | None = None  # centre and half-widths of the box in which pairs were decided last


class Sides:
    """Sets of sides of lines in one batch: which open pairs each set loses, and whether it leaves no weights."""

    def __init__(self, branch: Branch, side: Callable[[Branch, int], tuple[Mask, bool]]) -> None:
        self.branch, self.side = branch, side
        self.masks = [np.zeros(branch.open.size, dtype=bool)]
        self.empty = [False]
        self.known: dict[tuple[int, int], int] = {}

    def add(self, base: int, side: int) -> int:
        """The number of set ``base`` with one side more: ``g`` for ``w.D_g >= 0``, ``-g`` for ``w.D_g <= 0``."""
        if (base, side) not in self.known:
            opposed, empty = self.side(self.branch, side)
            self.masks.append(self.masks[base] | opposed[self.branch.open])
            self.empty.append(self.empty[base] or empty)
            self.known[base, side] = len(self.masks) - 1
        return self.known[base, side]


def ends(codes: NDArray[np.uint16 | np.int64], roots: int) -> NDArray[np.int64]:
    """Last code of the subtree that begins at each code. UnprovenError unless the codes are exactly ``roots`` full
    binary trees, one after the other.
    """
    n, splits = codes.size, ~is_leaf(codes)
    if roots == 0 or not splits.any():
        if n != roots:
            raise UnprovenError(f"The tree has {n} codes where {roots} are needed: it is not complete.")
        return np.arange(n)
    # A walk in preorder that rises by one at a split and falls by one at a leaf falls below its level before
    # a node exactly where the node's subtree ends.
    walk = np.cumsum(np.where(splits, 1, -1).astype(np.int64))
    if walk[-1] != -roots or walk[:-1].min(initial=0) <= -roots:
        raise UnprovenError("The codes do not make the trees of all faces: some are missing or left over.")
    level = walk + roots  # from 0 (the end) upwards
    keys = np.sort(level * n + np.arange(n))
    before = np.concatenate([[roots], level[:-1]])
    return keys[np.searchsorted(keys, (before - 1) * n + np.arange(n))] % n


def is_leaf(codes: NDArray[np.uint16 | np.int64]) -> Mask:
    """Which codes are those of leaves."""
    return (codes < COORDINATE) | (codes == PRICED)


def families(problem: Problem, left_out: int | None) -> tuple[Iterator[tuple[int, ...]], int]:
    """Supports that a proof must treat, in order, and their number. With a penalty on features each set of features up
    to the limit counts by itself. Without one the largest sets are enough, since a smaller one lies on their sides. In
    anchored problems feature 0 is in all of them, beside those that are counted.
    """
    anchor = (0,) if problem.anchored else ()
    d = problem.n_features - len(anchor)
    largest = d if problem.max_features is None else min(problem.max_features, d)
    sizes = range(1 if problem.C > 0 else largest, largest + 1)
    kept = [size for size in sizes if left_out is None or size < left_out]
    columns = range(len(anchor), problem.n_features)
    count = sum(comb(d, size) for size in kept)
    return (anchor + s for size in kept for s in combinations(columns, size)), count


def trees(centres: Floats, halves: Floats, first: int, ends_of: NDArray[np.int64]) -> tuple[Boxes, int]:
    """The roots of one support's trees, and the code after them."""
    nodes = []
    for _ in centres:
        nodes.append(first)
        first = int(ends_of[first]) + 1
    return Boxes(np.array(nodes), centres, halves, np.zeros(len(nodes), np.intp)), first


def halved(boxes: Boxes, codes: NDArray[np.int64], ends_of: NDArray[np.int64]) -> tuple[Boxes, Boxes]:
    """Upper and lower halves of boxes that are split by a coordinate. UnprovenError for a coordinate that is not there,
    has no width or too little.
    """
    j = codes - COORDINATE
    row = np.arange(j.size)
    if (j >= boxes.centres.shape[1]).any() or (boxes.halves[row, j] <= 2 * NARROWEST).any():
        at = boxes.nodes[0] if j.size == 1 else boxes.nodes.tolist()
        raise UnprovenError(f"Code {at} splits a coordinate that has no width or that is not there.")
    halves = boxes.halves.copy()
    halves[row, j] /= 2
    out = []
    first = boxes.nodes + 1
    for nodes, sign in ((first, 1.0), (ends_of[first] + 1, -1.0)):
        centres = boxes.centres.copy()
        centres[row, j] += sign * halves[row, j]
        out.append(Boxes(nodes, centres, halves, boxes.sides))
    return out[0], out[1]
