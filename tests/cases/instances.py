"""Random problems for comparing methods: small, awkward, and the same for the same seed on any machine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem, RankedList, ranked_list
from rerank.statistics import parse

Floats = NDArray[np.float64]

KINDS = ("normal", "grid", "binary", "duplicates", "mixed", "tiny", "scales", "collinear")
STATISTICS = ("auc", "pauc@2", "pauc@4", "wta", "precision@2", "precision@3", "mrr", "dcg", "dcg@3")
STATISTICS += ("ndcg", "ndcg@2", "pnorm@2", "pnorm@.5", "custom")
ON_GRID = "margin on the grid"
"""Kind of an instance of :func:`on_grid`."""
MARGINS = (1e-4, 1e-3, 0.01, 0.05, 0.1, 0.125, 0.25)


@dataclass(frozen=True)
class Instance:
    """A problem with the choices that made it."""

    seed: int
    kind: str
    statistic: str
    graded: bool
    problem: Problem

    def __str__(self) -> str:
        p = self.problem
        return (
            f"seed {self.seed}: {self.statistic} on {self.kind} data, {p.X.shape[0]} x {p.X.shape[1]}, "
            f"{len(p.lists)} lists, {'graded' if self.graded else 'binary'}, "
            f"epsilon {p.epsilon}, C {p.C:.3g}, "
            f"at most {p.max_features}, signs {p.signs.tolist()}"
        )


def draw(
    seed: int, *, n_max: int = 9, d_max: int = 3, one_list: bool | None = None, statistic: str | None = None
) -> Instance:
    """The random instance of a seed, of 3 to ``n_max`` rows and at most ``d_max`` features; what is None is drawn."""
    rng = np.random.default_rng([20261121, seed])
    while True:
        try:
            return _attempt(rng, seed, n_max, d_max, one_list, statistic)
        except InputError:
            continue  # no gain in any list, or a constant column: draw again from the same stream


def on_grid(seed: int, n_max: int = 9) -> Instance:
    """The instance of a seed with whole numbers in its columns, and a margin in decimals, or a step of a column."""
    rng, base = np.random.default_rng([20261125, seed]), draw(seed, n_max=n_max)
    while True:
        p, top = base.problem, int(rng.choice([4, 5, 6, 10]))
        X = rng.integers(0, top + 1, size=p.X.shape).astype(np.float64)
        step = Fraction(int(rng.integers(1, max(2, top // 2))), top)
        epsilon = step if rng.random() < 0.5 else Fraction(str(rng.choice([".05", ".1", ".2", ".25", ".01"])))
        try:
            problem = Problem.build(X, p.lists, epsilon=epsilon, C=p.C, max_features=p.max_features, signs=p.signs)
        except InputError:  # a column that became constant
            base = draw(int(rng.integers(2**31)), n_max=n_max)
            continue
        return replace(base, seed=seed, kind=ON_GRID, problem=problem)


def with_hits(problem: Problem, seed: int) -> Problem:
    """The problem with weights of hits: those of AP, of the first hit alone, any whole numbers; or with rows alone."""
    rng = np.random.default_rng([7, seed])
    lists = []
    for item in problem.lists:
        n, kind = item.rows.size, rng.integers(4)
        if kind == 3:
            lists.append(replace(item, alone=True))
            continue
        any_ = np.append(rng.integers(1, 4), rng.integers(0, 4, size=n - 1))
        hits = (np.arange(1, n + 1), np.arange(n) == 0, any_)[kind]
        lists.append(replace(item, hits=hits.astype(np.int64)))
    return replace(problem, lists=tuple(lists))


def stream(first: int, count: int) -> Iterator[Instance]:
    """Instances of consecutive seeds."""
    return (draw(seed) for seed in range(first, first + count))


def _attempt(
    rng: np.random.Generator, seed: int, n_max: int, d_max: int, one_list: bool | None, statistic: str | None
) -> Instance:
    n, d = int(rng.integers(3, n_max + 1, size=2).max()), int(rng.integers(1, d_max + 1, size=2).max())
    kind = str(rng.choice(KINDS))
    X = features(rng, kind, n, d)
    single = bool(rng.random() < 0.55) if one_list is None else one_list
    members = [np.arange(n)] if single else _split(rng, n)
    graded = bool(rng.random() < 0.5)
    gains = _gains(rng, n, graded)
    name = str(rng.choice(STATISTICS)) if statistic is None else statistic
    lists = [_list(rng, name, rows, gains[rows], weighted=not single) for rows in members]
    kept = [item for item in lists if item is not None]
    worth = sum(float(np.sort(q.coefficients * q.gains.max())[-3:].sum()) / q.scale for q in kept) / max(len(kept), 1)
    problem = Problem.build(
        X,
        kept,
        epsilon=float(rng.choice(MARGINS)),
        C=float(rng.choice([0.0, rng.uniform(0, 0.3) * worth, 0.125])) if rng.random() < 0.5 else 0.0,
        max_features=int(rng.integers(1, d + 1)) if rng.random() < 0.35 else None,
        signs=rng.choice([-1, 0, 0, 1], size=d) if rng.random() < 0.4 else None,
    )
    return Instance(seed, kind, name, graded, problem)


def features(rng: np.random.Generator, kind: str, n: int, d: int) -> Floats:
    """Rows of a kind: smooth, on a grid, repeated, nearly equal, or of very different scales."""
    X = rng.normal(size=(n, d))
    if kind == "grid":
        return rng.integers(0, 5, size=(n, d)).astype(np.float64)
    if kind == "binary":
        return rng.integers(0, 2, size=(n, d)).astype(np.float64)
    if kind == "duplicates":
        return X[rng.integers(0, max(2, n // 2), size=n)]
    if kind == "mixed":
        X[:, 0] = rng.integers(0, 3, size=n)
    if kind == "tiny":  # clusters whose members differ by a few 1e-12 of the range
        X = rng.integers(0, 3, size=(n, d)) + 1e-12 * rng.integers(-3, 4, size=(n, d))
    if kind == "scales":
        X = X * rng.choice([1e300, 1e-300, 1.0, 1e-9], size=d)
    if kind == "collinear":
        X = X[:, :1] * rng.choice([-1.0, 1.0, 2.0], size=d) + 0.05 * X
    return X


def _split(rng: np.random.Generator, n: int) -> list[NDArray[np.intp]]:
    """Two or three lists in which every row stands once, in any order."""
    cuts = np.sort(rng.choice(np.arange(1, n), size=min(n - 1, int(rng.integers(1, 3))), replace=False))
    return [np.asarray(part, dtype=np.intp) for part in np.split(rng.permutation(n), cuts)]


def _gains(rng: np.random.Generator, n: int, graded: bool) -> Floats:
    if not graded:
        gains = (rng.random(n) < rng.choice([0.2, 0.4, 0.6])).astype(np.float64)
    else:
        gains = rng.choice([[0.0, 1.0, 3.0], [0.0, 1.0, 2.0], [0.0, 3.0, 7.0]][int(rng.integers(3))], size=n)
    if rng.random() < 0.2:  # weights of rows multiply their gains
        gains *= rng.choice([0.5, 1.0, 1.3], size=n)
    return gains


def _list(
    rng: np.random.Generator, name: str, rows: NDArray[np.intp], gains: Floats, weighted: bool
) -> RankedList | None:
    tail = rng.choice([0.0, 0.0, 1.0], size=int(rng.integers(1, 4))) if rng.random() < 0.15 else np.zeros(0)
    weight = float(rng.choice([1.0, 1.0, 0.3, 2.5])) if weighted else 1.0
    if name != "custom":
        return ranked_list(parse(name), rows, gains, tail, weight)
    coefficients = np.sort(rng.choice([0.0, 0.5, 1.0, 2.0, 1 / 3], size=rows.size + tail.size))
    return ranked_list(parse(coefficients), rows, gains, tail, weight)
