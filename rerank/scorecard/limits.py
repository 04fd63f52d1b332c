"""What a card has to keep besides its value: limits at a cut, for kinds of people, and of points of one column.

A cut flags whole blocks of tied rows, one at least.  "Top N" flags as many blocks as have at most N rows together: a
budget is not exceeded.  A free cut may stand below any block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NO_CUT, TOP, FREE = 0, 1, 2
"""Kinds of cuts: none, at most some rows, below any block."""


class Limits(NamedTuple):
    """Limits of a card, for kernels; numbers of rows are in the unit of the counts."""

    cut: int
    rows: float  # that a cut at the top may flag
    sensitivity: float  # share of the relevant rows that are flagged: at least
    flagged: float  # share of the rows that are flagged: at most
    gap_flagged: float  # difference of that share between two kinds of people: at most
    gap_sensitivity: float  # the same of sensitivity
    area: float  # AUC among the rows of each kind: at least
    first: float  # of the first rows,
    quota: NDArray[np.float64]  # (kinds,): so many are of each kind, at least
    one_sign: bool  # questions of one column have points of one sign


def no_limits(kinds: int = 1) -> Limits:
    """Limits that every card keeps."""
    return Limits(NO_CUT, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, np.zeros(kinds), False)


@njit(cache=True, nogil=True)
def keeps(place: Any, start: int, k: int, limits: Any, band: Any, people: Any) -> bool:
    """Whether the card keeps the limits whose order of the groups of ``k`` questions begins at ``start``.

    ``band`` holds the column of each question, ``people`` the relevant and other rows of each group by kind of people.
    """
    size, kinds = people.shape[0], people.shape[1] // 2
    if limits.one_sign:
        for i in range(k):
            for j in range(i):
                up, other = place[start + (1 << i)] < place[start], place[start + (1 << j)] < place[start]
                if band[i] == band[j] and up != other:
                    return False
    by_block = np.zeros((size, 2 * kinds))
    blocks = 0
    for s in range(size):
        at = place[start + s]
        blocks = max(blocks, at + 1)
        for c in range(2 * kinds):
            by_block[at, c] += people[s, c]
    if limits.area > 0.0 and not _areas(by_block, blocks, kinds, limits.area):
        return False
    if limits.first > 0.0 and not _quotas(by_block, blocks, kinds, limits):
        return False
    return limits.cut == NO_CUT or cut_below(by_block, blocks, limits) >= 0


@njit(cache=True, nogil=True)
def _areas(by_block: Any, blocks: int, kinds: int, least: float) -> bool:
    for kind in range(kinds):
        p, q = by_block[:, 2 * kind], by_block[:, 2 * kind + 1]
        won = above = 0.0
        for b in range(blocks):
            above += p[b]
            won += q[b] * (above - 0.5 * p[b])
        pairs = p[:blocks].sum() * q[:blocks].sum()
        if pairs > 0.0 and won < least * pairs:
            return False
    return True


@njit(cache=True, nogil=True)
def _quotas(by_block: Any, blocks: int, kinds: int, limits: Any) -> bool:
    """Whether enough rows of each kind are among the first ones, in whatever order tied rows stand."""
    for kind in range(kinds):
        surely = 0.0
        left = limits.first
        for b in range(blocks):
            rows = by_block[b].sum()
            own = by_block[b, 2 * kind] + by_block[b, 2 * kind + 1]
            surely += max(0.0, min(left, rows) - (rows - own))
            left -= min(left, rows)
        if surely < limits.quota[kind]:
            return False
    return True


@njit(cache=True, nogil=True)
def cut_below(by_block: Any, blocks: int, limits: Any) -> int:
    """The block below which the cut stands, -1 for none that keeps the limits; a cut flags some row.

    Of free cuts that keep them it is the one with the largest sensitivity less share of the others flagged.
    """
    kinds = by_block.shape[1] // 2
    total = np.zeros(2 * kinds)
    for b in range(blocks):
        total += by_block[b]
    relevant, every = total[::2].sum(), total.sum()
    flagged = np.zeros(2 * kinds)
    best, at = -np.inf, -1
    for b in range(blocks):
        flagged += by_block[b]
        rows = flagged.sum()
        if rows == 0.0:
            continue  # groups without rows stand above all others
        if limits.cut == TOP and rows > limits.rows:
            break
        hits = flagged[::2].sum()
        fits = hits >= limits.sensitivity * relevant and rows <= limits.flagged * every
        gap_flagged = gap_sensitivity = 0.0
        for a in range(kinds):
            for c in range(kinds):
                own, other = total[2 * a] + total[2 * a + 1], total[2 * c] + total[2 * c + 1]
                if own > 0.0 and other > 0.0:
                    share = (flagged[2 * a] + flagged[2 * a + 1]) / own
                    gap_flagged = max(gap_flagged, share - (flagged[2 * c] + flagged[2 * c + 1]) / other)
                if total[2 * a] > 0.0 and total[2 * c] > 0.0:
                    found = flagged[2 * a] / total[2 * a] - flagged[2 * c] / total[2 * c]
                    gap_sensitivity = max(gap_sensitivity, found)
        fits &= gap_flagged <= limits.gap_flagged and gap_sensitivity <= limits.gap_sensitivity
        if limits.cut == TOP:
            # The budget is used up as far as whole blocks allow.
            at = b if fits else -1
        elif fits and hits / max(relevant, 1.0) - (rows - hits) / max(every - relevant, 1.0) > best:
            best, at = hits / max(relevant, 1.0) - (rows - hits) / max(every - relevant, 1.0), b
    return at
