"""Levels of a count: binary variables that may be 1 only when a count reaches what they ask for.

An item's rank, its wins over the negatives, the number of positives near the top: in each program a count ``c``
(an integer at integer points) is linked to binaries ``u_1, u_2, ...`` with ``u_m = 1`` only if ``c >= T_m``,
where ``T_1 < T_2 < ...`` and ``c >= c_0`` is known beforehand.

``linking="paper"``
    ``(T_m - c_0) u_m <= c - c_0`` for every level.
``linking="ordered"``
    ``(T_1 - c_0) u_1 + sum_{m >= 2} (T_m - T_{m-1}) u_m <= c - c_0`` and ``u_m <= u_{m-1}``.

At integer points both say the same: with ``u_1 = ... = u_r = 1`` and the rest 0 the ordered sum is ``T_r - c_0``.
The ordered relaxation lies inside the paper's, because the order among the ``u`` bounds the sum from below by
``(T_m - c_0) u_m`` for each ``m``. The short form ``sum u <= c`` is wrong as soon as a level is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from formulations.options import Options


@dataclass(frozen=True)
class Ladder:
    """Levels of one count.

    Attributes
    ----------
    sure, most : int
        Range of the count.
    steps : tuple of (int, index)
        Open levels: what each asks for, ascending, and the index of its variable.
    reached : int
        Levels that ask for no more than ``sure``: constants. Levels above ``most`` are left out.
    """

    sure: int
    most: int
    steps: tuple[tuple[int, Any], ...]
    reached: int

    @classmethod
    def of(cls, levels: Iterable[tuple[int, Any]], sure: int, most: int) -> Ladder:
        """Sort out levels, ascending in what they ask for."""
        given = tuple(levels)
        return cls(
            sure,
            most,
            tuple(level for level in given if sure < level[0] <= most),
            sum(t <= sure for t, _ in given),
        )


def linked(ladders: Mapping[Any, Ladder], linking: str) -> Iterator[tuple[Any, Any, list[tuple[int, Any]]]]:
    """For each row that ties levels to a count: its index, the key of the count, and ``(coefficient, level)`` pairs.

    The row is ``sum of coefficient * level <= count - c_0``, with all levels of a count in it (ordered) or one (paper).
    """
    for key, ladder in ladders.items():
        if linking == "ordered":
            asked = (ladder.sure, *(step for step, _ in ladder.steps))
            yield key, key, [(T - below, level) for (T, level), below in zip(ladder.steps, asked)]
        else:
            yield from ((level, key, [(T - ladder.sure, level)]) for T, level in ladder.steps)


def climbed(ladders: Mapping[Any, Ladder], counts: Mapping[Any, int]) -> dict[Any, float]:
    """Value of each open level: 1 where the count reaches what the level asks for."""
    return {
        level: float(asked <= counts[key]) for key, ladder in ladders.items() for asked, level in ladder.steps
    }


def consecutive(ladders: Mapping[Any, Ladder], options: Options) -> Iterator[tuple[Any, Any]]:
    """Each level and the next higher one of the same count, where a row is to order them."""
    if options.linking == "ordered" or options.extra_cuts:
        for ladder in ladders.values():
            yield from pairwise(level for _, level in ladder.steps)
