"""Starting points made of solutions at other ``alpha``."""

from __future__ import annotations

import numpy as np

from rerank.scorers.data import Floats

Trail = tuple[tuple[float, Floats], ...]
"""Pairs of ``alpha`` and weights, the latest first, all ``alpha`` different."""

KEPT = 3
# If logarithms of alpha differ by less than this, the solutions differ by no more than their tolerance.
NEAR = 1e-6


def longer(trail: Trail, alpha: float, coef: Floats) -> Trail:
    """The trail with one more solution; beyond :data:`KEPT` the oldest is dropped."""
    return ((alpha, coef), *(known for known in trail if not _same(known[0], alpha)))[:KEPT]


def _same(one: float, other: float) -> bool:
    """Whether two ``alpha`` are too close to extrapolate from one to the other."""
    return abs(np.log(one) - np.log(other)) < NEAR


def starts(trail: Trail, alpha: float, d: int) -> list[Floats]:
    """The parabola in ``log alpha`` through the last three solutions, the line through the last two, the last one.

    Weights change smoothly with ``log alpha`` where few pairs become active or inactive, and a parabola is then 10 to
    100 times nearer than the last solution.  Where many do it may be farther: the caller compares.
    """
    if not trail:
        return [np.zeros(d)]
    found = [trail[0][1]]
    if _same(trail[0][0], alpha):
        return found
    at, nodes = np.log(alpha), np.log([known for known, _ in trail])
    for n in range(2, len(trail) + 1):
        # Polynomials of Lagrange at ``log alpha``.
        far = np.where(np.eye(n, dtype=bool), 1.0, at - nodes[:n])
        apart = np.where(np.eye(n, dtype=bool), 1.0, nodes[:n, None] - nodes[:n])
        found.append((far / apart).prod(axis=1) @ np.array([coef for _, coef in trail[:n]]))
    return [start for start in found[::-1] if np.isfinite(start).all()]
