"""A stack of boxes as arrays, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Boxes(NamedTuple):
    """Boxes to explore: centres, half-widths, bounds, names, and sides of lines already chosen."""

    centre: Any
    half: Any
    bound: Any
    name: Any
    force: Any


@njit(cache=True, nogil=True)
def grown(boxes: Any, notes: Any) -> Any:
    """Room for twice as many boxes."""
    return Boxes(
        np.concatenate((boxes.centre, boxes.centre)),
        np.concatenate((boxes.half, boxes.half)),
        np.concatenate((boxes.bound, boxes.bound)),
        np.concatenate((boxes.name, boxes.name)),
        np.concatenate((boxes.force, boxes.force)),
    ), np.concatenate((notes, notes))


@njit(cache=True, nogil=True)
def put(boxes: Any, i: int, c: Any, h: Any, bound: float, name: int, f: Any) -> None:
    """Write a box to place ``i``."""
    for j in range(c.size):
        boxes.centre[i, j] = c[j]
        boxes.half[i, j] = h[j]
    for j in range(f.size):
        boxes.force[i, j] = f[j]
    boxes.bound[i] = bound
    boxes.name[i] = name


@njit(cache=True, nogil=True)
def first(boxes: Any, n: int) -> Any:
    """A copy of the first ``n`` boxes."""
    return Boxes(
        boxes.centre[:n].copy(),
        boxes.half[:n].copy(),
        boxes.bound[:n].copy(),
        boxes.name[:n].copy(),
        boxes.force[:n].copy(),
    )
