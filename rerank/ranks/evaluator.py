"""One statistic on lists whose labels are known: what any scores are worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.ranks.lists import Empty, OneList, mean_over_lists
from rerank.ranks.positions import Indices, comparable, dense_codes, ordered
from rerank.ranks.row_gains import Floats
from rerank.statistics import RankStatistic
from rerank.statistics.base import TIES, Ties, by_size, presentations, sorted_by_list, sums

__all__ = ["Evaluator", "Ties", "scale_of"]


class Evaluator:
    """Values of lists by one statistic; what does not depend on scores is computed once. Each row is in one list."""

    def __init__(self, statistic: RankStatistic, lists: Sequence[OneList]) -> None:
        self.statistic, self.lists = statistic, lists
        self.scales = scales_of_lists(
            statistic, [ranked.gains for ranked in lists], [ranked.missed for ranked in lists]
        )
        self._known: tuple[NDArray[Any], dict[Ties, list[float | None]]] = np.empty(0), {}  # the last scores' values

    @cached_property
    def _flat(self) -> Flat:
        """All rows, list by list."""
        # A statistic for lists of one length has no coefficients for lists of others, which may be without a value.
        sizes, pays = _sizes([ranked.rows for ranked in self.lists]), np.array([scale > 0 for _, scale in self.scales])
        rows = np.concatenate([ranked.rows for ranked in self.lists])
        gains = np.concatenate([ranked.gains for ranked in self.lists])
        return Flat(self.statistic, rows, gains, sizes, pays)

    def values(self, scores: ArrayLike, ties: Ties | None = None) -> list[float | None]:
        """Value of each list by the scores of all rows, by default with the statistic's own ties; None without one."""
        ties, flat = ties or self.statistic.ties, self._flat
        given = comparable(scores)
        if given.size != flat.rows.size:
            raise InputError(f"There are {flat.rows.size} labels and {given.size} scores; give one score per row.")
        given = given[flat.rows]
        if not np.array_equal(self._known[0], given):
            self._known = given, {}
        known = self._known[1]
        if ties not in known:
            found = self._values(given, ties)
            # Without equal scores all ways to count them agree.
            known.update(dict.fromkeys(TIES, found) if flat.untied(given) else {ties: found})
        return list(known[ties])

    def _values(self, given: NDArray[np.generic], ties: Ties) -> list[float | None]:
        """Values by scores that stand list by list."""
        flat = self._flat
        if self.statistic.by_order:
            won = won_pairs(flat.gains, given, ties, flat.number)
            raw = np.bincount(flat.number, won, flat.sizes.size) / 2
        else:  # by telescoping, the sum over gain thresholds of each binary value
            raw = sums(flat.earned(given, ties)[1], flat.sizes)
        return [
            (own - offset) / scale if scale > 0 else None for own, (offset, scale) in zip(raw.tolist(), self.scales)
        ]

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
        rows = zip(self.lists, own, other)
        pairs = [(ranked.weight, a - b) for ranked, a, b in rows if a is not None and b is not None]
        weights, leads = (np.array(side) for side in zip(*pairs))
        counted = int(np.count_nonzero(weights))
        if counted < 2:
            return lead, math.nan
        spread = float(((weights * (leads - lead)) ** 2).sum()) * counted / (counted - 1)
        return lead, math.sqrt(spread) / float(weights.sum())

    def _error_of_rows(self, scores: Floats, others: Floats, ties: Ties) -> float:
        """Standard error of a lead on one list."""
        ranked = self.lists[0]
        gains, scale = ranked.gains, self.scales[0][1]
        levels = np.unique(gains)
        if self.statistic.counts_pairs and levels.size == 2 and levels[0] == 0 and not ranked.missed.size:
            sides = [_placements(side[ranked.rows], gains > 0) for side in (scores, others)]
            return math.sqrt(sum(float(np.square(a - b).sum()) / a.size**2 for a, b in zip(*sides)))
        earned = [np.empty(gains.size), np.empty(gains.size)]
        for by_row, side in zip(earned, (scores, others)):
            if self.statistic.by_order:
                by_row[:] = won_pairs(gains, side[ranked.rows], "average")
            else:
                order, by_place = self._flat.earned(comparable(side)[ranked.rows], ties)
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


def won_pairs(gains: Floats, scores: ArrayLike, ties: Ties = "pessimistic", lists: Indices | None = None) -> Floats:
    """For each row the pairs with a row of another gain in its list that are in the right order; ``n log^2 n``.

    Half their sum is the number of such pairs. A pair of equal scores counts 0, 1 or one half. ``lists`` are the
    ascending numbers of the rows' lists; all are one without it.
    """
    if ties == "average":
        return (won_pairs(gains, scores, lists=lists) + won_pairs(gains, scores, "optimistic", lists)) / 2
    number = np.zeros(gains.size, dtype=np.intp) if lists is None else lists
    order = np.lexsort((gains if ties == "optimistic" else -gains, _sortable(np.asarray(scores)), number))
    # A row above another of smaller gain: rows part at the highest binary digit in which their gains' places differ.
    level = dense_codes(gains)[1][order]
    digits = int(level.max(initial=0)).bit_length()
    level += number[order] << digits
    won = np.zeros(gains.size)
    for digit in range(digits - 1, -1, -1):
        above, group = (level >> digit) & 1, level >> (digit + 1)
        first = np.searchsorted(group, group)  # of the group, whose rows are in the order of the scores
        last = np.searchsorted(group, group, side="right")
        zeros, ones = np.cumsum(np.r_[0, 1 - above]), np.cumsum(np.r_[0, above])
        here = np.arange(level.size)
        won[order] += np.where(above, zeros[here] - zeros[first], ones[last] - ones[here])
        by_group = np.argsort(level >> digit, kind="stable")
        level, order = level[by_group], order[by_group]
    return won


def _sortable(scores: NDArray[np.generic]) -> NDArray[Any]:
    """Scores that ``lexsort`` takes."""
    return dense_codes(scores)[1] if scores.dtype.kind == "O" else scores


class Flat:
    """Rows of many lists, one list after the other; ``pays`` says which lists have a value."""

    def __init__(
        self, statistic: RankStatistic, rows: Indices, gains: Floats, sizes: Indices, pays: NDArray[np.bool_]
    ) -> None:
        self.statistic, self.rows, self.gains, self.sizes = statistic, rows, gains, sizes
        self.number = np.repeat(np.arange(sizes.size), sizes)
        self._last: tuple[NDArray[Any], Indices, NDArray[np.bool_]] | None = None  # scores and their order
        self.end = np.cumsum(sizes)[self.number] if sizes.size else np.empty(0, np.intp)
        # What its places earn from the last up.
        self.paid = np.zeros(rows.size)
        self.paid[pays[self.number]] = by_size(statistic.coefficients, sizes[pays])

    def untied(self, scores: NDArray[np.generic]) -> bool:
        """Whether scores are known to differ within each list: those that were ordered last."""
        return self._last is not None and bool(self._last[2].all()) and np.array_equal(self._last[0], scores)

    @cached_property
    def _hits(self) -> Indices:
        """What the j-th best relevant row multiplies that with, list by list."""
        return by_size(self.statistic.hit_weights, self.sizes)  # type: ignore[arg-type]

    def earned(self, scores: NDArray[np.generic], ties: Ties) -> tuple[Indices, Floats]:
        """Rows from the last place up, and what each of them earns; list by list."""
        if self.statistic.alone:
            return np.arange(self.gains.size), self.gains * self._by_list(scores, ties)
        order, new = self._order(scores)
        if ties != "average" and not new.all():
            # Rows of equal scores are sorted again, by their gains.
            block = np.cumsum(new)
            tied = np.flatnonzero(~new | np.append(~new[1:], False))
            last = self.gains[order[tied]]
            order[tied] = order[tied][np.lexsort((last if ties == "optimistic" else -last, block[tied]))]
        gains, paid = self.gains[order], self.paid
        if self.statistic.weighs_hits:
            # How many relevant rows stand here or above in the list.
            total = np.cumsum(gains).astype(np.intp)
            number = total[self.end - 1] - total + gains.astype(np.intp)
            if ties == "average":
                paid = paid * self._mean_hits(gains, number, new)
            else:
                gains = gains * self._hits[self.end - self.sizes[self.number] + np.maximum(number, 1) - 1]
        if ties == "average":
            starts = np.flatnonzero(new)
            sizes = np.diff(starts, append=new.size)
            paid = np.repeat(np.add.reduceat(paid, starts) / sizes, sizes)
        return order, paid * gains

    def _order(self, scores: NDArray[np.generic]) -> tuple[Indices, NDArray[np.bool_]]:
        """Rows by list and score, and whether each is the first of its score."""
        if self._last is not None and np.array_equal(self._last[0], scores):
            return self._last[1].copy(), self._last[2]
        number, given = self.number, _sortable(scores)
        if self.sizes.size == 1:
            last = None if self._last is None else self._last[1]
            if last is not None and np.count_nonzero(np.diff(given[last]) < 0) > given.size // 64:
                last = None
            order, _, new = ordered(given, last)
        else:
            order = np.lexsort((given, number))
            own, new = given[order], np.ones(order.size, dtype=bool)
            new[1:] = (own[1:] != own[:-1]) | (number[1:] != number[:-1])
        self._last = scores.copy(), order, new
        return order.copy(), new

    def _mean_hits(self, gains: Floats, number: Indices, new: NDArray[np.bool_]) -> Floats:
        """Mean weight of a relevant row at each rank, the orders of blocks of equal scores being random."""
        starts = np.flatnonzero(new)
        sizes, hits = np.diff(starts, append=new.size), np.add.reduceat(gains, starts).astype(np.intp)
        above = number[starts] - hits
        weights = self._hits[self.end - self.sizes[self.number] + np.maximum(number, 1) - 1] * gains
        for k in np.flatnonzero((sizes > 1) & (hits > 0)).tolist():
            block = self.statistic.mean_hit_weights(int(above[k]), int(hits[k]), int(sizes[k]))
            weights[starts[k] : starts[k] + sizes[k]] = block[::-1]
        return weights

    def _by_list(self, scores: NDArray[np.generic], ties: Ties) -> Floats:
        """What each row would earn as the only relevant one beside the irrelevant rows of its list."""
        order, new = self._order(scores)
        block, irrelevant = np.cumsum(new) - 1, (self.gains == 0)[order]
        # The irrelevant rows above it: at least those of larger scores, at most those of equal ones, too.
        counts = np.append(0, np.cumsum(irrelevant))
        starts = np.append(np.flatnonzero(new), new.size)
        least, most = np.empty((2, order.size), np.intp)
        last = counts[self.end]
        least[order], most[order] = last - counts[starts[block + 1]], last - counts[starts[block]]
        most = np.minimum(most, self.sizes[self.number] - 1)
        first, last = {"pessimistic": (most, most), "optimistic": (least, least), "average": (least, most)}[ties]
        to_come = by_size(lambda n: np.append(0.0, np.cumsum(self.statistic.coefficients(n)[::-1])), self.sizes)
        at = self.end - self.sizes[self.number] + self.number  # each list has one sum more than rows
        return np.asarray((to_come[at + last + 1] - to_come[at + first]) / np.maximum(last + 1 - first, 1))


def _sizes(parts: Sequence[NDArray[np.generic]]) -> Indices:
    return np.array([part.size for part in parts], dtype=np.intp)


def scale_of(statistic: RankStatistic, gains: Floats, missed: Floats) -> tuple[float, float]:
    """Offset and scale of a list, the scale with the items that were missed; scale 0 where no item has a gain."""
    return scales_of_lists(statistic, [gains], [missed])[0]


def scales_of_lists(
    statistic: RankStatistic, gains: Sequence[Floats], missed: Sequence[Floats]
) -> list[tuple[float, float]]:
    """:func:`scale_of` of many lists at once."""
    lacking = np.flatnonzero(_sizes(missed))
    if not statistic.by_order:
        offsets, scales = _presented(statistic, gains)
        if lacking.size:
            whole = [np.concatenate([gains[q], missed[q]]) for q in lacking.tolist()]
            scales[lacking] = _presented(statistic, whole)[1]
        return list(zip(offsets.tolist(), scales.tolist()))
    if lacking.size:
        raise InputError(
            f"{statistic.name} counts pairs of rows, and {missed[lacking[0]].size} relevant items of a list are no "
            "rows; leave ideal_gains out, or use another statistic."
        )
    sizes, every = _sizes(gains), np.concatenate([np.empty(0), *gains])
    number = np.repeat(np.arange(sizes.size), sizes)
    ascending = sorted_by_list(every, sizes)
    first = np.flatnonzero((np.diff(ascending, prepend=np.nan) != 0) | (np.diff(number, prepend=0) != 0))
    alike = np.diff(first, append=every.size).astype(np.float64)
    scales = (sizes**2 - np.bincount(number[first], alike * alike, sizes.size)) / 2
    return [(0.0, scale) for scale in scales.tolist()]


def _presented(statistic: RankStatistic, gains: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Offsets and scales of lists, 0 of those where no item has a gain."""
    offsets, scales = np.zeros((2, len(gains)))
    relevant = np.flatnonzero([own.any() for own in gains])
    if relevant.size:
        some = [gains[q] for q in relevant.tolist()]
        offsets[relevant], scales[relevant] = presentations(statistic, np.concatenate(some), _sizes(some))
    return offsets, scales
