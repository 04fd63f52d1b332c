"""Which weights the search may choose: the surface of a cube, or in anchored problems a box of corrections.

The search works in coordinates (:func:`rerank.problem.coordinates`). On the cube only the direction of weights counts,
and its normal form has ``max_j |v_j| = 1``. In an anchored problem the first coordinate is 1 and stays 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem, coordinates

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Domain:
    """The weights that are allowed; points are coordinates unless they are called weights.

    Attributes
    ----------
    scale : float64 (d,)
        Weights are ``scale`` times coordinates.
    lower, upper : float64 (d,)
        Smallest and largest coordinate of each feature.
    limits : pair of float64 arrays (d,), or None
        Limits of the weights of an anchored problem.
    """

    scale: Floats
    lower: Floats
    upper: Floats
    limits: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, problem: Problem) -> Domain:
        """The domain of a problem."""
        return cls(*coordinates(problem), problem.limits)

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
        v[self.anchor] = 1.0
        return v

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

    def norm(self, v: Floats) -> float:
        """What the margin is multiplied by at a point that is not in normal form."""
        return abs(float(v[0])) if self.anchored else float(np.abs(v).max())

    def norming(self, basis: Floats) -> Floats:
        """The rows of a basis (d, k) whose largest product with a point is the norm."""
        return np.ascontiguousarray(basis[:1]) if self.anchored else basis

    def normal(self, v: Floats) -> Floats:
        """A point in normal form, cut to what is allowed; the unchanged one where the norm is 0."""
        if not self.anchored:
            v = np.where(self.signed, np.maximum(v, 0.0), v)
        size = self.norm(v)
        if not size > 0:
            return self.unchanged
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
        return float(low), float(high)

    def within(self, features: Indices) -> Floats:
        """Smallest and largest coordinates of features within the limits, and not rounded outward; empty without."""
        if self.limits is None:
            return np.empty((2, 0))
        return np.array([side[features] / self.scale[features] for side in self.limits])

    def part(self, features: Indices) -> Domain:
        """The domain of some features alone."""
        limits = None if self.limits is None else (self.limits[0][features], self.limits[1][features])
        return Domain(self.scale[features], self.lower[features], self.upper[features], limits)

    def random_point(self, rng: np.random.Generator) -> Floats:
        """A random point in normal form."""
        if self.anchored:
            return self.lower + rng.random(self.n_features) * (self.upper - self.lower)
        v = rng.standard_normal(self.n_features)
        v[self.signed] = np.abs(v[self.signed])
        return np.asarray(v / np.abs(v).max(), dtype=np.float64)

    def roots(self) -> tuple[Floats, Floats]:
        """Centres and half-widths (n, d) of the boxes that make up the domain.

        The box of an anchored problem; else the cube's faces ``v_j = 1`` and, for free weights, ``v_j = -1``.
        """
        centre, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        if self.anchored:
            return centre[None], half[None]
        faces = [(j, side) for j in range(half.size) for side in (1.0, -1.0) if side > 0 or self.lower[j] < 0]
        centres, halves = (np.repeat(x[None], len(faces), axis=0) for x in (centre, half))
        for i, (j, side) in enumerate(faces):
            centres[i, j], halves[i, j] = side, 0.0
        return centres, halves
