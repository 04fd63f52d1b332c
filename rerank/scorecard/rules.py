"""Which sets of questions a card may ask: what the user says of questions and of columns.

Every rule says how many of some questions a card may ask: exactly one of a question that it must have, at least one of
several, at most one of two that exclude each other, all or none of those that belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules on sets of questions.

    Attributes
    ----------
    member : int64 (rules, questions)
        1 for the questions that a rule counts.
    least, most : int64 (rules,)
        How many of them a card may ask: at least and at most. A negative ``least`` is that many or none.
    clash : bool (questions, questions)
        Pairs that no card asks together.
    places : int64 (questions + 1,)
        Column of each question; behind them, how many columns a card may ask about.
    names : tuple of str
        What the user said, rule by rule.
    """

    member: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    clash: NDArray[np.bool_]
    places: NDArray[np.int64]
    names: tuple[str, ...] = ()

    def allow(self, members: Sequence[int], complete: bool = True) -> bool:
        """Whether a card may ask these questions; with ``complete=False``, whether some larger set may be allowed."""
        chosen = list(members)
        if self.clash[np.ix_(chosen, chosen)].any() or np.unique(self.places[chosen]).size > self.places[-1]:
            return False
        here = self.member[:, chosen].sum(axis=1)
        enough = (here >= np.abs(self.least)) | ((self.least < 0) & (here == 0))
        return bool((here <= self.most).all() and (not complete or enough.all()))


def rules_of(
    columns: NDArray[np.int64], *, one_per_column: bool = False, max_columns: int | None = None,
    counted: Sequence[tuple[str, Sequence[int], int, int]] = (),
) -> Rules:  # fmt: skip
    """Rules of the columns of questions, and of given sets: a name, the questions, at least and at most so many."""
    n = columns.size
    clash = np.zeros((n, n), dtype=bool)
    if one_per_column:
        clash |= (columns[:, None] == columns) & ~np.eye(n, dtype=bool)
    member = np.zeros((len(counted), n), np.int64)
    for rule, (_, questions, _, together) in enumerate(counted):
        own = list(questions)
        member[rule, own] = 1
        if together == 1:
            clash[np.ix_(own, own)] |= ~np.eye(len(own), dtype=bool)
    least, most = (np.array([rule[at] for rule in counted], np.int64) for at in (2, 3))
    places = np.append(columns, n if max_columns is None else max_columns).astype(np.int64)
    return Rules(member, least, most, clash, places, tuple(rule[0] for rule in counted))
