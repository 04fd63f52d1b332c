"""The text of a portable ``.mps`` file, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import FormulationError
from formulations.program import LONGEST_NAME, Program

HUGE = 1e20
"""Bounds from here on mean infinity to most solvers."""

COST = "COST"

RESERVED = frozenset({COST, "RHS", "RANGES", "BOUNDS", "MARKER", "BND"})
"""Words of the format that some readers trip over when they are names."""


def lines(
    program: Program,
    columns: Sequence[str],
    rows: Sequence[str],
    ranged: NDArray[np.bool_],
    split: Sequence[str],
) -> Iterator[str]:
    """Lines of the file.

    Parameters
    ----------
    program : Program
        Passed :func:`check`.
    columns, rows : sequences of str
        Portable names.
    ranged : bool array (m,)
        Rows with two different finite sides.
    split : sequence of str
        Names of the second rows that carry the lower sides of the ranged ones.
    """
    yield f"NAME {portable([program.name], 'p')[0]} FREE"
    yield "ROWS"
    yield f" N {COST}"
    low, high = program.row_lower, program.row_upper
    kinds = np.where(low == high, "E", np.where(np.isfinite(high), "L", "G"))
    yield from (f" {kind} {row}" for kind, row in zip(kinds, rows, strict=True))
    yield from (f" G {row}" for row in split)
    yield "COLUMNS"
    yield from _entries(program, columns, [*rows, *split], ranged)
    yield "RHS"
    sides = np.where(np.isfinite(high), high, low)
    yield from (f" RHS {row} {float(side)!r}" for row, side in zip(rows, sides, strict=True) if side)
    yield from (f" RHS {row} {float(side)!r}" for row, side in zip(split, low[ranged], strict=True) if side)
    yield "BOUNDS"
    for name, lower, upper, whole in zip(columns, program.lower, program.upper, program.integer, strict=True):
        yield from _bounds(name, float(lower), float(upper), bool(whole))
    yield "ENDATA"


def _entries(
    program: Program, columns: Sequence[str], rows: Sequence[str], ranged: NDArray[np.bool_]
) -> Iterator[str]:
    matrix = sparse.csc_array(sparse.vstack([program.matrix, program.matrix[np.flatnonzero(ranged)]]))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    starts, indices, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    cost = (-program.cost).tolist()
    marked, count = False, 0
    for j, (name, whole) in enumerate(zip(columns, program.integer.tolist(), strict=True)):
        if whole != marked:
            yield f" M{count} 'MARKER' '{'INTORG' if whole else 'INTEND'}'"
            marked, count = whole, count + 1
        first, last = starts[j], starts[j + 1]
        # A column without any entry must be named all the same.
        if cost[j] or first == last:
            yield f" {name} {COST} {cost[j] + 0.0!r}"
        yield from (f" {name} {rows[indices[k]]} {values[k]!r}" for k in range(first, last))
    if marked:
        yield f" M{count} 'MARKER' 'INTEND'"


def _bounds(name: str, lower: float, upper: float, whole: bool) -> Iterator[str]:
    if lower == upper:
        yield f" FX BND {name} {lower + 0.0!r}"
    elif np.isinf(lower) and np.isinf(upper):
        yield f" FR BND {name}"
    else:
        # Some readers end an integer column at 1 unless told otherwise; PuLP 3 resets the lower bound at PL.
        if whole and np.isinf(upper):
            yield f" PL BND {name}"
        if np.isinf(lower):
            yield f" MI BND {name}"
        elif lower or whole or upper <= 0:
            yield f" LO BND {name} {lower + 0.0!r}"
        if np.isfinite(upper):
            yield f" UP BND {name} {upper + 0.0!r}"


def check(program: Program) -> None:
    """Raise FormulationError for a program that no file can hold or that solvers would read differently."""
    figures = (program.cost, program.matrix.data, program.constant)
    if not all(np.isfinite(part).all() for part in figures):
        raise FormulationError(
            "A cost, a coefficient or the constant is not finite; no solver can read the program."
        )
    _check_side("row", program.rows, program.row_lower, program.row_upper)
    _check_side("column", program.columns, program.lower, program.upper)
    free = np.flatnonzero(np.isinf(program.row_lower) & np.isinf(program.row_upper))
    if free.size:
        raise FormulationError(f"The row {program.rows[free[0]]!r} has no side; drop it.")


def _check_side(
    what: str, names: Sequence[str], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> None:
    if len(set(names)) != len(names):
        raise FormulationError(f"Two {what}s have the same name; names must be unique.")
    for i in map(int, np.flatnonzero(~(lower <= upper) | (lower == np.inf) | (upper == -np.inf))):
        raise FormulationError(
            f"Nothing satisfies the bounds {lower[i]} and {upper[i]} of the {what} {names[i]!r}."
        )
    for side in (lower, upper):
        for i in map(int, np.flatnonzero(np.isfinite(side) & (np.abs(side) >= HUGE))):
            raise FormulationError(
                f"The {what} {names[i]!r} has the bound {side[i]}; {HUGE:.0e} is infinity to solvers: rescale."
            )


def portable(names: Sequence[str], letter: str) -> list[str]:
    """Names that every reader takes, others replaced by a letter and a number."""
    fine = [_is_portable(name) for name in names]
    fresh = iter(fresh_names(len(names) - sum(fine), letter, set(names)))
    return [name if good else next(fresh) for name, good in zip(names, fine, strict=True)]


def _is_portable(name: str) -> bool:
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit()
    return plain and len(name) <= LONGEST_NAME and name.upper() not in RESERVED


def fresh_names(count: int, stem: str, taken: set[str]) -> list[str]:
    """``count`` names made of a stem and a number, none of them taken."""
    candidates = (f"{stem}{number}" for number in range(count + len(taken)))
    return list(islice((name for name in candidates if name not in taken), count))
