"""Pairs counted by intervals and pairs formed one by one lead to the same bound and the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.search.rows.unit import refine, refine_near
from rerank.search.tables import row_tables
from rerank.search.workspace import row_space
from tests.cases.search import noisy_problem


def refined(problem, c, h, gone, limit=None):
    """Bound, rows that are left, positives among them and negatives gone, by one of the two functions."""
    t = row_tables(problem, np.ones(problem.n_features))
    space = row_space(t, t.n_features)
    n, positives = int(t.n_rows[0]), int(t.n_positive[0])
    space.kept[:n] = t.entries[:n]
    least, most = t.epsilon - t.tolerance, t.epsilon + t.tolerance
    space.axes[0], space.axes[1] = c, h
    if limit is None:
        found = refine(t.rows, t.lists.paid, 0, gone, n, positives, least, most, space)
    else:
        found = refine_near(t.rows, t.lists.paid, t.tolerance, 0, gone, n, positives, least, most, limit, space)
    bound, left, alive, again = found[:4]
    assert not space.count.any()
    return (bound, alive, again, space.kept[:alive].tolist(), set(space.kept[alive:left].tolist())), found[4:]


@pytest.mark.parametrize("statistic", ["dcg@5", "precision@20", "auc", "ap", "rr"])
@pytest.mark.parametrize("seed", range(6))
def test_both_ways_leave_the_same_rows(statistic, seed):
    rng = np.random.default_rng(seed)
    problem = noisy_problem(60, 3, statistic, 0.3, seed)
    all_pairs = problem.units[0].positive.size * problem.units[0].negative.size
    fewest = all_pairs
    for size in (0.0, 1e-9, 0.01, 0.1, 1.0):
        for gone in (0, 3):
            c, h = rng.uniform(-1, 1, 3), size * rng.uniform(0, 1, 3)
            plain, _ = refined(problem, c, h, gone)
            near, (formed,) = refined(problem, c, h, gone, np.inf)
            assert near == plain and formed <= all_pairs
            fewest = min(fewest, formed)
    assert fewest == 0  # in a box without width the order of the rows says all


@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_and_rows_on_the_margin_are_no_exception(seed):
    rng = np.random.default_rng(seed)
    problem = noisy_problem(40, 2, "dcg@8", 0.4, seed)
    problem.X[:] = np.round(problem.X)  # many equal rows, and many with the same score
    for size in (0.0, 0.25, 0.5):
        c = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 2)
        assert refined(problem, c, np.full(2, size), 0, np.inf)[0] == refined(problem, c, np.full(2, size), 0)[0]


def test_too_many_pairs_are_counted_and_not_formed():
    problem = noisy_problem(50, 2, "auc", 0.5, 0)
    (bound, alive, _, _, _), (formed,) = refined(problem, np.zeros(2), np.ones(2), 0, 10)
    assert (bound, alive) == (0.0, 0) and formed > 10
