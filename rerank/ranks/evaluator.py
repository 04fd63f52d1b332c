"""One statistic on lists whose labels are known: what any scores are worth."""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.ranks.lists import Empty, OneList, mean_over_lists
from rerank.ranks.positions import Indices, comparable, dense_codes
from rerank.ranks.row_gains import Floats
from rerank.statistics import RankStatistic, presentation
from rerank.statistics.base import Ties

__all__ = ["Evaluator", "Ties", "shown"]


class Evaluator:
    """Values of lists by one statistic; what does not depend on scores is computed once. Each row is in one list."""

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
        pays = [scale > 0 for _, scale in self.shown]
        earned = [self._coefficients(size) if own else np.zeros(size) for size, own in zip(sizes, pays)]
        rows, gains = ([getattr(one, name) for one in self.lists] for name in ("rows", "gains"))
        number = np.repeat(np.arange(len(sizes)), sizes)
        return np.concatenate(rows), number, np.concatenate(gains), np.concatenate(earned)

    def values(self, scores: ArrayLike, ties: Ties | None = None) -> list[float | None]:
        """Value of each list by the scores of all rows, by default with the statistic's own ties; None without one."""
        ties = ties or self.statistic.ties
        rows, number, gains, coefficients = self._flat
        given = comparable(scores)
        if given.size != rows.size:
            raise InputError(f"There are {rows.size} labels and {given.size} scores; give one score per row.")
        given = given[rows]
        if ties == "average" or self.statistic.weighs_hits or self.statistic.by_order:
            raw = []
            for own in map(slice, [0, *self._ends], self._ends):
                codes = dense_codes(given[own])[1]
                if self.statistic.by_order:
                    raw.append(float(won_pairs(gains[own], codes, ties).sum()) / 2)
                else:  # by telescoping, the sum over gain thresholds of each binary value
                    raw.append(math.fsum(_earned(self.statistic, coefficients[own], gains[own], codes, ties)[1]))
        else:  # all lists are sorted at once
            sortable = dense_codes(given)[1] if given.dtype.kind == "O" else given
            order = np.lexsort((gains if ties == "optimistic" else -gains, sortable, number))
            earned = (coefficients * gains[order]).tolist()
            raw = [math.fsum(earned[start:end]) for start, end in zip([0, *self._ends], self._ends)]
        return [(one - offset) / scale if scale > 0 else None for one, (offset, scale) in zip(raw, self.shown)]

    def mean(self, scores: ArrayLike, ties: Ties | None = None, empty: Empty = "skip") -> float:
        """Weighted mean over the lists; see :func:`rerank.ranks.lists.mean_over_lists`."""
        return mean_over_lists(self.lists, self.values(scores, ties), empty)

    def lead(self, scores: ArrayLike, others: ArrayLike, ties: Ties | None = None) -> tuple[float, float]:
        r"""How far the mean by ``scores`` is above that by ``others``, and the standard error of that lead.

        Of several lists it is that of the mean of paired differences. Of one list the rows that earn are what varies:
        with :math:`d_i` what row i earns by one order less what it earns by the other, :math:`\sqrt{\sum_i d_i^2}`.
        For hits of the first N that is the root of the number of hits that only one of the two has [McNemar1947]; for
        AUC of two classes it is the error of two correlated areas [DeLong1988]. NaN for a single list among several.
        """
        own, other = self.values(scores, ties), self.values(others, ties)
        lead = mean_over_lists(self.lists, own) - mean_over_lists(self.lists, other)
        if len(self.lists) == 1:
            return lead, self._error_of_rows(np.asarray(scores), np.asarray(others), ties or self.statistic.ties)
        pairs = [(one.weight, a - b) for one, a, b in zip(self.lists, own, other) if a is not None and b is not None]
        weights, leads = (np.array(side) for side in zip(*pairs))
        counted = int(np.count_nonzero(weights))
        if counted < 2:
            return lead, math.nan
        spread = float(((weights * (leads - lead)) ** 2).sum()) * counted / (counted - 1)
        return lead, math.sqrt(spread) / float(weights.sum())

    def _error_of_rows(self, scores: NDArray[Any], others: NDArray[Any], ties: Ties) -> float:
        """Standard error of a lead on one list."""
        one = self.lists[0]
        gains, scale = one.gains, self.shown[0][1]
        levels = np.unique(gains)
        if self.statistic.counts_pairs and levels.size == 2 and levels[0] == 0 and not one.missed.size:
            sides = [_placements(side[one.rows], gains > 0) for side in (scores, others)]
            return math.sqrt(sum(float(np.square(a - b).sum()) / a.size**2 for a, b in zip(*sides)))
        earned = [np.empty(gains.size), np.empty(gains.size)]
        for by_row, side in zip(earned, (scores, others)):
            codes = dense_codes(side[one.rows])[1]
            if self.statistic.by_order:
                by_row[:] = won_pairs(gains, codes, "average")
            else:
                order, by_place = _earned(self.statistic, self._coefficients(gains.size), gains, codes, ties)
                by_row[order] = by_place
        return float(np.linalg.norm(earned[0] - earned[1])) / scale


def _placements(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """For each relevant row the share of other rows below it, for each other row that of relevant rows above it."""

    def share(rows: Floats, among: Floats) -> Floats:
        ordered = np.sort(among)
        ends = np.searchsorted(ordered, rows, "left"), np.searchsorted(ordered, rows, "right")
        return np.asarray((ends[0] + ends[1]) / (2.0 * among.size))

    up, down = scores[positive], scores[~positive]
    return share(up, down), 1.0 - share(down, up)


def won_pairs(gains: Floats, codes: Indices, ties: Ties = "pessimistic") -> Floats:
    """For each row the pairs with a row of another gain that are in the right order by these scores; ``n log^2 n``.

    Half their sum is the number of such pairs. A pair of equal scores counts 0, 1 or one half. ``codes`` are the
    scores, or their places among them (:func:`rerank.ranks.positions.dense_codes`).
    """
    if ties == "average":
        return (won_pairs(gains, codes) + won_pairs(gains, codes, "optimistic")) / 2
    order = np.lexsort((gains if ties == "optimistic" else -gains, codes))
    # A row above another of smaller gain: rows part at the highest binary digit in which their gains' places differ.
    level = dense_codes(gains)[1][order]
    won = np.zeros(gains.size)
    for digit in range(int(level.max(initial=0)).bit_length() - 1, -1, -1):
        above, group = (level >> digit) & 1, level >> (digit + 1)
        first = np.searchsorted(group, group)  # of the group, whose rows are in the order of the scores
        last = np.searchsorted(group, group, side="right")
        zeros, ones = np.cumsum(np.r_[0, 1 - above]), np.cumsum(np.r_[0, above])
        here = np.arange(level.size)
        won[order] += np.where(above, zeros[here] - zeros[first], ones[last] - ones[here])
        by_group = np.argsort(level >> digit, kind="stable")
        level, order = level[by_group], order[by_group]
    return won


def _earned(
    statistic: RankStatistic, coefficients: Floats, gains: Floats, codes: Indices, ties: Ties
) -> tuple[Indices, Floats]:
    """Rows from the last place up, and what each of them earns."""
    if statistic.alone:
        return np.arange(gains.size), gains * _earned_alone(coefficients, gains, codes, ties)
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
    return order, coefficients * earned


def _earned_alone(coefficients: Floats, gains: Floats, codes: Indices, ties: Ties) -> Floats:
    """What each row would earn as the only relevant one beside the irrelevant rows."""
    others, sums = np.sort(codes[gains == 0]), np.concatenate([[0.0], np.cumsum(coefficients[::-1])])
    # The irrelevant rows above it: at least those of larger scores, at most those of equal ones, too.
    least = others.size - np.searchsorted(others, codes, "right")
    most = np.minimum(others.size - np.searchsorted(others, codes, "left"), gains.size - 1)
    first, last = {"pessimistic": (most, most), "optimistic": (least, least), "average": (least, most)}[ties]
    return np.asarray((sums[last + 1] - sums[first]) / np.maximum(last + 1 - first, 1))


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
    if statistic.by_order:
        if missed.size:
            raise InputError(
                f"{statistic.name} counts pairs of rows, and {missed.size} relevant items of a list are no rows; leave "
                "ideal_gains out, or use another statistic."
            )
        counts = np.unique(gains, return_counts=True)[1].astype(np.float64)
        return 0.0, (gains.size**2 - float(counts @ counts)) / 2
    if not missed.size and gains.any():
        return presentation(statistic, gains.size, gains)
    everything = np.concatenate([gains, missed])
    if not everything.any():
        return 0.0, 0.0
    scale = presentation(statistic, everything.size, everything)[1]
    return presentation(statistic, gains.size, gains)[0] if gains.any() else 0.0, scale
