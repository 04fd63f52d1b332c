"""Screening of supports: most are fathomed before the box search explores any of them.

A limit on the number of features leaves up to millions of supports, and nearly all of them hold nothing near the best
value.  Jobs bound many at a time: by groups of equal rows (:mod:`.groups`) where features have few values, else by
coarse boxes on pairs rounded to 16 bits (:mod:`.screening_kernel`).  What they leave open is searched box by box, best
bound first.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.search.boxes.nodes import NodeBatch
from rerank.search.domain import Domain
from rerank.search.rows.choice import number_of_pairs
from rerank.search.sizes import OutOfTimeError, affordable_pairs
from rerank.search.supports.subsets import Supports
from rerank.search.tables import RowTables, Tables, tables

Ints = NDArray[np.int64]
Boxes = NodeBatch | None  # open boxes of a support; None for all of it

LARGEST = 32_000  # of a sum, in quanta
MOST_PLACES = 1_000_000  # pairs beyond which supports are left to the box search
ROW = 20.0  # evaluations of a pair in 16 bits that a row of a group costs
MOST_NUMBERS = 5e7  # numbers in a layout
FULL = 16  # numbers in a vector
FEWEST_LANES = 64  # lanes that fill the vector unit
FIRST = 8  # supports of a job of the first round at most; no more than twice as many from round to round
WORK = 1e8  # evaluations of a pair by one job, some hundredths of a second
ENOUGH = 400  # supports left open, or half of all: more than one round explores; they may give a better value
LONG, FEWEST = 100_000, 4  # pairs from where setting a support up takes as long as many boxes, and supports of a job


class Screens(NamedTuple):
    """What bounds supports before boxes are explored: groups of equal rows, coarse boxes where there are too many."""

    groups: Any  # whose values are in the problem's unit;
    pairs: Any
    scale: float  # and these lead from there to the tables' unit,
    shift: float
    integral: bool  # in which values may be whole numbers

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
    from rerank.search.supports.screening_kernel import LaneLayout

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
    return LaneLayout(
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
        lane_loss=loss[lane if t.linear else 0 * lane] * (1.0 if t.integral else 1.0 - 2.0**-52 * (lane.size + 4)),
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
    """Pairs row by row with one key a lane (-1: no pair), the key of each lane, and where blocks of rows begin. Keys
    with many pairs get several lanes, so that lanes are about equally long; long lanes come first and rows stop after
    the last lane that reaches them.
    """
    from rerank.search.supports.screening_kernel import ROWS

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


@dataclass(eq=False)
class Waiting:
    """Supports that the box search has not explored: those that screening left open, by bound, and the unscreened."""

    tables: Tables | RowTables
    columns: Sequence[Indices]
    prices: Floats  # of each support, never falling
    signed: NDArray[np.bool_]
    screens: Callable[[], Screens | None] | None  # makes what :class:`Supports` are screened with
    screened: list[tuple[float, int, Boxes]] = field(default_factory=list)  # a heap by penalty minus bound
    following: int = 0  # the next support
    part: int = 0  # supports that a job is given, 0 until the first
    _made: Screens | None = None

    def __len__(self) -> int:
        return len(self.columns) - self.following + len(self.screened)

    def bound(self) -> float:
        """What no value minus penalty on a support that waits exceeds; -inf if none waits."""
        most = -self.screened[0][0] if self.screened else -np.inf
        if self.following < len(self.columns):
            most = max(most, self.tables.ideal + self.tables.slack - float(self.prices[self.following]))
        return most

    def take(self) -> tuple[int, float, Boxes]:
        """Remove the next support; returns it with the bound of its values, and its open boxes."""
        if self.screened:
            low, s, boxes = heapq.heappop(self.screened)
            return s, float(self.prices[s]) - low, boxes
        self.following += 1
        return self.following - 1, self.tables.ideal + self.tables.slack, None

    @property
    def unscreened(self) -> int:
        """For how many supports coarse boxes are still to come."""
        return 0 if self._made is None or self._made.pairs is None else len(self.columns) - self.following

    def clear(self) -> None:
        """Drop all of them."""
        self.screened.clear()
        self.following = len(self.columns)

    def shares(self, limit: float, count: int, blind: bool = False) -> list[tuple[Any, ...]]:
        """Arguments of ``screen_supports`` for ``count`` jobs; empty if screening is not possible or has to wait. A job
        fathoms the supports on which nothing beats ``limit`` plus the penalty. Where that is ``blind``, no weights
        being known, or many supports are open, coarse boxes wait; bounds by groups do not.
        """
        columns = self.columns
        if not isinstance(columns, Supports):
            return []
        if self._made is None and self.screens is not None:
            self._made, self.screens = self.screens(), None
        wait = blind or len(self.screened) >= max(ENOUGH, len(columns) // 2)
        if self._made is None or (wait and self._made.pairs is not None):
            return []
        if self.part == 0:
            from rerank.search.supports.screening_kernel import MOST_BOXES

            self.part = int(np.clip(WORK / self._made.cost(MOST_BOXES), self._fewest, FIRST))
        shares: list[tuple[Any, ...]] = []
        begin = self.following
        while begin < len(columns) and len(shares) < count:
            some = columns.rows(begin, begin + self.part)
            limits = limit + self.prices[begin : begin + len(some)]
            shares.append((self._made, some, limits, self.signed))
            begin += len(some)
        return shares

    @property
    def _fewest(self) -> int:
        pairs = None if self._made is None else self._made.pairs
        return FEWEST if pairs is not None and pairs.idle.size > LONG else 1

    def merge(self, results: Iterable[tuple[Floats, list[Boxes], int]]) -> int:
        """Keep the supports that the jobs did not fathom; returns the number of boxes that they took."""
        boxes, begin, ideal = 0, self.following, self.tables.ideal
        for bounds, batches, needed in results:
            for i in np.flatnonzero(bounds > -np.inf):
                s, batch = self.following + int(i), batches[i]
                most = min(float(bounds[i]), ideal) + self.tables.slack
                if batch is not None:
                    batch = replace(batch.bounded(np.minimum(batch.bounds, ideal) + self.tables.slack), support=s)
                heapq.heappush(self.screened, (float(self.prices[s]) - most, s, batch))
            self.following += bounds.size
            boxes += needed
        if self._made is not None:
            cost = self._made.cost(max(boxes / max(self.following - begin, 1), 1.0))
            self.part = int(np.clip(WORK / cost, self._fewest, 2 * self.part))
        return boxes
