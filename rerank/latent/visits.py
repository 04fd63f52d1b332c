"""The records of a shard in the order of an epoch: by sub-block, and by user within one."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def count(items: Any, part_of: Any, ends: Any) -> None:
    """``ends[k + 1]`` becomes the number of records in the sub-blocks 0 .. k; ``ends`` starts as zeros."""
    for r in range(items.size):
        ends[part_of[items[r]] + 1] += 1
    for k in range(1, ends.size):
        ends[k] += ends[k - 1]


@njit(cache=True, nogil=True)
def arrange(
    indptr: Any, items: Any, part_of: Any, place: Any, first: Any, cursor: Any, who: Any, where: Any
) -> None:
    """Stable counting sort.

    ``who[k]`` is the user (row of the shard) and ``where[k]`` the item of record k, as a position counted from
    ``first`` of its sub-block; ``cursor`` holds where each sub-block begins, and is used up.
    """
    for x in range(indptr.size - 1):
        for r in range(indptr[x], indptr[x + 1]):
            y = items[r]
            k = part_of[y]
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
