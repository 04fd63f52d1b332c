"""Scaling of columns: one function for the problem and for the estimator, on ranges of every size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank import Reranker
from rerank.problem import Problem, problem_of, scale_columns
from rerank.problem.scaling import snapped_scores
from rerank.ranks import evaluate
from rerank.ranks.positions import snap
from rerank.reranker.affine import affine
from rerank.statistics import parse

TINY = 5e-324  # the smallest positive double
COLUMNS = {
    "one step of the smallest double": [0.0, TINY, TINY, 0.0, TINY],
    "seven steps of the smallest double": [0.0, TINY, 3 * TINY, 5 * TINY, 7 * TINY],
    "subnormal on both sides of 0": [-3 * TINY, -TINY, 0.0, TINY, 2 * TINY],
    "a subnormal range above a normal number": [2.0**-1022 + k * TINY for k in (0, 1, 3, 6, 7)],
    "a range beyond the largest double": [-1.7e308, 1.7e308, 3e307, -4e307, 1e292],
    "up to the largest double": [0.0, 1.7e308, 3e307, 1e300, 1.0],
    "plain numbers": [0.1, 0.7, -2.3, 1e-5, 5.0],
    "a narrow range far from 0": [1e9, 1e9 + 1e-5, 1e9 + 3e-5, 1e9 - 1e-6, 1e9],
    "whole numbers": [0.0, 1.0, 2.0, 5.0, 3.0],
}


def exact(x: float, low: float, high: float) -> Fraction:
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


def problem(column: list[float]) -> Problem:
    X = np.column_stack([column, [0.3, 0.1, 0.8, 0.2, 0.5]])
    return problem_of(X, np.array([1.0, 0, 1, 0, 0]), parse("auc"))


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_the_estimator_ranks_by_the_scores_of_the_problem(column):
    p = problem(column)
    for w in ([1.0, 0.0], [-1.0, 0.25], [0.3, -1.0], [1.0, 1.0]):
        weights = np.array(w)
        expected = snap(affine(p.scaled, weights))
        assert np.isfinite(expected).all()
        assert snapped_scores(p.X, p.low, p.high, weights).tobytes() == expected.tobytes()


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_scaled_columns_are_near_the_exact_quotient(column):
    p = problem(column)
    for x, found in zip(column, p.scaled[:, 0].tolist()):
        true = exact(x, min(column), max(column))
        assert abs(Fraction(found) - true) <= 4 * true * Fraction(2) ** -53 and 0 <= found <= 1
    assert p.scaled[:, 0].min() == 0 and p.scaled[:, 0].max() == 1


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=8))
def test_rows_outside_the_range_are_finite_and_in_order(values):
    """Any doubles, scaled by the range of the first two: no overflow, no division by zero, no order turned."""
    low, high = np.array([min(values[:2])]), np.array([max(values[:2])])
    if not high > low:
        return
    x = np.sort(values)
    with np.errstate(all="raise", under="ignore"):
        scaled = scale_columns(x[:, None], low, high)[:, 0]
    assert np.isfinite(scaled).all() and (np.diff(scaled) >= 0).all()
    for value, found in zip(x.tolist(), scaled.tolist()):
        true = exact(value, low[0], high[0])
        if abs(true) < Fraction(2) ** 900:
            assert abs(Fraction(found) - true) <= 4 * abs(true) * Fraction(2) ** -53 + Fraction(TINY)


def test_scores_far_outside_a_subnormal_range_are_finite():
    """Two columns far outside their range in opposite directions would be the difference of two infinities."""
    low, high = np.zeros(2), np.full(2, 3 * TINY)
    rows = np.array([[1e308, 1e308], [1.0, 0.0], [0.0, 1.0], [-1e308, 1e308], [TINY, 0.0]])
    scores = snapped_scores(rows, low, high, np.array([1.0, -1.0]))
    assert np.isfinite(scores).all() and scores[1] > scores[4] > 0 > scores[2] >= scores[3]


@pytest.mark.parametrize(
    "column",
    [np.arange(12) * TINY, np.linspace(-1.7, 1.7, 12) * 1e308, np.arange(12.0)],
    ids=["subnormal", "overflowing", "plain"],
)
def test_a_fit_ranks_as_its_result_says(column):
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.permutation(column), rng.permutation(np.arange(12.0))])
    y = (np.argsort(np.argsort(X[:, 0])) >= 8).astype(float)
    y[rng.integers(12)] = 1.0
    est = Reranker("auc", first_stage=None, solver="search", epsilon=0.01).fit(X, y)
    result = est.result_
    p = est.state_.problem
    assert result.status == "optimal" and result.value == pytest.approx(result.statistic, abs=1e-12)
    scores = est.decision_function(X)
    assert scores.tobytes() == snap(affine(p.scaled, result.weights)).tobytes()
    assert evaluate("auc", y, scores) == pytest.approx(result.statistic, abs=1e-12)
    # New rows, far outside the range of training: finite, and those of larger entries are never below.
    up = np.sign(result.weights) * np.array([1.0, 1.0])
    far = est.decision_function(np.outer([-1e308, -1.0, 0.0, 1.0, 1e308], up))
    assert np.isfinite(far).all() and (np.diff(far) >= 0).all()
