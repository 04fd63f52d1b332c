"""What rows on the weights leave: a point far from all of them, and the rows that clash where nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem

if TYPE_CHECKING:
    from rerank.search.domain import Domain

Floats = NDArray[np.float64]

LEAST = 1e-7
"""Distance from all rows, whose largest coefficient is 1, below which weights count as having no room."""


def inside(
    walls: Floats, lower: Floats, upper: Floats, anchor: Sequence[int], most: int | None = None
) -> Floats | None:
    """A point as far from all rows as the box allows; None where it would be on one.

    Parameters
    ----------
    walls : float64 (m, d + 2)
        Rows ``a.v >= b``: coefficients, ``b``, rounding.
    lower, upper : float64 (d,)
        The box.
    anchor : sequence of int
        Coordinates that are 1.
    most : int, optional
        Largest number of the others that are not 0.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    d, anchor = lower.size, list(anchor)
    low, high = lower.copy(), upper.copy()
    low[anchor] = high[anchor] = 1.0
    free = np.delete(np.arange(d), anchor) if most is not None else np.empty(0, np.intp)
    n, none = free.size, np.zeros((len(walls), free.size))
    a, b = walls[:, :-2], walls[:, -2]
    # A row that nothing moves has no distance.
    moves = (a != 0) @ (high > low) > 0
    # Binary variables say which coordinates are not 0.
    picked, switched = np.eye(d)[free], lambda end: -np.diag(np.maximum(end, 0.0)[free])
    limits = [
        LinearConstraint(np.column_stack([a, -1.0 * moves, none]), lb=b),
        LinearConstraint(np.column_stack([picked, np.zeros(n), switched(high)]), ub=0.0),
        LinearConstraint(np.column_stack([-picked, np.zeros(n), switched(-low)]), ub=0.0),
        LinearConstraint(np.concatenate([np.zeros(d + 1), np.ones(n)])[None], ub=np.inf if most is None else most),
    ]
    x: Any = milp(
        np.concatenate([np.zeros(d), [-1.0], np.zeros(n)]), integrality=np.concatenate([np.zeros(d + 1), np.ones(n)]),
        bounds=Bounds(np.concatenate([low, [-np.inf], np.zeros(n)]), np.concatenate([high, [1.0], np.ones(n)])),
        constraints=limits if n else limits[:1],
    ).x  # fmt: skip
    if x is None or not x[d] > LEAST:
        return None
    v = np.clip(x[:d], low, high)
    v[free[x[d + 1 :] < 0.5]] = 0.0
    return v


def first_point(domain: Domain) -> Floats | None:
    """The unchanged point, or where a row excludes it one far from all rows; None where these leave no room."""
    ends = domain.walls, domain.lower, domain.upper, domain.anchor
    if domain.keeps(domain.unchanged):
        return domain.unchanged if inside(*ends) is not None else None
    found = inside(*ends, domain.most)
    if found is None and domain.most is not None:
        # Of rows with sides 0 some may be satisfied with 0 by the few features that there are.
        loose = domain.walls.copy()
        kept = domain.spare(domain.unchanged) >= 0
        loose[kept, -2] -= 2.0 * LEAST
        found = inside(loose, *ends[1:], domain.most)
    return found


def check_room(problem: Problem) -> None:
    """Refuse rows that leave the weights no room, naming a smallest set of rows that clash.

    Raises
    ------
    InputError
    """
    from rerank.search.domain import Domain

    def open_(rows: Any) -> bool:
        return first_point(Domain.of(replace(problem, rows=tuple(rows)))) is not None

    if not problem.rows or open_(problem.rows):
        return
    clash = list(problem.rows)
    for row in problem.rows:  # what is left when no row can be taken away clashes, and no part of it does
        rest = [one for one in clash if one is not row]
        if not open_(rest):
            clash = rest
    limits = "the radius" if problem.anchored else "the signs"
    limits += "" if problem.max_features is None else f" and at most {problem.max_features} features"
    names = " and ".join(repr(row.text) for row in clash)
    raise InputError(
        f"The constraints {names} leave no weights with room to move within {limits}; loosen or leave out one of them."
        if len(clash) > 1
        else f"The constraint {names} leaves no weights with room to move within {limits}; loosen it or leave it out."
    )
