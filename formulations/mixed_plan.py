"""Layout of the mixed program before Pyomo sees it: from the places that pay back to the wins they ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.common import size_of_weights
from formulations.data import GradedList, Indices, Unit
from formulations.levels import Ladder, size_of_links
from formulations.options import Instance, Size
from formulations.wins import OPEN, WON, Wins, asked_pairs, wins_of

Key = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Plan:
    """The program laid out before Pyomo sees it.

    Attributes
    ----------
    counts : dict of (unit, i) to (key or None, list of rows)
        ``win_count``: the count taken over and the open wins added to it, lower thresholds first.
    few : dict of (unit, i) to Ladder
        Open ``b``, indexed ``(unit, i, q)``.
    losers : dict of (unit, q) to list of (unit, i, q)
        ``place_count``: the open ``b`` that ``c_q`` adds up.
    placed : dict of (unit, q) to Ladder
        Open ``y``, indexed ``(unit, j, p)``.
    gains : dict of (unit, j, p) to float
        What the objective pays for each ``y``.
    offset : float
    """

    instance: Instance
    wins: Wins
    counts: dict[Key, tuple[Key | None, list[int]]]
    few: dict[Key, Ladder]
    losers: dict[Key, list[tuple[int, int, int]]]
    placed: dict[Key, Ladder]
    gains: dict[tuple[int, int, int], float]
    offset: float


def plan_of(instance: Instance) -> Plan:
    """Lay out pairs, counts and levels of all units."""
    wins = wins_of(instance, asked_pairs(instance, "mixed", _lower_gain))
    plan = Plan(instance, wins, {}, {}, {}, {}, {}, 0.0)
    grade = np.zeros(instance.X.shape[0], np.intp)
    wanted = np.full(len(wins.pairs), instance.options.big_m == "unit")
    offset, unit = 0.0, 0
    for item in instance.lists:
        grade[item.rows] = item.grade
        # The positives of a unit have at least this grade.
        thresholds = range(len(item.units), 0, -1)
        for number, threshold in enumerate(thresholds):
            ranges = {i: _range(wins, i, grade, threshold) for i in item.units[number].positive.tolist()}
            offset += _lay_out(plan, unit + number, item.units[number], ranges)
        for i in item.relevant.tolist():
            needed = [
                (unit + number, t) for number, t in enumerate(thresholds) if (unit + number, i) in plan.few
            ]
            _count_wins(plan, i, grade, needed[::-1])
            if needed:
                wanted[wins.of(i)] |= grade[wins.pairs[wins.of(i), 1]] < needed[0][1]
        unit += len(item.units)
    return replace(plan, wins=wins.only(wanted), offset=offset)


def _lower_gain(item: GradedList, i: Indices, k: Indices) -> NDArray[np.bool_]:
    return item.grade[i] > item.grade[k]


def _range(wins: Wins, i: int, grade: Indices, threshold: int) -> tuple[int, int]:
    """Least and largest number of wins of ``i`` over rows below a grade."""
    part = wins.of(i)
    state = wins.state[part][grade[wins.pairs[part, 1]] < threshold]
    sure = int((state == WON).sum())
    return sure, sure + int((state == OPEN).sum())


def _lay_out(plan: Plan, number: int, unit: Unit, ranges: dict[int, tuple[int, int]]) -> float:
    """Levels of one unit, from the places that pay back to the wins they ask for; returns what is sure."""
    positives, negatives = unit.positive.size, unit.negative.size
    a, m = unit.coefficients, positives + negatives
    pays = {p: unit.factor * float(a[m - p] - a[m - p - 1]) for p in range(1, m) if a[m - p] > a[m - p - 1]}
    # Nobody loses to more negatives than there are.
    offset = unit.factor * positives * float(a[0])
    offset += sum(gain * max(0, min(positives, p - negatives)) for p, gain in pays.items())
    few: dict[int, list[tuple[int, Any]]] = {i: [] for i in ranges}
    for q in range(negatives):
        levels = [(p - q, (number, p - q, p)) for p in pays if 1 <= p - q <= positives]
        asked = negatives - q
        sure = sum(low >= asked for low, _ in ranges.values())
        able = [i for i, (low, high) in ranges.items() if low < asked <= high]
        ladder = Ladder.of(levels, sure, sure + len(able))
        offset += sum(pays[p] for _, (_, _, p) in levels[: ladder.reached])
        if ladder.steps:
            plan.placed[number, q] = ladder
            plan.losers[number, q] = [(number, i, q) for i in able]
            plan.gains.update({index: pays[index[2]] for _, index in ladder.steps})
            for i in able:
                few[i].insert(0, (asked, (number, i, q)))
    plan.few.update({(number, i): Ladder.of(few[i], *ranges[i]) for i in ranges if few[i]})
    return offset


def _count_wins(plan: Plan, i: int, grade: Indices, needed: list[tuple[int, int]]) -> None:
    """``win_count`` of item ``i`` in each unit that needs it, each built on the one with fewer negatives."""
    part = plan.wins.of(i)
    ks = plan.wins.pairs[part][plan.wins.state[part] == OPEN, 1]
    before, floor = None, 0
    for number, threshold in needed:
        plan.counts[number, i] = before, ks[(grade[ks] >= floor) & (grade[ks] < threshold)].tolist()
        before, floor = (number, i), threshold


def wider_tops(plan: Plan) -> list[tuple[Any, Any]]:
    """``y_jp`` beside the ``y_jp'`` of the next place that pays."""
    by_count: dict[Key, list[Any]] = {}
    for index in sorted(plan.gains):
        by_count.setdefault(index[:2], []).append(index)
    return [pair for indices in by_count.values() for pair in pairwise(indices)]


def size_of(plan: Plan) -> Size:
    """Size of the program."""
    options = plan.instance.options
    added = sum(len(ks) + (before is not None) for before, ks in plan.counts.values())
    losers = sum(map(len, plan.losers.values()))
    wider = len(wider_tops(plan)) if options.extra_cuts else 0
    return (
        size_of_weights(plan.instance)
        + plan.wins.size()
        + Size(len(plan.counts), len(plan.counts), len(plan.counts) + added)
        + size_of_links(plan.few.values(), options)
        + Size(len(plan.losers), len(plan.losers), len(plan.losers) + losers)
        + size_of_links(plan.placed.values(), options)
        + Size(wider, 0, 2 * wider)
    )
