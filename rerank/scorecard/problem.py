"""What a search of cards is asked, and what it finds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.scorecard import kernels
from rerank.scorecard.data import AnswerPatterns
from rerank.scorecard.kernels import Limits, Worth
from rerank.scorecard.points import few
from rerank.scorecard.rules import Rules


@dataclass(frozen=True, eq=False)
class CardProblem:
    """What is to be found."""

    data: AnswerPatterns
    worth: Worth
    domains: tuple[tuple[int, ...], ...]  # points that each question may have, none of them 0
    size: int  # most questions of a card
    rules: Rules
    limits: Limits

    @cached_property
    def slack(self) -> float:
        """By how much a computed value may be off: 0 for an area of one list, whose pairs are counted in integers."""
        exact = self.worth.kind == kernels.AREA and self.worth.scale.size == 1 and self.worth.scale[0] < 2.0**51
        loss = self.worth.kind == kernels.LOGLOSS
        return 0.0 if exact else 2e-11 if loss else 1e-11 * max(1.0, self.best_of_all)

    @cached_property
    def flagged(self) -> tuple[Worth, float]:
        """The relevant rows among as many first ones as a cut may flag, and how many a cut has to flag."""
        relevant, other = self.data.totals.sum(axis=0).astype(np.float64)
        most = self.limits.flagged * (relevant + other)
        rows = min(most, self.limits.rows) if self.limits.cut == kernels.TOP else most
        unit = np.ones(1)
        worth = Worth(
            kind=kernels.HITS,
            unit=1.0,
            constant=0.0,
            scale=unit,
            others=unit,
            limit=np.array([rows * (1 + 1e-9)]),
            earned=unit,
            start=np.zeros(1, np.int64),
        )
        wanted = 0.0 if self.limits.cut == kernels.NO_CUT else self.limits.sensitivity * relevant
        return worth, wanted * (1 - 1e-9)

    @cached_property
    def points_asked(self) -> kernels.PointsAsked:
        """Of what the points of sets of questions are searched."""
        data, domains = self.data, [sorted(own, key=lambda point: (abs(point), -point)) for own in self.domains]
        rows = data.answers, data.relevant, data.other, data.lists, data.people, int(data.people.max()) + 1
        first = np.concatenate([[0], np.cumsum(list(map(len, domains)))]).astype(np.int64)
        points = np.array([point for own in domains for point in own], np.int64)
        questions = first, points, self.by_question, self.rules.places[:-1]
        return kernels.PointsAsked(*rows, *questions, self.worth, self.slack, self.limits, *self.flagged)

    def listed(self, members: Any) -> bool:
        """Whether all vectors of points of these questions are searched, and not only steps from one to the next."""
        return few([self.domains[j] for j in members])

    @cached_property
    def by_question(self) -> NDArray[np.float64]:
        """What no card of one question exceeds, by question."""
        found = [self.data.groups([j])[0].T.astype(np.float64) for j in range(len(self.domains))]
        return np.array([kernels.best_order(own.copy(), self.worth, np.empty(2), np.empty(2)) for own in found])

    @cached_property
    def best_of_all(self) -> float:
        """The value that no score on all questions exceeds, but for rounding."""
        return self._best(self.data.lists, self.data.relevant, self.data.other)

    @cached_property
    def ceiling(self) -> float:
        """The same, infinite where it is that of all relevant rows on top, which says nothing of cards."""
        totals = self.data.totals
        sides = np.append(totals[:, 0], 0 * totals[:, 1]), np.append(0 * totals[:, 0], totals[:, 1])
        top = self._best(np.tile(np.arange(len(totals)), 2), *sides)
        return self.best_of_all if self.best_of_all < top - self.slack else np.inf

    def _best(self, lists: Any, relevant: Any, other: Any) -> float:
        """What groups of rows are worth in order of their shares of relevant rows."""
        total = self.worth.constant
        for of in range(self.worth.scale.size):
            own = np.flatnonzero((lists == of) & (relevant + other > 0))
            p, q = (side[own].astype(np.float64) for side in (relevant, other))
            order = np.lexsort((-(p + q), -(p / (p + q))))
            total += kernels.in_order(self.worth, of, p[order], q[order], own.size) / self.worth.scale[of]
        return float(total)


@dataclass(frozen=True)
class Found:
    """Questions with points that are not 0, their value as computed, and in how many ways points give this order."""

    members: tuple[int, ...]
    points: tuple[int, ...]
    value: float
    vectors: int = 1

    @property
    def key(self) -> tuple[Any, ...]:
        """Of equal values the card with fewer questions, then smaller points, comes first."""
        return (-self.value, len(self.members), sum(map(abs, self.points)), self.members, [-w for w in self.points])
