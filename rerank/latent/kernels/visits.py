"""The records of a shard in one block, in the order of an epoch: by sub-block, then by user; and their visits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.kernels import kept

_WINDOW = 1024  # visits that are shuffled together


@kept()
def count(items: Any, part_of: Any, low: int, ends: Any) -> None:
    """Set ``ends[k + 1]`` to the number of records in the sub-blocks ``low .. low + k``; ``ends`` begins as zeros."""
    for r in range(items.size):
        k = part_of[items[r]] - low
        if 0 <= k < ends.size - 1:
            ends[k + 1] += 1
    for k in range(1, ends.size):
        ends[k] += ends[k - 1]


@kept()
def arrange(
    indptr: Any, items: Any, part_of: Any, place: Any, low: int, first: Any, cursor: Any, who: Any, where: Any
) -> None:
    """Sort the records in the ``cursor.size`` sub-blocks from ``low`` on by sub-block, in a stable counting sort.
    ``who[r]`` becomes the user (row of the shard) of record r, and ``where[r]`` its item, as a position within its
    sub-block, which begins at ``first``. ``cursor`` holds where the records of each sub-block begin; it is overwritten.
    """
    for x in range(indptr.size - 1):
        for r in range(indptr[x], indptr[x + 1]):
            y = items[r]
            k = part_of[y] - low
            if 0 <= k < cursor.size:
                to = cursor[k]
                cursor[k] = to + 1
                who[to] = x
                where[to] = place[y] - first[k]


def visit_starts(who: NDArray[np.int32], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """First record of each visit; a user with more than ``size`` records has several visits. The order is random within
    every ``_WINDOW`` visits. That separates the visits of a user, and the rows of users, which are in random order
    themselves, are still read from memory one after the other.
    """
    begins = np.flatnonzero(np.diff(who, prepend=-1))
    lengths = np.diff(begins, append=who.size)
    visits_of = -(-lengths // size)
    starts = np.repeat(begins, visits_of)
    within = np.arange(starts.size) - np.repeat(np.cumsum(visits_of) - visits_of, visits_of)
    starts += within * size
    for low in range(0, starts.size, _WINDOW):
        rng.shuffle(starts[low : low + _WINDOW])
    return starts
