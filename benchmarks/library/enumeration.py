"""Optima by enumeration in rational arithmetic, from the definitions; it shares nothing with the programs.

What a list earns depends only on which differences ``w.(x_i - x_k)`` reach the margin and, where ties are
resolved, on which are positive. Take optimal weights. Those that win at least the same pairs (and, where ties are
resolved, put no other row above another; in the literal form, keep to its limits; leave the same weights at 0) form
a polytope, cut out by hyperplanes where a difference is at the margin, at 0 or at a limit, by the sides of the box
and by planes ``w_j = 0``. All of it earns as much, so one of its vertices is optimal: all vertices are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from benchmarks.library.instances import Instance, coefficients

Vector = tuple[Fraction, ...]
Plane = tuple[Vector, Fraction]


def optimum(instance: Instance) -> tuple[Fraction, Vector, int]:
    """Largest objective, weights that attain it, and how many vertices were tried.

    Ties between weights are broken by the order of the numbers, so that the answer is always the same.
    """
    best: tuple[Fraction, Vector] | None = None
    tried = 0
    for w in sorted(set(_vertices(instance))):
        tried += 1
        value = objective(instance, w)
        if value is not None and (best is None or value > best[0]):
            best = value, w
    assert best is not None, f"{instance.name} has no feasible vertex"
    return *best, tried


def objective(instance: Instance, w: Vector) -> Fraction | None:
    """What weights earn, less what their features cost; None where the program forbids them."""
    used = sum(x != 0 for x in w)
    if used > instance.choices.get("max_features", used) or not _in_limits(instance, w):
        return None
    n = len(instance.X)
    score = [sum((x * Fraction(e) for x, e in zip(w, row)), Fraction(0)) for row in instance.X]
    difference = [[score[i] - score[k] for k in range(n)] for i in range(n)]
    if instance.choices.get("big_m") == "unit" and not _in_unit_range(instance, difference):
        return None
    earn = {"subrank": _subrank, "resolved_rank": _resolved, "pairwise": _pairwise}.get(instance.program, _problem)
    earned = earn(instance, difference)
    return None if earned is None else earned - Fraction(instance.choices.get("C", 0.0)) * used


Differences = list[list[Fraction]]


def _lists(instance: Instance) -> list[tuple[list[int], list[Fraction], Fraction]]:
    """Rows, coefficients and weight of each list that has a gain."""
    marks = instance.lists or (0,) * len(instance.X)
    rows = [[i for i, mark in enumerate(marks) if mark == q] for q in sorted(set(marks))]
    kept = [mates for mates in rows if any(instance.gains[i] > 0 for i in mates)]
    share = Fraction(1, len(kept))
    return [(mates, [Fraction(a) for a in coefficients(instance.statistic, len(mates))], share) for mates in kept]


def _problem(instance: Instance, difference: Differences) -> Fraction:
    """At each threshold of gain the j-th best positive stands at place j plus the negatives it loses to."""
    margin, total = Fraction(instance.choices["epsilon"]), Fraction(0)
    for mates, a, share in _lists(instance):
        below = Fraction(0)
        for threshold in sorted({Fraction(instance.gains[i]) for i in mates} - {Fraction(0)}):
            positive = [i for i in mates if instance.gains[i] >= threshold]
            negative = [k for k in mates if instance.gains[k] < threshold]
            lost = sorted(sum(difference[i][k] < margin for k in negative) for i in positive)
            earned = sum((a[-(j + losses)] for j, losses in enumerate(lost, start=1)), Fraction(0))
            total += share * (threshold - below) * earned
            below = threshold
    return total


def _subrank(instance: Instance, difference: Differences) -> Fraction:
    """A row earns the coefficient of the number of rows it beats."""
    margin, total = Fraction(instance.choices["epsilon"]), Fraction(0)
    for mates, a, share in _lists(instance):
        for i in mates:
            total += share * Fraction(instance.gains[i]) * a[sum(difference[i][k] >= margin for k in mates)]
    return total


def _resolved(instance: Instance, difference: Differences) -> Fraction | None:
    """A row earns the coefficient of its place when ties go to lower gains, then to later rows."""
    margin, total = Fraction(instance.choices["epsilon"]), Fraction(0)
    for mates, a, share in _lists(instance):
        if any(0 < difference[i][k] < margin for i in mates for k in mates):
            return None
        order = sorted(mates, key=lambda i: (difference[i][mates[0]], -instance.gains[i], i))
        total += sum((share * Fraction(instance.gains[i]) * a[rank] for rank, i in enumerate(order)), Fraction(0))
    return total


def _pairwise(instance: Instance, difference: Differences) -> Fraction:
    margin = Fraction(instance.choices["epsilon"])
    return sum((Fraction(w) for i, k, w in instance.preferences if difference[i][k] >= margin), Fraction(0))


def _asked(instance: Instance) -> list[tuple[int, int]]:
    """Pairs that have a row in the literal form of the two ranking programs."""
    both = instance.program == "resolved_rank"
    return [
        (i, k)
        for mates, _, _ in _lists(instance)
        for i in mates
        for k in mates
        if i != k and (both or instance.gains[i] > 0)
    ]


def _in_unit_range(instance: Instance, difference: Differences) -> bool:
    low, both = Fraction(instance.choices["epsilon"]) - 1, instance.program == "resolved_rank"
    return all(difference[i][k] >= low and (not both or difference[i][k] <= 1) for i, k in _asked(instance))


def _limits(instance: Instance) -> tuple[Vector, Vector]:
    d = len(instance.X[0])
    lower, upper = instance.choices.get("box", ([-1.0] * d, [1.0] * d))
    signs = instance.choices.get("signs", [0] * d)
    return (
        tuple(max(Fraction(x), Fraction(0)) if sign > 0 else Fraction(x) for x, sign in zip(lower, signs)),
        tuple(min(Fraction(x), Fraction(0)) if sign < 0 else Fraction(x) for x, sign in zip(upper, signs)),
    )


def _in_limits(instance: Instance, w: Vector) -> bool:
    return all(low <= x <= high for low, x, high in zip(_limits(instance)[0], w, _limits(instance)[1]))


def _planes(instance: Instance) -> list[Plane]:
    """Hyperplanes ``v.w = side`` on which something can change."""
    margin = Fraction(instance.choices["epsilon"])
    sides = [margin]
    if instance.program == "resolved_rank":
        sides.append(Fraction(0))
    if instance.choices.get("big_m") == "unit":
        sides += [margin - 1, Fraction(1)]
    rows = [tuple(map(Fraction, row)) for row in instance.X]
    normals = {tuple(a - b for a, b in zip(x, z)) for x in rows for z in rows} - {(Fraction(0),) * len(rows[0])}
    planes = {(v, side) for v in normals for side in sides}
    for j, (low, high) in enumerate(zip(*_limits(instance))):
        axis = tuple(Fraction(j == other) for other in range(len(rows[0])))
        planes |= {(axis, low), (axis, high), (axis, Fraction(0))}
    return sorted(planes)


def _vertices(instance: Instance) -> Iterator[Vector]:
    """Points where as many hyperplanes meet as there are features."""
    for planes in combinations(_planes(instance), len(instance.X[0])):
        w = _meeting(planes)
        if w is not None and _in_limits(instance, w):
            yield w


def _meeting(planes: Sequence[Plane]) -> Vector | None:
    """The one point of the hyperplanes, by elimination; None where they meet in none or many."""
    rows = [[*normal, side] for normal, side in planes]
    d = len(rows)
    for j in range(d):
        pivot = next((r for r in range(j, d) if rows[r][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [entry / rows[j][j] for entry in rows[j]]
        for r in range(d):
            if r != j and rows[r][j]:
                rows[r] = [entry - rows[r][j] * lead for entry, lead in zip(rows[r], rows[j])]
    return tuple(row[d] for row in rows)
