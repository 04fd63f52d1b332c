"""The largest share of pairs in the right order, a tied pair being one half, by a list of cells.

The share is constant on every cell, of any dimension, of the arrangement of the planes on which a pair is tied, a
weight is 0 or at its limit, or a row on the weights is at its side. A cell is the hull of some vertices of the
arrangement, so the mean of some ``k + 1`` of them, not all different, lies inside it where it has ``k`` dimensions.
Tables are of small whole numbers, so that what is closer to 0 than 1e-9 is 0. For at most two free weights, on a face
of the cube or in the box of limits. Nothing of the search is used.
"""

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem

Floats = NDArray[np.float64]
NEAR = 1e-9


def most_with_halves(problem: Problem) -> float:
    """The largest ``h`` of all allowed weights."""
    differences, worth = _pairs(problem)
    best = -np.inf
    for low, high in _boxes(problem):
        points = _points(problem, differences, low, high)
        products = points @ differences.T
        share = np.where(products > NEAR, 1.0, np.where(products > -NEAR, 0.5, 0.0)) @ worth
        best = max(best, float(share.max(initial=-np.inf)))
    return best


def _pairs(problem: Problem) -> tuple[Floats, Floats]:
    """Differences of every relevant row and every row of a smaller gain in its list, and what each pair is worth."""
    scaled = (problem.X - problem.low) / (problem.high - problem.low)
    rows, worth, mass = [], [], sum(item.weight for item in problem.lists)
    for item in problem.lists:
        mine = list(zip(item.rows.tolist(), item.gains.tolist(), strict=True))
        all_pairs = [(i, k, g - h) for i, g in mine for k, h in mine if g > h]
        total = sum(step for *_, step in all_pairs)
        rows += [scaled[i] - scaled[k] for i, k, _ in all_pairs]
        worth += [item.weight / mass * step / total for *_, step in all_pairs]
    return np.array(rows), np.array(worth)


def _boxes(problem: Problem) -> Iterator[tuple[Floats, Floats]]:
    """The box of the limits; or the faces of the cube, and weights of 0."""
    d = problem.n_features
    if problem.limits is not None:
        yield problem.limits
        return
    low, high = np.where(problem.signs > 0, 0.0, -1.0), np.where(problem.signs < 0, 0.0, 1.0)
    for j in range(d):
        for side in {-1.0, 1.0} & {low[j], high[j]}:
            face = np.arange(d) == j
            yield np.where(face, side, low), np.where(face, side, high)
    if not problem.by_sum:
        yield np.zeros(d), np.zeros(d)


def _points(problem: Problem, differences: Floats, low: Floats, high: Floats) -> Floats:
    """A point of every cell of a box, among others."""
    d, free = low.size, np.flatnonzero(high > low)
    assert free.size <= 2
    if not free.size:
        return _allowed(problem, low[None])
    sides = [(np.array([float(a) for a in row]), float(side)) for own in problem.rows for row, side in own.sides()]
    fixed, ties = np.where(high > low, 0.0, low), [(row, 0.0) for row in differences]
    planes = {(*np.round(row[free], 12), round(side - float(row @ fixed), 12)) for row, side in [*ties, *sides]}
    planes |= {(*(free == j).astype(float), end) for j in free for end in (low[j], 0.0, high[j])}
    vertices = set[tuple[float, ...]]()
    for chosen in combinations(sorted(planes), free.size):
        matrix, right = np.array(chosen)[:, :-1], np.array(chosen)[:, -1]
        if abs(np.linalg.det(matrix)) > NEAR:
            at = np.linalg.solve(matrix, right)
            if (at >= low[free] - NEAR).all() and (at <= high[free] + NEAR).all():
                vertices.add(tuple(np.round(at, 12) + 0.0))
    known = np.array(sorted(vertices))
    some = np.array(list(combinations_with_replacement(range(len(known)), free.size + 1)))
    points = np.repeat(low[None], len(some), axis=0)
    points[:, free] = known[some].mean(axis=1)
    assert points.shape[1] == d
    return _allowed(problem, points)


def _allowed(problem: Problem, points: Floats) -> Floats:
    """The points with as many weights as are allowed that satisfy every row."""
    used = (np.abs(points[:, int(problem.limits is not None) :]) > NEAR).sum(axis=1)
    good = np.full(len(points), True) if problem.max_features is None else used <= problem.max_features
    for own in problem.rows:
        for row, side in own.sides():
            good &= points @ np.array([float(a) for a in row]) >= float(side) - NEAR
    return points[good]
