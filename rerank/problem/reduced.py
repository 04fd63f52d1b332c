"""The rows of a list that can still matter, as a problem of their own: of a list in parts, or in memory.

See :mod:`rerank.problem.partitions` for the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.problem.lists import RankedList
from rerank.problem.passes import Part, Run, Seen, in_turn, look_at, look_at_all, survivors
from rerank.problem.problem import Problem
from rerank.problem.scaling import scale_columns
from rerank.ranks.evaluator import shown
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
MOST_ROWS = 2_000_000
"""Rows that may be left; with more the limits are too wide for the list."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem of the rows that are left.

    Attributes
    ----------
    problem : Problem
    rows : intp (m,)
        Their numbers in the whole list, ascending.
    n_rows : int
        Length of the whole list.
    depth : int
        Places that count.
    """

    problem: Problem
    rows: Indices
    n_rows: int
    depth: int


def depth_of(statistic: RankStatistic) -> int:
    """Places that count.

    Raises
    ------
    InputError
        For a statistic of all places or of several rows at once.
    """
    depth = statistic.depth
    if depth is None or statistic.weighs_hits or statistic.coefficients(depth + 1)[0] != 0:
        raise InputError(
            f"{statistic.name} looks at every place or at several relevant rows at once, so no row can be left out; "
            "use one like 'dcg@9'."
        )
    return depth


def first_look(
    parts: Sequence[Part], statistic: RankStatistic, run: Run | None = None, quoted: RankStatistic | None = None
) -> Seen:
    """The first pass: what :func:`reduced_problem` has to know of the list, and :func:`all_gains` of what is quoted."""
    places, gains = _asked(statistic)
    return look_at_all(parts, run or in_turn, places, gains if _few_gains(quoted or statistic) else None)


def look_in_memory(table: Floats, gains: Floats, statistic: RankStatistic) -> Seen:
    """The same of a list in memory, without the exact sums."""
    return look_at(table, gains, *_asked(statistic))


def _asked(statistic: RankStatistic) -> tuple[int, int | None]:
    """How many first rows and how many gains are asked for."""
    places = depth_of(statistic)
    return 2 * places, places if _few_gains(statistic) else None


def _few_gains(statistic: RankStatistic) -> bool:
    """Whether the largest gains, one for each place, and the coefficients of the rows left are enough.

    So where a place earns the same in every list; not for a share of all relevant rows.
    """
    return statistic.by_place and not statistic.per_relevant


def all_gains(seen: Seen, statistic: RankStatistic) -> Floats:
    """The gains of the whole list, as far as the value of its best order depends on them."""
    every = np.zeros(min(depth_of(statistic), seen.n) if _few_gains(statistic) else seen.n)
    known = seen.gains[: every.size]
    every[: known.size] = known
    return every


def reduced_problem(
    parts: Sequence[Part], seen: Seen, low: Floats, high: Floats, statistic: RankStatistic,
    limits: tuple[ArrayLike, ArrayLike], *, run: Run | None = None, most_rows: int = MOST_ROWS, **options: Any,
) -> Reduced:  # fmt: skip
    """The second pass: the anchored problem of the rows that are left.

    Parameters
    ----------
    parts : sequence of callables
        Those of :func:`first_look`.
    seen : Seen
        What it told.
    low, high : float64 arrays (d,)
        Scaling of the columns.
    statistic : RankStatistic
    limits : pair of arrays (d,)
        As for :meth:`Problem.build`.
    run : callable, optional
    most_rows : int
        Rows that may be left.
    **options
        ``epsilon``, ``C`` and ``max_features`` of :meth:`Problem.build`. The rows that are left serve any other margin
        too: a row that is left out is behind N irrelevant ones, and so is what has no lead over it.

    Raises
    ------
    InputError
        For a list without a gain, and if too many rows are left.
    """
    depth = depth_of(statistic)
    middle = min(depth, len(seen.first)) // 2
    centre = scale_columns(seen.first[middle:], low, high).mean(axis=0)
    sides = np.asarray(limits, dtype=np.float64)
    epsilon = float(options.get("epsilon", 1e-4))
    table, gains, rows = survivors(parts, run or in_turn, (low, high, centre, sides, depth, epsilon, most_rows))
    offset, scale = shown(statistic, all_gains(seen, statistic), np.empty(0))
    if not (scale > 0 and seen.n_relevant):
        raise InputError("The parts hold no gain: there is nothing to rank; give at least one relevant row.")
    length = rows.size if statistic.by_place else seen.n
    coefficients = statistic.coefficients(length)[length - rows.size :].copy()
    listed = RankedList(np.arange(rows.size), gains, coefficients, 1.0, -offset, scale)
    problem = Problem.build(table, [listed], low=low, high=high, limits=(sides[0], sides[1]), **options)
    return Reduced(problem, rows, seen.n, depth)
