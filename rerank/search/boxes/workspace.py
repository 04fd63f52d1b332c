"""The memory that exploring one node batch takes: levels of undecided pairs, and arrays of one box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.boxes.levels import LEVELS, Instance, Levels
from rerank.search.boxes.relaxation import Scratch

SPLITS = 1024  # recorded before the array grows


class BoxArrays(NamedTuple):
    """Arrays that hold what the kernel computes of one box, and those that it returns."""

    count: Any  # of items at a place; all zero between boxes
    lost: Any  # lost pairs of each slot in the whole box,
    central: Any  # and at its centre
    slope: Any
    mark: Any
    M: Any
    R: Any
    keep: Any
    chosen: Any
    forward: Any
    backward: Any
    relaxation: Any
    c: Any
    h: Any
    side: Any
    best: Any
    splits: Any
    notes: (
        Any  # of each box: its level, splits in a row that decided nothing, whether the last was by a group
    )


class Workspace(NamedTuple):
    """Memory of :func:`rerank.search.boxes.kernel.explore`."""

    levels: Any
    arrays: Any


def workspace(instance: Instance, n_boxes: int, n_sides: int, record: bool) -> Workspace:
    """A workspace for exploring ``n_boxes``, with every pair of the instance on level 0."""
    return Workspace(_levels(instance), _arrays(instance, n_boxes, n_sides, record))


def _levels(i: Instance) -> Levels:
    k, P = i.pairs.shape
    most = 5 * P + 64
    n_units, n_slots = i.unit_start.size - 1, i.unit_of.size
    depth = 1 if i.linear else LEVELS
    made = Levels(
        D=np.empty((k, most)),
        W=np.empty(most),
        S=np.empty(1 if i.linear else most, np.int32),
        Q=np.empty(1 if i.linear else most, np.int32),
        G=np.empty(most if i.n_groups else 1, np.int32),
        start=np.zeros(LEVELS, np.int64),
        size=np.zeros(LEVELS, np.int64),
        base=np.zeros(LEVELS),
        lost=np.zeros((depth, n_slots), np.int32),
        active=np.zeros((depth, n_units), np.int32),
        n_active=np.zeros(LEVELS, np.int64),
        ends=np.zeros((depth, n_slots + 1), np.int64),
        runs=np.zeros(LEVELS, np.int64),
    )
    made.D[:, :P] = i.pairs
    made.W[:P] = i.weight
    if i.n_groups:
        made.G[:P] = i.group
    if not i.linear:
        made.S[:P] = i.slot
        made.Q[:P] = i.span
        if i.single:
            last = np.flatnonzero(np.append(i.slot[1:] != i.slot[:-1], True)) if P else np.empty(0, np.int64)
            made.ends[0, : last.size] = last + 1
            made.runs[0] = last.size
    made.size[0] = P
    made.n_active[0] = n_units
    made.active[0] = np.arange(n_units)
    return made


def _arrays(i: Instance, n_boxes: int, n_sides: int, record: bool) -> BoxArrays:
    k, P = i.pairs.shape
    n_slots, relaxed = i.unit_of.size, P if i.linear else 1
    places = int(np.diff(i.coef_start).max(initial=1))
    return BoxArrays(
        count=np.zeros(places + 1, np.int64),
        lost=np.zeros(n_slots, np.int32),
        central=np.zeros(n_slots, np.int32),
        slope=np.zeros(n_slots),
        mark=np.zeros(i.unit_start.size, np.bool_),
        M=np.empty(P),
        R=np.empty(P),
        keep=np.empty(P + 1, np.int32),
        chosen=np.zeros(i.n_groups + 1, np.int32),
        forward=np.zeros(i.n_groups + 1),
        backward=np.zeros(i.n_groups + 1),
        relaxation=Scratch(np.empty(relaxed), np.empty(relaxed), np.empty(relaxed), np.empty(k), np.empty(k)),
        c=np.empty(k),
        h=np.empty(k),
        side=np.zeros(n_sides, np.int32),
        best=np.zeros(k),
        splits=np.empty((SPLITS if record else 1, 3), np.int64),
        notes=np.zeros((n_boxes, 3), np.int64),
    )
