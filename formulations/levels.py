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

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from formulations.data import GradedList
from formulations.options import Options, Size
from formulations.rows import Row, linear


@dataclass(frozen=True)
class Ladder:
    """Levels of one count.

    Attributes
    ----------
    sure, most : int
        Range of the count.
    steps : tuple of (int, index)
        Open levels: what each asks for, ascending, and the index of its variable.
    reached : int
        Levels that ask for no more than ``sure``: constants. Levels above ``most`` are left out.
    """

    sure: int
    most: int
    steps: tuple[tuple[int, Any], ...]
    reached: int

    @classmethod
    def of(cls, levels: Iterable[tuple[int, Any]], sure: int, most: int) -> Ladder:
        """Sort out levels, ascending in what they ask for."""
        given = tuple(levels)
        return cls(
            sure,
            most,
            tuple(level for level in given if sure < level[0] <= most),
            sum(t <= sure for t, _ in given),
        )

    def climbed(self, count: int) -> dict[Any, float]:
        """Value of each open level at a count: as many as the count allows."""
        return {index: float(asked <= count) for asked, index in self.steps}


def size_of_links(ladders: Iterable[Ladder], options: Options) -> Size:
    """Columns, rows and non-zeros of the levels of ``ladders`` and of :func:`link`."""
    lengths = [len(ladder.steps) for ladder in ladders if ladder.steps]
    levels, orders = sum(lengths), sum(lengths) - len(lengths)
    if options.linking == "ordered":
        return Size(len(lengths) + orders, levels, levels + len(lengths) + 2 * orders)
    extra = orders if options.extra_cuts else 0
    return Size(levels + extra, levels, 2 * levels + 2 * extra)


def link(
    ladders: Mapping[Any, Ladder], level: pyo.Var, count: Mapping[Any, Any], options: Options
) -> tuple[dict[Any, Row], dict[Any, Row]]:
    """Rows of two families: a level asks for its count, and levels are reached in order.

    Parameters
    ----------
    ladders : mapping of key to Ladder
        Only ladders with at least one open step.
    level : IndexedVar
        The levels, indexed as the steps say.
    count : mapping of key to variable
    """
    reach: dict[Any, Row] = {}
    order: dict[Any, Row] = {}
    for key, ladder in ladders.items():
        if options.linking == "ordered":
            reach[key] = _all_levels(ladder, level, count[key])
        else:
            reach |= {
                index: _one_level(ladder, asked, level[index], count[key]) for asked, index in ladder.steps
            }
        if options.linking == "ordered" or options.extra_cuts:
            for (_, low), (_, high) in pairwise(ladder.steps):
                order[high] = (None, linear([1.0, -1.0], [level[high], level[low]]), 0.0)
    return reach, order


def _all_levels(ladder: Ladder, level: pyo.Var, count: Any) -> Row:
    asked = [ladder.sure, *(step for step, _ in ladder.steps)]
    gaps = [float(high - low) for low, high in pairwise(asked)]
    return (
        None,
        linear([*gaps, -1.0], [*(level[index] for _, index in ladder.steps), count]),
        float(-ladder.sure),
    )


def _one_level(ladder: Ladder, asked: int, variable: Any, count: Any) -> Row:
    return None, linear([float(asked - ladder.sure), -1.0], [variable, count]), float(-ladder.sure)


@dataclass(frozen=True, eq=False)
class RankLevels:
    """Levels ``t_il`` of the ranks of relevant rows, shared by the two programs that rank.

    Attributes
    ----------
    ladders : dict of row to Ladder
        Rows with an open level; steps are indexed ``(i, l)`` and ask for rank ``l - 1``.
    gains : dict of (i, l) to float
        What the objective pays for each open level.
    crowded : dict of (list, l) to (list of (i, l), int)
        ``distinct_ranks``: open levels of one list and how many of them may be 1, where that says anything.
    offset : float
        What is earned in any case.
    """

    ladders: dict[int, Ladder]
    gains: dict[tuple[int, int], float]
    crowded: dict[tuple[int, int], tuple[list[tuple[int, int]], int]]
    offset: float


def rank_levels(
    lists: tuple[GradedList, ...], ranges: Mapping[int, tuple[int, int]], cuts: bool
) -> RankLevels:
    """Lay out the levels of all relevant rows.

    Parameters
    ----------
    ranges : mapping of row to (int, int)
        Least and largest rank of each relevant row.
    cuts : bool
        Whether to lay out ``distinct_ranks``.
    """
    plan = RankLevels({}, {}, {}, 0.0)
    offset = 0.0
    for number, item in enumerate(lists):
        levels = item.levels()
        worth = dict(zip(item.rows.tolist(), item.worth.tolist()))
        full = {i: Ladder.of([(l - 1, (i, l)) for l in levels], *ranges[i]) for i in item.relevant.tolist()}
        for i, ladder in full.items():
            sure_levels = levels[: ladder.reached]
            offset += worth[i] * (float(item.coefficients[0]) + sum(item.step(l) for l in sure_levels))
            plan.gains.update({key: worth[i] * item.step(key[1]) for _, key in ladder.steps})
        plan.ladders.update({i: ladder for i, ladder in full.items() if ladder.steps})
        if cuts:
            plan.crowded.update(_crowded(number, item, full))
    return replace(plan, offset=offset)


def _crowded(number: int, item: GradedList, ladders: Mapping[int, Ladder]) -> dict[Any, Any]:
    taken = Counter(l for ladder in ladders.values() for l in item.levels()[: ladder.reached])
    keys: dict[int, list[tuple[int, int]]] = {}
    for ladder in ladders.values():
        for _, key in ladder.steps:
            keys.setdefault(key[1], []).append(key)
    room = {l: item.rows.size - l + 1 - taken[l] for l in keys}
    return {(number, l): (keys[l], room[l]) for l in sorted(keys) if room[l] < len(keys[l])}


def crowding_rows(plan: RankLevels, t: pyo.Var) -> dict[tuple[int, int], Row]:
    """``distinct_ranks``: ``sum_i t_il <= m - l + 1``, less the rows that reach ``l`` in any case."""
    return {
        index: (None, linear([1.0] * len(keys), [t[key] for key in keys]), float(room))
        for index, (keys, room) in plan.crowded.items()
    }


def size_of_rank_levels(plan: RankLevels, options: Options) -> Size:
    """Size of the levels, their links and ``distinct_ranks``."""
    cuts = sum(len(keys) for keys, _ in plan.crowded.values())
    return size_of_links(plan.ladders.values(), options) + Size(len(plan.crowded), 0, cuts)
