"""From the splits that the jobs recorded to a proof: the tree of boxes in preorder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem, Proof, digest
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED, Circuits

if TYPE_CHECKING:
    from rerank.search.boxes.open import OpenBoxes


def proof_of(
    problem: Problem,
    boxes: OpenBoxes,
    left_out: int | None,
    value: float,
    bound: float,
    weights: NDArray[np.float64],
    circuits: Circuits | None,
) -> Proof:
    """Assemble the proof of a search that recorded its splits; ``circuits`` that show the bound are enough."""
    flip = np.where(boxes.domain.scale < 0, -1, 1).astype(np.int8)
    if circuits is not None:
        none = np.empty(0, np.uint16)
        return Proof(value, bound, weights, flip, (), left_out, none, (), digest(problem), circuits=circuits)
    splits, listed = boxes.recorded()
    log = np.concatenate([np.empty((0, 3), np.int64), *splits])
    log = log[np.argsort(log[:, 0], kind="stable")]
    sizes = np.array([c.size for c in boxes.columns], dtype=np.intp)
    roots = np.array([len(boxes.domain.part(c).roots()[0]) for c in boxes.columns], dtype=np.intp)
    codes = _preorder(log[:, 0], log[:, 1], log[:, 2], np.repeat(sizes, roots), listed)
    t = boxes.tables
    lines = []
    for s in range(len(boxes.columns)):
        guide = boxes.axes.antiparallel[s].guide if s in boxes.axes.antiparallel else np.empty(0, np.int32)
        lines.append(np.column_stack([t.upper[guide], t.lower[guide]]).astype(np.int64))
    return Proof(
        value=value,
        bound=bound,
        weights=weights,
        flip=flip,
        supports=tuple(boxes.columns),
        left_out=left_out,
        codes=codes,
        lines=tuple(lines),
        fingerprint=digest(problem),
    )


def _preorder(
    name: NDArray[np.int64],
    which: NDArray[np.int64],
    child: NDArray[np.int64],
    width: NDArray[np.int64],
    listed: set[int],
) -> NDArray[np.uint16]:
    """Codes of the trees of all roots; ``width`` is the number of features of each root's support."""
    codes = np.empty(2 * name.size + width.size, np.uint16)
    at = {int(n): i for i, n in enumerate(name)}
    i = 0
    for root in range(width.size):
        stack = [root]
        while stack:
            node = stack.pop()
            row = at.get(node)
            if row is None:
                codes[i] = LISTED if node in listed else LEAF
            else:
                w = int(which[row])
                codes[i] = COORDINATE + w if w < width[root] else LINE + w - (width[root] - 1)
                first = int(child[row])
                stack += [first + 1, first]
            i += 1
    return codes[:i].copy()
