"""Lemma 2: weights that break every tie and keep every strict order, in exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.perturb import duplicates, perturb_weights


def exact_scores(w, X) -> list[Fraction]:
    return [
        sum((Fraction(v) * Fraction(x) for v, x in zip(w, row)), Fraction(0)) for row in np.asarray(X, float)
    ]


def assert_lemma_2(w, X, moved) -> None:
    old, new = exact_scores(w, X), exact_scores(moved, X)
    assert len(set(new)) == len(new)
    for i in range(len(old)):
        for k in range(len(old)):
            assert old[i] <= old[k] or new[i] > new[k]
    assert np.array_equal(np.sign(w), np.sign(moved)) and np.abs(moved).max() <= 1
    if np.abs(w).max() == 1:
        assert np.abs(moved).max() == 1


weights = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=8),
    st.tuples(weights, weights, weights),
    st.integers(0, 5),
)
def test_lemma_2_or_the_rows_that_forbid_it(rows, w, seed):
    X = np.array(rows, float)
    support = np.flatnonzero(w)
    assume(support.size)
    equal = duplicates(X, support)
    if equal:
        with pytest.raises(InputError, match=f"Rows {equal[0][0]} and {equal[0][1]} are equal on the"):
            perturb_weights(w, X, seed)
        return
    assert_lemma_2(np.array(w), X, perturb_weights(w, X, seed))


@pytest.mark.parametrize("seed", range(60))
def test_lemma_2_on_rows_that_differ_by_1e_12(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((5, 3))
    X = np.vstack([X, X + rng.choice([-1e-12, 1e-12, 2e-12], X.shape)])
    w = rng.choice([-1.0, -0.5, 0.5, 1.0], 3)
    X[0] = X[5] - np.array([1e-12, 0, 0])
    X[1] = [0.5, 0.5, 0.25]
    X[6] = X[1] + np.array([w[1], -w[0], 0.0]) * 2**-40  # an exact tie of rows that differ by about 1e-12
    scores = exact_scores(w, X)
    assert scores[1] == scores[6]
    assert_lemma_2(w, X, perturb_weights(w, X, seed))


def test_the_step_is_that_of_the_lemma():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    w = np.array([0.5, 0.5])  # margin 3/2, X_max 2, nu 1/2: eta = 1.5 / (4 sqrt 2) = 0.265
    for seed in range(20):
        step = np.linalg.norm(perturb_weights(w, X, seed) - w)
        assert 0.25 * 0.265 < step < 0.75 * 0.2652


def test_weights_without_a_tie_come_back_as_they_are():
    w = [1.0, 0.25]
    assert perturb_weights(w, [[0.0, 0.0], [1.0, 3.0]]).tolist() == w


def test_all_scores_tied_uses_the_smallest_weight_alone():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    moved = perturb_weights([1.0, 1.0], X, 0)
    assert_lemma_2([1.0, 1.0], X, moved)


def test_a_seed_repeats():
    X, w = [[0.0, 1.0], [1.0, 0.0]], [1.0, 1.0]
    assert perturb_weights(w, X, 4).tolist() == perturb_weights(w, X, 4).tolist()
    assert perturb_weights(w, X, 4).tolist() != perturb_weights(w, X, 5).tolist()
    assert_lemma_2(w, X, perturb_weights(w, X, np.random.RandomState(1)))


@pytest.mark.parametrize(
    ("w", "sentence"),
    [
        ([0.0, 0.0], "All weights are 0"),
        ([1.5, 0.0], "larger than 1"),
        ([1.0], "2 finite numbers"),
        ([math.nan, 1.0], "2 finite numbers"),
        ([1.0, 0.0], "Rows 0 and 1 are equal on the 1 features"),
    ],
)
def test_weights_the_lemma_does_not_cover_are_refused(w, sentence):
    with pytest.raises(InputError, match=sentence):
        perturb_weights(w, [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])


def test_ties_that_no_double_can_break_are_reported():
    # Rows 0 and 1 tie; rows 2 and 3 stay above them only while the first two weights differ by less than 2^-1060.
    tiny = 2.0**-1060
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, tiny], [1.0, 0.0, tiny]])
    with pytest.raises(InputError, match="in double precision"):
        perturb_weights([1.0, 1.0, 1.0], X, 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_step_longer_than_the_lemma_allows_is_taken_only_if_it_keeps_every_order(seed):
    # The lemma's step, below 2^-56, is lost in rounding; a longer one must make the second weight the larger.
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 2.0**-54]])
    w = np.ones(3)
    moved = perturb_weights(w, X, seed)
    assert_lemma_2(w, X, moved)
    assert moved[1] > moved[0]
