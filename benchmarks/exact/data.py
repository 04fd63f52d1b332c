"""Problems of the benchmarks of the exact search: drawn, and from the folder of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays
from rerank.problem import Problem, problem_of
from rerank.scorecard import Scorecard
from rerank.statistics import parse

Floats = NDArray[np.float64]


def noisy(n: int, d: int, share: float, seed: int) -> tuple[Floats, Floats]:
    """Normal features mapped to [0, 1], a random linear order with as much noise as signal, and its top as relevant.

    Parameters
    ----------
    n, d : int
        Rows and features.
    share : float
        Share of relevant rows.
    seed : int

    Returns
    -------
    X : float64 (n, d)
    y : float64 (n,)
        0 or 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    signal = X @ rng.standard_normal(d)
    scores = signal + rng.standard_normal(n) * signal.std()
    y = np.zeros(n)
    y[np.argsort(-scores)[: round(share * n)]] = 1.0
    return X, y


def noisy_problem(n: int, d: int, statistic: str, share: float, seed: int, **options: Any) -> Problem:
    """The problem of :func:`noisy` data; ``options`` go to :meth:`rerank.problem.Problem.build`."""
    X, y = noisy(n, d, share, seed)
    return problem_of(X, y, parse(statistic), **options)


def correlated(d: int, correlation: float, statistic: str, seed: int = 0) -> Problem:
    """One list of 100 rows whose normal features all have the same correlation; noise as strong as the signal."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky((1 - correlation) * np.eye(d) + correlation)
    X = rng.standard_normal((100, d)) @ root.T
    signal = X @ rng.standard_normal(d)
    noisy = signal + rng.standard_normal(100) * signal.std()
    gains = np.zeros(100)
    gains[np.argsort(-noisy)[:35]] = 1.0
    return problem_of(X, gains, parse(statistic))


def flags(n: int, d: int, statistic: str, seed: int, **options: Any) -> Problem:
    """Booleans of which five make a row relevant, with as much noise as signal; a tenth of the rows is relevant."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.1, 0.5, size=d)).astype(np.float64)
    signal = X[:, :5] @ np.array([1.0, 0.8, 0.6, -0.5, 0.4])
    scores = signal + rng.standard_normal(n) * signal.std()
    y = np.zeros(n)
    y[np.argsort(-scores)[: n // 10]] = 1.0
    return problem_of(X, y, parse(statistic), epsilon=1e-2, **options)


def lists(
    where: Path, name: str, columns: list[int] | None = None, queries: int | None = None, **options: Any
) -> Problem:
    """A query-grouped set for ``ndcg@10``, grades above 0 relevant.

    ``columns`` and ``queries`` (the first so many) restrict it; of ``mq2007agg`` folds 2 to 5 are taken.
    """
    d = arrays(where, name)
    rows = np.isin(d["fold"], (2, 3, 4, 5)) if name == "mq2007agg" else np.ones(d["y"].size, bool)
    if queries is not None:
        rows &= np.isin(d["qid"], np.unique(d["qid"][rows])[:queries])
    X = d["X"][rows] if columns is None else d["X"][rows][:, columns]
    gains = (d["y"][rows] > 0).astype(np.float64)
    return problem_of(varying(X), gains, parse("ndcg@10"), d["qid"][rows], **options)


def spam(where: Path, statistic: str, rows: int, seed: int, **options: Any) -> Problem:
    """Rows of ``spambase`` drawn at random; columns that are constant on them are left out."""
    d = arrays(where, "spambase")
    some = np.random.default_rng(seed).choice(d["y"].size, size=rows, replace=False)
    return problem_of(varying(d["X"][some]), d["y"][some].astype(np.float64), parse(statistic), **options)


def questions(where: Path, name: str, at_most: int) -> Problem:
    """Answers of a table's rows to the yes/no questions that cards are made of."""
    d = arrays(where, name)
    X, y = d["X"], (d["y"] > 0).astype(np.float64)
    card = Scorecard(n_questions=1, validation=None).fit(X, y)
    answers = np.column_stack([question.answers(X) for question in card.questions_]).astype(np.float64)
    return problem_of(answers, y, parse("auc"), epsilon=1e-9, max_features=at_most)


def pairs(problem: Problem) -> int:
    """Pairs of rows of one list with different gains."""
    total = 0
    for item in problem.lists:
        _, many = np.unique(item.gains, return_counts=True)
        total += (item.gains.size**2 - int((many**2).sum())) // 2
    return total


def varying(X: Floats) -> Floats:
    """The columns that are not constant."""
    kept: Floats = X[:, X.max(axis=0) > X.min(axis=0)]
    return kept
