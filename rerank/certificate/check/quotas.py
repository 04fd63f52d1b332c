"""Boxes in which no weights meet the quotas, in exact arithmetic: too few rows can still be among the first places.

A row of a group stands among the first ``N`` with ``q - 1`` better ones of it only if at most ``N - q`` other rows have
its score or more.  Rows whose difference is at most 0 in the whole box are such others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rerank.certificate.check.exact import ExactProblem
from rerank.problem.lists import Floats, Indices


@dataclass(frozen=True, eq=False)
class _Demand:
    """At least ``wanted`` of some rows have no more than ``room`` other rows at their score or above."""

    upper: Indices  # each of the rows with each other row, row by row
    lower: Indices
    count: int
    wanted: int
    room: int
    D: Floats  # differences, correctly rounded


class QuotaCheck:
    """The quotas of a problem, list by list."""

    def __init__(self, exact: ExactProblem) -> None:
        self.exact = exact
        self.demands: list[_Demand] = []
        for quota in exact.problem.quotas:
            for item in exact.problem.lists:
                member, places = np.isin(item.rows, quota.rows), min(quota.first, item.rows.size)
                if quota.least is not None:
                    self._add(item.rows[member], item.rows[~member], quota.least, places)
                if quota.most is not None:  # the other rows take the rest of the places
                    self._add(item.rows[~member], item.rows[member], places - quota.most, places)

    def _add(self, rows: Indices, others: Indices, wanted: int, places: int) -> None:
        if wanted > 0:
            upper, lower = np.repeat(rows, others.size), np.tile(others, rows.size)
            D = self.exact.rounded(upper, lower)
            self.demands.append(_Demand(upper, lower, rows.size, wanted, places - wanted, D))

    def refuted(self, features: Indices, centre: Floats, half: Floats) -> bool:
        """Whether no weights in a box of a support meet the quotas."""
        return any(self._fails(demand, features, centre, half) for demand in self.demands)

    def _fails(self, demand: _Demand, features: Indices, centre: Floats, half: Floats) -> bool:
        D = demand.D[:, features]
        reach, sizes = D @ centre + np.abs(D) @ half, np.abs(D) @ (np.abs(centre) + half)
        error = 2.0**-52 * (2 * features.size + 4) * sizes + 1e-290
        behind = reach < -error
        box = [[Fraction(x) for x in side.tolist()] for side in (centre, half)]
        for p in np.flatnonzero(np.abs(reach) <= error):
            row = self.exact.difference(int(demand.upper[p]), int(demand.lower[p]), features)
            behind[p] = sum(c * v + h * abs(v) for c, h, v in zip(box[0], box[1], row)) <= 0
        above = behind.reshape(demand.count, -1).sum(axis=1)
        return bool(np.count_nonzero(above <= demand.room) < demand.wanted)
