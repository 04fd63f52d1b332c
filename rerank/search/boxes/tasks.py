"""What one worker does: explore bundles of boxes with the compiled kernel and report what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.boxes.antiparallel import Lines
from rerank.search.boxes.frame import framed_tolerance
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

    def part(self, i: NDArray[np.intp]) -> Bundle:
        """Some of its boxes."""
        return Bundle(
            self.support, self.centres[i], self.halves[i], self.bounds[i], self.names[i], self.forces[i]
        )


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


@dataclass(frozen=True, eq=False)
class Support:
    """Features that carry weight, the frame of their boxes (None: their own axes) and their opposite pairs."""

    features: NDArray[np.intp]
    frame: Floats | None
    lines: Lines

    def weights(self, u: Floats, d: int) -> Floats:
        """Weights of all ``d`` features at box coordinates ``u``."""
        w = np.zeros(d)
        if self.frame is None:
            w[self.features] = u
        else:
            v = self.frame @ u
            w[self.features] = v / np.abs(v).max()
        return w


def instance(t: Tables, support: Support) -> Any:
    """The tables as the kernel takes them, on one support and in its frame."""
    from rerank.search.boxes.levels import Instance

    features, frame, lines = support.features, support.frame, support.lines
    pairs = t.pairs if features.size == t.pairs.shape[0] else t.pairs[features]
    slack = t.tolerance
    if frame is not None:
        pairs = frame.T @ pairs
        slack = framed_tolerance(slack, features.size)
    parts: tuple[Any, ...] = (
        pairs, np.empty((0, 0)) if frame is None else frame, t.slot, t.span, t.weight, lines.group, lines.count,
        t.single, t.linear, t.integral, t.total, t.epsilon, slack, t.unit_start, t.unit_slots, t.unit_of, t.coef_start,
        t.coef,
    )  # fmt: skip
    # Backends with processes hand over read-only maps of large arrays; the kernel is compiled for plain ones.
    plain = [np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray) else x for x in parts]
    return Instance._make(plain)


def explore_bundle(
    t: Tables,
    support: Support,
    bundle: Bundle,
    incumbent: float,
    slack: float,
    work: float,
    record: bool,
    first_name: int,
) -> Findings:
    """Explore a bundle on its support; ``incumbent`` in the tables' unit."""
    from rerank.search.boxes.kernel import explore
    from rerank.search.boxes.stack import Boxes
    from rerank.search.boxes.workspace import room

    forces = bundle.forces
    if support.lines.count and forces.shape[1] == 0:
        forces = np.zeros((bundle.bounds.size, FORCES), np.int32)
    # The kernel writes into what it is given, and processes are handed read-only maps.
    todo = Boxes(*(np.array(x) for x in (bundle.centres, bundle.halves, bundle.bounds, bundle.names, forces)))
    given = instance(t, support)
    memory = room(given, bundle.bounds.size, forces.shape[1], record)
    found, best, open_, small, splits, boxes, done = explore(
        given, memory, todo, incumbent, slack, work, SMALLEST, record, first_name
    )
    weights = support.weights(best, t.pairs.shape[0]) if found > incumbent else None
    left = Bundle(bundle.support, *open_) if open_.bound.size else None
    stubborn = Bundle(bundle.support, *small) if small.bound.size else None
    return Findings(bundle.support, found, weights, left, stubborn, splits, boxes, done)


def run_task(
    t: Tables,
    supports: list[Support],
    bundles: list[Bundle],
    incumbents: list[float],
    slack: float,
    each: float,
    work: float,
    record: bool,
    first_name: int,
) -> list[Findings]:
    """One job: its bundles one after the other, ``each`` with so much work at most, until all ``work`` is done.

    Every bundle starts from the best value of those before it; bundles that were not begun come back as they are.
    """
    out: list[Findings] = []
    gain = 0.0
    for i, bundle in enumerate(bundles):
        at = incumbents[i] + gain
        if work <= 0:
            out.append(Findings(bundle.support, at, None, bundle, None, np.empty((0, 3), np.int64), 0, 0.0))
            continue
        name = first_name + i * (NAMES // max(len(bundles), 1))
        found = explore_bundle(t, supports[i], bundle, at, slack, min(each, work), record, name)
        gain += max(found.value - at, 0.0)
        work -= found.work
        out.append(found)
    return out
