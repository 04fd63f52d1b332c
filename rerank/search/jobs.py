"""The jobs of the workers: explore node batches, screen supports, follow lines; each calls compiled kernels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.basis import whitened_tolerance
from rerank.search.boxes.nodes import NAMES, Findings, NodeBatch, Support
from rerank.search.boxes.vertices import SMALLEST
from rerank.search.rows.lines import lines_on
from rerank.search.rows.tables import RowTables

if TYPE_CHECKING:
    from rerank.search.domain import Domain
    from rerank.search.lines.search import State
    from rerank.search.supports.screens import Screens
    from rerank.search.tables import Tables

Floats = NDArray[np.float64]

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
) -> list[Findings]:
    """Explore batches one after the other, for ``work`` evaluations of a pair in all and ``each`` at most per batch.

    ``incumbents`` holds a value for each batch, in the tables' unit, and ``targets`` the bound up to which its boxes
    are set aside.  Every batch starts from the best value of those before it; batches that were not begun are returned
    as they are.
    """
    out: list[Findings] = []
    gain = 0.0
    for i, (support, batch) in enumerate(zip(supports, batches, strict=True)):
        at = incumbents[i] + gain
        if work <= 0:
            none = np.empty((0, 3), np.int64)
            out.append(Findings(batch.support, at, None, batch, None, none, -np.inf, 0, 0.0))
            continue
        name = first_name + i * (NAMES // max(len(batches), 1))
        explored = _by_rows if isinstance(t, RowTables) else _by_pairs
        found, best, left, unresolved, splits, aside, boxes, done = explored(
            t, support, batch, (at, slack, targets[i], min(each, work), SMALLEST), record, name
        )
        out.append(
            Findings(
                batch.support,
                found,
                support.weights(best, t.n_features) if found > at else None,
                NodeBatch(batch.support, *left) if left.bound.size else None,
                NodeBatch(batch.support, *unresolved) if unresolved.bound.size else None,
                splits,
                aside,
                boxes,
                done,
            )
        )
        gain += max(found - at, 0.0)
        work -= done
    return out


def _by_pairs(
    t: Any, support: Support, batch: NodeBatch, numbers: tuple[float, ...], record: bool, name: int
) -> Any:
    """What the kernel for pairs finds in a batch."""
    from rerank.search.boxes.kernel import explore
    from rerank.search.boxes.workspace import workspace

    sides = batch.sides
    if support.antiparallel.count and sides.shape[1] == 0:
        sides = np.zeros((batch.bounds.size, MOST_SIDES), np.int32)
    given = instance(t, support)
    memory = workspace(given, batch.bounds.size, sides.shape[1], record)
    return explore(given, memory, _boxes(batch, sides), *numbers, record, name)


def _by_rows(
    t: Any, support: Support, batch: NodeBatch, numbers: tuple[float, ...], record: bool, name: int
) -> Any:
    """What the kernel for rows finds in a batch; it keeps no record of splits."""
    from rerank.search.rows import workspace
    from rerank.search.rows.kernel import explore

    features = support.features
    rows = t.rows if features.size == t.n_features else t.rows[:, features]
    memory = workspace.levels(t), workspace.scratch(t, batch.bounds.size, features.size)
    given = workspace.instance(t, rows=rows, within=support.within)
    if support.basis is not None:
        tolerance = whitened_tolerance(t.tolerance, features.size)
        given = workspace.instance(t, support.basis, rows @ support.basis, tolerance)
    todo = _boxes(batch, batch.sides)
    found, best, left, unresolved, aside, boxes, done = explore(given, *memory, todo, *numbers, name)
    return found, best, left, unresolved, np.empty((0, 3), np.int64), aside, boxes, done


def _boxes(batch: NodeBatch, sides: NDArray[np.int32]) -> Any:
    """A copy of the boxes: kernels write into what they are given, and processes are given read-only maps."""
    from rerank.search.boxes.stack import Boxes

    return Boxes(*(np.array(x) for x in (batch.centres, batch.halves, batch.bounds, batch.names, sides)))


def instance(t: Tables, support: Support) -> Any:
    """The tables as the kernel takes them, on one support and in its basis."""
    from rerank.search.boxes.levels import Instance

    features, basis, groups = support.features, support.basis, support.antiparallel
    pairs = t.pairs if features.size == t.pairs.shape[0] else t.pairs[features]
    tolerance = t.tolerance
    if basis is not None:
        pairs = basis.T @ pairs
        tolerance = whitened_tolerance(tolerance, features.size)
    parts: tuple[Any, ...] = (
        pairs, np.empty((0, 0)) if basis is None else basis, t.slot, t.span, t.weight, groups.group, groups.count,
        t.single, t.linear, t.integral, t.total, t.epsilon, tolerance,
        t.spacing if basis is None else 0.0, t.unit_start, t.unit_slots, t.unit_of,
        t.coef_start, t.coef, t.hits, *support.within,
    )  # fmt: skip
    return Instance._make(_writable(parts))


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
        groups = screens.groups._make(_writable(screens.groups))
        bound_by_groups(groups, rows, screens.to_groups(limits), found)
        bounds = screens.from_groups(found)
    left = bounds == np.inf
    if screens.pairs is not None and left.any():
        from rerank.search.supports.screening_kernel import screen

        found = np.empty(int(left.sum()))
        plain = screens.pairs._make(_writable(screens.pairs))
        open_, boxes = screen(plain, rows[left], limits[left], signed, found)
        bounds[left] = np.minimum(bounds[left], found)
        ends = np.searchsorted(open_.name, np.arange(int(left.sum()) + 1))
        for s, a, z in zip(np.flatnonzero(left).tolist(), ends[:-1], ends[1:], strict=True):
            if z > a:
                parts = (open_.centre, open_.half, open_.bound, np.zeros_like(open_.name), open_.side)
                batches[s] = NodeBatch(s, *(x[a:z].copy() for x in parts))
    return np.where(bounds > limits, bounds, -np.inf), batches, int(boxes)


def _writable(parts: tuple[Any, ...]) -> list[Any]:
    """Joblib's processes are given read-only maps of large arrays; the kernels are compiled for plain ones."""
    return [np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray) else x for x in parts]


def follow_lines(
    tables: Tables | RowTables, domain: Domain, state: State, w: Floats, work: float, seconds: float
) -> State:
    """Go on with a series of climbs for so many evaluations or some seconds; returns its state."""
    search = lines_on(tables, domain, deadline=time.perf_counter() + seconds)
    search.state = state
    search.restarts(w, work)
    return state
