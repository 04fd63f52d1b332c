r"""An anchored problem of a list that no memory holds: only the rows that can still matter are kept.

The list comes in parts, each read when it is needed. One pass finds the range and the standard deviation of each
column, and the rows that stand first by the given score. With these a second pass bounds the score of every row over
all allowed weights, ``L_i <= w.x_i <= U_i``. A statistic of the first ``N`` places looks at no row ``i`` with
``U_i <= T - epsilon``, where ``T`` is the N-th largest ``L`` of the irrelevant rows: whatever the weights are, these N
stand above it, and above everything that it stands above. Columns are shifted to the middle of the rows near place N,
which makes the intervals narrow and changes no difference.

What is kept does not depend on how the list is cut into parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.options import whole
from rerank.problem.lists import RankedList
from rerank.problem.passes import (
    Part,
    Run,
    Seen,
    first_places,
    in_turn,
    look_at,
    look_at_all,
    ranges,
    survivors,
)
from rerank.problem.problem import Problem
from rerank.problem.scaling import scale_columns, snapped_scores
from rerank.ranks.evaluate import shown
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


def anchored_problem(
    parts: Sequence[Part],
    statistic: RankStatistic,
    limits: tuple[ArrayLike, ArrayLike],
    *,
    run: Run | None = None,
    most_rows: int = MOST_ROWS,
    **options: Any,
) -> Reduced:
    """The anchored problem of a list in parts, without the rows that no allowed weights bring near the first places.

    Parameters
    ----------
    parts : sequence of callables
        Each reads a part of the list, rows in order: table (n, d) with the given score first, and gains (n,).
    statistic : RankStatistic
        One that ends at a place, such as ``precision@1000``.
    limits : pair of arrays (d,)
        As for :meth:`Problem.build`.
    run : callable, optional
        Calls a list of (function, arguments); one after the other without it.
    most_rows : int
        Rows that may be left.
    **options
        ``epsilon``, ``C`` and ``max_features`` of :meth:`Problem.build`.

    Returns
    -------
    Reduced
        Its value at any allowed weights is that of the whole list.

    Raises
    ------
    InputError
        For a statistic of all places or of several rows at once, a list without a gain or with a constant column, and
        if too many rows are left.
    """
    seen = look_first(parts, statistic, run)
    return of_the_rest(parts, seen, *ranges(seen), statistic, limits, run=run, most_rows=most_rows, **options)


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


def look_first(
    parts: Sequence[Part], statistic: RankStatistic, run: Run | None = None, quoted: RankStatistic | None = None
) -> Seen:
    """The first pass: what :func:`of_the_rest` has to know of the list, and :func:`all_gains` of a statistic beside."""
    places, gains = _asked(statistic)
    return look_at_all(parts, run or in_turn, places, gains if _few_gains(quoted or statistic) else None)


def look_here(table: Floats, gains: Floats, statistic: RankStatistic) -> Seen:
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


def of_the_rest(
    parts: Sequence[Part], seen: Seen, low: Floats, high: Floats, statistic: RankStatistic,
    limits: tuple[ArrayLike, ArrayLike], *, run: Run | None = None, most_rows: int = MOST_ROWS, **options: Any,
) -> Reduced:  # fmt: skip
    """The second pass of :func:`anchored_problem`, where ``seen`` is what the first one told, and ``low`` and ``high``
    the scaling.
    """  # fmt: skip
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


def at_weights(
    parts: Sequence[Part], reduced: Reduced, w: ArrayLike, *, run: Run | None = None
) -> Reduced:
    """The rows that stand near the first places at some weights, by one more pass over the whole list.

    A certificate of the weights on its problem is one for the whole list, and does not rest on which rows
    :func:`anchored_problem` kept. The best of its rows are the first of the whole list.

    Parameters
    ----------
    parts : sequence of callables
        Those of :func:`anchored_problem`.
    reduced : Reduced
        What it returned.
    w : array (d,)
        Allowed weights.
    run : callable, optional
        As there.
    """
    problem, (item,) = reduced.problem, reduced.problem.lists
    weights = np.asarray(w, dtype=np.float64)
    centre = problem.scaled[np.argsort(-(problem.scaled @ weights), kind="stable")[: reduced.depth]].mean(axis=0)
    sides = np.array([weights, weights])
    given = (problem.low, problem.high, centre, sides, reduced.depth, problem.epsilon, reduced.n_rows)
    table, gains, rows = survivors(parts, run or in_turn, given)
    every = item.coefficients
    coefficients = every[-rows.size :] if rows.size <= every.size else np.pad(every, (rows.size - every.size, 0))
    listed = RankedList(np.arange(rows.size), gains, coefficients, 1.0, item.constant, item.scale)
    return Reduced(replace(problem, X=table, lists=(listed,)), rows, reduced.n_rows, reduced.depth)


def scores_of(part: Part, reduced: Reduced, w: ArrayLike) -> Floats:
    """Score of each row of a part, larger is better; comparable between parts, and as a reranker computes them.

    Parameters
    ----------
    part : callable
        As for :func:`anchored_problem`.
    reduced : Reduced
        Its problem has the scaling of the columns.
    w : array (d,)
    """
    problem = reduced.problem
    return _scores(part, problem.low, problem.high, np.asarray(w, dtype=np.float64))


def top_of(
    parts: Sequence[Part], reduced: Reduced, w: ArrayLike, n: int, *, run: Run | None = None
) -> tuple[Indices, Floats]:
    """The first rows of the whole list at some weights, by one pass that holds ``n`` rows of each part.

    They have the order of :func:`scores_of`. Equal scores keep the order of the rows, as ``Reranker.rank`` has it.

    Parameters
    ----------
    parts, reduced, w, run
        As for :func:`at_weights`; the parts may be those of another list with the same columns.
    n : int
        Places, at least 1.

    Returns
    -------
    rows : intp (n,)
        Their numbers in the whole list, best first; all rows if there are fewer.
    scores : float64 (n,)
    """
    problem, places = reduced.problem, whole("n", n)
    given = problem.low, problem.high, np.asarray(w, dtype=np.float64)
    return first_places(parts, run or in_turn, places, _scores, *given)


def _scores(part: Part, low: Floats, high: Floats, w: Floats) -> Floats:
    return snapped_scores(part()[0], low, high, w)
