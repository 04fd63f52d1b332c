"""Layout of the ResolvedRank program before Pyomo sees it: who takes ties, what is decided, how far ranks reach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.common import size_of_weights
from formulations.data import Indices
from formulations.levels import RankLevels, rank_levels, size_of_rank_levels
from formulations.options import Instance, Size
from formulations.wins import LOST, OPEN, WON, Wins, asked_pairs, mutual_pairs, wins_of


@dataclass(frozen=True, eq=False)
class Plan:
    """The program laid out before Pyomo sees it.

    Attributes
    ----------
    state : dict of (i, k) to int
        1 won, -1 lost, 0 open, for every pair of a list.
    mates : dict of i to list of k
        Rows of the list of ``i``, itself included.
    grade : intp array (n,)
        Grade of each row in its list.
    ranges : dict of i to (int, int)
        Rows with a variable ``r`` and its limits: all (paper), or those with an open level (ordered).
    """

    instance: Instance
    wins: Wins
    state: dict[tuple[int, int], int]
    mates: dict[int, list[int]]
    grade: Indices
    ranges: dict[int, tuple[int, int]]
    ranks: RankLevels

    def yields(self, i: int, k: int) -> bool:
        """Whether ``k`` stands above ``i`` when their scores are equal."""
        return bool(self.grade[k] < self.grade[i] or (self.grade[k] == self.grade[i] and k > i))


def plan_of(instance: Instance) -> Plan:
    """Lay out pairs, ranks and levels."""
    wins = wins_of(instance, asked_pairs(instance, "resolved_rank", lambda _, i, k: i != k, everyone=True))
    state = dict(zip(map(tuple, wins.pairs.tolist()), wins.state.tolist()))
    grade = np.zeros(instance.X.shape[0], np.intp)
    mates: dict[int, list[int]] = {}
    for item in instance.lists:
        grade[item.rows] = item.grade
        mates |= dict.fromkeys(item.rows.tolist(), item.rows.tolist())
    plan = Plan(instance, wins, state, mates, grade, {}, RankLevels({}, {}, {}, 0.0))
    sure = {i: _range(plan, i) for item in instance.lists for i in item.relevant.tolist()}
    ranks = rank_levels(instance.lists, sure, instance.options.cuts)
    if instance.options.linking == "ordered":
        return replace(plan, ranks=ranks, ranges={i: sure[i] for i in ranks.ladders})
    return replace(plan, ranks=ranks, ranges={i: (0, len(mates[i]) - 1) for i in mates})


def _range(plan: Plan, i: int) -> tuple[int, int]:
    """Least and largest ResolvedRank of ``i``."""
    others = [k for k in plan.mates[i] if k != i]
    low = sum(plan.state[i, k] == WON if plan.yields(i, k) else plan.state[k, i] == LOST for k in others)
    high = sum(plan.state[i, k] != LOST if plan.yields(i, k) else plan.state[k, i] != WON for k in others)
    return low, high


def gap_pairs(plan: Plan) -> NDArray[np.bool_]:
    """Pairs that need ``win_when_above``: a box that wins them, or never puts ``i`` above ``k``, says enough."""
    if plan.instance.options.big_m == "unit":
        return np.ones(len(plan.wins.pairs), np.bool_)
    return (plan.wins.state != WON) & (plan.wins.high > 0)


def size_of(plan: Plan) -> Size:
    """Size of the program."""
    options = plan.instance.options
    mutual = len(mutual_pairs(plan.wins)) if options.extra_cuts else 0
    ranks = _ordered_size(plan) if options.linking == "ordered" else _paper_size(plan)
    return (
        size_of_weights(plan.instance)
        + plan.wins.size()
        + _gap_size(plan)
        + Size(0, len(plan.ranges), 0)
        + ranks
        + size_of_rank_levels(plan.ranks, options)
        + Size(mutual, 0, 2 * mutual)
    )


def _gap_size(plan: Plan) -> Size:
    """Rows of ``win_when_above`` that hold a variable."""
    gap, open_ = gap_pairs(plan), plan.wins.state == OPEN
    rows = gap & (open_ | (plan.wins.entries > 0))
    return Size(int(rows.sum()), 0, int(plan.wins.entries[gap].sum()) + int((gap & open_).sum()))


def _ordered_size(plan: Plan) -> Size:
    pairs = [(i, k) if plan.yields(i, k) else (k, i) for i in plan.ranges for k in plan.mates[i] if k != i]
    return Size(len(plan.ranges), 0, len(plan.ranges) + sum(plan.state[pair] == OPEN for pair in pairs))


def _paper_size(plan: Plan) -> Size:
    rows = nonzeros = 0
    for (i, k), state in plan.state.items():
        back = plan.state[k, i]
        asked = [(state != LOST, [state])]
        asked.append((bool(plan.grade[i] > plan.grade[k]) and state != WON, [state]))
        asked.append((plan.grade[i] == plan.grade[k] and i < k and WON not in (state, back), [state, back]))
        for needed, states in asked:
            rows += needed
            nonzeros += needed * (2 + states.count(OPEN))
    return Size(rows, 0, nonzeros)
