r"""Whether a small box holds weights worth more than a limit whose order meets the quotas.

A pair is won where ``w.D`` reaches the margin, and a quota sees where ``w.D`` is above 0.  With more of these relations
neither the value falls nor is a quota missed.  So sets of relations are searched: one is asked for, or it does not
count.  The weights for which all hold that are asked for are a polytope, kept by its vertices.  The mean of these lies
above 0 wherever any point of the polytope does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.tree import UnprovenError
from rerank.certificate.check.vertices import Plane, RationalBox
from rerank.problem.lists import Indices

Point = tuple[Fraction, ...]
Polytope = dict[Point, frozenset[int]]  # vertices, and the planes and sides through each
Mask = NDArray[np.bool_]

ALWAYS, NEVER = -1, -2  # numbers of relations that do not change in the box
MOST_POLYTOPES = 4_000  # of one box
MOST_SIDES = 6  # dimensions of a box


@dataclass(frozen=True, eq=False)
class Order:
    """What a quota asks in a box: ``wanted`` rows of which no more than ``room`` others are at their score or above."""

    numbers: Indices  # (rows, others): of the plane that says a row is above another
    wanted: int
    room: int


def holds_more(
    box: RationalBox, lost: NDArray[np.int64], open_: Indices, orders: tuple[list[Plane], list[Order]], limit: Fraction
) -> bool:
    """Whether there are such weights; ``lost`` (S,) counts hold in the box, and the pairs ``open_`` are not among them.
    UnprovenError when there are too many polytopes.
    """
    return _Orders(box, lost, open_, orders, limit).search()


class _Orders:
    def __init__(
        self,
        box: RationalBox,
        lost: NDArray[np.int64],
        open_: Indices,
        orders: tuple[list[Plane], list[Order]],
        limit: Fraction,
    ) -> None:
        self.box, self.lost, self.open, self.limit, self.asked = box, lost, open_, limit, orders[1]
        pairs = [box.plane(box.row(p), box.exact.epsilon) for p in open_.tolist()]
        self.planes = list(dict.fromkeys(pairs))
        where = {plane: number for number, plane in enumerate(self.planes)}
        self.of = np.array([where[plane] for plane in pairs], dtype=np.intp)
        self.strict = len(self.planes)  # the planes from here on have to be passed, not reached
        self.planes += orders[0]

    def search(self) -> bool:
        k = sum(h > 0 for h in self.box.half)
        if k > MOST_SIDES:
            raise UnprovenError(f"A box with open quotas has {k} dimensions; the checker lists up to {MOST_SIDES}.")
        corners = product((Fraction(0), Fraction(1)), repeat=k)
        cube: Polytope | None = {x: frozenset(-1 - 2 * j - int(v) for j, v in enumerate(x)) for x in corners}
        for number, wall in enumerate(self.box.walls(), start=len(self.planes)):
            cube = None if cube is None else clipped(cube, self.box.plane(*wall), number)
        todo = [] if cube is None else [(cube, np.ones(len(self.planes), dtype=bool), frozenset[int]())]
        for _ in range(MOST_POLYTOPES):
            if not todo:
                return False
            polytope, counted, passed = todo.pop()
            if not self._more(counted):
                continue
            mean = [sum(x, Fraction(0)) / len(polytope) for x in zip(*polytope)]
            held = np.array([self._holds(number, mean) for number in range(len(self.planes))], dtype=bool)
            if self._more(held):
                return True
            left = np.flatnonzero(counted & ~held).tolist()
            at = min(left, key=lambda number: _height(self.planes[number], mean))
            without = counted.copy()
            without[at] = False
            todo.append((polytope, without, passed))
            new, more = clipped(polytope, self.planes[at], at), passed | ({at} if at >= self.strict else set())
            if new is not None and all(any(_height(self.planes[i], x) > 0 for x in new) for i in more):
                todo.append((new, counted, more))
        raise UnprovenError(f"A box takes more than {MOST_POLYTOPES} polytopes to see whether quotas can be met in it.")

    def _holds(self, number: int, point: Sequence[Fraction]) -> bool:
        height = _height(self.planes[number], point)
        return height > 0 or (not height and number < self.strict)

    def _more(self, held: Mask) -> bool:
        """Whether relations meet the quotas and are worth more than the limit."""
        known = np.append(held[self.strict :], [False, True])  # NEVER, ALWAYS
        for demand in self.asked:
            behind = (~known[demand.numbers]).sum(axis=1)
            if np.count_nonzero(behind <= demand.room) < demand.wanted:
                return False
        gone = self.open[~held[self.of]]
        return self.box.value(self.lost + self.box.pairs.lost(gone)) > self.limit


def _height(plane: Plane, point: Sequence[Fraction]) -> Fraction:
    return sum((a * x for a, x in zip(plane[0], point) if a), Fraction(-plane[1]))


def clipped(polytope: Polytope, plane: Plane, number: int) -> Polytope | None:
    """The part of a polytope on which ``a.y >= b``; None where it is empty. New vertices lie on the edges between a
    vertex above and one below: two are joined by an edge if no third lies on all planes through both [Fukuda1996].
    """
    height = {x: _height(plane, x) for x in polytope}
    found = {x: through | {number} if not height[x] else through for x, through in polytope.items() if height[x] >= 0}
    above, below = ([x for x in polytope if sign * height[x] > 0] for sign in (1, -1))
    for x, y in product(above, below):
        shared = polytope[x] & polytope[y]
        if sum(shared <= through for through in polytope.values()) == 2:
            share = height[x] / (height[x] - height[y])
            found[tuple(a + share * (b - a) for a, b in zip(x, y))] = shared | {number}
    return found or None
