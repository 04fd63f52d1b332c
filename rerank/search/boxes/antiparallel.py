"""Antiparallel pairs: of two pairs that point in opposite directions, no weights win both.

If ``D_q = -r D_p`` with ``r > 0`` then ``w.D_p >= epsilon`` makes ``w.D_q`` negative.  On continuous data
there are none; on grids and flags there are many, and boxes that hold points with ``w.D_p = 0`` would otherwise have
to shrink to the width of the margin.  Such boxes are split by the side of ``w.D_p = 0`` instead.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Indices
from rerank.search.tables import Tables


@dataclass(frozen=True, eq=False)
class AntiparallelPairs:
    """Groups of parallel and antiparallel pairs."""

    group: NDArray[np.int32]  # (P,): ``g >= 1`` for pairs on one side of group g, ``-g`` on the other, 0 in none
    count: int
    guide: NDArray[np.int32]  # (count,): a pair on the first side of each group


NO_GROUPS = AntiparallelPairs(np.zeros(1, np.int32), 0, np.zeros(0, np.int32))


def antiparallel_pairs(t: Tables, features: Indices) -> AntiparallelPairs:
    """Groups of pairs that point both ways along one direction, on the given features. Directions need not agree
    exactly: a pair belongs to a group if ``|D - r guide|_1 < epsilon / 2`` for its multiple ``r``, for then ``w.guide
    <= 0 <= r`` leaves ``w.D < epsilon``.
    """
    D = t.pairs[features]
    size = np.abs(D).max(axis=0)
    # The others are lost for every w; the tolerance may exceed a margin of 1e-16, so rows that are equal are asked for.
    live = np.flatnonzero((np.abs(D).sum(axis=0) >= t.epsilon - t.tolerance) & (size > 0))
    if live.size < 2:
        return NO_GROUPS
    unit = D[:, live] / size[live]
    # Equal for parallel pairs, of opposite sign for antiparallel ones.
    key = np.sqrt(np.arange(2.0, 2.0 + features.size)) @ unit
    order = np.argsort(np.abs(key), kind="stable")
    near = np.diff(np.abs(key)[order]) <= 1e-11
    if not near.any():
        return NO_GROUPS
    first = np.flatnonzero(np.concatenate([[True], ~near]))
    both = (np.minimum.reduceat(key[order], first) < 0) & (np.maximum.reduceat(key[order], first) > 0)
    group = np.zeros(t.pairs.shape[1], np.int32)
    guides: list[int] = []
    for begin, end in zip(first[both], np.append(first[1:], order.size)[both], strict=True):
        run = order[begin:end]
        guide = run[0]
        turn = np.where(key[run] * key[guide] > 0, 1.0, -1.0)
        off = np.abs(unit[:, run] - turn * unit[:, guide : guide + 1]).sum(axis=0) * size[live[run]]
        good = off < 0.5 * t.epsilon - t.tolerance
        if (turn[good] < 0).any():
            guides.append(int(live[guide]))
            group[live[run[good]]] = (turn[good] * len(guides)).astype(np.int32)
    return AntiparallelPairs(group, len(guides), np.array(guides, np.int32)) if guides else NO_GROUPS
