"""Random problems whose first column is a given score that the other columns correct."""

import numpy as np

from rerank.errors import InputError
from rerank.problem import Problem
from tests.cases.instances import draw
from tests.oracles.oracle import best
from tests.oracles.oracle import best as optimum

__all__ = ["anchored", "best", "corrected", "optimum"]


def anchored(seed: int, **options: int) -> Problem:
    """A drawn problem whose first column is the given score."""
    while True:
        free = draw(seed, **options).problem
        rng = np.random.default_rng([seed, 1])
        seed += 1_000_003
        try:
            return corrected(rng, free)
        except InputError:
            continue


def corrected(rng: np.random.Generator, free: Problem) -> Problem:
    """The problem whose first column is the given score: limits of every kind, some of them 0.

    Raises
    ------
    InputError
        If there is no second column, or a deviation is 0.
    """
    d = free.n_features
    low = -rng.choice([0.0, 0.03, 0.1, 0.5, 1.0, rng.uniform(0, 2)], size=d)
    high = np.where(rng.random(d) < 0.6, -low, rng.choice([0.0, 0.25, rng.uniform(0, 2)], size=d))
    low[0] = high[0] = 1.0
    return Problem.build(
        free.X, free.lists, epsilon=free.epsilon, C=free.C, max_features=free.max_features, limits=(low, high)
    )
