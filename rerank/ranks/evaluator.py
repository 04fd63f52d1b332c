"""One statistic on lists whose labels are known: what any scores are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.ranks.lists import Empty, OneList, mean_over_lists, scores_of
from rerank.ranks.positions import Indices, dense_codes
from rerank.ranks.row_gains import Floats
from rerank.statistics import RankStatistic, presentation

Ties = Literal["pessimistic", "optimistic", "average"]


class Evaluator:
    """Values of lists by one statistic; what does not depend on scores is computed once.

    Parameters
    ----------
    statistic : RankStatistic
    lists : sequence of OneList
        All rows, each in one list.
    """

    def __init__(self, statistic: RankStatistic, lists: Sequence[OneList]) -> None:
        self.statistic, self.lists = statistic, lists
        self.shown = [shown(statistic, one.gains, one.missed) for one in lists]
        self._coefficients = cache(statistic.coefficients)
        self._ends = np.cumsum([one.rows.size for one in lists]).tolist()

    @cached_property
    def _flat(self) -> tuple[Indices, Indices, Floats, Floats]:
        """Rows list by list, the number of the list, the gain of each, and what its places earn from the last up."""
        sizes = [one.rows.size for one in self.lists]
        # A statistic for lists of one length has no coefficients for lists of others, which may be without a value.
        earned = [
            self._coefficients(size) if scale > 0 else np.zeros(size) for size, (_, scale) in zip(sizes, self.shown)
        ]
        return (
            np.concatenate([one.rows for one in self.lists]), np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate([one.gains for one in self.lists]), np.concatenate(earned),
        )  # fmt: skip

    def values(self, scores: ArrayLike, ties: Ties) -> list[float | None]:
        """Value of each list; None where it has none.

        Parameters
        ----------
        scores : array (n,)
            Of all rows.
        ties : {"pessimistic", "optimistic", "average"}
        """
        rows, number, gains, coefficients = self._flat
        given = scores_of(scores, rows.size)[rows]
        if ties == "average" or self.statistic.weighs_hits:
            raw = [
                _raw(self.statistic, coefficients[start:end], gains[start:end], dense_codes(given[start:end])[1], ties)
                for start, end in zip([0, *self._ends], self._ends)
            ]
        else:  # all lists are sorted at once
            order = np.lexsort((gains if ties == "optimistic" else -gains, _sortable(given), number))
            earned = (coefficients * gains[order]).tolist()
            raw = [math.fsum(earned[start:end]) for start, end in zip([0, *self._ends], self._ends)]
        return [(one - offset) / scale if scale > 0 else None for one, (offset, scale) in zip(raw, self.shown)]

    def mean(self, scores: ArrayLike, ties: Ties, empty: Empty = "skip") -> float:
        """Weighted mean over the lists; see :func:`rerank.ranks.lists.mean_over_lists`."""
        return mean_over_lists(self.lists, self.values(scores, ties), empty)


def _sortable(scores: NDArray[Any]) -> NDArray[Any]:
    return dense_codes(scores)[1] if scores.dtype.kind == "O" else scores


def value_of(
    statistic: RankStatistic, coefficients: Callable[[int], Floats], gains: Floats, missed: Floats, scores: Floats,
    ties: Ties,
) -> float | None:  # fmt: skip
    """Value of one list; None if it has none.  ``coefficients`` are those of the statistic, perhaps cached."""
    offset, scale = shown(statistic, gains, missed)
    if not scale > 0:
        return None
    codes = dense_codes(scores)[1]
    return (_raw(statistic, coefficients(codes.size), gains, codes, ties) - offset) / scale


def _raw(statistic: RankStatistic, coefficients: Floats, gains: Floats, codes: Indices, ties: Ties) -> float:
    """Sum of gain times coefficient: by telescoping, the sum over gain thresholds of each binary value."""
    last = gains if ties == "optimistic" else -gains
    order = np.lexsort((last, codes))
    earned = gains[order]
    hits = statistic.hit_weights(gains.size)
    if ties == "average":
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sizes = np.diff(starts, append=codes.size)
        if hits is not None:
            coefficients = coefficients * _mean_hit_weights(statistic, earned, starts, sizes)
        coefficients = np.repeat(np.add.reduceat(coefficients, starts) / sizes, sizes)
    elif hits is not None:
        number = np.cumsum(earned[::-1])[::-1].astype(np.intp)
        earned = earned * hits[np.maximum(number, 1) - 1]
    return math.fsum(coefficients * earned)


def _mean_hit_weights(statistic: RankStatistic, earned: Floats, starts: Indices, sizes: Indices) -> Floats:
    """Mean weight of a relevant row at each rank, the orders of blocks of equal scores being random."""
    weights = np.zeros(earned.size)
    above = 0
    hits = np.add.reduceat(earned, starts).astype(np.intp).tolist()
    for start, size, own in zip(starts[::-1].tolist(), sizes[::-1].tolist(), hits[::-1], strict=True):
        if own:
            weights[start : start + size] = statistic.mean_hit_weights(above, own, size)[::-1]
        above += own
    return weights


def shown(statistic: RankStatistic, gains: Floats, missed: Floats) -> tuple[float, float]:
    """Offset and scale of a list, the scale with the items that were missed; scale 0 where no item has a gain."""
    if not missed.size and gains.any():
        return presentation(statistic, gains.size, gains)
    everything = np.concatenate([gains, missed])
    if not everything.any():
        return 0.0, 0.0
    scale = presentation(statistic, everything.size, everything)[1]
    return presentation(statistic, gains.size, gains)[0] if gains.any() else 0.0, scale
