"""The threshold a positive has to pass: the largest score of the negatives, or the mean of the k largest.

Both are support functions, ``t_g(s) = max { p.s : p in P_g }`` with
``P_g = { p : 0 <= p_j <= cap_j, sum_j p_j = 1 }`` over the negatives j of list g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from rerank.errors import InputError
from rerank.io.options import one_of, real
from rerank.scorers.data import Floats, Ints

DEFAULT_K = {"topk": 10.0, "quantile": 0.05}


@dataclass(frozen=True, eq=False)
class MaxThreshold:
    """``t_g = max_j s_j``: ``cap_j = 1``.

    Attributes
    ----------
    start : int64 (G + 1,)
        Where the negatives of each list begin; no list is empty.
    """

    start: Ints

    def values(self, scores: Floats) -> Floats:
        """Threshold of each list (G,)."""
        if self.start.size == 2:
            return np.array([scores.max()])
        return np.asarray(np.maximum.reduceat(scores, self.start[:-1]))

    def caps(self) -> Floats:
        """Largest coefficient of each negative in a point of ``P_g``."""
        return np.ones(int(self.start[-1]))


@dataclass(frozen=True, eq=False)
class TopThreshold:
    """``t_g`` = mean of the ``k_g`` largest scores, a row of weight v counted v times: ``cap_j = v_j / k_g``.

    Attributes
    ----------
    start : int64 (G + 1,)
    weight : float64 (n,)
        Positive.
    k : float64 (G,)
        At most the total weight of the list.
    """

    start: Ints
    weight: Floats
    k: Floats

    def values(self, scores: Floats) -> Floats:
        """Threshold of each list (G,)."""
        if self.k.size == 1:
            rows, p = self._vertex(scores, 0)
            return np.array([p @ scores[rows]])
        found = np.empty(self.k.size)
        _top_means(self.start, self.weight, self.k, scores, found)
        return found

    def caps(self) -> Floats:
        """Largest coefficient of each negative in a point of ``P_g``."""
        return self.weight / np.repeat(self.k, np.diff(self.start))

    def _vertex(self, scores: Floats, g: int) -> tuple[Ints, Floats]:
        """Rows of list g, the best first, and their coefficients, none of them 0."""
        a, b = int(self.start[g]), int(self.start[g + 1])
        k = self.k[g]
        rows = np.arange(a, b)
        least = self.weight[a:b].min()
        enough = int(np.ceil(k / least)) if k < least * rows.size else rows.size
        if enough < rows.size:
            rows = a + np.argpartition(-scores[a:b], enough - 1)[:enough]
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        before = np.cumsum(self.weight[rows]) - self.weight[rows]
        p = np.clip(k - before, 0, self.weight[rows])
        some = p > 0
        return rows[some], p[some] / p.sum()


@njit(cache=True, nogil=True)
def _top_means(start: Any, weight: Any, k: Any, scores: Any, found: Any) -> None:
    """For each list g the mean of its ``k_g`` largest scores into ``found``, a row of weight v counted v times."""
    for g in range(k.size):
        held = scores[start[g] : start[g + 1]]
        order = np.argsort(-held)
        left = k[g]
        total = 0.0
        applied = 0.0
        for i in order:
            part = min(weight[start[g] + i], left)
            total += part * held[i]
            applied += part
            left -= part
            if left <= 0.0:
                break
        found[g] = total / applied


Threshold = MaxThreshold | TopThreshold


def threshold_of(name: str, k: float | None, start: Ints, weight: Floats) -> Threshold:
    """Build the threshold called ``max``, ``topk`` or ``quantile`` over negatives of these weights."""
    if name == "max":
        return MaxThreshold(start)
    total = np.add.reduceat(weight, start[:-1])
    wanted = DEFAULT_K[name] if k is None else float(k)
    counts = np.full(total.size, wanted)
    if name == "quantile":
        # Rounded up to whole rows, the lightest of the list being one, so that the unit of the weights does not
        # matter. The slack keeps tau * n from being lifted to the next integer by rounding: 0.07 * 100 > 7.
        row = np.minimum.reduceat(weight, start[:-1])
        counts = np.ceil(wanted * (total / row) * (1 - 1e-12)) * row
    return TopThreshold(start, weight, np.minimum(counts, total))


def check_threshold(name: str, k: float | None) -> None:
    """Raise :class:`InputError` unless ``name`` is known and ``k`` suits it."""
    one_of("threshold", name, ("max", *DEFAULT_K))
    if k is None:
        return
    if name == "max":
        raise InputError(f"k is {k!r} but threshold='max' has none; leave k out or choose topk or quantile.")
    if name == "topk":
        real("k", k, 1)
    elif not 0 < k <= 1:
        raise InputError(f"k is {k!r}; threshold='quantile' needs a share of the negatives in (0, 1].")
