"""The exact optimum of a small problem under quotas: every order of the rows is visited, in rationals.

The value and the quotas change only where a difference reaches the margin, or where two rows have the same score.
These lines, and where a weight is 0, cut each face of the cube ``max|w_j| = 1`` (or the box of corrections) into cells
on which nothing changes.  Two free coordinates are swept: between and at the places where two lines cross, the first
coordinate stands still, and the second passes every line.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise

from rerank.problem import Problem
from tests.oracles.oracle import objective_at
from tests.oracles.vertices import Optimum, scaled

Point = tuple[Fraction, ...]
Line = tuple[Point, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def best(problem: Problem, gap: bool = True) -> Optimum | None:
    """The best weights that meet the quotas; without ``gap`` no two rows of a list may be between 0 and the margin."""
    points, margin = scaled(problem), problem.epsilon.exact
    lines = dict.fromkeys(_lines(problem, points))
    if not gap:  # each pair of rows may reach the margin in both directions
        for a in [a for a, side in lines if not side]:
            lines |= {(a, margin): None, (tuple(-x for x in a), margin): None}
    found, seen = None, set()
    for w in _visited(problem, list(lines)):
        key = tuple(_side(line, w) for line in lines)
        if key in seen:
            continue
        seen.add(key)
        scores = [sum((x * y for x, y in zip(w, row, strict=True)), ZERO) for row in points]
        rows = [item.rows.tolist() for item in problem.lists]
        if not gap and any(ZERO < scores[i] - scores[k] < margin for own in rows for i in own for k in own):
            continue
        if meets(problem, w):
            value = objective_at(problem, w)
            found = Optimum(value, w) if found is None or value > found.value else found
    return found


def meets(problem: Problem, w: Point) -> bool:
    """Whether the order by weights meets every quota on every list, whatever the order of tied rows."""
    scores = [sum((Fraction(a) * b for a, b in zip(w, row, strict=True)), ZERO) for row in scaled(problem)]
    for quota in problem.quotas:
        group = set(quota.rows.tolist())
        for item in problem.lists:
            rows = item.rows.tolist()
            # Place of the row if tied rows of the group stand last, or first.
            for last in (True, False):
                count = 0
                for i in rows:
                    if i not in group:
                        continue
                    tied = sum(scores[k] == scores[i] and (k in group) != last and k != i for k in rows) if last else 0
                    above = sum(scores[k] > scores[i] for k in rows)
                    mates = [k for k in rows if k in group and scores[k] == scores[i]]
                    count += above + tied + mates.index(i) < quota.first
                if last and quota.least is not None and count < quota.least:
                    return False
                if not last and quota.most is not None and count > quota.most:
                    return False
    return True


def _side(line: Line, w: Point) -> int:
    height = sum((a * b for a, b in zip(line[0], w, strict=True)), ZERO) - line[1]
    return (height > 0) - (height < 0)


def _lines(problem: Problem, points: list[list[Fraction]]) -> list[Line]:
    margin, d = problem.epsilon.exact, problem.n_features
    found: dict[Line, None] = {(tuple(ONE if j == f else ZERO for j in range(d)), ZERO): None for f in range(d)}
    for item in problem.lists:
        rows, gains = item.rows.tolist(), item.gains.tolist()
        for a, b in combinations(range(len(rows)), 2):
            difference = tuple(x - y for x, y in zip(points[rows[a]], points[rows[b]], strict=True))
            if not any(difference):
                continue
            found[difference, ZERO] = None
            if gains[a] != gains[b]:
                sign = 1 if gains[a] > gains[b] else -1
                found[tuple(sign * x for x in difference), margin] = None
    return list(found)


def _visited(problem: Problem, lines: list[Line]) -> Iterator[Point]:
    d = problem.n_features
    signs = [int(s) for s in problem.signs]
    if problem.limits is None:
        yield (ZERO,) * d
        low, high = [-ONE if s <= 0 else ZERO for s in signs], [ONE if s >= 0 else ZERO for s in signs]
        faces = [(j, side) for j in range(d) for side in (ONE, -ONE) if low[j] <= side <= high[j]]
    else:
        low, high = ([Fraction(float(x)) for x in side] for side in problem.limits)
        faces = [(0, ONE)]
    most = d if problem.max_features is None else problem.max_features
    for fixed, side in faces:
        free = [j for j in range(d) if j != fixed]
        own = [(tuple(a[j] for j in free), b - side * a[fixed]) for a, b in lines]
        for u in _cells(own, [low[j] for j in free], [high[j] for j in free]):
            w = [ZERO] * d
            w[fixed] = side
            for j, x in zip(free, u, strict=True):
                w[j] = x
            if sum(x != 0 for x in w[problem.limits is not None :]) <= most:
                yield tuple(w)


def _cells(lines: list[Line], low: list[Fraction], high: list[Fraction]) -> Iterator[Point]:
    """A point of every cell of a box of up to two dimensions."""
    if not low:
        yield ()
        return
    if len(low) == 1:
        yield from ((x,) for x in _between([b / a[0] for a, b in lines if a[0]], low[0], high[0]))
        return
    sides = [((ZERO, ONE), low[1]), ((ZERO, ONE), high[1])]
    stops = [b / a[0] for a, b in lines if a[0] and not a[1]]
    for (a, b), (c, e) in combinations([*dict.fromkeys([*lines, *sides])], 2):
        size = a[0] * c[1] - a[1] * c[0]
        if size:
            stops.append((b * c[1] - a[1] * e) / size)
    for x in _between(stops, low[0], high[0]):
        heights = [(b - a[0] * x) / a[1] for a, b in lines if a[1]]
        yield from ((x, y) for y in _between(heights, low[1], high[1]))


def _between(stops: list[Fraction], low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """Both ends, the stops between them, and the middles of what lies between."""
    ends = sorted({low, high, *(x for x in stops if low < x < high)})
    yield from ends
    yield from ((x + y) / 2 for x, y in pairwise(ends))
