"""The jobs of the workers: explore node batches, screen supports, follow lines; each calls compiled kernels."""

import time
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem.lists import Floats
from rerank.search.boxes.nodes import NAME, NAMES, SIDES, Findings, NodeBatch, Support
from rerank.search.boxes.vertices import SMALLEST
from rerank.search.compiled import writable
from rerank.search.domain import Domain
from rerank.search.lines.search import ClimbState
from rerank.search.rows.lines import lines_on
from rerank.search.supports.screening import Screens
from rerank.search.tables import RowTables, Tables
from rerank.search.workspace import given, pair_space, row_space

ROOM = 64  # boxes, and splits by sixteen, that there is memory for beside those of a batch
SLICE = 4000.0  # evaluations of a pair or a row after which an interpreted kernel looks at the time: some milliseconds
MOST_SIDES = 24  # sides of antiparallel pairs chosen on the way to one box


def explore_batches(
    t: Tables | RowTables,
    supports: list[Support],
    batches: list[NodeBatch],
    incumbents: list[float],
    targets: list[float],
    slack: float,
    each: float,
    work: float,
    record: bool,
    first_name: int,
    soon: bool = False,
) -> list[Findings]:
    """Explore batches one after the other, for ``work`` evaluations of a pair in all and ``each`` at most per batch.

    ``incumbents`` holds a value for each batch, in the tables' unit, and ``targets`` the bound up to which its boxes
    are set aside.  Every batch starts from the best value of those before it; batches that were not begun are returned
    as they are. ``soon``: some boxes were too small to split before.
    """
    out: list[Findings] = []
    gain = 0.0
    for i, (support, batch) in enumerate(zip(supports, batches, strict=True)):
        at = incumbents[i] + gain
        if work <= 0 or current().now:
            none = np.empty((0, 3), np.int64)
            out.append(Findings(batch.support, at, None, batch, None, none, -np.inf, 0, 0.0))
            continue
        name = first_name + i * (NAMES // max(len(batches), 1))
        limits = (slack, targets[i], min(each, work), SMALLEST, soon)
        found = _explored(t, support, batch, at, limits, record, name)
        out.append(found)
        gain += max(found.value - at, 0.0)
        work -= found.work
    return out


def _explored(
    t: Any, support: Support, batch: NodeBatch, value: float, limits: tuple[float, ...], record: bool, name: int
) -> Findings:
    """What the kernel for pairs, or for rows, finds in a batch; memory that is full is doubled, and it goes on."""
    n, k = batch.centres.shape
    explore, best, sides = _kernel(support.pairs or t, support, batch)
    # Copies: kernels write into what they are given, and processes are given read-only maps.
    numbers, labels = np.empty((n + ROOM, 2 * k + 1)), np.zeros((n + ROOM, SIDES + sides), np.int64)
    numbers[:n], labels[:n, NAME] = batch.numbers, batch.names
    labels[:n, SIDES : SIDES + batch.sides.shape[1]] = batch.sides
    memory = [numbers, labels, np.empty((ROOM, 2 * k + 1)), np.zeros((ROOM, SIDES + sides), np.int64)]
    memory.append(np.zeros((16 * ROOM if record else 0, 3), np.int64))
    counts, sums = np.array([n, 0, 0, 0, name], np.int64), np.array([value, -np.inf, 0.0])
    while True:
        part = sums[2] + (SLICE if explore.func.left() > 0 else inf)
        explore(tuple(memory), counts, sums, (*limits[:2], min(limits[2], part), *limits[3:]))
        if counts[0] == 0 or sums[2] >= limits[2] or (sums[2] >= part and current().now):
            break
        if sums[2] < part:
            memory = [np.concatenate([array, np.zeros_like(array)]) for array in memory]
    left, small = (
        NodeBatch(batch.support, numbers[:n].copy(), labels[:n].copy()) if n else None
        for n, numbers, labels in ((counts[0], *memory[:2]), (counts[1], *memory[2:4]))
    )
    weights = support.weights(best, t.n_features) if sums[0] > value else None
    (found, aside, done), splits = sums.tolist(), memory[4][: counts[2]].copy()
    return Findings(batch.support, found, weights, left, small, splits, aside, int(counts[3]), done)


def _kernel(t: Tables | RowTables, support: Support, batch: NodeBatch) -> tuple[Any, Floats, int]:
    """The kernel for pairs or for rows, where it puts the best point, and how many sides a box has: none by rows."""
    ruled = t.quotas.any or len(support.walls) > 0
    if isinstance(t, RowTables):
        from rerank.search.rows.kernel import explore, explore_ruled

        rows = row_space(t, support.features.size)
        return partial(explore_ruled if ruled else explore, given(t, support), rows), rows.axes[2], 0
    from rerank.search.boxes.kernel import explore_linear, explore_linear_ruled, explore_lists, explore_lists_ruled

    kinds = (explore_lists, explore_lists_ruled), (explore_linear, explore_linear_ruled)
    sides = MOST_SIDES if support.antiparallel.count else batch.sides.shape[1]
    space = pair_space(t, support, sides)
    return partial(kinds[t.linear][ruled], given(t, support), space), space.axes[2], sides


def screen_supports(
    screens: Screens, supports: NDArray[np.int32], limits: Floats, signed: NDArray[np.bool_]
) -> tuple[Floats, list[NodeBatch | None], int]:
    """Bounds of supports, -inf where no value is above the limit; what is open, None for all; how many boxes that took.
    The batches number the supports from 0 on.
    """
    rows, bounds, boxes = np.require(supports, requirements=["C", "W"]), np.full(len(supports), np.inf), 0
    batches: list[NodeBatch | None] = [None] * len(supports)
    if screens.groups is not None:
        from rerank.search.supports.groups import bound_by_groups

        found = bounds.copy()
        groups = writable(screens.groups)
        bound_by_groups(groups, rows, screens.to_groups(limits), found)
        bounds = screens.from_groups(found)
    left = bounds == np.inf
    if screens.pairs is not None and left.any():
        from rerank.search.supports.screening_kernel import screened

        found = np.empty(int(left.sum()))
        names, numbers, boxes = screened(writable(screens.pairs), rows[left], limits[left], signed, found)
        bounds[left] = np.minimum(bounds[left], found)
        ends = np.searchsorted(names, np.arange(int(left.sum()) + 1))
        for s, a, z in zip(np.flatnonzero(left).tolist(), ends[:-1], ends[1:], strict=True):
            if z > a:
                batches[s] = NodeBatch(s, numbers[a:z].copy(), np.zeros((z - a, SIDES), np.int64))
    return np.where(bounds > limits, bounds, -np.inf), batches, int(boxes)


def follow_lines(
    tables: Tables | RowTables, domain: Domain, state: ClimbState, w: Floats, work: float, seconds: float
) -> ClimbState:
    """Go on with a series of climbs for so many evaluations or some seconds; returns its state."""
    search = lines_on(tables, domain, deadline=time.perf_counter() + seconds)
    search.state = state
    search.restarts(w, work)
    return state
