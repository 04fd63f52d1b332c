"""The two passes over a list in parts: what the columns are like, and which rows can still matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem.scaling import scale_columns
from rerank.ranks.rationals import exact_total

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Part = Callable[[], tuple[Floats, Floats]]
"""Reads one part: its table (n, d), the given score first, and the gains (n,) of its rows."""

Run = Callable[[list[tuple[Callable[..., Any], tuple[Any, ...]]]], list[Any]]
"""Calls functions with their arguments, in any order or process, and returns the results in order."""

LARGEST = 1e150
"""Largest number whose square is one."""

ROUNDING = 1e-13
"""Bound on the rounding of a score and of its ends, relative to the sizes of what is added up."""


def in_turn(jobs: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """One after the other."""
    return [function(*given) for function, given in jobs]


@dataclass(frozen=True, eq=False)
class Seen:
    """What the first pass tells of a part: its size, gains above 0, ranges, exact sums, first rows by score."""

    n: int
    gains: Floats
    low: Floats
    high: Floats
    sums: list[Fraction]
    squares: list[Fraction]
    first: Floats


def look(part: Part, most: int) -> Seen:
    """First pass over one part."""
    X, gains = part()
    if np.abs(X).max(initial=0.0) > LARGEST:
        raise InputError(f"A part holds a number beyond {LARGEST:g}; divide that column by a constant.")
    return Seen(
        len(X), gains[gains > 0], X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf),
        [exact_total(column) for column in X.T], [exact_total(column * column) for column in X.T],
        first_rows([X], most),
    )  # fmt: skip


def ranges(seen: list[Seen]) -> tuple[Floats, Floats]:
    """Least number of each column, and that plus one standard deviation."""
    n = sum(one.n for one in seen)
    if n == 0:
        raise InputError("The parts hold no row; give at least one that does.")
    low = np.min([one.low for one in seen], axis=0)
    sums, squares = (
        [sum(column, Fraction(0)) / n for column in zip(*each)]
        for each in ([one.sums for one in seen], [one.squares for one in seen])
    )
    variance = np.array([float(q - s * s) for s, q in zip(sums, squares)])
    high = low + np.sqrt(np.maximum(variance, 0.0))
    flat = np.flatnonzero(~(high > low))
    if flat.size:
        raise InputError(f"Column {flat[0]} is constant in all parts; leave it out.")
    return low, high


def first_rows(parts: list[Floats], most: int) -> Floats:
    """The first rows of the whole list by score; of equal scores the earlier row."""
    rows = np.concatenate(parts)
    return rows[np.lexsort((np.arange(len(rows)), -rows[:, 0]))[:most]]


def survivors(parts: Sequence[Part], call: Run, given: tuple[Any, ...]) -> tuple[Floats, Floats, Indices]:
    """The second pass: the rows that all parts together do not rule out, in order, with gains and numbers."""
    *_, depth, epsilon, most_rows = given
    sizes, tables, gains, rows, upper, best = zip(*call([(_keep, (part, *given)) for part in parts]))
    limit = _last(np.concatenate(best), depth) - epsilon
    left = [ends > limit for ends in upper]
    _check_count(sum(int(one.sum()) for one in left), most_rows)
    starts = np.cumsum([0, *sizes[:-1]])
    numbers = [one + start for one, start in zip(rows, starts)]
    table, gain, row = (
        np.concatenate([part[which] for part, which in zip(each, left)]) for each in (tables, gains, numbers)
    )
    return table, gain, row


def _keep(
    part: Part, low: Floats, high: Floats, centre: Floats, sides: Floats, depth: int, epsilon: float, most_rows: int
) -> tuple[int, Floats, Floats, Indices, Floats, Floats]:
    """Rows of one part that it does not rule out itself, with their upper ends; size, and the best lower ends."""
    X, gains = part()
    at, reach, size = (np.zeros(len(X)) for _ in range(3))
    # Column by column, so that a row's sums do not depend on the rows beside it.
    for j, (least, most) in enumerate(zip(*sides)):
        z = scale_columns(X[:, j], low[j], high[j]) - centre[j]
        at += 0.5 * (least + most) * z
        reach += 0.5 * (most - least) * np.abs(z)
        size += max(abs(least), abs(most)) * (np.abs(z) + abs(centre[j]))
    reach += ROUNDING * size
    upper = at + reach
    best = -np.sort(-(at - reach)[gains == 0])[:depth]
    rows = np.flatnonzero(upper > _last(best, depth) - epsilon)
    _check_count(rows.size, most_rows)
    return len(X), X[rows], gains[rows], rows, upper[rows], best


def _last(ends: Floats, depth: int) -> float:
    """The ``depth``-th largest; minus infinity where there are fewer."""
    return float(np.partition(ends, -depth)[-depth]) if ends.size >= depth else -np.inf


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise InputError(
            f"{count:,} rows can reach the places that count, more than {most:,}; lower the limits or the depth."
        )
