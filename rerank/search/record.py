"""From the splits that the tasks logged to a proof: the tree of boxes in preorder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem, Proof, digest
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED
from rerank.search.boxes.search import BoxSearch


def proof_of(
    problem: Problem,
    search: BoxSearch,
    flip: NDArray[np.float64],
    small: set[int],
    left_out: int | None,
    value: float,
    bound: float,
    weights: NDArray[np.float64],
) -> Proof:
    """Assemble the proof of a search that recorded its splits; ``small`` names the boxes settled exactly."""
    log = np.concatenate([np.empty((0, 3), np.int64), *search.splits])
    log = log[np.argsort(log[:, 0], kind="stable")]
    sizes = np.array([c.size for c in search.columns])
    roots = np.array([2 * c.size - int(search.signed[c].sum()) for c in search.columns])
    support_of_root = np.repeat(sizes, roots)
    codes = _preorder(log[:, 0], log[:, 1], log[:, 2], support_of_root, small)
    t = search.tables
    lines = []
    for s in range(len(search.columns)):
        guide = search.lines[s].guide if s in search.lines else np.empty(0, np.int32)
        lines.append(np.column_stack([t.upper[guide], t.lower[guide]]).astype(np.int64))
    return Proof(
        value=value,
        bound=bound,
        weights=weights,
        flip=flip.astype(np.int8),
        supports=tuple(search.columns),
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
    small: set[int],
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
                codes[i] = LISTED if node in small else LEAF
            else:
                w = int(which[row])
                codes[i] = COORDINATE + w if w < width[root] else LINE + w - (width[root] - 1)
                first = int(child[row])
                stack += [first + 1, first]
            i += 1
    return codes[:i].copy()
