"""What the search for rows that must leave (:mod:`rerank.search.top.removal`) knows, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

REFUTED, REACHED, PAUSED, UNKNOWN = 0, 1, 2, 3
FREE, GONE, KEPT = 0, 1, 2


class Conflicts(NamedTuple):
    """Conflicts, one a line: rows, their shares of the positives or negatives, and how many rows there are."""

    members: Any  # int64 (M, m)
    shares: Any  # float64 (M, m)
    size: Any  # int64 (M,)
    count: Any  # int64 (1,)


class State(NamedTuple):
    """Where the search stands: which rows have left."""

    status: Any  # FREE, GONE or KEPT, by row
    dropped: Any  # bool, by row
    spare: Any  # int64 (2 B,): negatives and positives that may still leave each block
    often: Any  # conflicts not met that hold a row
    mark: Any
    trail: Any  # rows decided, in order; ``-1 - e`` for a row that had to follow another
    at: Any  # int64 (3,): how many these are, nodes so far, and looks at conflicts and at numbers of programs
    after: Any  # the same row in the block that it leaves with this one, or -1
    ahead: Any  # the row that this one follows, or -1


def beginning(positive: NDArray[np.bool_], spare: Sequence[int]) -> State:
    """No row has left, and so many negatives and positives of each block may leave at most.

    Demands grow from block to block: a positive that leaves a block leaves those before it, a negative those after it.
    """
    blocks = len(spare) // 2
    n = positive.size // blocks
    number = np.arange(positive.size)
    other = np.where(positive, number - n, number + n), np.where(positive, number + n, number - n)
    after, ahead = (np.where((x >= 0) & (x < positive.size), x, -1) for x in other)
    status, often, mark, trail = (np.zeros(positive.size, np.int64) for _ in range(4))
    dropped = np.zeros(positive.size, np.bool_)
    left = np.array(spare, np.int64)
    return State(status, dropped, left, often, mark, trail, np.zeros(3, np.int64), after, ahead)
