"""Which weights the search may choose: the surface of a cube, or in anchored problems a box of corrections.

The search works in coordinates (:func:`rerank.problem.problem.coordinates`). On the cube only the direction of weights
counts, and its normal form has ``max_j |v_j| = 1``. In an anchored problem the first coordinate is 1 and stays 1.

Rows on the weights cut the domain. Boxes of it are as if there were none; a box that a row excludes holds no point, and
a point that breaks a row is moved to the nearest ones that do not, on the same features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InfeasibleError
from rerank.problem import Problem, WeightRow
from rerank.problem.lists import Floats, Indices
from rerank.problem.problem import coordinates
from rerank.problem.rows import broken

ROUNDS, BEYOND = 30, 1e-9  # projections to rows that are broken, and how far behind a row they end
SIDE, WIDTH = -2, -1  # columns of walls behind the coefficients
LEAST = 1e-7  # distance from all rows, whose largest coefficient is 1, below which weights count as having no room


@dataclass(frozen=True, eq=False)
class Domain:
    """The weights that are allowed; points are coordinates unless they are called weights. ``walls`` (m, d + 2) are the
    rows as ``a.v >= b``: coefficients of size up to 1, ``b``, and what rounding may change in ``a.v - b``.
    """

    scale: Floats  # (d,): weights are ``scale`` times coordinates
    lower: Floats  # smallest and largest coordinate of each feature
    upper: Floats
    limits: tuple[Floats, Floats] | None = None  # of the weights of an anchored problem
    rows: tuple[WeightRow, ...] = ()  # rows on the weights, exactly,
    walls: Floats = field(default_factory=lambda: np.empty((0, 2)))
    most: int | None = None  # largest number of features that count
    by_sum: bool = False  # whether the margin is multiplied by the sum of the weights; 0 is no point then
    directions: bool = False  # whether the coordinates beside the anchor lie on the surface of a cube
    _inner: dict[bytes, Floats | None] = field(default_factory=dict, init=False)  # far from all rows, by features

    @classmethod
    def of(cls, problem: Problem) -> Domain:
        """The domain of a problem."""
        scale, lower, upper = coordinates(problem)
        walls = _walls(problem, scale, np.maximum(-lower, upper))
        sides = problem.limits, problem.rows, walls, problem.max_features, problem.by_sum, problem.directions
        return cls(scale, lower, upper, *sides)

    @classmethod
    def free(cls, d: int) -> Domain:
        """All directions of ``d`` features."""
        return cls(np.ones(d), -np.ones(d), np.ones(d))

    @property
    def anchored(self) -> bool:
        """Whether the first coordinate is 1 and nothing is normalised."""
        return self.limits is not None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.lower.size

    @property
    def signed(self) -> NDArray[np.bool_]:
        """Coordinates that must not be negative."""
        return self.lower >= 0

    @property
    def anchor(self) -> list[int]:
        """The features that every support has: the first of an anchored problem."""
        return [0] if self.anchored else []

    @property
    def unchanged(self) -> Floats:
        """The point that changes nothing: all 0, or the first alone."""
        v = np.zeros(self.n_features)
        v[:1] = self.anchored or self.by_sum
        return v

    @cached_property
    def begin(self) -> Floats:
        """The point to begin with: the unchanged one, or where a row excludes it one far from all rows."""
        found = self.unchanged if self.keeps(self.unchanged) else self.first_point()
        if found is None:
            raise InfeasibleError("No weights satisfy all constraints with room to spare; loosen one of them.")
        return found

    def first_point(self) -> Floats | None:
        """The unchanged point, or where a row excludes it one far from all rows; None where these leave no room."""
        walls, ends = self.walls, (self.lower, self.upper, self.anchor)
        if self.keeps(self.unchanged):
            return self.unchanged if inside(walls, *ends) is not None else None
        if self.by_sum:  # 0 is no point
            walls = np.vstack([walls, np.append(np.ones(self.n_features), [0.5, 0.0])])
        found = inside(walls, *ends, self.most)
        if found is None and self.most is not None:
            # Of rows with sides 0 some may be satisfied with 0 by the few features that there are.
            loose = walls.copy()
            loose[walls[:, SIDE] == 0, SIDE] -= 2.0 * LEAST
            found = inside(loose, *ends, self.most)
        return None if found is None or not self.keeps(found := self._cut(found)) else found

    def used(self, v: Floats) -> int:
        """How many features count for the penalty and the limit."""
        return int(np.count_nonzero(v[len(self.anchor) :]))

    def weights(self, v: Floats) -> Floats:
        """The weights at a point."""
        w = v * self.scale + 0.0
        return w if self.limits is None else np.clip(w, *self.limits)

    def admits(self, v: Floats) -> bool:
        """Whether a point in the cube is in normal form and between the ends."""
        normal = v[0] == 1.0 if self.anchored else self.norm(v) == 1.0
        return bool(normal and (v >= self.lower).all() and (v <= self.upper).all())

    def keeps(self, v: Floats) -> bool:
        """Whether the weights at a point in normal form satisfy all rows, exactly."""
        if not self.rows:
            return True
        spare = self.spare(v)
        if (spare > self.walls[:, WIDTH]).all():
            return True
        return not (spare < -self.walls[:, WIDTH]).any() and broken(self.rows, self.weights(v)) is None

    def spare(self, v: Floats) -> Floats:
        """How far a point is on the right side of each row, in doubles."""
        return np.asarray(self.walls[:, :SIDE] @ v - self.walls[:, SIDE])

    def norm(self, v: Floats) -> float:
        """What the margin is multiplied by at a point that is not in normal form."""
        return abs(float(v[0])) if self.anchored else float(np.abs(v).max())

    def norming(self, basis: Floats) -> Floats:
        """The rows of a basis (d, k) whose largest product with a point is the norm."""
        return np.ascontiguousarray(basis[:1]) if self.anchored else basis

    def normal(self, v: Floats) -> Floats:
        """A point in normal form, cut to what is allowed; the one to begin with where there is none near."""
        v = self._cut(v)
        return v if self.keeps(v) else self._moved(v)

    def _moved(self, v: Floats) -> Floats:
        """A point near ``v``, on its features, that satisfies the rows; the one to begin with if none is found."""
        free = v != 0
        free[self.anchor] = False
        coefficients = np.where(free, self.walls[:, :SIDE], 0.0)
        squares = np.einsum("ij,ij->i", coefficients, coefficients)
        near = v
        for _ in range(ROUNDS):
            short = self.walls[:, WIDTH] + BEYOND - self.spare(near)
            worst = int(np.argmax(np.where(squares > 0, short / np.sqrt(np.maximum(squares, 1e-300)), -np.inf)))
            if not squares[worst] > 0:
                break
            near = self._cut(near + coefficients[worst] * (max(short[worst], 0.0) / squares[worst]))
            if self.keeps(near):
                return near
        key = free.tobytes()
        if key not in self._inner:
            only = np.where(free, 1.0, 0.0)
            only[self.anchor] = 1.0
            self._inner[key] = inside(self.walls, self.lower * only, self.upper * only, self.anchor)
        inner = self._inner[key]
        if inner is None:
            return self.begin
        spare, wide = self.spare(near), self.spare(inner)
        wanted = self.walls[:, WIDTH] + np.minimum(BEYOND, 0.5 * wide)
        share = np.max((wanted - spare)[spare < wanted] / np.maximum(wide - spare, 1e-300)[spare < wanted], initial=0.0)
        for part in (min(float(share), 1.0), 1.0):
            found = self._cut(near + part * (inner - near))
            if self.keeps(found):
                return found
        return self.begin

    def _cut(self, v: Floats) -> Floats:
        """A point in normal form, cut to limits and signs; the unchanged one where the norm is 0."""
        if not self.anchored:
            v = np.where(self.signed, np.maximum(v, 0.0), v)
        size = self.norm(v)
        if not size > 0:
            return self.unchanged
        if self.directions:
            ends = np.where(self.lower[1:] < 0, -np.inf, 0.0), np.where(self.upper[1:] > 0, np.inf, 0.0)
            rest = np.clip(v[1:], *ends)
            v, size = np.append(1.0, rest / max(float(np.abs(rest).max(initial=0.0)), 1e-300)), 1.0
        v = np.clip(v / size, self.lower, self.upper)
        # Ends of coordinates are rounded outward, and weights beyond a limit may have another value.
        inside = self.weights(v)
        return np.where(inside == v * self.scale, v, inside / self.scale)

    def interval(self, v: Floats, u: Floats) -> tuple[float, float]:
        """Range of tau in which ``v + tau u`` is allowed."""
        ends = []
        for moves, side in ((u > 0, self.lower), (u < 0, self.lower), (u > 0, self.upper), (u < 0, self.upper)):
            # On the cube a direction may grow without end, but a sign has to be kept.
            held = moves if self.anchored else moves & self.signed & (side is self.lower)
            ends.append((side - v)[held] / u[held])
        low = np.concatenate([[-np.inf], ends[0], ends[3]]).max()
        high = np.concatenate([[np.inf], ends[1], ends[2]]).min()
        if not len(self.walls):
            return float(low), float(high)
        for rate, spare in zip(self.walls[:, :SIDE] @ u, self.spare(v) - self.walls[:, WIDTH], strict=True):
            if abs(rate) > 1e-12 * np.abs(u).max():
                low, high = (max(low, -spare / rate), high) if rate > 0 else (low, min(high, -spare / rate))
        return float(low), float(high)

    def within(self, features: Indices) -> Floats:
        """Smallest and largest coordinates of features within the limits, and not rounded outward; empty without."""
        if self.limits is None:
            return np.empty((2, 0))
        return np.array([side[features] / self.scale[features] for side in self.limits])

    def part(self, features: Indices) -> Domain:
        """The domain of some features alone."""
        limits = None if self.limits is None else (self.limits[0][features], self.limits[1][features])
        walls = self.walls
        if len(walls):
            walls = np.column_stack([walls[:, features], walls[:, SIDE:]])
            walls[~walls[:, :SIDE].any(axis=1), WIDTH] = 0.0  # nothing is rounded
        ends = self.scale[features], self.lower[features], self.upper[features]
        return Domain(*ends, limits, walls=walls, directions=self.directions)

    def random_point(self, rng: np.random.Generator) -> Floats:
        """A random point in normal form."""
        if self.anchored:
            point = self.lower + rng.random(self.n_features) * (self.upper - self.lower)
            return self.kept(self._cut(point) if self.directions else point)
        v = rng.standard_normal(self.n_features)
        v[self.signed] = np.abs(v[self.signed])
        return self.kept(np.asarray(v / np.abs(v).max(), dtype=np.float64))

    def kept(self, v: Floats) -> Floats:
        """A point in normal form, moved to what the rows allow."""
        return v if self.keeps(v) else self._moved(v)

    def roots(self) -> tuple[Floats, Floats]:
        """Centres and half-widths (n, d) of the boxes that make up the domain. The box of an anchored problem; else the
        cube's faces ``v_j = 1`` and, for free weights, ``v_j = -1``, beside an anchor where there is one.
        """
        centre, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        if self.anchored and not self.directions:
            return centre[None], half[None]
        ends = ((1.0, self.upper), (-1.0, -self.lower))
        faces = [(j, side) for j in range(len(self.anchor), half.size) for side, end in ends if end[j] > 0]
        centres, halves = (np.repeat(x[None], len(faces), axis=0) for x in (centre, half))
        for i, (j, side) in enumerate(faces):
            centres[i, j], halves[i, j] = side, 0.0
        return centres, halves


def _walls(problem: Problem, scale: Floats, size: Floats) -> Floats:
    """The rows on the weights in coordinates of at most this ``size``; see :class:`Domain`."""
    d, walls = problem.n_features, []
    factors = [Fraction(float(s)) for s in scale]
    for row, side in (wall for own in problem.rows for wall in own.sides()):
        exact = [a * s for a, s in zip(row, factors, strict=True)]
        unit = max(map(abs, exact)) or Fraction(1)
        a, b = np.array([float(x / unit) for x in exact]), float(side / unit)
        # Of the coefficients, of their products and sum, and of weights that are rounded products of coordinates.
        walls.append([*a, b, 4.0 * (d + 8) * 2.0**-53 * (float(np.abs(a) @ size) + abs(b))])
    return np.array(walls).reshape(-1, d + 2)


def sides_of(problem: Problem) -> list[tuple[Floats, float, str]]:
    """The rows on scaled weights in doubles, for programs: ``a.w >= b`` with a largest coefficient of 1, and a name."""
    ones = np.ones(problem.n_features)
    walls = _walls(problem, ones, ones)
    texts = [row.text for row in problem.rows for _ in row.sides()]
    return [(wall[:SIDE], float(wall[SIDE]), text) for wall, text in zip(walls, texts, strict=True)]


def allowed(problem: Problem, w: Floats) -> Floats:
    """Weights in scaled space moved to what the rows on weights allow; as they are where they satisfy them."""
    if broken(problem.rows, w) is None:
        return w
    domain = Domain.of(problem)
    return domain.weights(domain.normal(w / domain.scale))


def check_room(problem: Problem) -> None:
    """Refuse rows that leave the weights no room, naming a smallest set of rows that clash."""

    def open_(rows: Any) -> bool:
        return Domain.of(replace(problem, rows=tuple(rows))).first_point() is not None

    if not problem.rows or open_(problem.rows):
        return
    clash = list(problem.rows)
    for row in problem.rows:  # what is left when no row can be taken away clashes, and no part of it does
        rest = [other for other in clash if other is not row]
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


def inside(
    walls: Floats, lower: Floats, upper: Floats, anchor: Sequence[int], most: int | None = None
) -> Floats | None:
    """A point of the box as far from all walls as it allows, by linear programming; None where it would be on one.
    Coordinates of the ``anchor`` are 1, and of the others ``most`` are not 0.
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
        np.concatenate([np.zeros(d), [-1.0], np.zeros(n)]),
        integrality=np.concatenate([np.zeros(d + 1), np.ones(n)]),
        bounds=Bounds(np.concatenate([low, [-np.inf], np.zeros(n)]), np.concatenate([high, [1.0], np.ones(n)])),
        constraints=limits if n else limits[:1],
    ).x
    if x is None or not x[d] > LEAST:
        return None
    v = np.clip(x[:d], low, high)
    v[free[x[d + 1 :] < 0.5]] = 0.0
    return v
