r"""The largest value in a small box under quotas, by linear programs over signs.

A quota sees the sign of ``w.D``, and the value whether it reaches the margin.  Both are *relations* ``row.w > side`` or
``row.w >= side``, and with more of them neither the value falls nor is a quota missed.  So a box holds a value above a
floor if and only if some set of relations has that value, meets the quotas, and can hold at once.  Such sets are
searched depth first: a relation is asked for, or it does not count.  What is asked for is one linear program, pairs and
quotas together; where it has no point, nothing below is looked at.

In coordinates ``u`` of the box the program ``max t : a_p.u + b_p >= t, |u_j| <= 1`` is solved by its dual,

    min  sum_j |sum_p y_p a_pj| + sum_p y_p b_p,   sum_p y_p = 1,  y >= 0,

in doubles.  Any ``y >= 0`` bounds ``t``: below 0 by more than rounding, the relations exclude each other.  Where
doubles leave that open the same steps are taken in rationals, at first with ``t`` in every relation and, if that gives
0, with ``t`` in the strict ones alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem.lists import Floats
from rerank.problem.quotas import APART

PIVOT = 1e-11
MOST_STEPS = 60  # of a program in doubles; in rationals the rule of [Bland1977] ends
MOST_PROGRAMS = 400  # of one box
ROUNDING = 2.0**-48  # of the sums of a program, relative to what is added up

ZERO = Fraction(0)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Relations:
    """``row.u + constant >= 0``, or above 0 from ``strict`` on, in coordinates ``u`` of a box between -1 and 1."""

    rows: Floats  # (m, k)
    constants: Floats  # (m,)
    rounding: Floats  # (m,): what their sums may be off by
    strict: int
    rationals: Callable[[], tuple[NDArray[Any], NDArray[Any]]]

    @cached_property
    def exact(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and constants in rationals."""
        return self.rationals()

    @cached_property
    def surely(self) -> Floats:
        """What sums have to exceed (m,) for a point in doubles."""
        return 2.0 * self.rounding + np.where(np.arange(len(self.rounding)) < self.strict, 0.0, APART)

    def held(self, u: Floats) -> Mask:
        """Those that hold at a point for doubles, too."""
        return np.asarray(self.rows @ u + self.constants > self.surely)


@dataclass(frozen=True, eq=False)
class DualVertex:
    """A vertex of the dual: its columns, the inverse of their matrix, and the point and bound that are its prices."""

    columns: list[int]  # relations; -1 - j and -1 - k - j for the sides of coordinate j
    inverse: NDArray[Any]
    u: NDArray[Any]
    t: Any


class _ManyProgramsError(Exception):
    """More programs than are allowed, or time is up."""


def largest(
    relations: Relations, always: list[int], worth: Callable[[Mask], float], met: Callable[[Mask], bool], floor: float
) -> tuple[float, list[Floats]] | None:
    """The largest value above a floor, or the floor, and points of it in coordinates of the box; None if that takes too
    many programs, or time is up. ``worth`` and ``met`` say of a set of relations what it is worth and whether it meets
    the quotas; those in ``always`` have to hold anyway.
    """
    try:
        return _Signs(relations, worth, met, floor).searched(always)
    except _ManyProgramsError:
        return None


class _Signs:
    def __init__(
        self, relations: Relations, worth: Callable[[Mask], float], met: Callable[[Mask], bool], floor: float
    ) -> None:
        self.relations, self.worth, self.met, self.most = relations, worth, met, floor
        self.left, self.stop, self.k = MOST_PROGRAMS, current(), relations.rows.shape[1]

    def searched(self, always: list[int]) -> tuple[float, list[Floats]]:
        relations, found = self.relations, list[Floats]()
        count = len(relations.rows)
        start = None
        if always:
            start = self._possible(always, None)
            if start is None:
                return self.most, []
        todo = [(always, np.ones(count, np.bool_), start)]  # asked for; counted; a point
        while todo:
            asked, counted, basis = todo.pop()
            bound = self.worth(counted)
            if bound <= self.most or not self.met(counted):
                continue
            u = np.zeros(self.k) if basis is None else basis.u
            held = relations.held(u.astype(np.float64))
            good = self.met(held)
            if good and (value := self.worth(held)) > self.most:
                self.most, found = value, [u.astype(np.float64)]
                if value == bound:
                    continue
            at = self._next(counted & ~held, asked, good, u)
            if at is None:  # all hold, some by less than doubles tell
                self.most, found = bound, [u.astype(np.float64)]
                continue
            without = counted.copy()
            without[at] = False
            todo.append((asked, without, basis))
            more = [*asked, at]
            new = self._possible(more, basis)
            if new is not None:
                todo.append((more, counted, new))
        return self.most, found

    def _next(self, missed: Mask, asked: list[int], good: bool, u: Floats) -> int | None:
        missed[asked] = False
        r = self.relations
        some = missed.copy()
        some[r.strict if good else 0 : None if good else r.strict] = False
        some = some if some.any() else missed
        if not some.any():
            return None
        at = np.flatnonzero(some)
        return int(at[np.argmin(r.rows[at] @ u.astype(np.float64) + r.constants[at])])

    def _possible(self, asked: list[int], basis: DualVertex | None) -> DualVertex | None:
        """A vertex whose point satisfies some relations; None where none does. One of a part of them may be given."""
        if self.left <= 0 or self.stop.now:
            raise _ManyProgramsError
        self.left -= 1
        rows, b = self.relations.rows, self.relations.constants
        begin = self._begun(asked, rows, np.ones(len(b))) if basis is None else basis
        found = self._solved(asked, begin, rows, b, np.ones(len(b)), PIVOT)
        if found is not None:
            pairs = [(c, max(x, 0.0)) for c, x in zip(found.columns, found.inverse[:, -1], strict=True) if c >= 0]
            here, y = np.array([c for c, _ in pairs]), np.array([x for _, x in pairs])
            sizes = y @ (np.abs(rows[here]).sum(axis=1) + np.abs(b[here]))
            most = np.abs(y @ rows[here]).sum() + y @ (b[here] + self.relations.rounding[here]) + ROUNDING * sizes
            if most < 0:
                return None
            if found.t > self.relations.surely[asked].max():
                return found
        return self._decided(sorted(asked), begin)

    def _decided(self, asked: list[int], begin: DualVertex) -> DualVertex | None:
        """The same in rationals."""
        (rows, b), strict = self.relations.exact, np.arange(len(self.relations.rows)) >= self.relations.strict
        share = np.full(len(b), Fraction(1))
        found = self._solved(asked, self._begun(asked, rows, share), rows, b, share, ZERO)
        if found is not None and not found.t and 0 < np.count_nonzero(strict[asked]) < len(asked):
            share = share * strict
            found = self._solved(asked, self._begun(asked, rows, share), rows, b, share, ZERO)
        if found is None or found.t < 0 or (not found.t and strict[asked].any()):
            return None
        return DualVertex(begin.columns, begin.inverse, found.u, found.t)

    def _solved(
        self, asked: list[int], begin: DualVertex, rows: Any, b: Any, share: Any, pivot: Any
    ) -> DualVertex | None:
        """The least bound on ``t``, of which each relation has a ``share``; None where doubles come to no end."""
        k, exact = self.k, not pivot
        here = np.array(asked)
        A, own, s = rows[here], b[here], share[here]
        columns, inverse = list(begin.columns), begin.inverse
        step = 0
        while exact or step < MOST_STEPS:
            step += 1
            cost = np.array([b[c] if c >= 0 else 1 for c in columns], rows.dtype)
            price = cost @ inverse
            u, t = -price[:k], price[k]
            spare = np.concatenate([A @ u + own - t * s, 1 - u, 1 + u])
            below = np.flatnonzero(spare < -pivot)
            if not below.size or (not exact and t < -1e-9):
                return DualVertex(columns, inverse, u, t)
            worst = int(below[0] if exact else spare.argmin())
            if worst < here.size:
                name = asked[worst]
                way = inverse[:, :k] @ rows[name] + inverse[:, k] * share[name]
            else:
                name = here.size - 1 - worst
                way = inverse[:, (worst - here.size) % k] * (-1 if worst < here.size + k else 1)
            rising = np.flatnonzero(way > pivot)
            if not rising.size:
                return None
            ratios = inverse[rising, -1] / way[rising]
            tied = rising[ratios <= ratios.min() + pivot]
            ranks = [columns[i] if columns[i] >= 0 else len(b) - columns[i] for i in tied]
            out = int(tied[np.argmin(ranks)] if exact else tied[np.argmax(way[tied])])
            row = inverse[out] / way[out]
            inverse = inverse - np.outer(way, row)
            inverse[out] = row
            columns[out] = name
        return None

    def _begun(self, asked: list[int], rows: Any, share: Any) -> DualVertex:
        """The vertex of one relation alone."""
        k, first = self.k, next(p for p in asked if share[p])
        positive, one = rows[first] >= 0, share[first] / share[first]
        sign = np.where(positive, -one, one)
        inverse = np.full((k + 1, k + 1), 0 * one, rows.dtype)
        inverse[np.arange(k), np.arange(k)] = sign
        inverse[:k, k] = -sign * rows[first] / share[first]
        inverse[k, k] = one / share[first]
        columns = [-1 - j if up else -1 - k - j for j, up in enumerate(positive)]
        return DualVertex([*columns, first], inverse, rows[first], share[first])
