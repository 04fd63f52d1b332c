"""Random problems beyond those of ``tests/cases/instances.py``: extreme scales and weights, thin optima, shortlists.

A part of ``python -m benchmarks.trust --agreement``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem, RankedList, ranked_list
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.instances import Instance, draw, on_grid
from tests.oracles.anchored import corrected

Floats = NDArray[np.float64]

KINDS = (
    "weights of 24 orders of magnitude",
    "gains of 24 orders of magnitude",
    "subnormal columns",
    "columns of the largest doubles",
    "margin equal to a difference",
    "named cases with other gains",
)
STATISTICS = ("auc", "pauc@2", "wta", "precision@2", "mrr", "dcg", "dcg@3", "ndcg")


def mixed(seed: int) -> Instance:
    """Every fifth instance is a grid with a margin on it, every third of the others extreme, the rest as in the tests.

    Every fourth corrects its first column.
    """
    instance = on_grid(seed) if seed % 5 == 1 else extreme(seed) if seed % 3 == 2 else draw(seed)
    return with_score(instance) if seed % 4 == 3 else instance


def with_score(instance: Instance) -> Instance:
    """The instance as an anchored problem, where there is a second column; signs are dropped."""
    try:
        problem = corrected(np.random.default_rng([20261126, instance.seed]), instance.problem)
    except InputError:  # a single column, or a deviation of 0
        return instance
    return replace(instance, kind=f"{instance.kind}, corrected", problem=problem)


def extreme(seed: int) -> Instance:
    """The random instance of a seed, of one of :data:`KINDS`."""
    rng = np.random.default_rng([20261122, seed])
    kind = KINDS[int(rng.integers(len(KINDS)))]
    base = draw(int(rng.integers(2**31)), one_list=False if kind.startswith("weights") else None)
    while True:
        try:
            if kind.startswith("named"):
                return _named(rng, seed, kind)
            return replace(base, seed=seed, kind=kind, problem=_changed(rng, kind, base.problem))
        except InputError:  # a column that became constant, or no gain: draw again
            base = draw(int(rng.integers(2**31)))


def _changed(rng: np.random.Generator, kind: str, p: Problem) -> Problem:
    X: NDArray[Any] = p.X
    lists: tuple[RankedList, ...] = p.lists
    epsilon: float = p.epsilon
    if kind.startswith("weights"):
        lists = tuple(replace(q, weight=float(10.0 ** rng.integers(-12, 13))) for q in lists)
    elif kind.startswith("gains"):
        # Scales and constants of the lists stay, which any list may hold.
        lists = tuple(replace(q, gains=q.gains * 10.0 ** rng.integers(-12, 13, size=q.gains.size)) for q in lists)
    elif kind.startswith("subnormal"):
        X = rng.integers(0, 6, size=X.shape) * np.float64(5e-324)
    elif kind.startswith("columns"):
        X = rng.uniform(-1, 1, size=X.shape).round(int(rng.integers(1, 4))) * 1.7e308
    else:
        i, k = rng.choice(X.shape[0], size=2, replace=False)
        epsilon = float(np.abs(p.scaled[i] - p.scaled[k]).max()) or epsilon
    return Problem.build(X, lists, epsilon=epsilon, C=p.C, max_features=p.max_features, signs=p.signs)


def _named(rng: np.random.Generator, seed: int, kind: str) -> Instance:
    """The rows and the margin of a named case with gains, statistic, signs, penalty and limit drawn anew."""
    cases = adversarial()
    p = cases[sorted(cases)[int(rng.integers(len(cases)))]]
    n, d = p.X.shape
    graded = bool(rng.random() < 0.5)
    gains = rng.choice([0.0, 1.0, 3.0], size=n) if graded else np.where(rng.random(n) < 0.4, 1.0, 0.0)
    name = str(rng.choice(STATISTICS))
    lists = [ranked_list(parse(name), q.rows, gains[q.rows], weight=q.weight) for q in p.lists]
    problem = Problem.build(
        p.X,
        [q for q in lists if q is not None],
        epsilon=p.epsilon,
        C=float(rng.choice([0.0, 0.0, 0.125, rng.uniform(0, 0.3)])),
        max_features=int(rng.integers(1, d + 1)) if rng.random() < 0.3 else None,
        signs=rng.choice([-1, 0, 0, 1], size=d) if rng.random() < 0.3 else None,
    )
    return Instance(seed, kind, name, graded, problem)
