"""Rows on the weights that clash: they leave the weights no room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rerank.errors import InfeasibleError
from rerank.problem import Problem
from rerank.search.domain import Domain


def check_room(problem: Problem) -> None:
    """Refuse rows that leave the weights no room, naming a smallest set of rows that clash.

    Raises
    ------
    InfeasibleError
    """

    def open_(rows: Any) -> bool:
        return Domain.of(replace(problem, rows=tuple(rows))).first_point() is not None

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
    raise InfeasibleError(
        f"The constraints {names} leave no weights with room to move within {limits}; loosen or leave out one of them."
        if len(clash) > 1
        else f"The constraint {names} leaves no weights with room to move within {limits}; loosen it or leave it out."
    )
