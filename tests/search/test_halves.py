"""What AUC can be with a tied pair as one half: bounds of the search against a list of all cells of weights."""

import time
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from rerank import Reranker
from rerank.errors import InputError
from rerank.problem import Problem, WeightRow, ranked_list
from rerank.ranks import evaluate
from rerank.search import compile_kernels, halves, statistic_bound
from rerank.statistics import parse
from tests.oracles.halves import most_with_halves

KINDS = ("free", "signs", "some signs", "limit", "limit and signs", "row", "row and signs", "sum", "grades", "lists")
KINDS += ("radius", "radius on one side", "radius and limit", "radius and row", "grades and radius")


def table(seed: int, d: int, kind: str) -> tuple[np.ndarray, list]:
    """Rows of small whole numbers, and lists that mix gains."""
    for again in count():
        rng = np.random.default_rng([seed, again])
        n = int(rng.integers(6, 10))
        X = rng.integers(0, 3, (n, d)).astype(np.float64)
        top = 3 if "grades" in kind else 2
        sides = [np.arange(0, n // 2), np.arange(n // 2, n)] if kind == "lists" else [np.arange(n)]
        gains = rng.integers(0, top, n).astype(np.float64)
        lists = [ranked_list(parse("auc"), rows, gains[rows], weight=1.0 + number) for number, rows in enumerate(sides)]
        if all(lists) and (X.max(axis=0) > X.min(axis=0)).all():
            return X, lists


def problem_of(seed: int, kind: str) -> Problem:
    anchored = "radius" in kind
    rng = np.random.default_rng([seed, 7])
    d = int(rng.integers(2, 4)) if anchored or kind not in ("row", "row and signs") else 2
    X, lists = table(seed, d, kind)
    given: dict = {}
    if "limit" in kind:
        given["max_features"] = 1
    if kind in ("signs", "limit and signs", "row and signs"):
        given["signs"] = rng.choice([-1, 1], d)
    if kind == "some signs":
        given["signs"] = np.array([1, *rng.integers(-1, 2, d - 1)])
    if kind == "sum":
        given["by_sum"] = True
    if anchored:
        radius = float(rng.choice([0.5, 1.0, 2.0]))
        low = np.zeros(d - 1) if kind == "radius on one side" else np.full(d - 1, -radius)
        given["limits"] = (np.append(1.0, low), np.append(1.0, np.full(d - 1, radius)))
        given["low"], given["high"] = np.zeros(d), np.ones(d)  # corners of the limits tie whole numbers
    if "row" in kind:
        first = (Fraction(0),) if anchored else ()
        free = d - len(first)
        row = [Fraction(int(a)) for a in rng.choice([-1, 1, 2], free)]
        given["rows"] = [WeightRow((*first, *row), Fraction(0), None, "row")]
    return Problem.build(X, lists, **given)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    compile_kernels()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_with_halves_is_the_largest_of_all_cells(kind: str, seed: int) -> None:
    problem = problem_of(seed, kind)
    most, seconds = most_with_halves(problem), 1.0 if kind == "radius and row" else 60.0
    began = time.perf_counter()
    bound = statistic_bound(problem, seconds, n_jobs=1, ties="average")
    assert bound >= most - 1e-12
    # Where rows cut limits of whole numbers a search may stay open.
    open_ = kind == "radius and row" and time.perf_counter() - began > 0.9 * seconds
    assert open_ or bound == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize("kind", ["signs", "radius", "row"])
def test_counting_equal_rows_alone_would_be_too_little(kind: str) -> None:
    """At the edge of a radius, a sign or a row, unequal rows are tied."""
    gaps = []
    for seed in range(12):
        problem = problem_of(seed, kind)
        X, worth = problem.X, 0.0
        for item in problem.lists:
            up, down = (X[item.rows[side]] for side in (item.gains > 0, item.gains == 0))
            equal = sum((down == row).all(axis=1).sum() for row in up)
            worth += 0.5 * item.weight * equal / (len(up) * len(down)) / problem.total_weight
        gaps.append(most_with_halves(problem) - statistic_bound(problem, 20.0, n_jobs=1) - worth)
    assert max(gaps) > 1e-3


def test_one_column_of_few_values_has_the_area_that_people_quote() -> None:
    roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = rng.integers(0, 4, 200) + y
    item = ranked_list(parse("auc"), np.arange(200), y.astype(np.float64))
    bound = statistic_bound(Problem.build(x[:, None], [item]), ties="average")
    assert bound == pytest.approx(roc_auc_score(y, x), abs=1e-12)
    assert bound == pytest.approx(evaluate("auc", y, x), abs=1e-12)
    assert bound > evaluate("auc", y, x, ties="pessimistic")


def test_places_that_earn_no_equal_steps_are_refused() -> None:
    item = ranked_list(parse("dcg@3"), np.arange(4), np.array([1.0, 0.0, 1.0, 0.0]))
    with pytest.raises(InputError, match="ties='pessimistic'"):
        statistic_bound(Problem.build(np.arange(4.0)[:, None], [item]), ties="average")


@pytest.mark.parametrize("kind", ["signs", "limit", "limit and signs", "radius", "grades and radius", "sum"])
def test_lists_taken_twice_bound_the_same_where_edges_are_too_many(kind: str, monkeypatch) -> None:
    monkeypatch.setattr(halves, "MOST_EDGES", 0)
    closed = 0
    for seed in range(6):
        problem = problem_of(seed, kind)
        most, bound = most_with_halves(problem), statistic_bound(problem, 0.4, n_jobs=1, ties="average")
        assert bound >= most - 1e-12
        closed += bound <= most + 1e-9
    assert closed >= 2  # others stay open in that time; with a sum, weights of 0 are let in here


@pytest.mark.parametrize("stat", ["auc", "pairs"])
def test_a_head_of_one_row_has_no_pair(stat):
    """Its list counts by its tail alone; the other head holds rows that share the score at the cut."""
    first = np.array([5, 1, 1, 0, 4, 4, 4, 0.0])
    X = np.array([[1, 2], [2, 1], [3, 3], [1, 1], [1, 5], [2, 2], [5, 1], [2, 2.0]])
    y, qid = np.array([1, 0, 1, 0, 1, 0, 1, 0]), np.repeat([0, 1], 4)
    table = np.column_stack([X, first])
    est = Reranker(stat, first_stage="x2", features=["x0", "x1"], n_candidates=1, solver="search", time_limit=20)
    result = est.fit(table, y, qid=qid).result_
    # The first list has 3 of its 4 pairs and a tied one, the second all 4.
    assert result.value == 0.875 and result.statistic == 0.9375
    assert result.statistic_bound == pytest.approx(0.9375, abs=1e-9) and result.statistic_bound >= 0.9375
