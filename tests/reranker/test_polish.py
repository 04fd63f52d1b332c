"""Polish: the widest smallest margin, against the whole linear program solved otherwise; and the epsilon rule."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank import Reranker
from rerank.errors import InputError
from rerank.problem import Problem, problem_of
from rerank.reranker.solve import program as programs
from rerank.reranker.solve.program import largest_difference, notes_on_near_rows, pairs_within_margin, safe_epsilon
from rerank.reranker.solve.verified import polish, smallest_margin
from rerank.solvers import highs
from rerank.statistics import parse
from tests.cases.hand_programs import INF, auc, program
from tests.cases.refuses import refuses


def instance(seed, n=40, d=4, wins=1e-4):
    """Rows in [0, 1], weights with max |w| = 1, and the pairs they win."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    w = rng.normal(size=d)
    w /= np.abs(w).max()
    order = rng.permutation(n)
    i, k = (side.ravel() for side in np.meshgrid(order[: n // 3], order[n // 3 :], indexing="ij"))
    pairs = np.column_stack([i, k])
    return X, pairs[(X[i] - X[k]) @ w >= wins], w


def widest(X, pairs, low, high):
    """The same linear program as one Program, all rows at once, solved by HiGHS's own adapter: the slow twin."""
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    made = program(
        "widest",
        np.r_[np.zeros(D.shape[1]), 1.0],
        np.column_stack([D, -np.ones(len(D))]),
        np.zeros(len(D)),
        np.full(len(D), INF),
        np.r_[low, -99.0],
        np.r_[high, 99.0],
        np.zeros(D.shape[1] + 1),
    )
    return highs.solve(made).objective


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), signed=st.booleans(), partial=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_smallest_margin_is_the_widest_there_is(seed, d, signed, partial):
    X, pairs, w = instance(seed, d=d)
    if not len(pairs):
        return
    signs = np.sign(w).astype(np.int8) if signed else None
    if partial:
        w = np.where(np.arange(d) % 2 == 0, w, 0.0)
        pairs = pairs[(X[pairs[:, 0]] - X[pairs[:, 1]]) @ w >= 1e-4]
        if not w.any() or not len(pairs):
            return
    v = polish(X, pairs, w, signs)
    free, sign = w != 0, np.zeros(d) if signs is None else signs
    low, high = np.where(free & (sign <= 0), -1.0, 0.0), np.where(free & (sign >= 0), 1.0, 0.0)
    assert ((v >= low) & (v <= high)).all() and np.abs(v).max() <= 1
    assert smallest_margin(X, pairs, v) >= smallest_margin(X, pairs, w)
    best = widest(X, pairs, low, high)
    # A margin below the solver's reach may be kept as it was.
    assert smallest_margin(X, pairs, v) == pytest.approx(best, abs=1e-7)


def test_what_a_mip_left_on_the_margin_is_moved_off_it():
    made, D = auc(14, 2)
    outcome = highs.solve(made)
    w = outcome.x[:2]
    won = np.flatnonzero(outcome.x[2:] > 0.5)
    # The rows of auc() are differences already: give each as a pair against a zero row.
    X, pairs = np.vstack([D, np.zeros(2)]), np.column_stack([won, np.full(won.size, len(D))])
    assert smallest_margin(X, pairs, w) < 1.2e-4
    v = polish(X, pairs, w)
    assert smallest_margin(X, pairs, v) > 2e-4 and np.abs(v).max() == 1.0
    assert np.count_nonzero(D @ v >= 1e-4) >= won.size


def test_twenty_thousand_pairs_in_well_under_a_second():
    X, pairs, w = instance(1, n=330, d=25, wins=-10.0)
    pairs = pairs[np.argsort((X[pairs[:, 1]] - X[pairs[:, 0]]) @ w)][:20_000]
    pairs = pairs[(X[pairs[:, 0]] - X[pairs[:, 1]]) @ w > 0]
    assert len(pairs) > 10_000
    began = time.perf_counter()
    v = polish(X, pairs, w)
    assert time.perf_counter() - began < 5.0
    assert smallest_margin(X, pairs, v) > smallest_margin(X, pairs, w)


def test_what_cannot_be_improved_comes_back_unchanged():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    best = np.array([1.0, 1.0])
    pairs = np.array([[1, 0], [2, 0]])
    assert np.array_equal(polish(X, pairs, best), best)
    assert np.array_equal(polish(X, np.empty((0, 2), int), [0.5, -1.0]), [0.5, -1.0])
    assert np.array_equal(polish(X, pairs, np.zeros(2)), np.zeros(2))
    # Two pairs that contradict each other: no weights win both, so nothing is touched.
    assert np.array_equal(polish(X, [[0, 1], [1, 0]], [0.3, -1.0]), [0.3, -1.0])


def test_an_off_support_weight_stays_zero_and_a_support_may_be_wider():
    X = np.array([[0.0, 0.0], [0.2, 1.0]])
    assert polish(X, [[1, 0]], [1.0, 0.0])[1] == 0.0
    assert np.array_equal(polish(X, [[1, 0]], [1.0, 0.0], support=[True, True]), [1.0, 1.0])


def test_the_epsilon_rule():
    """A margin is at least ten tolerances times the largest difference of two rows."""
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), [0, 1, 1]
    problem = problem_of(X, y, parse("dcg"))
    assert safe_epsilon(problem) == 1e-4 and safe_epsilon(problem, 2e-5) == 2e-5
    one = problem_of(X[:, :1], y, parse("dcg"))
    assert safe_epsilon(one, 1e-5) == 1e-5
    many = problem_of(np.repeat(X[:, :1], 50, axis=1), y, parse("dcg"))
    assert safe_epsilon(many) == pytest.approx(5e-4)
    refuses("use at least 0.0005", safe_epsilon, many, 1e-4)
    with pytest.raises(
        InputError, match="Margin 1e-07 is too close to the solver's feasibility tolerance 1e-06; use at least 1e-05"
    ):
        safe_epsilon(one, 1e-7)
    with pytest.raises(InputError, match="margin='auto' does the first; solver='search' has no tolerance"):
        Reranker("dcg", solver="highs", margin=1e-7, first_stage=None).fit(X, [1, 0, 1])
    for bad in (-1.0, np.nan, np.inf):
        refuses("margin is", Reranker("dcg", margin=bad, first_stage=None).fit, X, y)


@pytest.mark.parametrize("limits", [None, ([1, -0.3, 0], [1, 0.2, 0.5])])
@pytest.mark.parametrize("at_once", [1, 4_000_000])
def test_the_largest_difference_of_short_and_long_lists_is_that_of_all_pairs(limits, at_once, monkeypatch):
    monkeypatch.setattr(programs, "MOST_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    for sizes in ([2, 3, 3, 7, 7, 7], [70, 5, 90], [programs.SHORT, programs.SHORT + 1]):
        qid = np.repeat(np.arange(len(sizes)), sizes)
        grades = np.concatenate([np.arange(size) % 2 for size in sizes]).astype(float)
        problem = problem_of(rng.normal(size=(qid.size, 3)), grades, parse("dcg@5"), qid=qid)
        scale = np.ones(3)
        if limits is not None:
            problem = Problem.build(problem.X, problem.lists, limits=limits)
            scale = np.array([1, 0.3, 0.5])
        slow = max(
            float(np.abs(problem.scaled[i] - problem.scaled[k]) @ scale)
            for item in problem.lists
            for i in item.rows
            for k in item.rows
        )
        assert largest_difference(problem) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 0.6])
def test_pairs_that_the_margin_loses_by_any_weights_are_those_of_all_pairs(epsilon):
    rng = np.random.default_rng(1)
    for columns, sizes in ((1, [40]), (3, [30, 2, 50]), (2, [25, 25])):
        qid = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.normal(size=(qid.size, columns))
        X[1::5] = X[::5][: X[1::5].shape[0]] + rng.normal(size=X[1::5].shape) * rng.choice([0, 1e-5, 1e-2])
        problem = problem_of(X, np.arange(qid.size) % 3, parse("dcg@5"), qid=qid).with_epsilon(epsilon)
        slow = 0
        for item in problem.lists:
            for i, gain in zip(item.rows, item.gains):
                apart = np.abs(problem.scaled[i] - problem.scaled[item.rows]).sum(axis=1)
                slow += int(np.sum((item.gains < gain) & (apart > 0) & (apart < epsilon)))
        assert pairs_within_margin(problem) == slow


def test_near_pairs_are_not_compared_where_they_are_too_many(monkeypatch):
    problem = problem_of(np.linspace(0, 1, 20)[:, None], np.arange(20) % 2, parse("dcg@5")).with_epsilon(0.5)
    assert pairs_within_margin(problem) > 50
    monkeypatch.setattr(programs, "MOST_NEAR", 50)
    assert pairs_within_margin(problem) is None and notes_on_near_rows(problem) == ()


def test_a_fit_says_which_pairs_the_margin_loses_and_loses_them():
    """The best row is closer to a worse one than the margin: no weights reach the ideal value, and a note says why."""
    X, y = [[0.0], [0.3], [0.99999], [1.0]], [0, 0, 0, 1]
    for epsilon, expected in ((1e-4, 1), (1e-6, 0)):
        est = Reranker("wta", margin=epsilon, solver="search", first_stage=None).fit(X, y)
        result = est.result_
        assert [note for note in result.notes if note.startswith("1 pair(s) of rows with different gains")] == [
            note for note in result.notes if "closer than the margin" in note
        ]
        assert sum("closer than the margin" in note for note in result.notes) == expected
        assert (result.value, result.bound) == pytest.approx((1 - expected, 1 - expected), abs=1e-9)
        assert result.shortlist.n_conflicts == 0
    corrected = Reranker("wta", radius=0.1, margin=0.5, solver="search", node_limit=5, cross_fit=2)
    rng = np.random.default_rng(0)
    corrected.fit(rng.normal(size=(40, 2)), np.arange(40) % 2)
    assert not any("closer than the margin" in note for note in corrected.result_.notes)
