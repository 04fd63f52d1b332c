"""Lemma 2: weights that break every tie and keep every strict order of scores rounded as fits round them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.perturb import duplicates, perturb_weights

STEP = Fraction(1, 2**40)


def rounded_scores(w, X) -> list[int]:
    """Scores in steps of 2^-40, of exact sums: a second way to the package's rule."""
    return [round(sum((Fraction(v) * Fraction(x) for v, x in zip(w, row)), Fraction(0)) / STEP) for row in X]


def assert_lemma_2(w, X, moved) -> None:
    X = np.asarray(X, float).tolist()
    old, new = rounded_scores(w, X), rounded_scores(moved, X)
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


def test_scores_that_rounding_tells_apart_are_tied():
    X, w = [[0.1, 0.7], [0.2, 0.6], [0.3, 0.5], [0.8, 0.1]], [1.0, 1.0]
    assert len(set(rounded_scores(w, X))) == 2 and len({a + b for a, b in X}) > 2
    assert_lemma_2(w, X, perturb_weights(w, X, 0))


@pytest.mark.parametrize("denominator", [1, 4, 3, 10])
@pytest.mark.parametrize("seed", range(8))
def test_tables_with_ties_by_the_rule_of_a_fit(denominator, seed):
    rng = np.random.default_rng([denominator, seed])
    X = rng.integers(0, denominator + 3, (12, 3)) / denominator
    w = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 3) if denominator < 10 else rng.integers(-10, 11, 3) / 10
    if not w.any():
        w[0] = 1.0
    equal = duplicates(X, np.flatnonzero(w))
    if equal:
        with pytest.raises(InputError, match=f"Rows {equal[0][0]} and {equal[0][1]} are equal on the"):
            perturb_weights(w, X, seed)
        X = np.unique(X[:, w != 0], axis=0)  # the advice: merge them
        w = w[w != 0]
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
    ("w", "sentence"), [([1.0], "2 finite numbers"), ([math.nan, 1.0], "2 finite numbers")]
)
def test_weights_the_lemma_does_not_cover_are_refused(w, sentence):
    with pytest.raises(InputError, match=sentence):
        perturb_weights(w, [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])


def test_ties_that_no_weights_nearby_can_break_are_reported():
    # Rows 0 and 1 are tied; row 2 is above row 1 by one step, and below it whenever row 1 rises against row 0.
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 2.0**-50]])
    with pytest.raises(InputError, match="Rows 1 and 2|Rows 0 and 1") as told:
        perturb_weights([1.0, 1.0, 1.0], X, 0)
    assert "merge rows that differ by rounding only" in str(told.value)
    assert_lemma_2([1.0, 1.0, 1.0], X[:2], perturb_weights([1.0, 1.0, 1.0], X[:2], 0))


@pytest.mark.parametrize("seed", range(10))
def test_a_step_longer_than_the_lemma_allows_is_taken_only_if_it_keeps_every_order(seed):
    # The lemma's step, below 2^-40, is lost in rounding; a longer one must not make the first weight the larger.
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 2.0**-39]])
    w = np.ones(3)
    assert_lemma_2(w, X, perturb_weights(w, X, seed))
