"""How small the margin of a program may be, given the tolerance of the solver."""

import math

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem

SMALLEST_DEFAULT = 1e-4

FEASIBILITY_TOLERANCE, SAFETY = 1e-6, 10.0
"""Amount by which solvers may violate a row of the program they get, and how many times that a margin is at least.

At a ratio of 1, solvers claimed pairs they had not won in all of 60 random programs; at 10 in none.
"""


def safe_epsilon(problem: Problem, asked: float | None = None) -> float:
    """The margin asked for, or an error if solvers cannot keep it; if none is, the default, or the least safe one. A
    binary off by the tolerance moves its row by the tolerance times its big-M: the largest difference of two rows.
    """
    least = SAFETY * FEASIBILITY_TOLERANCE * max(1.0, largest_difference(problem))
    if asked is None:
        return max(SMALLEST_DEFAULT, least)
    # A margin of exactly ten tolerances passes, whichever way it was rounded.
    if asked < least * (1 - 1e-9):
        raise InputError(
            f"Margin {asked:g} is too close to the solver's feasibility tolerance {FEASIBILITY_TOLERANCE:g}; "
            f"use at least {least:.3g}, or tighten feasibility_tolerance. epsilon='auto' does the first; "
            "solver='search' has no tolerance."
        )
    return asked


SHORT, MOST_AT_ONCE = 64, 4_000_000
"""Rows of a list whose pairs are formed together with those of other lists, and pairs at a time."""


MOST_NEAR = 200_000  # pairs of rows that are compared to find those closer than the margin: a twentieth of a second


def notes_on_near_rows(problem: Problem) -> tuple[str, ...]:
    """A sentence on pairs that the margin loses by any weights; corrected scores have wide margins on purpose."""
    near = None if problem.anchored else pairs_within_margin(problem)
    if not near:
        return ()
    return (
        f"{near} pair(s) of rows with different gains are closer than the margin {problem.epsilon:g} by any weights, "
        "and count as lost; a smaller epsilon may win them.",
    )


def notes_on_exact_pairs(problem: Problem) -> tuple[str, ...]:
    """A sentence on pairs that differ by just the margin in one column, as on a grid: boxes cannot tell these apart."""
    count = 0
    for own in () if problem.anchored else (problem.scaled[item.rows] for item in problem.lists):
        for values in np.sort(own, axis=0).T:
            ends = (np.searchsorted(values, values + (problem.epsilon + slack)) for slack in (1e-12, -1e-12))
            count += int(next(ends).sum() - next(ends).sum())
    if not count:
        return ()
    return (
        f"{count} pair(s) of rows differ by just the margin {problem.epsilon:g} in a column, which can keep a gap open "
        f"for any time: try a slightly smaller margin, such as epsilon={0.999 * problem.epsilon:.6g}.",
    )


def pairs_within_margin(problem: Problem) -> int | None:
    """Pairs of different gains in a list, not equal, whose columns differ by less than the margin in sum, so that no
    weights win them. None where more than ``MOST_NEAR`` pairs have sums of columns that close.
    """
    rows = np.concatenate([item.rows for item in problem.lists])
    gains = np.concatenate([item.gains for item in problem.lists])
    lists = np.repeat(np.arange(len(problem.lists)), [item.rows.size for item in problem.lists])
    X = problem.scaled[rows]
    sums = X.sum(axis=1)
    # One sorted line of all lists, with gaps between them. The slack covers the rounding of its numbers.
    line = sums + lists * (np.ptp(sums) + 2 * problem.epsilon)
    slack = 1e-14 * (1 + np.abs(line).max() * X.shape[1])
    order = np.argsort(line, kind="stable")
    line, X, gains, lists = line[order], X[order], gains[order], lists[order]
    upper = np.arange(rows.size)
    near = np.searchsorted(line, line + problem.epsilon + slack) - upper - 1
    if near.sum() > MOST_NEAR:
        return None
    lower = np.arange(near.sum()) - np.repeat(np.cumsum(near) - near - upper - 1, near)
    upper = np.repeat(upper, near)
    chosen = (gains[upper] != gains[lower]) & (lists[upper] == lists[lower])
    upper, lower = upper[chosen], lower[chosen]
    apart = np.zeros(upper.size)
    for column in X.T:
        apart += np.abs(column[upper] - column[lower])
    # Just below the margin is left out: rounding does not say on which side such a pair is.
    return int(np.sum((apart > 0) & (apart < problem.epsilon * (1 - 1e-9))))


def largest_difference(problem: Problem) -> float:
    """Largest ``sum_j |w_j| |x_ij - x_kj|`` in scaled units between two rows of one list, over allowed weights."""
    from scipy.spatial.distance import pdist

    X = problem.scaled if problem.limits is None else problem.scaled * np.abs(problem.limits).max(axis=0)
    lists: dict[int, list[NDArray[np.intp]]] = {}
    for item in problem.lists:
        lists.setdefault(item.rows.size, []).append(item.rows)
    largest = 0.0
    for size, rows in lists.items():
        if size <= SHORT:
            for some in np.array_split(np.array(rows), math.ceil(len(rows) * size * size / MOST_AT_ONCE)):
                columns = (X[some, j] for j in range(X.shape[1]))
                apart = sum(np.abs(column[:, :, None] - column[:, None, :]) for column in columns)
                largest = max(largest, float(np.max(apart, initial=0.0)))
            continue
        for own in rows:
            table = X[own]
            ranges = float(np.ptp(table, axis=0).sum())
            if ranges > largest:
                # All pairs of a few thousand rows take a second; the box around more rows gives an upper bound.
                within = size <= 3000
                largest = max(largest, float(pdist(table, "cityblock").max()) if within else ranges)
    return largest
