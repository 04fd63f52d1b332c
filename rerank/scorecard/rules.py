"""Which sets of questions a card may ask: what the user says of questions and of columns.

Pairs of questions may exclude each other, and every other rule says: a card that asks one of these asks one of those.
If "these" are all questions, it must ask one of those; in a ring of sets, each of which needs the next one, the sets
belong together.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rules(NamedTuple):
    """Rules on sets of questions, for kernels, too."""

    asked: NDArray[np.bool_]  # (rules, questions): a card that asks some question of a row of ``asked``
    needed: NDArray[np.bool_]  # (rules, questions): asks some of the same row of ``needed``
    clash: NDArray[np.bool_]  # (questions, questions): pairs that no card asks together
    places: NDArray[np.int64]  # (questions + 1,): column of each question; behind them, how many a card may ask about

    def allow(self, members: Sequence[int], complete: bool = True) -> bool:
        """Whether a card may ask these questions; with ``complete=False``, whether some larger set may be allowed."""
        chosen = list(members)
        if self.clash[np.ix_(chosen, chosen)].any() or np.unique(self.places[chosen]).size > self.places[-1]:
            return False
        met = self.needed[:, chosen].any(axis=1) | ~self.asked[:, chosen].any(axis=1)
        return bool(met.all() or not complete)


def rules_of(
    columns: NDArray[np.int64],
    *,
    one_per_column: bool,
    max_columns: int | None,
    some: Iterable[Sequence[int]],
    apart: Iterable[Sequence[Sequence[int]]],
    together: Iterable[Sequence[Sequence[int]]],
    directions: Sequence[str] = (),
) -> Rules:
    """Rules on numbers of questions, of which each has its column. A card asks one question at least of each set of
    ``some``. ``apart`` and ``together`` are sequences of sets, of which it asks at most one, or either all or none; it
    asks a set if it asks one of its questions. Of a column it asks questions of one of the ``directions`` only, and
    those without one.
    """
    n = columns.size

    def mask(*chosen: Sequence[int]) -> NDArray[np.bool_]:
        found = np.zeros((len(chosen), n), dtype=bool)
        for row, own in zip(found, chosen):
            row[list(own)] = True
        return found

    ways = np.array([*directions] or [""] * n)
    turned = (ways[:, None] != ways) & (ways[:, None] != "") & (ways != "")
    clash = (columns[:, None] == columns) & (one_per_column | turned) & ~np.eye(n, dtype=bool)
    for sets in apart:
        for own, other in combinations(sets, 2):
            pairs = np.array([(j, i) for j in own for i in other if i not in own and j not in other]).reshape(-1, 2).T
            clash[*pairs] = clash[*pairs[::-1]] = True
    needed = [mask(*some), *(mask(*sets) for sets in together)]
    asked = [np.ones_like(needed[0]), *(np.roll(own, 1, axis=0) for own in needed[1:])]
    places = np.append(columns, n if max_columns is None else max_columns).astype(np.int64)
    return Rules(np.concatenate(asked), np.concatenate(needed), clash, places)
