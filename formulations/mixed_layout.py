"""What the mixed program consists of: from the places that pay back to the wins they ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from formulations.data import Indices, Unit
from formulations.levels import Ladder
from formulations.options import Instance
from formulations.wins import OPEN, WON, Layout, Wins, asked_pairs, nonzeros_bound, wins_of

Key = tuple[int, int]
Index = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class MixedLayout(Layout):
    """The mixed program; its gains are indexed ``(unit, j, p)``.

    Attributes
    ----------
    counts : dict of (unit, i) to (keys, list of rows, int)
        ``win_count``: the count of the lower threshold that it reuses, if any, the open wins added to it, and the wins
        that are certain; lower thresholds first.
    few : dict of (unit, i) to Ladder
        Open ``b``, indexed ``(unit, i, q)``.
    losers : dict of (unit, q) to list of (unit, i, q)
        ``place_count``: the open ``b`` that ``c_q`` adds up.
    placed : dict of (unit, q) to Ladder
        Open ``y``, indexed ``(unit, j, p)``.
    wider : list of pairs of (unit, j, p)
        ``wider_top``: each ``y_jp`` and that of the next place that pays.
    """

    counts: dict[Key, tuple[tuple[Key, ...], list[int], int]]
    few: dict[Key, Ladder]
    losers: dict[Key, list[Index]]
    placed: dict[Key, Ladder]
    wider: list[tuple[Index, Index]]


def mixed_layout(instance: Instance) -> MixedLayout:
    """Pairs, counts and levels of all units."""
    wins = wins_of(instance, asked_pairs(instance, "mixed", lambda item, i, k: item.grade[i] > item.grade[k]))
    layout = MixedLayout(instance, wins, {}, 0.0, 0, {}, {}, {}, {}, [])
    grade = np.zeros(instance.X.shape[0], np.intp)
    wanted = np.full(len(wins.pairs), instance.options.big_m == "unit")
    constant, unit = 0.0, 0
    for item in instance.lists:
        grade[item.rows] = item.grade
        # The positives of a unit have at least this grade.
        thresholds = range(len(item.units), 0, -1)
        for number, threshold in enumerate(thresholds):
            ranges = {i: _range(wins, i, grade, threshold) for i in item.units[number].positive.tolist()}
            constant += _add_levels(layout, unit + number, item.units[number], ranges)
        for i in item.relevant.tolist():
            needed = [
                (unit + number, t) for number, t in enumerate(thresholds) if (unit + number, i) in layout.few
            ]
            _add_counts(layout, i, grade, needed[::-1])
            if needed:
                wanted[wins.of(i)] |= grade[wins.pairs[wins.of(i), 1]] < needed[0][1]
        unit += len(item.units)
    wins = wins.only(wanted)
    levels = len(layout.gains) + sum(map(len, layout.losers.values()))
    return replace(
        layout, wins=wins, constant=constant, nonzeros=nonzeros_bound(instance, wins, 2, levels),
        wider=_wider(layout) if instance.options.extra_cuts else [],
    )  # fmt: skip


def _range(wins: Wins, i: int, grade: Indices, threshold: int) -> tuple[int, int]:
    """Least and largest number of wins of ``i`` over rows below a grade."""
    part = wins.of(i)
    state = wins.state[part][grade[wins.pairs[part, 1]] < threshold]
    sure = int((state == WON).sum())
    return sure, sure + int((state == OPEN).sum())


def _add_levels(layout: MixedLayout, number: int, unit: Unit, ranges: dict[int, tuple[int, int]]) -> float:
    """Levels of one unit, from the places that pay back to the wins they ask for; returns what is earned anyway."""
    positives, negatives = unit.positive.size, unit.negative.size
    a, m = unit.coefficients, positives + negatives
    pays = {p: unit.factor * float(a[m - p] - a[m - p - 1]) for p in range(1, m) if a[m - p] > a[m - p - 1]}
    # Nobody loses to more negatives than there are.
    constant = unit.factor * positives * float(a[0])
    constant += sum(gain * max(0, min(positives, p - negatives)) for p, gain in pays.items())
    few: dict[int, list[tuple[int, Index]]] = {i: [] for i in ranges}
    for q in range(negatives):
        levels = [(p - q, (number, p - q, p)) for p in pays if 1 <= p - q <= positives]
        asked = negatives - q
        sure = sum(low >= asked for low, _ in ranges.values())
        able = [i for i, (low, high) in ranges.items() if low < asked <= high]
        ladder = Ladder.of(levels, sure, sure + len(able))
        constant += sum(pays[p] for _, (_, _, p) in levels[: ladder.reached])
        if ladder.steps:
            layout.placed[number, q] = ladder
            layout.losers[number, q] = [(number, i, q) for i in able]
            layout.gains.update({index: pays[index[2]] for _, index in ladder.steps})
            for i in able:
                few[i].insert(0, (asked, (number, i, q)))
    layout.few.update({(number, i): Ladder.of(few[i], *ranges[i]) for i in ranges if few[i]})
    return constant


def _add_counts(layout: MixedLayout, i: int, grade: Indices, needed: list[tuple[int, int]]) -> None:
    """``win_count`` of item ``i`` in each unit that needs it, each built on the one with fewer negatives."""
    part = layout.wins.of(i)
    ks = layout.wins.pairs[part][layout.wins.state[part] == OPEN, 1]
    before: tuple[Key, ...] = ()
    floor = known = 0
    for number, threshold in needed:
        added = ks[(grade[ks] >= floor) & (grade[ks] < threshold)].tolist()
        sure = layout.few[number, i].sure
        layout.counts[number, i] = before, added, sure - known
        before, floor, known = ((number, i),), threshold, sure


def _wider(layout: MixedLayout) -> list[tuple[Index, Index]]:
    by_count: dict[Key, list[Index]] = {}
    for index in sorted(layout.gains):
        by_count.setdefault(index[:2], []).append(index)
    return [pair for indices in by_count.values() for pair in pairwise(indices)]
