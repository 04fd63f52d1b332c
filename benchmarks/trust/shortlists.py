"""A whole fit with a first stage and a shortlist, against enumeration on a head that is cut here by the definition.

A part of ``python -m benchmarks.trust --agreement``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.trust.draws import STATISTICS, Floats
from benchmarks.trust.summary import Case
from rerank import Reranker
from rerank.errors import InputError
from rerank.problem import Problem, ranked_list
from rerank.statistics import parse
from tests.cases.instances import features
from tests.oracles.oracle import optimum

ROOM = Fraction(1, 10**12)
SHAPES = ("normal", "grid", "duplicates", "collinear", "mixed")
IDEAL = ("already_ideal", "nothing_to_find", "nothing_to_reorder")


@dataclass(frozen=True)
class Table:
    """A small table with lists, and the parameters of a fit."""

    X: Floats
    y: Floats
    qid: NDArray[np.int64] | None
    options: dict[str, Any]


def fitted(seed: int) -> Case:
    """Fit the table of a seed and compare value, bound, status and ranking with the definition."""
    table = drawn(seed)
    described = f"shortlist seed {seed}: {table.options}, {table.X.shape}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = Reranker(solver="search", time_limit=10.0, **table.options)
            estimator.fit(table.X, table.y, table.qid)
    except InputError as error:
        return Case(described, (), (f"refused: {str(error)[:40]}",))
    return Case(described, tuple(wrong(table, estimator)), (estimator.result_.status,))


def drawn(seed: int) -> Table:
    """The table of a seed: 6 to 14 rows, at most 3 features, one to three lists, equal scores at the cut."""
    rng = np.random.default_rng([20261123, seed])
    n, d = int(rng.integers(6, 15)), int(rng.integers(1, 4))
    X = features(rng, str(rng.choice(SHAPES)), n, d)
    y = rng.integers(0, int(rng.choice([2, 3])), size=n).astype(np.float64)
    y[0], y[1] = 0.0, max(1.0, y[1])
    qid = np.sort(rng.integers(0, 3, size=n)) if rng.random() < 0.4 else None
    signs = rng.choice([-1, 0, 0, 1], size=d).tolist() if rng.random() < 0.3 else False
    options = {
        "stat": str(rng.choice(STATISTICS)),
        "first_stage": str(rng.choice(["logistic", "toppush", "ranksvm"])),
        "n_candidates": int(rng.integers(2, 8)),
        "margin": float(rng.choice([1e-4, 0.01, 0.1, 0.25])),
        "C": float(rng.choice([0.0, 0.0, 0.05])),
        "gain": str(rng.choice(["exponential", "linear"])),
        "positive": signs,
        "max_features": int(rng.integers(1, d + 1)) if rng.random() < 0.3 else None,
    }
    return Table(X, y, qid, options)


def wrong(table: Table, estimator: Any) -> Iterator[str]:
    """What contradicts the definition."""
    result, options = estimator.result_, table.options
    before = estimator.first_stage_scores(table.X)
    problem = _problem(table, before)
    scores = estimator.list_scores(table.X, table.qid)
    if abs(result.statistic - estimator.score(table.X, table.y, table.qid)) > ROOM * max(1, abs(result.statistic)):
        yield f"statistic {result.statistic!r} is not that of its own ranking"
    if (
        result.status in (*IDEAL, "first_stage_kept")
        and not np.array_equal(np.argsort(-scores, kind="stable"), np.argsort(-before, kind="stable"))
        and table.qid is None
    ):
        yield f"status {result.status}, but the ranking is not the first stage's"
    yield from _above_the_tail(table, before, scores, options["n_candidates"])
    if problem is None:
        if result.status not in IDEAL:
            yield f"status {result.status}, though no order of the heads matters"
        return
    best = optimum(problem)
    assert best is not None
    room = ROOM * max(Fraction(1), abs(best.value))
    if result.status not in IDEAL and Fraction(result.value) > best.value + room:
        yield f"value {result.value!r} exceeds the optimum {float(best.value)!r}"
    if Fraction(result.bound) < best.value - room:
        yield f"bound {result.bound!r} is below the optimum {float(best.value)!r}"
    closed = result.status == "optimal" or (result.status == "first_stage_kept" and result.gap <= 1e-9)
    if closed and Fraction(result.value) < best.value - room:
        yield f"status {result.status} at {result.value!r}, but the optimum is {float(best.value)!r}"


def _above_the_tail(table: Table, before: Floats, scores: Floats, k: int) -> Iterator[str]:
    for rows in _lists(table):
        head = _head(before[rows], k)
        if head.all():
            continue
        if scores[rows][head].min() <= scores[rows][~head].max():
            yield "a row of the tail is not below the head"


def _problem(table: Table, before: Floats) -> Problem | None:
    """The problem on the heads; None where no column of them varies or no order matters."""
    options, grades = table.options, table.y
    gains = 2.0**grades - 1 if options["gain"] == "exponential" else grades
    lists = []
    for rows in _lists(table):
        own = _head(before[rows], options["n_candidates"])
        tail = sorted(rows[~own], key=lambda i: (-before[i], gains[i]))
        lists.append(ranked_list(parse(options["stat"]), rows[own], gains[rows[own]], gains[tail]))
    counted = [q for q in lists if q is not None]
    used = np.concatenate([q.rows for q in counted])
    columns = np.flatnonzero(np.ptp(table.X[used], axis=0) > 0)
    if columns.size == 0 or all(q.gains.min() == q.gains.max() for q in counted):
        return None
    signs = np.zeros(table.X.shape[1]) if options["positive"] is False else np.array(options["positive"])
    return Problem.build(
        table.X[:, columns],
        counted,
        epsilon=options["margin"],
        C=options["C"],
        max_features=options["max_features"],
        signs=signs[columns],
    )


def _lists(table: Table) -> list[NDArray[np.intp]]:
    qid = np.zeros(table.y.size, np.int64) if table.qid is None else table.qid
    return [np.flatnonzero(qid == name) for name in np.unique(qid)]


def _head(scores: Floats, k: int) -> NDArray[np.bool_]:
    """The k best rows, and those that share the score of the last of them."""
    return np.array([int((scores > score).sum()) < k for score in scores], dtype=bool)
