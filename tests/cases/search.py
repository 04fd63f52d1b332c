"""What the tests of the search share: points of the cube, problems with signal and noise, values by loops."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem, problem_of
from rerank.search import SearchResult, run, solve
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.rows import choice
from rerank.search.rows.lines import RowLines
from rerank.search.tables import RowTables, Tables, row_tables, tables
from rerank.search.warm import is_compiled
from rerank.statistics import parse

Floats = NDArray[np.float64]

is_compiled()  # tests that call a kernel directly must not find one that holds older code of its helpers

__all__ = [
    "by_rows",
    "drawn_lists",
    "exact_objective",
    "noisy_problem",
    "row_lines",
    "rows_of",
    "surface",
    "tables",
    "timed",
]


@contextmanager
def by_rows(asked: bool = True) -> Iterator[None]:
    """Search every problem by rows, as long lists are searched, or none."""
    with patch.object(choice, "by_rows", lambda *_: asked), patch.object(run, "lines_by_rows", lambda *_: asked):
        yield


def rows_of(problem: Problem) -> RowTables:
    """Tables of a search by rows."""
    return row_tables(problem, Domain.of(problem).scale)


def row_lines(problem: Problem) -> RowLines:
    """Lines of a search by rows."""
    return RowLines(rows_of(problem), Domain.of(problem))


def surface(rng: np.random.Generator, problem: Problem, count: int) -> Floats:
    """Weights that are allowed: on the cube's surface, some with zeros, some on vertices and lattice points."""
    d = problem.n_features
    w = rng.uniform(-1, 1, size=(count, d))
    w[::4] = rng.integers(-4, 5, size=w[::4].shape) / 4
    w[rng.random(size=w.shape) < 0.2] = 0.0
    w = np.where(problem.signs == 0, w, np.abs(w) * np.where(problem.signs < 0, -1, 1))
    for row in w:
        order = rng.permutation(d)
        row[order[problem.max_features or d :]] = 0.0
    top = np.abs(w).max(axis=1)
    return w[top > 0] / top[top > 0, None] + 0.0


def exact_objective(problem: Problem, t: Tables | None = None) -> Callable[[Floats], float]:
    """Value minus price of weights, every pair decided in rationals by the search's own arithmetic."""
    domain = Domain.of(problem)
    t = tables(problem, scale=domain.scale) if t is None else t
    exact = Exact(problem, t, domain)
    return lambda w: t.to_value(exact.value(w / domain.scale)) - problem.C * np.count_nonzero(w)


def drawn_lists(seed: int, queries: int, size: int, d: int, statistic: str, **options: Any) -> Problem:
    """Many short lists in which the first feature helps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * size, d))
    gains = (X[:, 0] + rng.normal(size=X.shape[0]) > 1).astype(float) * rng.choice([1.0, 3.0], size=X.shape[0])
    return problem_of(X, gains, parse(statistic), np.repeat(np.arange(queries), size), **options)


def timed(problem: Problem, limit: float) -> tuple[SearchResult, float]:
    """One solve on one core and its processor seconds, which other processes do not stretch."""
    began = time.process_time()
    found = solve(problem, time_limit=limit, n_jobs=1)
    return found, time.process_time() - began
