"""Boxes that the search could not split further, settled exactly."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rerank.search.boxes.search import BoxSearch
from rerank.search.boxes.tasks import Bundle
from rerank.search.boxes.vertices import Exact, Floats


def settle_small(
    search: BoxSearch, exact: Exact, deadline: float, offer: Callable[[Floats], None]
) -> tuple[set[int], bool]:
    """Settle the boxes that were too small to split; ``offer`` takes the points that are better than the best.

    Returns
    -------
    names : set of int
        Names of the boxes settled.
    settled : bool
        Whether none is left that could beat the value.  Boxes in a frame are left: exact answers are given for
        boxes of weights only.
    """
    names: set[int] = set()
    left: list[tuple[float, Bundle]] = []
    for bundle in search.stubborn:
        price = float(search.prices[bundle.support])
        framed = search.frame(bundle.support) is not None
        for i in range(bundle.bounds.size):
            box = bundle.part(np.array([i]))
            best = box.bound - price
            if best <= search.value + search.slack:
                continue
            if not framed and time.perf_counter() <= deadline:
                found = exact.settle(search.columns[bundle.support], box.centres[0], box.halves[0])
                if found is not None:
                    best = min(best, found[0] - price)
                    names.add(int(box.names[0]))
                    for w in found[1] if best > search.value + search.slack else []:
                        offer(w)
            left.append((best, box))
    open_ = [(best, box) for best, box in left if best > search.value + search.slack]
    search.stubborn = [
        Bundle(
            box.support,
            box.centres,
            box.halves,
            np.array([best + float(search.prices[box.support])]),
            box.names,
            box.forces,
        )
        for best, box in open_
    ]
    return names, not open_
