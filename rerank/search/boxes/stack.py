"""A stack of boxes as arrays, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.search.compiled import inner


class Boxes(NamedTuple):
    """Boxes to explore: centres, half-widths, bounds, names, and the sides of antiparallel pairs already chosen."""

    centre: Any
    half: Any
    bound: Any
    name: Any
    side: Any


@inner()
def empty(n: int, features: int, sides: int) -> Any:
    """Memory for ``n`` boxes."""
    return Boxes(
        np.empty((n, features)),
        np.empty((n, features)),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty((n, sides), np.int32),
    )


@inner()
def put(boxes: Any, i: int, c: Any, h: Any, bound: float, name: int, f: Any) -> None:
    """Write box ``i``."""
    for j in range(c.size):
        boxes.centre[i, j] = c[j]
        boxes.half[i, j] = h[j]
    for j in range(f.size):
        boxes.side[i, j] = f[j]
    boxes.bound[i] = bound
    boxes.name[i] = name


@inner()
def copied(boxes: Any, n: int, places: int) -> Any:
    """The first ``n`` boxes, with memory for ``places``."""
    made = empty(places, boxes.centre.shape[1], boxes.side.shape[1])
    for i in range(n):
        put(made, i, boxes.centre[i], boxes.half[i], boxes.bound[i], boxes.name[i], boxes.side[i])
    return made


@inner()
def longer(rows: Any) -> Any:
    """The rows of integers, with memory for twice as many."""
    n, k = rows.shape
    made = np.zeros((2 * n, k), np.int64)
    for i in range(n):
        for j in range(k):
            made[i, j] = rows[i, j]
    return made
