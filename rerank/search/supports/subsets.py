"""Which features may carry weight: the supports that the box search has to cover.

With a penalty ``C`` on each feature or a limit on their number the cube falls apart into cubes of fewer
dimensions, one a support.  With a limit alone only the largest supports are needed (a smaller one lies on the
sides of a larger).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.lists import Indices

MOST = 5_000_000  # supports enumerated; beyond, the sizes left out are bounded together


class Supports(Sequence[Indices]):
    """All subsets of some sizes of ``d`` features, each size in lexicographic order; only their numbers are stored. The
    features are ``among`` (d,), ascending; if ``anchored``, a feature 0 precedes them in every support.
    """

    def __init__(self, d: int, sizes: Sequence[int], anchored: bool = False, among: Indices | None = None) -> None:
        self._d = d
        self._first = int(anchored)
        self._among = np.arange(self._first, self._first + d) if among is None else among
        self._sizes = np.array(sizes, dtype=np.int64)
        self._many = np.array([comb(d, s) for s in sizes], dtype=np.int64)
        self._ends = np.cumsum(self._many)

    def __len__(self) -> int:
        return int(self._many.sum())

    def __iter__(self) -> Iterator[Indices]:
        for s in self._sizes:
            for chosen in combinations(self._among, s):
                yield np.array([0] * self._first + list(chosen), dtype=np.intp)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self.rows(i, i + 1)[0].astype(np.intp)

    def rows(self, begin: int, end: int) -> NDArray[np.int32]:
        """Supports of one size as rows, from ``begin`` on and before ``end``."""
        b = int(np.searchsorted(self._ends, begin, side="right"))
        if self._sizes[b] == self._d:
            return np.pad(self._among[None].astype(np.int32), ((0, 0), (self._first, 0)))
        last = self._ends[b] - 1
        # Counted from the end, the n-th subset has n = C(x_1, s) + C(x_2, s - 1) + ... with d > x_1 > x_2 > ...
        left = last - np.arange(begin, min(end, last + 1))
        out = np.empty((left.size, self._sizes[b]), np.int32)
        for j, k in enumerate(range(self._sizes[b], 0, -1)):
            many = np.array([min(comb(x, k), 2**62) for x in range(self._d)], dtype=np.int64)
            x = np.searchsorted(many, left, side="right") - 1
            left = left - many[x]
            out[:, j] = self._among[self._d - 1 - x]
        return np.pad(out, ((0, 0), (self._first, 0)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of features of each that count."""
        return np.repeat(self._sizes, self._many)


def supports(
    d: int, limit: int | None, priced: bool, anchored: bool = False, among: Indices | None = None
) -> tuple[Supports, int | None]:
    """Supports to search, small ones first, and the smallest size that was left out (None where nothing is). ``d``
    features count, ``limit`` of them at most in a support; if ``priced``, each costs something, so that a smaller
    support can beat a larger one that contains it.
    """
    largest = d if limit is None else min(limit, d)
    sizes = range(1, largest + 1) if priced else [largest]
    total = 0
    for n, size in enumerate(sizes):
        total += comb(d, size)
        if total > MOST:
            return Supports(d, sizes[:n], anchored, among), size
    return Supports(d, sizes, anchored, among), None


def moving(problem: Problem) -> Indices:
    """The features that count and differ within some list; all that count if none does. Any other feature moves no
    pair. Weights without it, brought to norm 1, win every pair that they won with it; where rows name it they may need
    it.
    """
    first = int(problem.anchored)
    moves = np.zeros(problem.n_features, dtype=np.bool_)
    for row in problem.rows:
        moves |= np.array([a != 0 for a in row.coefficients])
    for item in problem.lists:
        rows = problem.X[item.rows]
        moves |= (rows != rows[:1]).any(axis=0)
        if moves[first:].all():
            break
    found = np.flatnonzero(moves[first:]) + first
    return found if found.size else np.arange(first, problem.n_features)
