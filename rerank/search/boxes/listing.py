"""All vertices of an arrangement of hyperplanes with small whole numbers in a face of the cube, many at a time.

On flags and levels the planes ``w.D = epsilon`` of a support are few, and the cells that they cut out repeat at every
scale: ``(1, t, t^2)`` orders rows in the same way for every small ``t``.  Boxes follow that down to the margin.  The
vertices of a whole face are listed instead: by Cramer's rule in whole numbers, which doubles hold exactly.  A number
here is ``A + e B`` with whole ``A`` and ``B``, where ``e`` is the margin in units of the grid.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats, Indices

MOST_VERTICES = 400_000  # sets of planes of a face
MOST_FREE = 3  # coordinates of a face
LARGEST = 2.0**52  # of a whole number in a double, with room for a sum
CHUNK = 20_000  # vertices at a time
DOUBT = 1e-9  # relative size of a number whose sign is found in rationals


def grid_of(rows: list[list[Fraction]], free: int) -> tuple[Floats, int] | None:
    """The rows (m, k) as whole numbers and their common denominator; None where those or the vertices are too many."""
    unit = math.lcm(*(x.denominator for row in rows for x in row))
    size = max((abs(x) * unit for row in rows for x in row), default=0)
    planes = len(rows) + 2 * free
    if not 0 < free <= MOST_FREE or math.comb(planes, free) > MOST_VERTICES:
        return None
    if math.factorial(free) * (size + 1) ** (free + 1) * (len(rows[0]) + 1) > LARGEST:
        return None
    return np.array([[float(x * unit) for x in row] for row in rows]), unit


def vertices(rows: Floats, face: Floats, half: Floats, margin: Fraction) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """Vertices of ``rows.x = margin`` and of the sides of a box with whole ends, in parts: points, and rows won there.
    The rows (m, k) are whole numbers, and the margin is in their unit. Points (v, k) are rounded; ``won`` (v, m) says
    for the vertex itself whether its product with a row is at least the margin.
    """
    free = np.flatnonzero(half > 0)
    low, high = (face - half)[free], (face + half)[free]
    fixed = rows @ np.where(half > 0, 0.0, face)
    unit = np.eye(free.size)
    planes = np.concatenate([rows[:, free], unit, unit])
    # Right sides A + e B.
    sides = np.stack(
        [np.concatenate([-fixed, low, high]), np.concatenate([np.ones(len(rows)), np.zeros(2 * free.size)])]
    )
    chosen = _subsets(len(planes), free.size)
    for part in np.array_split(chosen, -(-len(chosen) // CHUNK)):
        M, right = planes[part], sides[:, part]
        det = _determinant(M)
        met = det != 0
        M, right, det = M[met], right[:, met], det[met]
        turn = np.sign(det)
        top = np.empty((2, len(det), free.size))
        for side in range(2):
            for j in range(free.size):
                replaced = M.copy()
                replaced[:, :, j] = right[side]
                top[side, :, j] = turn * _determinant(replaced)
        det = np.abs(det)[:, None]
        A, B = top
        inside = (_not_negative(A - low * det, B, margin) & _not_negative(high * det - A, -B, margin)).all(axis=1)
        A, B, det = A[inside], B[inside], det[inside]
        points = np.repeat(face[None], len(A), axis=0)
        points[:, free] = (A + float(margin) * B) / det
        yield points, _not_negative(A @ rows[:, free].T + fixed * det, B @ rows[:, free].T - det, margin)


def _not_negative(A: Floats, B: Floats, margin: Fraction) -> NDArray[np.bool_]:
    """Whether ``A + margin B >= 0``, exactly."""
    e = float(margin)
    total = A + e * B
    good = np.asarray(total >= 0)
    doubt = (np.abs(total) <= DOUBT * (np.abs(A) + e * np.abs(B))) & (A != 0)
    if doubt.any():
        pairs, which = np.unique(np.stack([A[doubt], B[doubt]]), axis=1, return_inverse=True)
        signs = np.array([int(a) + margin * int(b) >= 0 for a, b in pairs.T])
        good[doubt] = signs[which]
    return good


def _determinant(M: Floats) -> Floats:
    """Determinants of (n, f, f), ``f <= 3``."""
    f = M.shape[1]
    if f == 1:
        return np.asarray(M[:, 0, 0])
    if f == 2:
        return np.asarray(M[:, 0, 0] * M[:, 1, 1] - M[:, 0, 1] * M[:, 1, 0])
    others = [[0, 1, 2][:j] + [0, 1, 2][j + 1 :] for j in range(3)]
    return np.asarray(sum((-1) ** j * M[:, 0, j] * _determinant(M[:, 1:, others[j]]) for j in range(3)))


@lru_cache(maxsize=8)
def _subsets(n: int, size: int) -> Indices:
    count = math.comb(n, size) * size
    return np.fromiter((i for chosen in combinations(range(n), size) for i in chosen), np.intp, count).reshape(-1, size)
