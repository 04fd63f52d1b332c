"""Named problems on which rounding, ties or a thin optimum decide."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.problem import Problem, ranked_list
from rerank.statistics import parse


def adversarial() -> dict[str, Problem]:
    """Named problems on which rounding, ties or a thin optimum decide."""
    return {
        "differences of 1e-12": _of(
            [[0, 0.5], [1e-12, 0.2], [2e-12, 0.9], [1, 0.1], [0.3, 1], [0.3, 0]], [1, 0, 0, 1, 0, 1], 1e-4
        ),
        "margin below the differences of 1e-12": _of(
            [[0, 0.5], [1e-12, 0.5], [2e-12, 0.5], [1, 0.1], [0.3, 1], [0.3, 0]], [1, 0, 1, 1, 0, 0], 5e-13
        ),
        "clusters a few units of rounding wide": _of(
            [[1, 0], [1 - 2**-52, 2**-52], [1 - 2**-53, 0], [0, 1], [2**-53, 1 - 2**-53], [0.5, 0.5]],
            [0, 1, 0, 1, 0, 1],
            1e-16,
        ),
        "columns of 1e300 and 1e-300": _of(
            np.array([[0, 3], [1, 1], [2, 0], [3, 2], [1.5, 1.6], [0.1, 0.2]]) * [1e300, 1e-300],
            [1, 0, 1, 0, 1, 0],
            0.1,
        ),
        "a range above the largest double": _of(
            np.array([[-1, 0.2], [1, 0], [0.3, 1], [-0.4, 0.5], [0.1, 0.9]]) * [1.7e308, 1], [1, 0, 1, 0, 1], 0.05
        ),
        "a column of subnormal numbers": _of(np.array([[0], [1], [2], [3]]) * 5e-324, [0, 1, 0, 1], 0.05),
        "exact ties and equal rows": _of(
            [[0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [0, 0], [1, 1]], [1, 0, 1, 0, 1, 0, 0], 0.1
        ),
        "nothing can be won": _of([[0, 1], [0, 1], [1, 0], [1, 0]], [1, 0, 1, 0], 0.5, rows=[[0, 1], [2, 3]]),
        "a difference of exactly the margin": _of([[0], [0.25], [0.5], [0.75], [1]], [0, 1, 0, 1, 0], 0.25),
        "only a corner of the cube wins": _of(
            [[0.25, 0.25, 0.25], [0, 0, 0], [1, 1, 1]], [1, 0, 0], 0.75, signs=[1, 1, 1]
        ),
        "only a corner wins, with rest": _of(
            [[0.5, 0.25, 0.25], [0.25, 0, 0.5], [1, 1, 1], [0, 0, 0], [0.75, 0.5, 0]], [1, 0, 0, 0, 1], 0.75
        ),
        "two half-planes touch at a sparse point": touching([0.25, 0.5], [0, 0], [0.25, 0.5], [0, 1]),
        "two half-planes touch at t = 1/2": touching([0, 0.5], [0, 0], [0.5, 0.5], [0, 1]),
        "two half-planes miss by 2e-9": touching([0, 0.5], [0, 0], [0.5 - 1e-9, 0.5], [0, 1]),
        "two half-planes miss by a unit of rounding": touching([0, 0.5], [0, 0], [0.5 - 2**-54, 0.5], [0, 1]),
        "two half-planes touch at t = 1/3": touching([0, 0.75], [0, 0], [0.5, 0.25], [0, 1]),
        "three half-spaces touch at a sparse point": touching(
            [0.25, 0.25, 0], [0, 0, 0], [0.25, 0, 0.25], [0, 0, 0], [0.25, 0, 0], [0, 0.25, 0.25]
        ),
        "three half-spaces touch inside a face": touching(
            [0, 0.5, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0.75, 0, 0], [0, 0.5, 1]
        ),
        "three half-spaces touch at thirds": touching(
            [0, 0.75, 0], [0, 0, 0], [0, 0, 0.375], [0, 0, 0], [0.75, 0, 0], [0, 0.75, 0.375]
        ),
        "thirds: nearest doubles win, rationals lose": _of(
            [[0], [1], [2], [3]], [0, 0, 0, 1], float(np.nextafter(1 / 3, 1))
        ),
        "fifths: nearest doubles lose, rationals win": _of(
            [[0], [2], [3], [5]], [0, 0, 1, 1], float(np.nextafter(0.2, 0))
        ),
        "a penalty that just pays": _of([[0, 1], [1, 0], [0.5, 0.5], [0.2, 0.1]], [1, 1, 0, 0], 0.05, C=0.25),
        "a penalty nothing pays": _of([[0, 1], [1, 0], [0.5, 0.5], [0.2, 0.1]], [1, 1, 0, 0], 0.05, C=3.0),
        "all signs against the data": _of([[0, 1], [0.2, 0.8], [1, 0], [0.9, 0.3]], [1, 1, 0, 0], 0.05, signs=[1, -1]),
        "gains of 1e-9 and 1e9": _of([[0, 1], [1, 0], [0.5, 0.6], [0.2, 0.1], [0.7, 0.7]], [1e-9, 1e9, 0, 1, 0], 0.05),
    }


def touching(*rows: list[float]) -> Problem:
    """Pairs of a relevant row and another, each a list; the half-spaces where they are won hardly meet, if at all."""
    n, d = len(rows), len(rows[0])
    pairs = [[k, k + 1] for k in range(0, n, 2)]
    return _of(rows, [1, 0] * (n // 2), 0.25, rows=pairs, low=np.zeros(d), high=np.ones(d))


def _of(
    X: ArrayLike,
    gains: ArrayLike,
    epsilon: float,
    rows: list[list[int]] | None = None,
    stat: str = "dcg",
    **options: Any,
) -> Problem:
    worth = np.asarray(gains, dtype=np.float64)
    members = [np.arange(worth.size)] if rows is None else [np.asarray(r) for r in rows]
    lists = [ranked_list(parse(stat), r, worth[r]) for r in members]
    return Problem.build(X, [item for item in lists if item is not None], epsilon=epsilon, **options)
