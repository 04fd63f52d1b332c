r"""The problem in weight space: data, lists of gains and what counts as a good order.

A :class:`Problem` says everything that the value of a weight vector depends on, in stored doubles.  Search,
programs and certificate all read it; none of them adds to it.

Value of weights ``w`` (scaled space, ``max|w_j| = 1`` or ``w = 0``)::

    V(w)  = sum_q weight_q * (raw_q(w) + constant_q) / scale_q  /  sum_q weight_q
    raw_q = sum_t (g_(t) - g_(t-1)) * sum_j h_j a[m - (j + lost_(j)) + 1]

where ``g_(1) < g_(2) < ...`` are the list's distinct positive gains (``g_(0) = 0``), ``lost`` holds for each
item of gain ``>= g_(t)`` the number of the list's other items ``k`` with ``w.(x_i - x_k) < epsilon``, sorted
ascending, and ``a_1 <= ... <= a_m`` are the list's coefficients.  The weights ``h_1 .. h_m >= 0`` are 1, but for
measures that look at several relevant items at once (:mod:`rerank.statistics.catalogue`); in lists that are ``alone``
the place is ``1 + lost_(j)`` instead of ``j + lost_(j)``.  The objective is
``V(w) - C * |w|_0``.  The margin ``epsilon`` is the rational that was written: .05 is 1/20, not the double nearest to
it.  Scaled features are exact quotients of stored doubles, so that a pair which differs by just the margin is won.
Only the direction of free weights counts: where their largest size is above 1 the margin is multiplied by it.  Whole
numbers such as 2, 5, -3, 6, no doubles once they are divided by 6, so have their value.

Pairs of several labels are a sum over lists of two classes, for each label its rows against those with smaller ones:
each pair of different labels stands in one of them, once, and ``a_l = l`` counts it.  A row may so be in several lists.

An *anchored* problem corrects a given score: the first column is that score, its weight is 1, every other weight
is a correction between two limits, and nothing is normalised.  ``|w|_0`` counts the corrections there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.margin import Margin, margin_of
from rerank.io.options import real, whole
from rerank.problem.lists import BinaryList, Floats, RankedList, rows_of
from rerank.problem.quotas import Quota, check_quotas
from rerank.problem.rows import WeightRow
from rerank.problem.scaling import ends_of, scale_columns

GRID = 2**20  # ends of coordinates are multiples of 1 / GRID


@dataclass(frozen=True, eq=False)
class Problem:
    """Data and lists in original units, with scaling, margin, penalty for features and limits on the weights.

    Attributes
    ----------
    X : float64 array (n, d)
        Features in original units.
    lists : tuple of RankedList
    epsilon : Margin
        In units of the scaled score: the double nearest to the rational that was written, ``epsilon.exact``.
    C : float
        Penalty for one feature, in the unit of the value.
    max_features : int or None
        At most this many non-zero weights.
    signs : int8 array (d,)
        1 where a weight must be >= 0, -1 where it must be <= 0, 0 where it is free.
    low, high : float64 arrays (d,)
        The scaled feature is ``(x - low) / (high - low)``, exactly in rationals and rounded in
        ``scaled``.
    limits : pair of float64 arrays (d,), or None
        Anchored problems: smallest and largest weight of each column, 1 and 1 for the first, 0 between them for
        the others.
    rows : tuple of WeightRow
        What weights have to satisfy besides; without limits all of them have sides 0, so that only directions count.
    by_sum : bool
        Whether weights of sum 1, none of them below 0, are meant: the margin is multiplied by the sum of the weights
        instead of the largest. All columns have one range then, and weights that are all 0 are not allowed.
    quotas : tuple of Quota
        What the order of every list has to meet; weights that do not are not allowed.
    directions : bool
        Whether of an anchored problem's other weights only the direction counts: the largest has size 1, or all are 0.
    """

    X: Floats
    lists: tuple[RankedList, ...]
    epsilon: Margin
    C: float
    max_features: int | None
    signs: NDArray[np.int8]
    low: Floats
    high: Floats
    limits: tuple[Floats, Floats] | None = None
    rows: tuple[WeightRow, ...] = ()
    by_sum: bool = False
    quotas: tuple[Quota, ...] = ()
    directions: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", Margin(self.epsilon))  # a float stands for what was written

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def anchored(self) -> bool:
        """Whether the first column is a given score that the other columns correct."""
        return self.limits is not None

    @property
    def directions_count(self) -> bool:
        """Whether of the weights only the direction counts and all may be 0: they correct no score and have no sum."""
        return not (self.anchored or self.by_sum)

    @property
    def unchanged(self) -> Floats:
        """The weights to begin with: all 0, in anchored problems the given score alone; by sum the first column."""
        w = np.zeros(self.n_features)
        w[:1] = not self.directions_count
        return w

    def norm(self, w: ArrayLike) -> Fraction:
        """What the margin is multiplied by, exactly: the largest size of free weights, but at least 1; or their sum."""
        weights = [Fraction(x) for x in np.asarray(w, dtype=np.float64).tolist()]
        if self.by_sum:
            return sum(weights, Fraction(0))
        return Fraction(1) if self.anchored else max(Fraction(1), *map(abs, weights))

    def of_norm_one(self, w: Floats) -> Floats:
        """Weights in normal form as programs have them, whose margin is the problem's."""
        return w / (w.sum() if self.by_sum else float(self.norm(w)))

    def used(self, w: ArrayLike) -> int:
        """``|w|_0``: how many weights are not 0, in anchored problems how many corrections."""
        return int(np.count_nonzero(np.asarray(w)[int(self.anchored) :]))

    @cached_property
    def largest_score(self) -> float:
        """At least ``sum_j |w_j x_j|`` over scaled rows and allowed weights; rounding errors of scores grow with it."""
        if self.limits is None:
            return float(self.n_features)
        rows = rows_of(self.lists, len(self.X))
        return float(np.abs(self.scaled[rows]).max(axis=0) @ np.abs(self.limits).max(axis=0))

    @cached_property
    def scaled(self) -> Floats:
        """Features in [0, 1]; see :func:`rerank.problem.scaling.scale_columns`."""
        return scale_columns(self.X, self.low, self.high)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the lists' weights."""
        return float(sum(item.weight for item in self.lists))

    @cached_property
    def units(self) -> tuple[BinaryList, ...]:
        """The binary lists whose values add up to ``V`` (apart from :attr:`constant`)."""
        units = []
        for q, item in enumerate(self.lists):
            share, below = item.weight / (item.scale * self.total_weight), 0.0
            for g in item.thresholds().tolist():
                reached = item.gains >= g
                positive, factor, below = item.rows[reached], float((g - below) * share), g
                hits = np.ones(positive.size, np.int64) if item.hits is None else item.hits[: positive.size]
                units.append(BinaryList(q, positive, item.rows[~reached], item.coefficients, factor, hits, item.alone))
        return tuple(units)

    @cached_property
    def weighs_hits(self) -> bool:
        """Whether what a place earns depends on how many relevant rows stand above it."""
        return any(item.alone or item.hits is not None for item in self.lists)

    @cached_property
    def constant(self) -> float:
        """The part of ``V`` that no weight vector changes."""
        return float(sum(q.weight * q.constant / q.scale for q in self.lists) / self.total_weight)

    @cached_property
    def ideal(self) -> float:
        """Value of the ideal lists, all positives on top, no penalty paid.  Rounded up."""
        top = sum(unit.ideal for unit in self.units)
        total = self.constant + top
        return float(total + 1e-13 * (abs(top) + abs(self.constant)))

    def with_epsilon(self, epsilon: float | str | Fraction) -> Problem:
        """The same with another margin; what is known of lists and features is not computed again."""
        made = replace(self, epsilon=Margin(epsilon))
        kept = (name for name, own in vars(type(self)).items() if isinstance(own, cached_property))
        vars(made).update({name: vars(self)[name] for name in kept if name in vars(self)})
        return made

    @classmethod
    def build(
        cls,
        X: ArrayLike,
        lists: Sequence[RankedList],
        *,
        epsilon: float | str | Fraction = 1e-4,
        C: float = 0.0,
        max_features: int | None = None,
        signs: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        limits: tuple[ArrayLike, ArrayLike] | None = None,
        rows: Sequence[WeightRow] = (),
        by_sum: bool = False,
        quotas: Sequence[Quota] = (),
    ) -> Problem:
        """A problem of checked parts.

        Parameters
        ----------
        X : array (n, d)
        lists : sequence of RankedList
        epsilon : float, str or Fraction
            Margin: .05 and ``"1/20"`` are the rational 1/20.
        C, max_features, signs
            See the attributes; without ``signs`` all weights are free.
        low, high : arrays (d,), optional
            Range of each column; without them its range over the rows of the lists. In anchored problems ``high`` is
            by default one standard deviation above ``low``, so that columns are measured in deviations.
        limits : pair of arrays (d,), optional
            Limits of the weights of an anchored problem; without them the problem is not anchored.
        rows : sequence of WeightRow
            Linear rows on scaled weights.
        by_sum : bool
            Whether the margin is one at weights of sum 1. The range of all columns is then by default the largest of
            them, made a power of two.
        quotas : sequence of Quota
            With the rows of their groups.

        Raises
        ------
        InputError
            For a constant column, no list, a margin, penalty, limit, sign or row that cannot be used, or quotas that no
            order meets.
        """
        data = np.ascontiguousarray(X, dtype=np.float64)
        if not lists or not sum(item.weight for item in lists) > 0:
            raise InputError("No list holds a gain: there is nothing to rank; give at least one relevant item.")
        used = rows_of(lists, len(data))
        least, most = ends_of(data, used)
        low_ = least if low is None else np.asarray(low, dtype=np.float64)
        high_ = most if high is None else np.asarray(high, dtype=np.float64)
        if limits is not None and high is None:
            high_ = _one_deviation_above(data[used], low_, high_)
        flat = np.flatnonzero(~(high_ > low_))
        if flat.size:
            raise InputError(f"Column {flat[0]} is constant on the shortlist; drop it before building the problem.")
        margin, price = margin_of("epsilon", epsilon), real("C", C, 0)
        signs_ = np.zeros(data.shape[1], np.int8) if signs is None else np.asarray(signs, dtype=np.int8)
        if signs_.shape != (data.shape[1],) or not np.isin(signs_, (-1, 0, 1)).all():
            raise InputError(f"signs must hold one of -1, 0, 1 for each of the {data.shape[1]} features.")
        if by_sum:
            if limits is not None or (signs_ < 0).any():
                raise InputError("Weights of sum 1 are none below 0 and have no limits; leave signs and limits out.")
            signs_ = np.ones(data.shape[1], np.int8)
            low_, high_ = (low_, high_) if high is not None else _one_range(low_, high_)
        limits_ = None if limits is None else _limits(limits, signs_)
        limit = None if max_features is None else whole("max_features", max_features)
        if limit is not None and limit >= data.shape[1] - (limits_ is not None):
            limit = None
        if quotas:
            check_quotas(quotas, lists)
        for row in rows:
            if len(row.coefficients) != data.shape[1] or (limits_ is None and not row.homogeneous):
                raise InputError(
                    f"The row {row.text!r} must have {data.shape[1]} coefficients and, without limits, sides of 0; "
                    "free weights have no scale that another number could be measured in."
                )
        sides = tuple(rows), by_sum, tuple(quotas)
        return cls(data, tuple(lists), margin, price, limit, signs_, low_, high_, limits_, *sides)


def coordinates(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Scale, smallest and largest coordinate of each weight, float64 (d,) each: what a search divides into boxes.

    ``w_j = scale_j v_j``, and proofs speak of ``v``. Without limits ``scale_j`` is -1 where a weight must not be
    positive, else 1. With limits it is the larger of their sizes, so that a correction between ``-r`` and ``r`` has a
    coordinate between -1 and 1. The ends of boxes are binary fractions of few digits; a limit that is none is rounded
    outward.
    """
    if problem.limits is None:
        lower = np.where(problem.signs != 0, 0.0, -1.0)
        return np.where(problem.signs < 0, -1.0, 1.0), lower, np.ones(problem.n_features)
    low, high = problem.limits
    size = np.maximum(-low, high)
    scale = np.where(size > 0, size, 1.0)
    ratios = [[Fraction(x) * GRID / Fraction(s) for x, s in zip(side, scale)] for side in (low, high)]
    lower = np.array([x.__floor__() / GRID for x in ratios[0]])
    upper = np.array([x.__ceil__() / GRID for x in ratios[1]])
    return scale, lower, upper


def _one_range(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ranges of one width, a power of two, that begin at its multiples: so all columns have one unit, exactly."""
    width = 2.0 ** np.ceil(np.log2((high - low).max()))
    begin = np.floor(low / width) * width
    return begin, begin + width


def _one_deviation_above(rows: Floats, low: Floats, high: Floats) -> Floats:
    """``low`` plus a standard deviation of each column, without overflow."""
    moving = high > low
    share = scale_columns(rows, low, np.where(moving, high, low + 1.0)).std(axis=0)
    return np.where(moving, np.maximum((1.0 - share) * low + share * high, low), low)


def _limits(limits: tuple[ArrayLike, ArrayLike], signs: NDArray[np.int8]) -> tuple[Floats, Floats]:
    """The limits of an anchored problem as checked arrays."""
    lower, upper = (np.array(side, dtype=np.float64) for side in limits)
    if lower.shape != signs.shape or upper.shape != signs.shape or signs.size < 2 or signs.any():
        raise InputError(
            f"limits must be two arrays of {signs.size} numbers for a score and at least one column to correct it, "
            "without signs; give a sign as a limit of 0."
        )
    finite = np.isfinite(lower).all() and np.isfinite(upper).all()
    if not finite or lower[0] != 1 or upper[0] != 1 or (lower[1:] > 0).any() or (upper[1:] < 0).any():
        raise InputError(
            "limits must be 1 and 1 for the first column, and finite with 0 between them for every other column."
        )
    return lower + 0.0, upper + 0.0
