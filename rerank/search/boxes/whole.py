"""Small whole numbers as weights: where pairs differ by just the margin, often the only weights that reach a bound.

Divided by the largest of them, as points of the search are, (2, 5, -3, 6) are no doubles.  The margin is multiplied by
the largest weight instead.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from rerank.io.margin import LARGEST
from rerank.problem.lists import Floats

MOST = 1_000  # common denominators that are tried


def whole_inside(centre: Floats, half: Floats) -> Floats | None:
    """The point of a box whose coordinates have the smallest common denominator, up to :data:`MOST`, times that."""
    denominators = np.arange(1.0, MOST + 1.0)[:, None]
    numerators = np.rint(denominators * centre)
    inside = np.abs(numerators - denominators * centre) <= denominators * half * (1.0 + 1e-12)
    first = np.flatnonzero(inside.all(axis=1))[:1]
    return numerators[first[0]] + 0.0 if first.size else None


def as_whole(point: Sequence[Fraction]) -> Floats | None:
    """A point times its coordinates' common denominator; None where that is not small, or doubles hold the point."""
    common = lcm(*(x.denominator for x in point))
    if all(Fraction(float(x)) == x for x in point):
        return None
    return np.array([float(x * common) for x in point]) if common <= LARGEST else None
