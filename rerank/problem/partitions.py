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
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.io.options import whole
from rerank.problem.lists import RankedList
from rerank.problem.passes import Part, Run, first_places, in_turn, ranges, survivors
from rerank.problem.reduced import MOST_ROWS, Reduced, first_look, reduced_problem
from rerank.problem.scaling import snapped_scores
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    seen = first_look(parts, statistic, run)
    return reduced_problem(parts, seen, *ranges(seen), statistic, limits, run=run, most_rows=most_rows, **options)


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
