"""What one worker does: explore bundles of boxes with the compiled kernel and report what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.opposite import Lines
from rerank.search.tables import Tables

Floats = NDArray[np.float64]
Names = NDArray[np.int64]

SMALLEST = 2.0**-30  # half-width below which a box is not split further
FORCES = 24  # sides of lines chosen on the way to one box
NAMES = 2**36  # names of boxes a task may give


@dataclass(frozen=True, eq=False)
class Bundle:
    """Boxes of one support, explored together."""

    support: int
    centres: Floats
    halves: Floats
    bounds: Floats
    names: Names
    forces: NDArray[np.int32]

    @property
    def bound(self) -> float:
        """Largest bound of its boxes."""
        return float(self.bounds.max())


@dataclass(frozen=True, eq=False)
class Findings:
    """What exploring one bundle brought: a better point, boxes left, boxes too small to split, the splits."""

    support: int
    value: float
    weights: Floats | None
    left: Bundle | None
    stubborn: Bundle | None
    splits: Names
    boxes: int
    work: float


def instance(t: Tables, features: NDArray[np.intp], lines: Lines) -> Any:
    """The tables as the kernel takes them, on the columns of one support."""
    from rerank.search.levels import Instance

    pairs = t.pairs if features.size == t.pairs.shape[0] else t.pairs[features]
    parts: tuple[Any, ...] = (
        pairs, t.slot, t.span, t.weight, lines.group, lines.count, t.single, t.linear, t.total, t.epsilon, t.tolerance,
        t.unit_start, t.unit_slots, t.unit_of, t.coef_start, t.coef,
    )  # fmt: skip
    # Backends with processes hand over read-only maps of large arrays; the kernel is compiled for plain ones.
    plain = [np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray) else x for x in parts]
    return Instance._make(plain)


def explore_bundle(
    t: Tables,
    features: NDArray[np.intp],
    lines: Lines,
    bundle: Bundle,
    incumbent: float,
    slack: float,
    work: float,
    record: bool,
    first_name: int,
) -> Findings:
    """Explore a bundle on its support's columns; ``incumbent`` in the tables' unit."""
    from rerank.search.kernel import explore
    from rerank.search.stack import Boxes

    forces = bundle.forces
    if lines.count and forces.shape[1] == 0:
        forces = np.zeros((bundle.bounds.size, FORCES), np.int32)
    todo = Boxes(bundle.centres, bundle.halves, bundle.bounds, bundle.names, forces)
    found, best, open_, small, splits, boxes, done = explore(
        instance(t, features, lines), todo, incumbent, slack, work, SMALLEST, record, first_name
    )
    weights = None
    if found > incumbent:
        weights = np.zeros(t.pairs.shape[0])
        weights[features] = best
    left = Bundle(bundle.support, *open_) if open_.bound.size else None
    stubborn = Bundle(bundle.support, *small) if small.bound.size else None
    return Findings(bundle.support, found, weights, left, stubborn, splits, boxes, done)


def run_task(
    t: Tables,
    columns: list[NDArray[np.intp]],
    lines: list[Lines],
    bundles: list[Bundle],
    incumbents: list[float],
    slack: float,
    work: float,
    record: bool,
    first_name: int,
) -> list[Findings]:
    """One joblib task: its bundles one after the other, each starting from the best value of those before it."""
    out: list[Findings] = []
    gain = 0.0
    for i, bundle in enumerate(bundles):
        at = incumbents[i] + gain
        name = first_name + i * (NAMES // max(len(bundles), 1))
        found = explore_bundle(t, columns[i], lines[i], bundle, at, slack, work, record, name)
        gain += max(found.value - at, 0.0)
        out.append(found)
    return out
