"""The problem as flat arrays for the compiled kernels.

A *pair* is an item ``i`` above another item ``k`` of lower gain in the same list; a *slot* is an item in one
binary list (a threshold of its list's gains), so a pair counts in the consecutive slots of the thresholds
between the two gains.  Equal pairs of the same item are merged and weighted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem import Problem, coordinates
from rerank.problem.problem import GRID
from rerank.search.places import MOST_NUMBERS, Slots, places_of, starts
from rerank.search.sizes import ListPairs, check_time, pairs_of

FINEST = 2**20
"""Whole numbers are looked for in tables multiplied by this."""
MOST_COMMON = 2**45
"""Common denominators beyond are of no use: rounding hides their multiples."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tables:
    """Pairs, slots and what each place earns, ready for the kernels.

    Attributes
    ----------
    pairs : float64 (d, P)
        Scaled differences, one column a pair.
    slot, span : int32 (P,)
        First slot of the pair and number of slots.
    multiplicity : int32 (P,)
        How many equal pairs a column stands for.
    upper, lower : int32 (P,)
        Rows of the data that the column is the difference of.
    slots : Slots
        Which slots make a binary list, and what its places earn.
    linear : bool
        Whether a place earns a constant amount more than the next (AUC): only the number of lost pairs matters.
    loss : float64 (P,)
        Linear problems: what losing the pair costs, in units of ``grain``.
    grain : float
        Linear problems: the unit of ``loss`` and ``total``; 0 where ``loss`` is not integral.
    total : float
        Linear problems: value of losing nothing, in units of ``grain``.
    constant : float
        Added to every value.
    spacing : float
        See :func:`spacing`.
    """

    pairs: Floats
    slot: Ints
    span: Ints
    multiplicity: Ints
    upper: Ints
    lower: Ints
    slots: Slots
    linear: bool
    loss: Floats
    grain: float
    total: float
    constant: float
    epsilon: float
    tolerance: float
    spacing: float

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
    def integral(self) -> bool:
        """Whether values are whole multiples of ``grain``."""
        return self.linear and self.grain > 0

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

    @cached_property
    def weight(self) -> Floats:
        """What the box kernel adds up: the loss of a pair, or its multiplicity."""
        return self.loss if self.linear else self.multiplicity.astype(np.float64)

    def to_value(self, inner: float) -> float:
        """From the kernels' unit to the problem's."""
        return self.constant + inner * (self.grain if self.integral else 1.0)

    @cached_property
    def ideal(self) -> float:
        """Value, in the kernels' unit, of losing nothing."""
        lists = zip(pairwise(self.slots.coef_start), pairwise(self.slots.unit_start), strict=True)
        earned = ((self.slots.coef[a:z][: q - p] * self.slots.hits[p:q][: z - a]).sum() for (a, z), (p, q) in lists)
        return self.total if self.linear else float(sum(earned))

    @cached_property
    def slack(self) -> float:
        """A box is fathomed when its bound beats the incumbent by no more than this (rounding of sums)."""
        if self.integral:
            return 0.0
        top = self.total if self.linear else float(self.slots.coef.sum()) * self.slots.hits.max(initial=1.0)
        return 4e-15 * (self.slots.unit_of.size + 8) * max(top, 1e-300) if self.linear else 1e-13 * max(top, 1e-300)


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
    used = np.unique(np.concatenate([item.rows for item in problem.lists]))
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


def tables(problem: Problem, parts: list[ListPairs] | None = None, scale: Floats | None = None) -> Tables:
    """Flatten a problem; pairs of one item with equal rows are merged.

    ``parts`` are those of :func:`pairs_of`; columns are multiplied by ``scale``, so that points are coordinates.
    """
    parts = pairs_of(problem) if parts is None else parts
    thresholds = [q.thresholds() for q in problem.lists]
    # Slots: item by item, thresholds of one item in a row.
    offset = 0
    slot, span, multiplicity, uppers, lowers = [], [], [], [], []
    members: list[list[NDArray[np.intp]]] = []
    for q, steps, part in zip(problem.lists, thresholds, parts, strict=True):
        items, level = part.items, part.level
        upper = np.repeat(items, part.ends[items])
        take = np.concatenate([np.arange(0), *(np.arange(part.ends[i]) for i in items)])
        lower = part.below[take]
        depth = level[items]
        begin = offset + np.cumsum(depth) - depth
        where = np.full(q.gains.size, -1, np.int64)
        where[items] = begin
        slot.append((where[upper] + level[lower]).astype(np.int32))
        span.append((level[upper] - level[lower]).astype(np.int32))
        multiplicity.append(part.count[take].astype(np.int32))
        uppers.append(q.rows[upper].astype(np.int32))
        lowers.append(q.rows[lower].astype(np.int32))
        members.append([begin[depth > t] + t for t in range(steps.size)])
        offset += int(depth.sum())
    units = problem.units
    slots = [s for group in members for s in group]
    unit_of = np.zeros(offset, np.int32)
    for u, s in enumerate(slots):
        unit_of[s] = u
    places = [places_of(unit.factor, unit.coefficients) for unit in units]
    above, beneath = np.concatenate(uppers), np.concatenate(lowers)
    pairs = _differences(problem.scaled, above, beneath)
    if scale is not None:
        pairs *= scale[:, None]
    flat = Tables(
        pairs=pairs,
        slot=np.concatenate(slot),
        span=np.concatenate(span),
        multiplicity=np.concatenate(multiplicity),
        upper=above,
        lower=beneath,
        slots=Slots(
            starts(slots), np.concatenate([np.empty(0), *slots]).astype(np.int32), unit_of, starts(places),
            np.concatenate([np.empty(0), *places]), np.concatenate([np.empty(0), *(unit.hits for unit in units)]),
        ),
        linear=False,
        loss=np.empty(0),
        grain=0.0,
        total=0.0,
        constant=problem.constant,
        epsilon=float(problem.epsilon),
        tolerance=tolerance(problem),
        spacing=0.0 if scale is None else spacing(problem),
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
    """Whether a place earns a constant amount more than the next in every list."""
    steps = [np.diff(unit.coefficients) for unit in problem.units]
    even = all(step.size and np.all(step == step[0]) and step[0] > 0 for step in steps)
    return bool(steps and even and not problem.weighs_hits)


def _linear(problem: Problem, flat: Tables) -> Tables:
    """Value = best value minus the cost of each lost pair; integral when every pair costs the same."""
    units = problem.units
    price = np.array([unit.factor * (unit.coefficients[1] - unit.coefficients[0]) for unit in units])
    sums = np.concatenate([[0.0], np.cumsum(price[flat.slots.unit_of])])
    ideal = sum(unit.ideal for unit in units)
    if np.all(price == price[0]):
        loss = (flat.span * flat.multiplicity).astype(np.float64)
        total = float(loss.sum())
        return replace(
            flat,
            linear=True,
            loss=loss,
            grain=float(price[0]),
            total=total,
            constant=flat.constant + ideal - float(price[0]) * total,
        )
    loss = (sums[flat.slot + flat.span] - sums[flat.slot]) * flat.multiplicity
    return replace(flat, linear=True, loss=loss, total=float(ideal))
