"""The passes over a list in parts: what the columns are like, which rows can still matter, which stand first.

The process that merges holds what is left of some parts, never two numbers for each row of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem.scaling import deviation, scale_columns
from rerank.ranks.rationals import exact_total

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Part = Callable[[], tuple[Floats, Floats]]
"""Reads one part: its table (n, d), the given score first, and the gains (n,) of its rows."""

Run = Callable[[list[tuple[Callable[..., Any], tuple[Any, ...]]]], list[Any]]
"""Calls functions with their arguments, in any order or process, and returns the results in order."""

LARGEST = 1e150
"""Largest number whose square is one."""

ROUND = 256
"""Parts whose answers are merged at a time."""

ROUNDING = 1e-13
"""Bound on the rounding of a score and of its ends, relative to the sizes of what is added up."""


def in_turn(jobs: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """One after the other."""
    return [function(*given) for function, given in jobs]


def answers(parts: Sequence[Part], call: Run, function: Callable[..., Any], *given: Any) -> Iterator[list[Any]]:
    """What a function answers for each part, in order, some parts at a time."""
    for begin in range(0, len(parts), ROUND):
        yield call([(function, (part, *given)) for part in parts[begin : begin + ROUND]])


@dataclass(frozen=True, eq=False)
class Seen:
    """What the first pass tells of some parts.

    Attributes
    ----------
    n, n_relevant : int
        Rows, and those with a gain above 0.
    gains : float64 array
        Largest gains above 0, descending.
    least : float
        Smallest gain above 0; infinite if there is none.
    low, high : float64 arrays (d,)
        Range of each column.
    sums, squares : lists of d Fractions
        Exact sums of each column and of its squares.
    first : float64 array (m, d)
        First rows by score.
    """

    n: int
    n_relevant: int
    gains: Floats
    least: float
    low: Floats
    high: Floats
    sums: list[Fraction]
    squares: list[Fraction]
    first: Floats

    def some(self, columns: Indices) -> Seen:
        """The same of some columns, the score among them."""
        low, high, first = self.low[columns], self.high[columns], self.first[:, columns]
        sums, squares = ([each[j] for j in columns] for each in (self.sums, self.squares))
        return replace(self, low=low, high=high, sums=sums, squares=squares, first=first)


def look(part: Part, most: int, most_gains: int | None) -> Seen:
    """First pass over one part."""
    X, gains = part()
    sizes = np.abs(X).max(axis=0, initial=0.0)
    if sizes.max() > LARGEST or ((sizes > 0) & (sizes < 1 / LARGEST)).any():
        found = f"a number beyond {LARGEST:g}" if sizes.max() > LARGEST else f"only numbers below {1 / LARGEST:g}"
        raise InputError(f"A part holds {found} in a column; divide that column by a constant.")
    sums, squares = [exact_total(column) for column in X.T], [exact_total(column * column) for column in X.T]
    return replace(look_at(X, gains, most, most_gains), sums=sums, squares=squares)


def look_at(X: Floats, gains: Floats, most: int, most_gains: int | None) -> Seen:
    """What the first pass tells of some rows, but for the sums."""
    relevant = gains[gains > 0]
    return Seen(
        len(X), relevant.size, largest(relevant, most_gains), float(relevant.min(initial=np.inf)),
        X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf), [], [], first_rows([X], most),
    )  # fmt: skip


def look_at_all(parts: Sequence[Part], call: Run, most: int, most_gains: int | None) -> Seen:
    """First pass over all parts, with their first rows and their largest gains, all gains for None."""
    whole: list[Seen] = []
    for some in answers(parts, call, look, most, most_gains):
        whole = [_together(whole + some, most, most_gains)]
    if not whole or whole[0].n == 0:
        raise InputError("The parts hold no row; give at least one that does.")
    return whole[0]


def _together(seen: list[Seen], most: int, most_gains: int | None) -> Seen:
    """What is known of all parts, in order."""
    return Seen(
        sum(one.n for one in seen),
        sum(one.n_relevant for one in seen),
        largest(np.concatenate([one.gains for one in seen]), most_gains),
        min(one.least for one in seen),
        np.min([one.low for one in seen], axis=0),
        np.max([one.high for one in seen], axis=0),
        [sum(column, Fraction(0)) for column in zip(*(one.sums for one in seen))],
        [sum(column, Fraction(0)) for column in zip(*(one.squares for one in seen))],
        first_rows([one.first for one in seen], most),
    )


def spread_of(seen: Seen) -> Floats:
    """Standard deviation of each column over all rows."""
    return np.array([deviation(seen.n, s, q) for s, q in zip(seen.sums, seen.squares)])


def ranges(seen: Seen) -> tuple[Floats, Floats]:
    """Least number of each column, and that plus one standard deviation."""
    high = seen.low + spread_of(seen)
    flat = np.flatnonzero(~(high > seen.low))
    if flat.size:
        raise InputError(f"Column {flat[0]} is constant in all parts; leave it out.")
    return seen.low, high


def first_rows(parts: list[Floats], most: int) -> Floats:
    """The first rows of the whole list by their first column; where it is equal, the earlier row."""
    rows = np.concatenate(parts)
    if len(rows) > most:
        rows = rows[rows[:, 0] >= _last(rows[:, 0], most)]
    return rows[np.argsort(-rows[:, 0], kind="stable")[:most]]


def survivors(parts: Sequence[Part], call: Run, given: tuple[Any, ...]) -> tuple[Floats, Floats, Indices]:
    """The second pass: the rows that all parts together do not rule out, in order, with gains and numbers."""
    *_, depth, epsilon, most_rows = given
    start, best = 0, np.empty(0)
    kept: list[tuple[Any, ...]] = []
    for some in answers(parts, call, _keep, *given):
        for n, table, gains, rows, upper, lower in some:
            kept.append((table, gains, rows + start, upper))
            best = largest(np.concatenate([best, lower]), depth)
            start += n
        *tables, upper = (np.concatenate(each) for each in zip(*kept))
        left = upper > _last(best, depth) - epsilon
        _check_count(int(left.sum()), most_rows)
        kept = [tuple(each[left] for each in (*tables, upper))]
    return kept[0][:3]


def first_places(
    parts: Sequence[Part], call: Run, most: int, score: Callable[..., Floats], *given: Any
) -> tuple[Indices, Floats]:
    """Numbers and scores of the first rows of all parts, best first; of equal scores the earlier row."""
    start, best = 0, np.empty((0, 2))
    for some in answers(parts, call, _first_places, most, score, *given):
        for n, found in some:
            best = first_rows([best, found + [0, start]], most)
            start += n
    return best[:, 1].astype(np.intp), best[:, 0]


def _first_places(part: Part, most: int, score: Callable[..., Floats], *given: Any) -> tuple[int, Floats]:
    """Size of a part, and scores and numbers of its first rows."""
    scores = score(part, *given)
    return scores.size, first_rows([np.column_stack([scores, np.arange(float(scores.size))])], most)


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
    best = largest((at - reach)[gains == 0], depth)
    rows = np.flatnonzero(upper > _last(best, depth) - epsilon)
    _check_count(rows.size, most_rows)
    return len(X), X[rows], gains[rows], rows, upper[rows], best


def _last(ends: Floats, depth: int) -> float:
    """The ``depth``-th largest; minus infinity where there are fewer."""
    return float(np.partition(ends, -depth)[-depth]) if ends.size >= depth else -np.inf


def largest(values: Floats, most: int | None) -> Floats:
    """The largest values, descending; all of them for None."""
    if most is not None and values.size > most:
        values = np.partition(values, -most)[-most:]
    return -np.sort(-values)


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise InputError(
            f"{count:,} rows can reach the places that count, more than {most:,}; lower the limits or the depth."
        )
