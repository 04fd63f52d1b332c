r"""The exact maximum of the value over a small box, from the vertices of the pairs' planes in it.

The weights of a box that win certain pairs form a closed polytope; if there are any, one of its vertices wins
at least the same pairs, and winning more never lowers the value.  A vertex is where as many planes ``w.D =
epsilon``, rows on the weights and sides of the box meet as the box has dimensions.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, gcd, lcm

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.pairs import SlotPairs
from rerank.certificate.check.tree import UnprovenError
from rerank.problem.lists import Floats, Indices
from rerank.ranks.rationals import exact_sum

Plane = tuple[tuple[int, ...], int]

MOST_SYSTEMS = 400_000  # systems of equations that are tried in one box


class RationalBox:
    """One box of a support, in rationals."""

    def __init__(self, exact: ExactProblem, pairs: SlotPairs, features: Indices, centre: Floats, half: Floats) -> None:
        self.exact, self.pairs, self.features = exact, pairs, features
        self.centre = [Fraction(c) for c in centre.tolist()]
        self.half = [Fraction(h) for h in half.tolist()]

    def out_of_reach(self, p: int) -> bool:
        """Whether pair ``p`` is lost in the whole box."""
        row = self.row(p)
        return sum(c * v + h * abs(v) for c, h, v in zip(self.centre, self.half, row)) < self.exact.epsilon

    def row(self, p: int) -> list[Fraction]:
        """Scaled difference of a pair on the support."""
        return self.exact.difference(int(self.pairs.upper[p]), int(self.pairs.lower[p]), self.features)

    def value(self, lost: NDArray[np.int64]) -> Fraction:
        """Value of lost counts, without the problem's constant and penalty."""
        bounds = np.searchsorted(self.pairs.unit_of, np.arange(len(self.exact.units) + 1))
        counts = lost.tolist()
        return exact_sum(unit.value(counts[a:b]) for unit, a, b in zip(self.exact.units, bounds[:-1], bounds[1:]))

    def walls(self) -> list[tuple[list[Fraction], Fraction]]:
        """The rows on the weights, ``a.v >= b`` on the support."""
        return [([row[j] for j in self.features.tolist()], side) for row, side in self.exact.walls]

    def holds_weights(self) -> bool:
        """Whether no row on the weights alone excludes the whole box."""
        return all(
            sum(c * a + h * abs(a) for c, h, a in zip(self.centre, self.half, row)) >= side
            for row, side in self.walls()
        )

    def plane(self, row: list[Fraction], side: Fraction) -> Plane:
        """``row.v >= side`` as ``a.y >= b``, with ``y`` from 0 to 1 over the box; reduced integers."""
        a = [2 * h * v for h, v in zip(self.half, row) if h]
        b = side - sum((c - h) * v for c, h, v in zip(self.centre, self.half, row))
        grain = lcm(b.denominator, *(v.denominator for v in a))
        whole = [int(v * grain) for v in [*a, b]]
        divisor = gcd(*whole) or 1
        return tuple(v // divisor for v in whole[:-1]), whole[-1] // divisor


def largest_value(box: RationalBox, lost: NDArray[np.int64], open_: Indices) -> Fraction:
    """Largest value in a box: ``lost`` (S,) counts hold in all of it, and the pairs ``open_`` are not among them.
    UnprovenError when there are too many vertices to list.
    """
    k = sum(h > 0 for h in box.half)
    members: dict[Plane, list[int]] = {}
    for p in open_.tolist():
        a, b = box.plane(box.row(p), box.exact.epsilon)
        if sum(v for v in a if v < 0) < b:  # else won in the whole box
            members.setdefault((a, b), []).append(p)
    planes, walls = list(members), [box.plane(*wall) for wall in box.walls()]
    distinct = list({max((a, b), (tuple(-v for v in a), -b)): None for a, b in [*planes, *walls] if any(a)})
    systems = sum(comb(len(distinct), t) * comb(k, t) << (k - t) for t in range(k + 1))
    if systems > MOST_SYSTEMS:
        raise UnprovenError(
            f"A box has {len(distinct)} planes through it in {k} dimensions, too many to list the vertices."
        )
    best = Fraction(-1)
    seen: set[tuple[bool, ...]] = set()
    for above, below in _vertices(distinct, k):
        if any(sum(v * y for v, y in zip(a, above)) < b * below for a, b in walls):
            continue
        won = tuple(sum(v * y for v, y in zip(a, above)) >= b * below for a, b in planes)
        if won not in seen:
            seen.add(won)
            gone = [p for has, plane in zip(won, planes) if not has for p in members[plane]]
            best = max(best, box.value(lost + box.pairs.lost(np.array(gone, dtype=np.intp))))
    return best


def _vertices(planes: list[Plane], k: int) -> Iterator[tuple[list[int], int]]:
    """Points of the unit cube where ``k`` independent planes and sides meet: numerators, denominator."""
    for t in range(min(k, len(planes)) + 1):
        for chosen in combinations(planes, t):
            for moving in combinations(range(k), t):
                resting = [j for j in range(k) if j not in moving]
                square = [[a[j] for j in moving] for a, _ in chosen]
                for ends in product((0, 1), repeat=k - t):
                    right = [b - sum(a[j] * e for j, e in zip(resting, ends)) for a, b in chosen]
                    solved = _solve(square, right)
                    if solved is None:
                        break  # singular whatever the right-hand side
                    above, below = solved
                    if all(0 <= v <= below for v in above):
                        point = [0] * k
                        for j, v in zip(moving, above):
                            point[j] = v
                        for j, e in zip(resting, ends):
                            point[j] = e * below
                        yield point, below


def _solve(square: list[list[int]], right: list[int]) -> tuple[list[int], int] | None:
    """Solution of a square system by fraction-free elimination [Bareiss1968]; None where it is singular."""
    n = len(right)
    rows = [[*row, b] for row, b in zip(square, right)]
    previous = 1
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                rows[r] = [(rows[i][i] * v - rows[r][i] * u) // previous for u, v in zip(rows[i], rows[r])]
        previous = rows[i][i]
    sign = -1 if n and previous < 0 else 1
    return [sign * row[-1] for row in rows], sign * previous
