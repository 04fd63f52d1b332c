"""The records of a shard in one block, in the order of an epoch: by sub-block, and by user within one."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def count(items: Any, part_of: Any, low: int, ends: Any) -> None:
    """``ends[k + 1]`` becomes the number of records in the sub-blocks ``low .. low + k``; ``ends`` starts as zeros."""
    for r in range(items.size):
        k = part_of[items[r]] - low
        if 0 <= k < ends.size - 1:
            ends[k + 1] += 1
    for k in range(1, ends.size):
        ends[k] += ends[k - 1]


@njit(cache=True, nogil=True)
def arrange(
    indptr: Any, items: Any, part_of: Any, place: Any, low: int, first: Any, cursor: Any, who: Any, where: Any
) -> None:
    """Stable counting sort of the records in the sub-blocks from ``low`` on, as many as ``cursor`` has entries.

    ``who[r]`` is the user (row of the shard) and ``where[r]`` the item of record r, as a position counted from
    ``first`` of its sub-block; ``cursor`` holds where the records of each sub-block begin, and is used up.
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


@njit(cache=True, nogil=True)
def records_in(indptr: Any, items: Any, part_of: Any, low: int, high: int, sizes: Any) -> None:
    """``sizes[x]``: records of user x in the sub-blocks ``low .. high``."""
    for x in range(indptr.size - 1):
        n = 0
        for r in range(indptr[x], indptr[x + 1]):
            n += low <= part_of[items[r]] < high
        sizes[x] = n
