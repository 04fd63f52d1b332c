"""The jobs of the workers: explore node batches, screen supports, follow lines; each calls compiled kernels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.basis import whitened_tolerance
from rerank.search.boxes.nodes import NAMES, Findings, NodeBatch, Support
from rerank.search.rows.lines import lines_on
from rerank.search.rows.tables import RowTables

if TYPE_CHECKING:
    from rerank.search.domain import Domain
    from rerank.search.lines.search import State
    from rerank.search.tables import Tables

Floats = NDArray[np.float64]

SMALLEST = 2.0**-30  # half-width below which a box is not split further
MOST_SIDES = 24  # sides of antiparallel pairs chosen on the way to one box


def explore_batches(
    t: Tables | RowTables,
    supports: list[Support],
    batches: list[NodeBatch],
    incumbents: list[float],
    slack: float,
    each: float,
    work: float,
    record: bool,
    first_name: int,
) -> list[Findings]:
    """Explore batches one after the other, for ``work`` evaluations of a pair in all and ``each`` at most per batch.

    ``incumbents`` holds a value for each batch, in the tables' unit.  Every batch starts from the best value of
    those before it; batches that were not begun are returned as they are.
    """
    out: list[Findings] = []
    gain = 0.0
    for i, (support, batch) in enumerate(zip(supports, batches, strict=True)):
        at = incumbents[i] + gain
        if work <= 0:
            out.append(Findings(batch.support, at, None, batch, None, np.empty((0, 3), np.int64), 0, 0.0))
            continue
        name = first_name + i * (NAMES // max(len(batches), 1))
        explored = _by_rows if isinstance(t, RowTables) else _by_pairs
        found, best, left, unresolved, splits, boxes, done = explored(
            t, support, batch, at, slack, min(each, work), record, name
        )
        out.append(
            Findings(
                batch.support,
                found,
                support.weights(best, t.n_features) if found > at else None,
                NodeBatch(batch.support, *left) if left.bound.size else None,
                NodeBatch(batch.support, *unresolved) if unresolved.bound.size else None,
                splits,
                boxes,
                done,
            )
        )
        gain += max(found - at, 0.0)
        work -= done
    return out


def _by_pairs(
    t: Any, support: Support, batch: NodeBatch, at: float, slack: float, work: float, record: bool, name: int
) -> Any:
    """What the kernel for pairs finds in a batch."""
    from rerank.search.boxes.kernel import explore
    from rerank.search.boxes.workspace import workspace

    sides = batch.sides
    if support.antiparallel.count and sides.shape[1] == 0:
        sides = np.zeros((batch.bounds.size, MOST_SIDES), np.int32)
    given = instance(t, support)
    memory = workspace(given, batch.bounds.size, sides.shape[1], record)
    return explore(given, memory, _boxes(batch, sides), at, slack, work, SMALLEST, record, name)


def _by_rows(
    t: Any, support: Support, batch: NodeBatch, at: float, slack: float, work: float, record: bool, name: int
) -> Any:
    """What the kernel for rows finds in a batch; it keeps no record of splits."""
    from rerank.search.rows import workspace
    from rerank.search.rows.kernel import explore

    memory = workspace.levels(t), workspace.scratch(t, batch.bounds.size, t.n_features)
    given = workspace.instance(t)
    if support.basis is not None:
        tolerance = whitened_tolerance(t.tolerance, t.n_features)
        given = workspace.instance(t, support.basis, t.rows @ support.basis, tolerance)
    todo = _boxes(batch, batch.sides)
    found, best, left, unresolved, boxes, done = explore(given, *memory, todo, at, slack, work, SMALLEST, name)
    return found, best, left, unresolved, np.empty((0, 3), np.int64), boxes, done


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
        t.single, t.linear, t.integral, t.total, t.epsilon, tolerance, t.unit_start, t.unit_slots, t.unit_of,
        t.coef_start, t.coef,
    )  # fmt: skip
    return Instance._make(_writable(parts))


def screen_supports(
    layout: Any, supports: NDArray[np.int32], limits: Floats, signed: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], int]:
    """Which supports coarse boxes show to hold no value above their limit, and how many boxes that took."""
    from rerank.search.supports.screening_kernel import screen

    fathomed = np.zeros(len(supports), np.bool_)
    plain, rows = layout._make(_writable(layout)), np.require(supports, requirements=["C", "W"])
    return fathomed, int(screen(plain, rows, limits, signed, fathomed))


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
