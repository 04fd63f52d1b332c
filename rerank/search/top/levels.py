r"""Which values at the top can be reached at all: a bound for one list with few places that count, or nearly in order.

Sort the positives by the pairs they lose: ``lost_(1) <= lost_(2) <= ...``.  If no weights let ``j`` positives lose at
most ``l`` pairs each (:mod:`rerank.search.top.demands`), then ``lost_(j) > l`` for all weights, and so for every
later ``j``.  Least losses for all ``j`` bound the value, whatever the number of features, and weights that meet a
demand are good weights.

Where only a few places count, all orders of positives and negatives on them can be listed.  Those worth more than the
best value are refuted one by one, those worth least first: with an order all better ones are refuted, in which
positives stand higher.  Those that take long come later.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.problem.proof import Circuits
from rerank.search.domain import Domain
from rerank.search.tables import places_of
from rerank.search.top.demands import Demand, Demands

Ints = NDArray[np.int64]

FEWEST_FEATURES = 8  # with fewer, boxes are as quick
MOST_NUMBERS = 3e6  # in a table of rows
MOST_PLACES = 12  # of which all orders are listed
LOOKS = (1e5, 1e6, 1e7, np.inf)  # at conflicts, for one order, in turn
MOST_LOST = 3  # pairs asked for where every pair counts: boxes bound such statistics better
NEVER = 2**30  # lost pairs of a positive that stands where places earn nothing


@dataclass(eq=False)
class Levels:
    """Least numbers of pairs that the best positives of one binary list lose, and the orders of the top left open."""

    demands: Demands
    tables: Any
    coef: Floats = field(init=False)  # what the places earn
    least: Ints = field(init=False)  # (J,): at least so many pairs the j-th best positive loses
    highest: float = np.inf  # worth of the best order of the top not refuted, in the tables' unit

    def __post_init__(self) -> None:
        self.coef = places_of(self.demands.unit.factor, self.demands.unit.coefficients)
        self.least = np.zeros(min(self.demands.positives, self.coef.size), np.int64)

    def bound(self) -> float:
        """Largest value, in the tables' unit, that is left."""
        if self.tables.linear:
            return float(self.tables.total - self.least.sum())
        return min(self._worth(self.least), self.highest)

    def recorded(self) -> Circuits:
        """What shows the least losses, for a proof."""
        return self.demands.recorded(self.least)

    def rise(self, offer: Callable[[Floats], float], seconds: float) -> None:
        """Raise the least losses, level by level, then refute orders, until nothing beats the best or time is over.
        ``offer`` is called with points found, and returns the best value, in the tables' unit, and what rounding may
        add.
        """
        until = time.perf_counter() + seconds
        best = offer(self.demands.domain.unchanged)
        most = MOST_LOST + 1 if self.tables.linear else self.coef.size
        for lost in range(min(most, self.demands.negatives)):
            j = self._last(lost)
            while j > 0 and self.bound() > best:
                answer, w = self.demands.decided([(j, lost)], until)
                if answer:
                    best = offer(w)
                    break
                if answer is None:
                    return
                self.least[j - 1 :] = np.maximum(self.least[j - 1 :], lost + 1)
                j = self._last(lost)
            if self.bound() <= best:
                return
        if self.coef.size <= MOST_PLACES and not (self.tables.linear or self.demands.proof):
            self._orders(best, offer, until)

    def _last(self, lost: int) -> int:
        """The last positive for which losing more than so few pairs would lower the bound."""
        coef = np.append(self.coef, 0.0)
        places = np.arange(self.least.size) + lost
        falls = coef[np.minimum(places, coef.size - 1)] > coef[np.minimum(places + 1, coef.size - 1)]
        return int(np.flatnonzero(falls & (self.least <= lost)).max(initial=-1)) + 1

    def _worth(self, lost: Ints) -> float:
        places = np.arange(lost.size) + lost
        return float(self.coef[places[places < self.coef.size]].sum())

    def _orders(self, best: float, offer: Callable[[Floats], float], until: float) -> None:
        """Refute the orders of the places that count, lowest value first, those that are soon refuted before others."""
        orders = [lost for lost in self._listed() if (lost >= self.least).all()]
        worth = np.array([self._worth(lost) for lost in orders])
        losses = np.array(orders).reshape(len(orders), self.least.size)
        open_ = worth > best
        for looks in LOOKS:
            asked = open_.copy()
            while asked.any() and self.demands.left > 0 and time.perf_counter() < until:
                lowest = int(np.argmin(np.where(asked, worth, np.inf)))
                answer, w = self.demands.decided(corners(losses[lowest]), until, looks)
                if answer:
                    best = offer(w)
                    open_ &= worth > best
                if answer is False:
                    open_ &= ~(losses <= losses[lowest]).all(axis=1)
                else:  # an order that asks for less is harder to refute, or reached as well
                    asked &= ~(losses >= losses[lowest]).all(axis=1)
                asked &= open_
            self.highest = float(worth[open_].max(initial=best))

    def _listed(self) -> list[Ints]:
        """The lost pairs of the best positives in each order of positives and negatives on the places that count."""
        found = []
        for order in product((True, False), repeat=self.coef.size):
            places = np.flatnonzero(order)[: self.least.size]
            lost = np.full(self.least.size, NEVER, np.int64)
            lost[: places.size] = places - np.arange(places.size)
            if lost[: places.size].max(initial=0) <= self.demands.negatives:
                found.append(lost)
        return found


def corners(lost: Ints) -> list[Demand]:
    """The demands that say that the best positives lose at most so many pairs; never falling."""
    steps = np.flatnonzero(np.append(lost[1:] > lost[:-1], True) & (lost < NEVER))
    return [(int(j) + 1, int(lost[j])) for j in steps]


def levels_of(problem: Problem, domain: Domain, t: Any, proof: bool = False) -> Levels | None:
    """The levels of a problem with one binary list, not too long, and too many features for boxes; None for others. For
    a ``proof`` no orders are asked for, and fewer questions.
    """
    single = len(problem.units) == 1 and problem.C == 0 and problem.max_features is None
    few = problem.X.size <= MOST_NUMBERS and problem.n_features >= FEWEST_FEATURES
    proved = not (proof and problem.by_sum)  # circuits of a proof know one margin for all weights
    unit = problem.units[0] if single and few and proved and not problem.weighs_hits else None
    if unit is None or not (unit.negative.size and unit.coefficients.size):
        return None
    return Levels(Demands(problem, unit, domain, t.tolerance, proof), t)
