"""Levels of a count: binary variables that may be 1 only when a count reaches what they ask for.

An item's rank, its wins over the negatives, the number of positives near the top: in each program a count ``c``
(an integer at integer points) is linked to binaries ``u_1, u_2, ...`` with ``u_m = 1`` only if ``c >= T_m``,
where ``T_1 < T_2 < ...`` and ``c >= c_0`` is known beforehand.

``linking="paper"``
    ``(T_m - c_0) u_m <= c - c_0`` for every level.
``linking="ordered"``
    ``(T_1 - c_0) u_1 + sum_{m >= 2} (T_m - T_{m-1}) u_m <= c - c_0`` and ``u_m <= u_{m-1}``.

At integer points both say the same: with ``u_1 = ... = u_r = 1`` and the rest 0 the ordered sum is ``T_r - c_0``.
The ordered relaxation lies inside the paper's, because the order among the ``u`` bounds the sum from below by
``(T_m - c_0) u_m`` for each ``m``. The short form ``sum u <= c`` is wrong as soon as a level is skipped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import pyomo.environ as pyo

from formulations.common import family, linear
from formulations.options import BuilderOptions, Instance
from formulations.wins import Layout, Pair

Level = tuple[int, int]  # a row ``i`` and a level ``l`` of its rank


@dataclass(frozen=True)
class Ladder:
    """Levels of one count."""

    sure: int  # range of the count
    most: int
    steps: tuple[tuple[int, Any], ...]  # open levels: what each asks for, ascending, and its variable's index
    reached: int  # levels that ask for no more than ``sure``: constants

    @classmethod
    def of(cls, levels: Iterable[tuple[int, Any]], sure: int, most: int) -> "Ladder":
        """Sort out levels, ascending in what they ask for."""
        levels = tuple(levels)
        steps = tuple(level for level in levels if sure < level[0] <= most)
        return cls(sure, most, steps, sum(asked <= sure for asked, _ in levels))


def level_rows(
    ladders: Mapping[Any, Ladder], level: pyo.Var, count: pyo.Var, options: BuilderOptions
) -> tuple[pyo.Constraint, pyo.Constraint]:
    """The rows that tie levels to their count, and those that order the levels of a count. A row of the first kind is
    ``sum of coefficient * level <= count``, less the part of the count that is certain, with all levels of a count in
    it (ordered) or one (paper).
    """
    ordered, reach, order = options.linking == "ordered", {}, {}
    for key, ladder in ladders.items():
        below = (ladder.sure, *(asked for asked, _ in ladder.steps))
        steps = [(asked - (last if ordered else ladder.sure), u) for (asked, u), last in zip(ladder.steps, below)]
        for row, terms in {key: steps}.items() if ordered else ((u, [(asked, u)]) for asked, u in steps):
            reach[row] = linear(*((asked, level[u]) for asked, u in terms), (-1, count[key])) <= -ladder.sure
        if ordered or options.extra_cuts:
            for (_, low), (_, high) in pairwise(steps):
                order[high] = linear((1, level[high]), (-1, level[low])) <= 0
    return family(reach.items()), family(order.items())


def climbed(ladders: Mapping[Any, Ladder], counts: Mapping[Any, int]) -> dict[Any, float]:
    """Value of each open level: 1 where the count reaches what the level asks for."""
    return {u: float(asked <= counts[key]) for key, ladder in ladders.items() for asked, u in ladder.steps}


class Below(NamedTuple):
    """Who stands below a row."""

    sure: int  # rows below it whatever the weights
    by_win: list[Pair]  # open pairs (i, k) that i must win to stand above k
    by_tie: list[Pair]  # open pairs (k, i) with a k that yields ties, so that k must not win


@dataclass(frozen=True, eq=False)
class RankLayout(Layout):
    """A program with a rank for each relevant row. ``crowded`` is ``distinct_ranks``: open levels of a (list, l) and
    how many of them may be 1, which is ``m - l + 1`` less the rows that reach ``l`` in any case. Left out where that
    says nothing.
    """

    standings: dict[int, Below]  # of relevant rows at least
    ladders: dict[int, Ladder]  # of rows with an open level; a step ``(i, l)`` asks for rank ``l - 1``
    crowded: dict[tuple[int, int], tuple[list[Level], int]]
    mutual: list[Pair]  # ``one_above``: pairs whose reverse is open too


def rank_levels(instance: Instance, standings: Mapping[int, Below]) -> dict[str, Any]:
    """Levels of all relevant rows, as the fields ``ladders``, ``gains``, ``crowded`` and ``constant`` of a layout."""
    ladders: dict[int, Ladder] = {}
    gains: dict[Level, float] = {}
    crowded: dict[tuple[int, int], tuple[list[Level], int]] = {}
    constant = 0.0
    for number, item in enumerate(instance.lists):
        levels = item.levels()
        factor = dict(zip(item.rows.tolist(), item.factor.tolist()))
        open_: dict[int, list[Level]] = {l: [] for l in levels}
        reached: Counter[int] = Counter()
        for i in item.relevant.tolist():
            sure, by_win, by_tie = standings[i]
            ladder = Ladder.of([(l - 1, (i, l)) for l in levels], sure, sure + len(by_win) + len(by_tie))
            reached.update(levels[: ladder.reached])
            constant += factor[i] * (float(item.coefficients[0]) + sum(map(item.step, levels[: ladder.reached])))
            for _, level in ladder.steps:
                gains[level] = factor[i] * item.step(level[1])
                open_[level[1]].append(level)
            if ladder.steps:
                ladders[i] = ladder
        if instance.options.cuts:
            most = {l: item.rows.size - l + 1 - reached[l] for l in levels}
            crowded |= {(number, l): (own, most[l]) for l, own in open_.items() if most[l] < len(own)}
    return {"ladders": ladders, "gains": gains, "crowded": crowded, "constant": constant}


def rank_cuts(model: pyo.ConcreteModel, layout: RankLayout) -> None:
    """The families ``distinct_ranks`` and ``one_above``."""
    t, z = model.t, model.z
    model.distinct_ranks = family(
        (key, linear(*((1, t[il]) for il in levels)) <= most) for key, (levels, most) in layout.crowded.items()
    )
    model.one_above = family(((i, k), linear((1, z[i, k]), (1, z[k, i])) <= 1) for i, k in layout.mutual)
