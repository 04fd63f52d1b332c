"""What the Subrank and ResolvedRank programs consist of: pairs, what is known of each rank, levels of the ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats, GradedList, Indices
from formulations.levels import Ladder
from formulations.options import Instance
from formulations.wins import (
    LOST,
    OPEN,
    WON,
    Layout,
    Pair,
    Wins,
    asked_pairs,
    mutual_pairs,
    nonzeros_bound,
    wins_of,
)

Level = tuple[int, int]
"""A row ``i`` and a level ``l`` of its rank."""

Crowded = dict[tuple[int, int], tuple[list[Level], int]]


@dataclass(frozen=True, eq=False)
class SubrankLayout(Layout):
    """The Subrank program.

    Attributes
    ----------
    ladders : dict of row to Ladder
        Rows with an open level; steps are indexed ``(i, l)`` and ask for rank ``l - 1``.
    crowded : dict of (list, l) to (list of (i, l), int)
        ``distinct_ranks``: open levels of a list and how many of them may be 1, which is ``m - l + 1`` less the rows
        that reach ``l`` in any case. Left out where that says nothing.
    rivals : dict of i to list of k
        Open pairs of each relevant row.
    mutual : list of (i, k)
        ``one_above``: pairs whose reverse is open too.
    """

    ladders: dict[int, Ladder]
    crowded: Crowded
    rivals: dict[int, list[int]]
    mutual: list[Pair]


def subrank_layout(instance: Instance) -> SubrankLayout:
    """Pairs, ranks and levels of the Subrank program."""
    options = instance.options
    wins = wins_of(instance, asked_pairs(instance, "subrank", lambda _, i, k: i != k))
    rivals, ranges = {}, {}
    for i in (i for item in instance.lists for i in item.relevant.tolist()):
        state = wins.state[wins.of(i)]
        rivals[i] = wins.pairs[wins.of(i)][state == OPEN, 1].tolist()
        sure = int((state == WON).sum())
        ranges[i] = sure, sure + len(rivals[i])
    ranks = _rank_levels(instance, ranges)
    if options.big_m == "pair":
        # A row of the literal form limits w even if nothing counts its win.
        wins = wins.only(np.isin(wins.pairs[:, 0], list(ranks.ladders)))
    mutual = mutual_pairs(wins) if options.cuts or options.extra_cuts else []
    # An open pair stands in above_by_margin and win_count.
    nonzeros = nonzeros_bound(instance, wins, 2, len(ranks.gains)) + 2 * len(mutual)
    return SubrankLayout(
        instance, wins, ranks.gains, ranks.constant, nonzeros, ranks.ladders, ranks.crowded, rivals, mutual
    )


class Standing(NamedTuple):
    """Who stands below an item once ties are resolved.

    Attributes
    ----------
    sure : int
        Rows below it whatever the weights.
    by_win : list of (i, k)
        Open pairs with a ``k`` that takes ties, so that ``i`` must win.
    by_tie : list of (k, i)
        Open pairs with a ``k`` that yields ties, so that ``k`` must not win.
    """

    sure: int
    by_win: list[Pair]
    by_tie: list[Pair]


@dataclass(frozen=True, eq=False)
class ResolvedRankLayout(Layout):
    """The ResolvedRank program.

    Attributes
    ----------
    ladders, crowded, mutual
        As in :class:`SubrankLayout`.
    standings : dict of row to Standing
        Rows with a variable ``r``: all (paper), or those with an open level (ordered).
    ranges : dict of row to (int, int)
        Limits of ``r``.
    length : dict of row to int
        Rows of its list.
    gap, most : intp array (g, 2) and float64 array (g,)
        Pairs of ``win_when_above`` and their ``U_ik``.
    maybe_above, lower_gain, later : lists of (i, k)
        Pairs of ``winner_higher``, ``tie_to_lower_gain`` and ``tie_to_later`` (paper).
    """

    ladders: dict[int, Ladder]
    crowded: Crowded
    mutual: list[Pair]
    standings: dict[int, Standing]
    ranges: dict[int, tuple[int, int]]
    length: dict[int, int]
    gap: Indices
    most: Floats
    maybe_above: list[Pair]
    lower_gain: list[Pair]
    later: list[Pair]


def resolved_rank_layout(instance: Instance) -> ResolvedRankLayout:
    """Pairs, ranks and levels of the ResolvedRank program."""
    options, paper = instance.options, instance.options.linking == "paper"
    wins = wins_of(instance, asked_pairs(instance, "resolved_rank", lambda _, i, k: i != k, everyone=True))
    state = dict(zip(map(tuple, wins.pairs.tolist()), wins.state.tolist()))
    grade = np.zeros(instance.X.shape[0], np.intp)
    mates: dict[int, list[int]] = {}
    for item in instance.lists:
        grade[item.rows] = item.grade
        mates |= dict.fromkeys(item.rows.tolist(), item.rows.tolist())
    grades = grade.tolist()
    standings = {i: _standing(i, mates[i], grades, state) for i in mates if paper or grades[i]}
    ranges = {i: (one.sure, one.sure + len(one.by_win) + len(one.by_tie)) for i, one in standings.items()}
    ranks = _rank_levels(instance, ranges)
    maybe_above, lower_gain, later = [], [], []
    if paper:
        ranges = {i: (0, len(mates[i]) - 1) for i in mates}
        maybe_above = [pair for pair, won in state.items() if won != LOST]
        lower_gain = [(i, k) for (i, k), won in state.items() if grades[i] > grades[k] and won != WON]
        later = [
            (i, k) for (i, k), won in state.items()
            if i < k and grades[i] == grades[k] and WON not in (won, state[k, i])
        ]  # fmt: skip
    else:
        ranges = {i: ranges[i] for i in ranks.ladders}
    gap, most = _gap(instance, wins)
    mutual = mutual_pairs(wins) if options.extra_cuts else []
    # An open pair stands in above_by_margin, win_when_above and one row of the ranks, in the paper's form two.
    nonzeros = nonzeros_bound(instance, wins, 4 if paper else 3, len(ranks.gains)) + 2 * len(mutual)
    nonzeros += int(wins.entries[gap].sum()) + 2 * (len(maybe_above) + len(lower_gain) + len(later))
    return ResolvedRankLayout(
        instance, wins, ranks.gains, ranks.constant, nonzeros, ranks.ladders, ranks.crowded, mutual, standings, ranges,
        {i: len(rows) for i, rows in mates.items()}, wins.pairs[gap], most, maybe_above, lower_gain, later,
    )  # fmt: skip


def _standing(i: int, rows: list[int], grades: list[int], state: dict[Pair, int]) -> Standing:
    sure, by_win, by_tie = 0, [], []
    for k in rows:
        if grades[k] < grades[i] or (grades[k] == grades[i] and k > i):
            sure += state[i, k] == WON
            by_win += [(i, k)] * (state[i, k] == OPEN)
        elif k != i:
            sure += state[k, i] == LOST
            by_tie += [(k, i)] * (state[k, i] == OPEN)
    return Standing(sure, by_win, by_tie)


def _gap(instance: Instance, wins: Wins) -> tuple[NDArray[np.bool_], Floats]:
    """Pairs that need ``win_when_above``, and their ``U_ik``."""
    if instance.options.big_m == "unit":
        return np.ones(len(wins.pairs), np.bool_), np.ones(len(wins.pairs))
    # A box that wins a pair, or never puts i above k, says enough.
    gap = (wins.state != WON) & (wins.high > 0)
    # Not below epsilon, so that no row is divided by a number near 0.
    return gap, np.maximum(wins.high[gap], instance.options.epsilon)


class _RankLevels(NamedTuple):
    """Levels of the ranks; ``constant`` is what is earned in any case."""

    ladders: dict[int, Ladder]
    gains: dict[Level, float]
    crowded: Crowded
    constant: float


def _rank_levels(instance: Instance, ranges: Mapping[int, tuple[int, int]]) -> _RankLevels:
    """Levels of all relevant rows, from the least and the largest rank of each."""
    ladders: dict[int, Ladder] = {}
    gains: dict[Level, float] = {}
    crowded: Crowded = {}
    constant = 0.0
    for number, item in enumerate(instance.lists):
        levels = item.levels()
        factor = dict(zip(item.rows.tolist(), item.factor.tolist()))
        full = {i: Ladder.of([(l - 1, (i, l)) for l in levels], *ranges[i]) for i in item.relevant.tolist()}
        for i, ladder in full.items():
            sure_levels = levels[: ladder.reached]
            constant += factor[i] * (float(item.coefficients[0]) + sum(item.step(l) for l in sure_levels))
            gains |= {level: factor[i] * item.step(level[1]) for _, level in ladder.steps}
        ladders |= {i: ladder for i, ladder in full.items() if ladder.steps}
        if instance.options.cuts:
            crowded |= _crowded(number, item, full)
    return _RankLevels(ladders, gains, crowded, constant)


def _crowded(number: int, item: GradedList, ladders: Mapping[int, Ladder]) -> Crowded:
    reached = Counter(l for ladder in ladders.values() for l in item.levels()[: ladder.reached])
    open_: dict[int, list[Level]] = {}
    for ladder in ladders.values():
        for _, level in ladder.steps:
            open_.setdefault(level[1], []).append(level)
    most = {l: item.rows.size - l + 1 - reached[l] for l in open_}
    return {(number, l): (open_[l], most[l]) for l in sorted(open_) if most[l] < len(open_[l])}
