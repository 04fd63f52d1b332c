"""The problem as flat arrays for the compiled kernels: as pairs of rows, or as rows where there are too many pairs.

A *pair* is an item ``i`` above another item ``k`` of lower gain in the same list; a *slot* is an item in one
binary list (a threshold of its list's gains), so a pair counts in the consecutive slots of the thresholds
between the two gains.  Equal pairs of the same item are merged and weighted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem import Problem, RankedList
from rerank.problem.lists import Floats, Indices, rows_of
from rerank.problem.problem import GRID, coordinates
from rerank.search.quotas import NO_QUOTAS, QuotaRows, quota_rows
from rerank.search.rows.choice import last_hit, rough, smooth_from
from rerank.search.sizes import ListPairs, check_time, pairs_of

if TYPE_CHECKING:
    from rerank.search.rows.smooth import Sample

FINEST = 2**20  # whole numbers are looked for in tables multiplied by this
MOST_COMMON = 2**45  # common denominators beyond are of no use: rounding hides their multiples
MOST_NUMBERS = 10_000_000  # numbers that a covariance is computed from

Ints = NDArray[np.int32]


class Slots(NamedTuple):
    """The slots of binary lists, and what their places earn; kernels take it as it is."""

    unit_start: Any  # where the slots of each list begin,
    unit_slots: Any  # the slots, list by list,
    unit_of: Any  # and the list of each
    coef_start: Any  # where the places of each list begin,
    coef: Any  # and what they earn, best place first, without trailing zeros
    hits: Any  # what a list's j-th best item multiplies that with, as in ``unit_slots``


class Paid(NamedTuple):
    """What the places of binary lists earn, best place first, and what the j-th best positive multiplies that with."""

    places: Any  # that earn something, at most as many as the list has rows
    coef_start: Any
    coef: Any
    hit_start: Any
    hits: Any  # empty where all are 1
    counted: Any  # so many of the best positives of a list can earn something
    step: Any  # 0 where the positives of a list take no places from each other, else 1


class Lists(NamedTuple):
    """Lists of rows, the highest gain first."""

    begin: Any  # rows ``begin[q] .. begin[q + 1]`` make a list
    level: Any  # a row of level l is a positive of the first l of the list's binary lists,
    first_unit: Any  # which begin here
    paid: Paid


@dataclass(frozen=True, eq=False, kw_only=True)
class TableHead:
    """What tables of pairs and tables of rows share; values are in the kernels' unit."""

    constant: float  # added to every value
    epsilon: float  # the margin
    tolerance: float  # the rounding of a pair, or of both rows of one
    spacing: float  # see :func:`spacing`
    ideal: float  # value of losing nothing
    slack: float  # a box is fathomed when its bound beats the incumbent by no more: rounding of sums
    quotas: QuotaRows = NO_QUOTAS
    linear: bool = False  # whether a place earns a constant amount more than the next (AUC)
    grain: float = 0.0  # linear problems: the unit, 0 where losses are not integral,
    total: float = 0.0  # and ``ideal`` again
    by_rows: ClassVar[bool] = False

    @property
    def integral(self) -> bool:
        """Whether values are whole multiples of ``grain``."""
        return self.grain > 0

    def to_value(self, inner: float) -> float:
        """From the kernels' unit to the problem's."""
        return float(self.constant + inner * (self.grain or 1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables(TableHead):
    """Pairs, slots and what each place earns."""

    pairs: Floats  # (d, P): scaled differences, one column a pair
    slot: Ints  # (P,): first slot of the pair,
    span: Ints  # and number of slots
    multiplicity: Ints  # (P,): how many equal pairs a column stands for
    upper: Ints  # (P,): rows of the data that the column is the difference of
    lower: Ints
    slots: Slots
    loss: Floats  # (P,): linear problems: what losing the pair costs

    @property
    def size(self) -> int:
        """What one evaluation of everything counts as: the number of pairs."""
        return self.pairs.shape[1]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.pairs.shape[0]

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences of pairs, of every so many where there are very many."""
        return np.atleast_2d(np.cov(self.pairs[:, :: 1 + self.pairs.size // MOST_NUMBERS]))

    @cached_property
    def single(self) -> bool:
        """Whether every pair counts once, in one slot."""
        return bool((self.span == 1).all() and (self.multiplicity == 1).all())

    @cached_property
    def count_start(self) -> NDArray[np.int64]:
        """Where each binary list's counts of items by lost pairs begin, for the line search."""
        most = np.zeros(self.slots.unit_of.size + 1, np.int64)
        np.add.at(most, self.slot, self.multiplicity)
        np.add.at(most, self.slot + self.span, -self.multiplicity)
        most = np.cumsum(most)[:-1]
        counts = np.zeros(self.slots.unit_start.size - 1, np.int64)
        np.maximum.at(counts, self.slots.unit_of, most + 2)
        return np.concatenate([[0], np.cumsum(counts)])

    def value_of(self, won: NDArray[np.bool_]) -> float:
        """Value in the tables' unit of a set of won pairs."""
        if self.linear:
            return float(self.total - self.loss[~won].sum())
        gone = np.flatnonzero(~won)
        first, count, size = self.slot[gone], self.multiplicity[gone], self.slots.unit_of.size + 1
        # Slots of one pair are consecutive, so marking both ends and summing up counts every slot in between.
        marks = np.bincount(first, count, size) - np.bincount(first + self.span[gone], count, size)
        lost = np.cumsum(marks)[:-1].astype(np.int64)
        value, slots = 0.0, self.slots
        for (a, z), (p, q) in zip(pairwise(slots.unit_start), pairwise(slots.coef_start), strict=True):
            mine, coef = np.sort(lost[slots.unit_slots[a:z]]), slots.coef[p:q]
            place = mine + np.arange(mine.size)
            hits = slots.hits[a:z][place < coef.size]
            value += float((coef[place[place < coef.size]] * hits).sum())
        return value

    @cached_property
    def weight(self) -> Floats:
        """What the box kernel adds up: the loss of a pair, or its multiplicity."""
        return self.loss if self.linear else self.multiplicity.astype(np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowTables(TableHead):
    """Rows list by list, positives first, and what places earn. A list here is binary: a list with several grades
    stands once for each of its thresholds.
    """

    rows: Floats  # (n, d): scaled, the highest gain first, minus one point of each list
    order: Indices  # (n,): rows of the problem that they are
    lists: Lists  # those with their several grades, and what the places of the binary ones earn
    entries: Ints  # (E,): row numbers of every binary list
    n_positive: Ints  # (U,)
    n_rows: Ints  # (U,)
    rough: bool  # whether the steps of the value along a line are too many to look at each
    _samples: dict[int, Sample] = field(default_factory=dict, init=False)
    by_rows: ClassVar[bool] = True

    @cached_property
    def size(self) -> int:
        """What one evaluation of everything counts as."""
        return int(self.entries.size)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences of rows, of every so many where there are very many."""
        return 2.0 * np.atleast_2d(np.cov(self.rows[:: 1 + self.rows.size // MOST_NUMBERS].T))

    def sample(self, most: int) -> Sample:
        """About so many rows as the smooth stand-in for the value takes them, always the same ones."""
        from rerank.search.rows.smooth import sampled, whole

        n, known = self.rows.shape[0], self._samples
        if n not in known:
            known[n] = whole(self.rows, self.lists)
        if most < n and most not in known:
            known[most] = sampled(known[n], most, np.random.default_rng(0))
        return known[min(most, n)]

    @cached_property
    def spread(self) -> Floats:
        """Covariance of the columns inside lists, of a sample where there are very many rows."""
        from rerank.search.rows.smooth import spread

        return spread(self.sample(max(10 * MOST_NUMBERS // self.n_features**2, 40 * self.n_features)))

    @property
    def smooth(self) -> bool:
        """Whether climbs begin on the smooth stand-in for the value."""
        return self.n_features >= smooth_from(self.lists.begin.size - 1)


def places_of(factor: float, coefficients: Floats) -> Floats:
    """What the places of a list earn, best place first, without those at the end that earn nothing."""
    coef = factor * coefficients[::-1]
    return coef[: np.flatnonzero(coef > 0).max(initial=0) + 1]


def starts(parts: Sequence[NDArray[np.generic]]) -> Ints:
    """Where each of the arrays begins once they stand one after the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int32)


def _joined(parts: Sequence[NDArray[np.generic]], kind: Any = np.float64) -> NDArray[Any]:
    return np.concatenate([np.empty(0), *parts]).astype(kind)


def _most(places: Sequence[Floats], hits: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The ideal value and the slack, unless only the number of lost pairs matters."""
    ideal = float(sum((x[: y.size] * y[: x.size]).sum() for x, y in zip(places, hits, strict=True)))
    top = float(sum(x.sum() for x in places)) * max((float(y.max(initial=1)) for y in hits), default=1.0)
    return ideal, 1e-13 * max(top, 1e-300)


def tolerance(problem: Problem) -> float:
    """Bound on the rounding of ``v.(x_i - x_k) - epsilon`` for scaled rows and allowed coordinates.

    A scaled feature is off by at most 4 units, a difference by 9, a product of ``d`` terms by ``d + 2`` more, in
    units of what the terms sum to; doubled for good measure. In anchored problems features are scaled once more, and
    the weights are rounded when they are reported.
    """
    d, size = problem.n_features, problem.largest_score
    anchored = 8.0 * (size + problem.epsilon) * 2.0**-53 if problem.anchored else 0.0
    return 2.0 * size * (d + 11) * 2.0**-53 + 2.0**-52 * (1.0 + problem.epsilon) + anchored


def spacing(problem: Problem) -> float:
    """What divides the numbers of a box: ``v.(x_i - x_k) - epsilon`` at its centre and vertices.

    It divides them where all half-widths but 0 are at least 1, and ``h`` times it where they are at least ``h``; 0 if
    none is known.  Tables of whole numbers have one: all numbers have a common denominator, and boxes are halved.
    Where it is more than the rounding, what is computed as 0 is exactly 0, and the pair reaches the margin.
    """
    used = rows_of(problem.lists, len(problem.X))
    common, shares = problem.epsilon.exact.denominator, [1.0]
    for j, (size, *ends) in enumerate(np.transpose(coordinates(problem)).tolist()):
        column = problem.X[used, j]
        small = (np.abs(column) < 2.0**53 / FINEST).all()
        if common > MOST_COMMON or not small or ((column := column * FINEST) != np.rint(column)).any():
            return 0.0
        step = int(np.gcd.reduce((column - column[0]).astype(np.int64)))
        width = Fraction(float(problem.high[j])) - Fraction(float(problem.low[j]))
        common = math.lcm(common, (Fraction(step, FINEST) * Fraction(size) / width).denominator)
        # Both ends are multiples of 1 / GRID; of the width of the domain, too, but where limits are uneven.
        low, high = (int(end * GRID) for end in ends)
        if high > low:
            shares.append(math.gcd(low + high, high - low) / (high - low))
    return 0.0 if common > MOST_COMMON else min(shares) / common


def gap_of_orders(problem: Problem) -> float:
    """A margin by which some weights put all rows as any weights do that tie no unequal rows; 0 where none is known.

    On whole numbers ``w.D = 0`` are planes with normals of whole numbers. A cone between them holds the sum of ``k``
    of its edges, a vector of whole numbers: minors of ``k - 1`` normals. So ``|w.D|`` is at least 1 there, and with
    ranges ``R_j``, in steps of the columns, the largest ``|w_j| R_j`` at most ``k! prod R_j``. Planes of signs are
    among them; rows on the weights, given scores and weights of sum 1 are not.
    """
    if problem.anchored or problem.by_sum or problem.rows:
        return 0.0
    used, ranges = rows_of(problem.lists, len(problem.X)), []
    for j in range(problem.n_features):
        column = problem.X[used, j]
        if not (np.abs(column) < 2.0**53 / FINEST).all() or ((column := column * FINEST) != np.rint(column)).any():
            return 0.0
        step = float(np.gcd.reduce((column - column[0]).astype(np.int64)))
        width = (float(problem.high[j]) - float(problem.low[j])) * FINEST
        ranges.append(max(float(np.ptp(column)), width) / step if step else 1.0)
    k = min(problem.n_features, problem.max_features or problem.n_features)
    return float((1.0 - 1e-9) / (math.factorial(min(k, 100)) * np.prod(sorted(ranges)[-k:])))


def tables(problem: Problem, parts: list[ListPairs] | None = None, scale: Floats | None = None) -> Tables:
    """Flatten a problem; pairs of one item with equal rows are merged. ``parts`` are those of :func:`pairs_of`; columns
    are multiplied by ``scale``, so that points are coordinates.
    """
    parts = pairs_of(problem) if parts is None else parts
    # Slots: item by item, thresholds of one item in a row.
    offset, columns, members = 0, list[Ints](), list[Indices]()
    for q, part in zip(problem.lists, parts, strict=True):
        items, level = part.items.astype(np.int32), part.level.astype(np.int32)
        upper, depth = np.repeat(items, part.ends[items]), part.level[items]
        take = np.concatenate([np.arange(0, dtype=np.int32), *(np.arange(part.ends[i], dtype=np.int32) for i in items)])
        lower = part.below.astype(np.int32)[take]
        begin = offset + np.cumsum(depth) - depth
        where = np.full(q.gains.size, -1, np.int32)
        where[items] = begin
        slot, span = where[upper] + level[lower], level[upper] - level[lower]
        columns.append(np.array([slot, span, part.count[take], q.rows[upper], q.rows[lower]], np.int32))
        members += [begin[depth > t] + t for t in range(q.thresholds().size)]
        offset += int(depth.sum())
    # Positives that take no places from each other are binary lists of one each.
    split = [
        (unit, part)
        for unit, slots in zip(problem.units, members, strict=True)
        for part in (np.split(slots, slots.size) if unit.alone else [slots])
    ]
    units, slots = [unit for unit, _ in split], [part for _, part in split]
    unit_of = np.zeros(offset, np.int32)
    for u, s in enumerate(slots):
        unit_of[s] = u
    places = [places_of(unit.factor, unit.coefficients) for unit in units]
    hits = [unit.hits[: part.size] for unit, part in split]
    ideal, slack = _most(places, hits)
    slot, span, multiplicity, above, beneath = np.concatenate(columns, axis=1)
    pairs = _differences(problem.scaled, above, beneath)
    if scale is not None:
        pairs *= scale[:, None]
    if problem.by_sum:
        # A margin that is multiplied by the sum of the weights is a part of each column's difference.
        pairs -= float(problem.epsilon)
    flat = Tables(
        pairs=pairs,
        slot=slot,
        span=span,
        multiplicity=multiplicity,
        upper=above,
        lower=beneath,
        slots=Slots(starts(slots), _joined(slots, np.int32), unit_of, starts(places), _joined(places), _joined(hits)),
        loss=np.empty(0),
        ideal=ideal,
        slack=slack,
        constant=problem.constant,
        epsilon=0.0 if problem.by_sum else float(problem.epsilon),
        tolerance=tolerance(problem) * (4.0 if problem.by_sum else 1.0),
        spacing=0.0 if scale is None or problem.by_sum else spacing(problem),
        quotas=quota_rows(problem, scale, 4.0 * tolerance(problem)),
    )
    return _linear(problem, flat) if is_linear(problem) else flat


def _differences(X: Floats, upper: Ints, lower: Ints) -> Floats:
    """Differences of pairs of rows, one column a pair; feature by feature, so that nothing is held twice."""
    stop, pairs = current(), np.empty((X.shape[1], upper.size))
    for x, out in zip(np.ascontiguousarray(X.T), pairs, strict=True):
        check_time(stop)
        np.take(x, upper, out=out, mode="clip")  # this mode needs no buffer
        out -= x[lower]
    return pairs


def is_linear(problem: Problem) -> bool:
    """Whether a place earns a constant amount more than the next in every list; one of a single row has no next."""
    steps = [step for unit in problem.units if (step := np.diff(unit.coefficients)).size]
    even = all(np.all(step == step[0]) and step[0] > 0 for step in steps)
    return bool(steps and even and not problem.weighs_hits)


def _linear(problem: Problem, flat: Tables) -> Tables:
    """Value = best value minus the cost of each lost pair; integral when every pair costs the same."""
    units = problem.units
    price = np.array([unit.factor * np.diff(unit.coefficients[:2]).sum() for unit in units])
    price[price == 0] = price.max()  # of a single row, which no pair costs
    sums, grain = np.concatenate([[0.0], np.cumsum(price[flat.slots.unit_of])]), 0.0
    total, constant = float(sum(unit.ideal for unit in units)), flat.constant
    slack = 4e-15 * (flat.slots.unit_of.size + 8) * max(total, 1e-300)
    loss = (sums[flat.slot + flat.span] - sums[flat.slot]) * flat.multiplicity
    if np.all(price == price[0]):
        grain, loss, slack = float(price[0]), (flat.span * flat.multiplicity).astype(np.float64), 0.0
        constant, total = constant + total - grain * float(loss.sum()), float(loss.sum())
    return replace(flat, linear=True, loss=loss, grain=grain, total=total, ideal=total, slack=slack, constant=constant)


def _centre(rows: Floats, item: RankedList, anchored: bool) -> Floats:
    """What is subtracted from the rows of a list: rows near it have the narrowest intervals. Any point will do. Rows
    near the last place that earns something decide the value: those around it by the given score of an anchored
    problem, else the relevant rows.
    """
    near: Any = slice(int(np.count_nonzero(item.gains > 0)))  # the highest gains come first
    if anchored:
        places = max(int(np.count_nonzero(item.coefficients)), 2)
        near = np.argsort(-rows[:, 0], kind="stable")[places // 2 : 2 * places]
    chosen = rows[near]
    return chosen.mean(axis=0) if chosen.size else rows[0]


def row_tables(problem: Problem, scale: Floats) -> RowTables:
    """Flatten a problem; ``scale`` holds what columns are multiplied by, so that weights become coordinates."""
    levels = [np.searchsorted(item.thresholds(), item.gains, side="right") for item in problem.lists]
    orders = [np.argsort(-level, kind="stable") for level in levels]
    order = np.concatenate([item.rows[o] for item, o in zip(problem.lists, orders, strict=True)])
    rows = (problem.scaled * scale)[order]
    begin, first_unit = starts(levels), np.cumsum([0, *(q.thresholds().size for q in problem.lists)])
    for q, item in enumerate(problem.lists):
        mine = rows[begin[q] : begin[q + 1]]
        mine -= _centre(mine, item, problem.anchored)
    units = problem.units
    home = np.repeat(np.arange(begin.size - 1), np.diff(first_unit))
    places = [places_of(unit.factor, unit.coefficients) for unit in units]
    weighs = any(item.hits is not None for item in problem.lists)
    hits = [unit.hits.astype(np.float64) if weighs else np.empty(0) for unit in units]
    coef_start, n_rows = starts(places).astype(np.int64), np.diff(begin)[home]
    # One type of whole numbers but for the rows' own: each mixture of two compiles functions again.
    counted, steps = (
        np.array([(last_hit(unit.hits), not unit.alone) for unit in units], np.int64).reshape(-1, 2).T.copy()
    )
    earned = coef_start, _joined(places), starts(hits).astype(np.int64), _joined(hits)
    paid = Paid(np.minimum(np.diff(coef_start), n_rows).astype(np.int64), *earned, counted, steps)
    # Positives that take no places from each other are binary lists of one each.
    split = [(x, h) for unit, x in zip(units, places) for h in (unit.hits[:, None] if unit.alone else [unit.hits])]
    ideal, slack = _most([x for x, _ in split], [h for _, h in split])
    return RowTables(
        rows=rows,
        order=order,
        lists=Lists(
            begin.astype(np.int64),
            _joined([x[o] for x, o in zip(levels, orders, strict=True)], np.int32),
            first_unit.astype(np.int64),
            paid,
        ),
        entries=_joined([np.arange(begin[q], begin[q + 1]) for q in home], np.int32),
        n_positive=np.array([unit.positive.size for unit in units], np.int32),
        n_rows=n_rows.astype(np.int32),
        ideal=ideal,
        slack=slack,
        constant=problem.constant,
        epsilon=float(problem.epsilon),
        tolerance=4.0 * tolerance(problem),
        spacing=spacing(problem),
        rough=rough(problem),
        quotas=quota_rows(problem, scale, 4.0 * tolerance(problem)),
    )
