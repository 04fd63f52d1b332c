"""Quotas as the search holds them: rows for the kernels, leads of many points in doubles, and exact answers.

Whether a point meets a quota depends on the sign of one number, its *lead*: the ``wanted``-th largest score of some
rows minus the ``rival``-th largest of the others (:class:`rerank.problem.quotas.Demand`).  It is continuous in the
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.problem.quotas import APART, Demand, demands
from rerank.search.domain import Domain
from rerank.search.exact import ExactRows

AT_ONCE = 2**22  # scores that are held at once
STARTS, STEPS, ANGLES = 8, 16, 33  # points from which a lead is raised, lines from each, and points looked at on a line


class QuotaRows(NamedTuple):
    """What kernels read of the quotas, list by list: the rows wanted ahead first, then the others."""

    rows: Any  # (m, d): scaled rows minus a point of their list
    begin: Any  # where the rows of each demand begin,
    ahead: Any  # and how many of them are wanted
    wanted: Any
    rival: Any
    tolerance: float  # the rounding of a score

    @property
    def any(self) -> bool:
        """Whether there is something to meet."""
        return bool(self.wanted.size)

    def lead(self, v: Floats) -> float:
        """The least lead of a point in normal form, less :data:`APART`; above 0 it meets the quotas, whatever the
        rounding.
        """
        return float(self.leads(v[None])[0])

    def leads(self, points: Floats) -> Floats:
        """That of each point (p, d): the least over all demands, less what rounding may add; infinite without any."""
        found = np.full(len(points), np.inf)
        step = max(1, AT_ONCE // max(len(self.rows), 1))
        for first in range(0, len(points), step):
            scores = points[first : first + step] @ self.rows.T
            for a, z, own, wanted, rival in zip(self.begin, self.begin[1:], self.ahead, self.wanted, self.rival):
                mine = [_largest(scores[:, a : a + own], wanted), _largest(scores[:, a + own : z], rival)]
                found[first : first + step] = np.minimum(
                    found[first : first + step], mine[0] - mine[1] - 2.0 * self.tolerance - APART
                )
        return found


_NONE = np.zeros(0, np.int64)
NO_QUOTAS = QuotaRows(np.empty((0, 0)), np.zeros(1, np.int64), _NONE, _NONE, _NONE, 0.0)


def _largest(scores: Floats, nth: int) -> Floats:
    """The nth-largest score of each row."""
    return np.asarray(np.partition(scores, scores.shape[1] - nth, axis=1)[:, scores.shape[1] - nth])


def quota_rows(problem: Problem, scale: Floats | None, tolerance: float) -> QuotaRows:
    """The rows of a problem's quotas, in coordinates; ``tolerance`` is the rounding of a score."""
    asked = list(demands(problem.quotas, problem.lists))
    if not asked:
        return NO_QUOTAS
    parts = []
    for demand in asked:
        rows = problem.scaled[np.concatenate([demand.ahead, demand.others])]
        rows = rows if scale is None else rows * scale
        parts.append(rows - rows.mean(axis=0))  # intervals of rows near it are narrow
    ahead, wanted, rival = np.array([[own.ahead.size, own.wanted, own.rival] for own in asked], np.int64).T.copy()
    begin = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return QuotaRows(np.concatenate(parts), begin, ahead, wanted, rival, tolerance)


@dataclass(frozen=True, eq=False)
class ExactQuotas:
    """Whether points meet the quotas of a problem, exactly."""

    problem: Problem
    domain: Domain
    rows: QuotaRows

    @classmethod
    def of(cls, problem: Problem, domain: Domain) -> ExactQuotas:
        """The quotas of a problem without tables, each decided exactly."""
        return cls(problem, domain, quota_rows(problem, domain.scale, np.inf))

    def meets(self, v: Floats) -> bool:
        """Whether the weights at a point do, by more than what scores are rounded by for a ranking."""
        if not self.rows.any:
            return True
        lead = self.rows.lead(v)
        if lead > 0 or lead < -4.0 * self.rows.tolerance:
            return lead > 0
        weights = [Fraction(float(w)) for w in self.domain.weights(v)]
        point = [w / Fraction(float(s)) for w, s in zip(weights, self.domain.scale, strict=True)]

        def largest(rows: Indices, nth: int) -> Fraction:
            scores = (sum((self.exact.entry(i, j) * v for j, v in enumerate(point) if v), ZERO) for i in rows.tolist())
            return sorted(scores)[-nth]

        return all(
            largest(own.ahead, own.wanted) - largest(own.others, own.rival) > Fraction(APART) for own in self._demands
        )

    def inside(self, features: Indices, centre: Floats, half: Floats) -> QuotasInBox:
        """What is left to decide in a box of a support."""
        found, q = [], self.rows
        for k, demand in enumerate(self._demands):
            rows = q.rows[q.begin[k] : q.begin[k + 1]][:, features]
            middle, reach = rows @ centre, np.abs(rows) @ half + 2.0 * q.tolerance
            lower, upper, own = middle - reach, middle + reach, demand.ahead.size
            ends = [np.sort(x)[::-1] for x in (lower[:own], lower[own:], upper[:own], upper[own:])]
            least, rival_least = ends[0][demand.wanted - 1], ends[1][demand.rival - 1]
            most, rival_most = ends[2][demand.wanted - 1], ends[3][demand.rival - 1]
            if most < rival_least:
                return QuotasInBox(self, features, False, [])
            if least > rival_most:
                continue
            above, below = lower > min(most, rival_most), upper < max(least, rival_least)
            left, all_rows = ~(above | below), np.concatenate([demand.ahead, demand.others])
            wanted, rival = demand.wanted - int(above[:own].sum()), demand.rival - int(above[own:].sum())
            ahead, others = all_rows[:own][left[:own]], all_rows[own:][left[own:]]
            if wanted > ahead.size or rival <= 0:
                return QuotasInBox(self, features, False, [])
            if wanted > 0 and rival <= others.size:
                placed = q.begin[k] + np.flatnonzero(left)
                found.append((replace(demand, ahead=ahead, others=others, wanted=wanted, rival=rival), placed))
        return QuotasInBox(self, features, True, found)

    @cached_property
    def exact(self) -> ExactRows:
        """The rows of the problem in rationals."""
        return ExactRows(self.problem, self.domain.scale)

    @cached_property
    def _demands(self) -> list[Demand]:
        return list(demands(self.problem.quotas, self.problem.lists))


@dataclass(frozen=True, eq=False)
class QuotasInBox:
    """What quotas still ask in a box of a support; ``possible`` is False where no weights in it meet them."""

    quotas: ExactQuotas
    features: Indices
    possible: bool
    demands: list[tuple[Demand, Indices]]  # and where their rows stand among those of the quotas

    def relations(self, centre: Floats, half: Floats) -> QuotaRelations:
        """The signs on which it depends in the box whether they are met."""
        found: dict[tuple[Fraction, ...], int] = {}
        parts, rounded, q = [], list[Floats](), self.quotas.rows
        for demand, placed in self.demands:
            own, rows = demand.ahead.size, q.rows[placed][:, self.features]
            apart = rows[:own, None] - rows[None, own:]
            middle, reach = apart @ centre, np.abs(apart) @ half + 2.0 * q.tolerance
            number = np.where(middle > reach, ALWAYS, NEVER)
            for a, b in np.argwhere(np.abs(middle) <= reach).tolist():
                row = self.quotas.exact.difference(int(demand.ahead[a]), int(demand.others[b]), self.features)
                if any(row):
                    number[a, b] = found.setdefault(row, len(found))
                    rounded += [apart[a, b]] if number[a, b] == len(rounded) else []
            parts.append((number, demand.wanted, demand.rival))
        return QuotaRelations(list(found), rounded, parts, 2.0 * q.tolerance)


ZERO = Fraction(0)
ALWAYS, NEVER = -1, -2  # numbers of relations that are decided


@dataclass(frozen=True, eq=False)
class QuotaRelations:
    """Differences of rows whose signs decide quotas in a box."""

    rows: list[tuple[Fraction, ...]]
    rounded: list[Floats]
    parts: list[tuple[Indices, int, int]]  # numbers of the rows wanted above the others; how many, and less than ahead
    tolerance: float  # the rounding of a difference

    def met(self, held: NDArray[np.bool_]) -> bool:
        """Whether quotas are met where just these differences are above 0."""
        known = np.append(held, [False, True])  # NEVER, ALWAYS
        return all(
            np.count_nonzero(np.count_nonzero(~known[number], axis=1) < rival) >= wanted
            for number, wanted, rival in self.parts
        )


def middles(low: float, high: float, n: int = ANGLES) -> Floats:
    """The middles of ``n`` equal angles between two directions, given by their tangents."""
    ends = np.linspace(np.arctan(low), np.arctan(high), n + 1)
    return np.asarray(0.5 * (ends[1:] + ends[:-1]))


def lifted(
    rows: QuotaRows, domain: Domain, rng: np.random.Generator, stop: Callable[[], bool], among: Indices | None = None
) -> Floats | None:
    """A point that meets the quotas, by raising the lead along lines from several points; None if none was found. The
    first starts are the unchanged point, the difference of the means of the rows wanted and of the others, and the
    corners nearest to it; the others are random. With ``among`` only these coordinates move.
    """
    d = domain.n_features
    free = np.zeros(d, np.bool_)
    free[np.arange(d) if among is None else among] = True
    free[domain.anchor] = False
    toward = np.zeros(d)
    for a, z, own in zip(rows.begin, rows.begin[1:], rows.ahead):
        toward += rows.rows[a : a + own].mean(axis=0) - rows.rows[a + own : z].mean(axis=0)
    toward[~free] = 0.0
    begin = domain.unchanged
    starts = [begin, begin + toward, begin + 10.0 * toward, begin + np.sign(toward)]
    for at in range(STARTS):
        point = starts[at] if at < len(starts) else domain.random_point(rng)
        point = domain.normal(np.where(free, point, begin))
        if not point.any():
            continue
        lead = rows.lead(point)
        for step in range(STEPS):
            if lead > 0:
                return point
            if stop():
                return None
            u = np.where(free, rng.standard_normal(d), 0.0)
            if step % 2:
                u = np.zeros(d)
                u[rng.choice(np.flatnonzero(free))] = 1.0
            taus = np.tan(middles(*domain.interval(point, u)))
            tried = np.array([domain.normal(point + tau * u) for tau in taus])
            leads = rows.leads(tried)
            best = int(np.argmax(leads))
            if leads[best] > lead:
                point, lead = tried[best], float(leads[best])
    return None
