"""The cells into which planes cut a small box, exactly: a point inside each, of every dimension.

On a cell no plane is crossed, so whatever depends on the sides of the planes alone is the same in all of it.  A cell is
held by its vertices with the planes through each; two vertices are joined by an edge if no third lies on all planes
that they share (the double description method [Fukuda1996]).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from rerank.errors.stops import current

Point = tuple[Fraction, ...]
Cell = dict[Point, frozenset[int]]
Plane = tuple[Point, Fraction]

MOST = 4_000  # cells of one box


def points_of_cells(planes: Sequence[Plane], low: Sequence[Fraction], high: Sequence[Fraction]) -> list[Point] | None:
    """A point of every cell of a box with the ends ``low`` and ``high``; None if they are too many, or time is up."""
    stop, cells = current(), _faces(low, high)
    for number, plane in enumerate(planes, start=2 * len(low)):
        cells = [part for cell in cells for part in _split(cell, plane, number)]
        if len(cells) > MOST or stop.now:
            return None
    return [tuple(sum(x, Fraction(0)) / len(cell) for x in zip(*cell, strict=True)) for cell in cells]


def _faces(low: Sequence[Fraction], high: Sequence[Fraction]) -> list[Cell]:
    """The box without its sides, its sides without their edges, and so on."""
    found: list[Cell] = []
    for sides in product(*(((j, 0), (j, 1), (j, 0, 1)) for j in range(len(low)))):
        corners = product(*([(j, end) for end in ends] for j, *ends in sides))
        found.append(
            {
                tuple((low, high)[end][j] for j, end in corner): frozenset(2 * j + end for j, end in corner)
                for corner in corners
            }
        )
    return found


def _split(cell: Cell, plane: Plane, number: int) -> list[Cell]:
    """The parts of a cell on both sides of a plane and on it."""
    row, side = plane
    height = {v: sum((a * x for a, x in zip(row, v, strict=True)), -side) for v in cell}
    above, below = ([v for v in cell if sign * height[v] > 0] for sign in (1, -1))
    if not (above and below):
        return [cell]
    on = {v: planes | {number} for v, planes in cell.items() if not height[v]}
    for u, v in product(above, below):
        shared = cell[u] & cell[v]
        if sum(shared <= planes for planes in cell.values()) == 2:
            share = height[u] / (height[u] - height[v])
            on[tuple(x + share * (y - x) for x, y in zip(u, v, strict=True))] = shared | {number}
    return [{v: cell[v] for v in above} | on, {v: cell[v] for v in below} | on, on]
