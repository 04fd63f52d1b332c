"""What supports are screened with: groups of equal rows, and coarse boxes on pairs rounded to 16 bits.

Groups (:mod:`.groups`) bound supports whose features have few values, coarse boxes (:mod:`.screening_kernel`) the
others.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.search.rows.choice import number_of_pairs
from rerank.search.sizes import OutOfTimeError, affordable_pairs
from rerank.search.tables import RowTables, tables

if TYPE_CHECKING:
    from rerank.problem import Problem
    from rerank.search.domain import Domain
    from rerank.search.tables import Tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 32_000  # of a sum, in quanta
MOST_PLACES = 1_000_000  # pairs beyond which supports are left to the box search
ROW = 20.0  # evaluations of a pair in 16 bits that a row of a group costs
MOST_NUMBERS = 5e7  # numbers in a layout
FULL = 16  # numbers in a vector
FEWEST_LANES = 64  # lanes that fill the vector unit


class Screens(NamedTuple):
    """What bounds supports before boxes are explored: groups of equal rows, coarse boxes where there are too many.

    Values of ``groups`` are in the problem's unit.

    ``scale`` and ``shift`` lead from there to the tables' unit, in which values are whole numbers if ``integral``.
    """

    groups: Any
    pairs: Any
    scale: float
    shift: float
    integral: bool

    def to_groups(self, inner: Floats) -> Floats:
        """From the tables' unit."""
        return (inner - self.shift) / self.scale

    def from_groups(self, value: Floats) -> Floats:
        """To the tables' unit."""
        inner = value * self.scale + self.shift
        return np.floor(inner + 1e-6) if self.integral else inner

    def cost(self, boxes: float) -> float:
        """Evaluations of a pair that a support with so many boxes costs."""
        coarse = 0.0 if self.pairs is None else boxes * self.pairs.idle.size
        return max(coarse, 1.0 if self.groups is None else ROW * self.groups.rows.size)


def screens_of(problem: Problem, t: Tables | RowTables, domain: Domain, size: int, workers: int) -> Screens | None:
    """What supports of up to ``size`` features are screened with; None where nothing serves."""
    from rerank.search.supports.groups import groups_of

    if domain.anchored:
        return None
    groups, pairs = groups_of(problem), None
    # Where all supports are bounded by groups, coarse boxes cost more than the boxes of what is left.
    if groups is None or not groups.values.all():
        if not isinstance(t, RowTables):
            pairs = layout(t, size)
        elif number_of_pairs(problem) <= MOST_PLACES:
            # The search can do without them: too little memory or time, and Ctrl-C, are not its end.
            with suppress(InputError, OutOfTimeError, KeyboardInterrupt):
                pairs = layout(tables(problem, affordable_pairs(problem, workers), domain.scale), size)
    if groups is None and pairs is None:
        return None
    unit = t.grain if t.integral else 1.0
    return Screens(groups, pairs, 1 / unit, (problem.constant - t.constant) / unit, t.integral)


def layout(t: Tables, size: int) -> Any | None:
    """Pairs in quanta for supports of up to ``size`` features; None where that would be too large."""
    from rerank.search.supports.screening_rows import Layout

    pair, key, losses = _counted(t)
    even = t.linear and losses.size == 1 and pair.size < 2**15
    if even:
        pair = np.pad(pair, (0, -pair.size % FULL), constant_values=-1)
        lane, block = np.zeros(1, np.int64), np.zeros(1, np.int64)
    else:
        pair, lane, block = _lanes(pair, key)
    d = t.pairs.shape[0]
    if pair.size > MOST_PLACES or d * pair.size > MOST_NUMBERS or t.slots.unit_of.size > MOST_PLACES:
        return None
    used = pair >= 0
    # A power of two, so that dividing by it is exact.
    quantum = 2.0 ** np.ceil(np.log2(max(size, 2) * max(float(np.abs(t.pairs).max()), 1e-300) / LARGEST))
    D = np.where(used, t.pairs[:, pair], 0.0) / quantum
    loss = losses if t.linear else np.ones(1)
    return Layout(
        up=(np.sign(D) * np.ceil(np.abs(D))).astype(np.int16),
        down=np.trunc(D).astype(np.int16),
        idle=np.where(used, 0, LARGEST).astype(np.int16),
        spread=np.abs(t.pairs).mean(axis=1),
        threshold=np.int16(min(np.ceil((t.epsilon - t.tolerance) / quantum), LARGEST)),
        even=bool(even),
        linear=t.linear,
        total=t.total,
        block=block,
        lane_slot=lane.astype(np.int32),
        # The sum over lanes may come out too large by a few units of rounding; whole numbers add up exactly.
        lane_loss=loss[lane if t.linear else 0 * lane]
        * (1.0 if t.integral else 1.0 - 2.0**-52 * (lane.size + 4)),
        slots=t.slots,
    )


def _counted(t: Tables) -> tuple[Ints, Ints, Floats]:
    """Pairs as often as they count, the slot of each (linear: the number of its loss), and the losses."""
    P = t.pairs.shape[1]
    if t.linear:
        losses, key = np.unique(t.loss, return_inverse=True)
        return np.arange(P), key.astype(np.int64), losses
    times = t.span.astype(np.int64) * t.multiplicity
    pair = np.repeat(np.arange(P), times)
    within = np.arange(pair.size) - np.repeat(np.cumsum(times) - times, times)
    return pair, t.slot[pair] + within % t.span[pair], np.zeros(0)


def _lanes(pair: Ints, key: Ints) -> tuple[Ints, Ints, Ints]:
    """Pairs row by row with one key a lane (-1: no pair), the key of each lane, and where blocks of rows begin.

    Keys with many pairs get several lanes, so that lanes are about equally long; long lanes come first and rows stop
    after the last lane that reaches them.
    """
    from rerank.search.supports.screening_rows import ROWS

    order = np.argsort(key, kind="stable")
    keys, many = np.unique(key, return_counts=True)
    longest = int(np.clip(pair.size // FEWEST_LANES, ROWS, 4096))
    pieces = -(-many // longest)
    lane = np.repeat(keys, pieces)
    nth = np.arange(lane.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    total, parts = np.repeat(many, pieces), np.repeat(pieces, pieces)
    length = total // parts + (nth < total % parts)
    begin = np.concatenate([[0], np.cumsum(length)[:-1]])
    first = np.argsort(-length, kind="stable")
    # Lanes without a pair fill the last vector.
    none = (0, -lane.size % FULL)
    lane, length, begin = (np.pad(x[first], none) for x in (lane, length, begin))
    rows, block = [], [0]
    for low in range(0, int(length[0]), ROWS):
        width = -(-int((length > low).sum()) // FULL) * FULL
        for row in range(low, low + ROWS):
            at = np.minimum(begin[:width] + row, pair.size - 1)
            rows.append(np.where(length[:width] > row, pair[order[at]], -1))
        block.append(block[-1] + ROWS * width)
    return np.concatenate(rows), lane, np.array(block, dtype=np.int64)
