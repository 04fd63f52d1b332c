"""Pos@Top as a statistic that is fitted: its value in words, a direct sweep, and what can only raise it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rerank.certificate import certify
from rerank.metrics import pos_at_top
from rerank.problem import problem_of, ranked_list
from rerank.problem.values import values_at
from rerank.ranks import evaluate
from rerank.scorers import RankSVM, TopPush
from rerank.search import solve
from rerank.statistics import PosAtTop, parse
from tests.cases.examples import SEEDS, examples
from tests.cases.search import rows_of

Floats = NDArray[np.float64]
TIES = ("pessimistic", "optimistic", "average")


A_ROW = st.tuples(st.sampled_from([0, 0, 1, 2]), st.sampled_from([0.0, 1.0, 2.5]), st.integers(0, 2))


def share_on_top(relevant: NDArray[np.bool_], scores: Floats, ties: str) -> float:
    """Share of the relevant rows of one list above all others; 0 without a relevant one."""
    own, others = scores[relevant], scores[~relevant]
    if not (own.size and others.size):
        return float(own.size > 0)
    # In random order each relevant row among the best others precedes all m of them with chance 1/(m + 1).
    best, m = others.max(), np.count_nonzero(others == others.max())
    chance = {"pessimistic": 0.0, "optimistic": 1.0, "average": 1.0 / (m + 1)}[ties]
    return float(np.count_nonzero(own > best) + np.count_nonzero(own == best) * chance) / own.size


@examples(80, st.lists(A_ROW, min_size=1))
def test_the_value_of_lists_is_the_mean_share_on_top_whatever_the_ties(rows: list[tuple[int, float, int]]) -> None:
    y, scores, qid = (np.array(column) for column in zip(*rows))
    for ties in TIES:
        shares = [share_on_top(y[qid == one] > 0, scores[qid == one], ties) for one in np.unique(qid)]
        for found in (
            evaluate("pos@top", y, scores, qid, ties=ties, empty=0),
            pos_at_top(y, scores, qid, ties=ties, empty=0),
        ):
            assert found == pytest.approx(np.mean(shares))


@examples(80, SEEDS)
def test_a_pair_more_that_is_won_never_lowers_it(seed: int) -> None:
    """A relevant row that moves up past others, whatever they are, and an irrelevant one that moves down."""
    rng = np.random.default_rng(seed)
    y, scores = rng.random(12) < 0.5, rng.integers(0, 8, 12).astype(float)
    y[0] = True
    before = {ties: evaluate("pos@top", y, scores, ties=ties) for ties in TIES}
    row = int(rng.integers(12))
    scores[row] += rng.integers(1, 5) * (1 if y[row] else -1)
    assert all(evaluate("pos@top", y, scores, ties=ties) >= before[ties] - 1e-12 for ties in TIES)


def test_it_is_the_mean_of_winner_takes_all_beside_the_irrelevant_rows() -> None:
    rng = np.random.default_rng(3)
    y, scores = rng.permutation(np.arange(20) < 8), rng.normal(size=20) + 1.5 * (np.arange(20) < 4)
    each = [evaluate("wta", y[kept], scores[kept]) for i in np.flatnonzero(y) for kept in [~y | (np.arange(20) == i)]]
    assert evaluate("pos@top", y, scores) == pytest.approx(np.mean(each))


def test_a_tail_earns_only_where_the_head_holds_relevant_rows_alone() -> None:
    tail = [1.0, 1.0, 0.0, 1.0]
    clean, mixed = (ranked_list(PosAtTop(), [0, 1, 2], head, tail) for head in ([1, 1, 1], [1, 0, 1]))
    assert clean is not None and mixed is not None
    assert (clean.constant, clean.scale, mixed.constant, mixed.scale) == (2.0, 6.0, 0.0, 5.0)


def test_a_short_list_that_is_anchored_keeps_the_rows_that_matter() -> None:
    """The reduced problem of a long anchored list has the value of the whole list."""
    from rerank.problem.reduced import reduced_problem

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), (rng.random(500) < 0.3).astype(float)
    X[:, 0] += y
    low, high, sides = np.zeros(3), np.ones(3), ([1, -0.1, -0.1], [1, 0.1, 0.1])
    whole = problem_of(X, y, PosAtTop(), epsilon=1e-6, low=low, high=high, limits=sides)
    part, rows = reduced_problem(X, y, PosAtTop(), low, high, sides, epsilon=1e-6)
    assert 0 < rows.size < 250
    for _ in range(20):
        w = np.array([1.0, *rng.uniform(-0.1, 0.1, 2)])
        assert certify(part, w).value == certify(whole, w).value
    assert solve(part, n_jobs=1).value == pytest.approx(solve(whole, n_jobs=1).value, abs=1e-12)


def test_the_smooth_stand_in_has_the_slopes_it_says_and_becomes_the_statistic() -> None:
    from scipy.optimize import approx_fprime

    from rerank.search.rows.smooth import smoothed

    rng = np.random.default_rng(2)
    X, y, qid = rng.normal(size=(60, 2)), (rng.random(60) < 0.5).astype(float), np.arange(60) % 2
    problem = problem_of(X, y, PosAtTop(), qid, epsilon=1e-6)
    part = rows_of(problem).sample(60)
    scores, slopes, scratch = rng.normal(size=60), np.empty(60), part.scratch()
    scores[part.lists.gain > 0] += 1.0

    def value(at: Floats) -> float:
        return float(smoothed(at, part.lists, 0.5, np.empty(60), scratch))

    smoothed(scores, part.lists, 0.5, slopes, scratch)
    assert slopes == pytest.approx(approx_fprime(scores, value, 1e-6), abs=1e-4)
    assert np.abs(slopes[part.lists.gain == 0]).max() > 0.1
    lists = np.repeat([0, 1], np.diff(part.lists.begin))
    exact = evaluate("pos@top", part.lists.gain > 0, scores, lists)
    assert exact > 0 and smoothed(scores, part.lists, 1e-9, slopes, scratch) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("statistic", ["pos@top", "auc"])
def test_no_fit_of_a_convex_loss_is_worth_more_in_training_than_weights_of_the_search(statistic: str) -> None:
    """Long tails, so that single irrelevant rows stand out; the search has no start given."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.standard_normal((200, 30)))
    signal = X @ rng.standard_normal(30)
    y = (signal + signal.std() * rng.standard_normal(200) > np.quantile(signal, 0.6)).astype(float)
    problem, deviations = problem_of(X, y, parse(statistic), epsilon=1e-9), X.std(axis=0)
    models = [LogisticRegression(), RankSVM(alpha=1e-3), *(TopPush(alpha=alpha) for alpha in (0.1, 0.01, 0.001))]
    weights = [np.ravel(model.fit((X - X.mean(axis=0)) / deviations, y).coef_) / deviations for model in models]
    scaled = [w * (problem.high - problem.low) for w in weights]
    found = solve(problem, time_limit=2.0, n_jobs=1)
    assert found.value >= max(values_at(problem, [w / np.abs(w).max() for w in scaled]))
