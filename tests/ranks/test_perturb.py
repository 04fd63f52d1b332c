"""Equal rows, Lemma 2 and Theorem 4.2: found, merged and moved apart; weights that break ties; counterexamples."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.perturb import duplicates, merge_duplicates, perturb_rows, perturb_weights, theorem_applies
from rerank.ranks import resolved_ranks, subranks
from rerank.ranks.positions import snap
from rerank.statistics import parse
from tests.cases.examples import examples
from tests.cases.refuses import refuses

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


@examples(
    150,
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=8),
    st.tuples(weights, weights, weights),
    st.integers(0, 5),
    st.sampled_from([1, 4, 3, 10]),
)
def test_lemma_2_or_the_rows_that_forbid_it(rows, w, seed, denominator):
    X, w = np.array(rows, float) / denominator, np.array(w) * (0.7 if denominator == 10 else 1)
    support = np.flatnonzero(w)
    assume(support.size)
    equal = duplicates(X, support)
    if equal:
        refuses(f"Rows {equal[0][0]} and {equal[0][1]} are equal on the", perturb_weights, w, X, seed)
        return
    assert_lemma_2(w, X, perturb_weights(w, X, seed))


def test_scores_that_rounding_tells_apart_are_tied():
    X, w = [[0.1, 0.7], [0.2, 0.6], [0.3, 0.5], [0.8, 0.1]], [1.0, 1.0]
    assert len(set(rounded_scores(w, X))) == 2 and len({a + b for a, b in X}) > 2
    assert_lemma_2(w, X, perturb_weights(w, X, 0))


def test_the_step_is_that_of_the_lemma():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    w = np.array([0.5, 0.5])  # margin 3/2, X_max 2, nu 1/2: eta = 1.5 / (4 sqrt 2) = 0.265
    for seed in range(20):
        step = np.linalg.norm(perturb_weights(w, X, seed) - w)
        assert 0.25 * 0.265 < step < 0.75 * 0.2652


def test_weights_without_a_tie_come_back_as_they_are():
    w = [1.0, 0.25]
    assert perturb_weights(w, [[0.0, 0.0], [1.0, 3.0]]).tolist() == w


def test_a_seed_repeats():
    X, w = [[0.0, 1.0], [1.0, 0.0]], [1.0, 1.0]
    assert perturb_weights(w, X, 4).tolist() == perturb_weights(w, X, 4).tolist()
    assert perturb_weights(w, X, 4).tolist() != perturb_weights(w, X, 5).tolist()
    assert_lemma_2(w, X, perturb_weights(w, X, np.random.RandomState(1)))


@pytest.mark.parametrize("w", [[1.0], [math.nan, 1.0]])
def test_weights_the_lemma_does_not_cover_are_refused(w):
    refuses("2 finite numbers", perturb_weights, w, [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])


def test_ties_that_no_weights_nearby_can_break_are_reported():
    # Rows 0 and 1 are tied; row 2 is above row 1 by one step, and below it whenever row 1 rises against row 0.
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 2.0**-50]])
    with pytest.raises(InputError, match="Rows 1 and 2|Rows 0 and 1") as told:
        perturb_weights([1.0, 1.0, 1.0], X, 0)
    assert "merge rows that differ by rounding only" in str(told.value)
    assert_lemma_2([1.0, 1.0, 1.0], X[:2], perturb_weights([1.0, 1.0, 1.0], X[:2], 0))


@pytest.mark.parametrize("seed", range(4))
def test_a_step_longer_than_the_lemma_allows_is_taken_only_if_it_keeps_every_order(seed):
    # The lemma's step, below 2^-40, is lost in rounding; a longer one must not make the first weight the larger.
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 2.0**-39]])
    w = np.ones(3)
    assert_lemma_2(w, X, perturb_weights(w, X, seed))


def test_duplicates_by_hand():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, -0.0], [0.0, 1.0]])
    assert [group.tolist() for group in duplicates(X)] == [[0, 3]]
    assert [group.tolist() for group in duplicates(X, [0])] == [[0, 1, 3], [2, 4]]
    assert [group.tolist() for group in duplicates(X, [False, True])] == [[0, 2, 3], [1, 4]]
    assert [group.tolist() for group in duplicates(X, [])] == [[0, 1, 2, 3, 4]]
    assert [group.tolist() for group in duplicates(X, [0], qid=[1, 2, 1, 2, 1])] == [[1, 3], [2, 4]]
    assert duplicates(X[:1]) == []
    assert [group.tolist() for group in duplicates([[1.0], [0.0], [0.0], [1.0]])] == [[0, 3], [1, 2]]


@examples(80, st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=9), st.sets(st.integers(0, 2)))
def test_duplicates_against_a_double_loop(rows, support):
    chosen = [tuple(row[j] for j in sorted(support)) for row in rows]
    expected = {tuple(k for k, other in enumerate(chosen) if other == row) for row in chosen}
    found = duplicates(np.array(rows, float), sorted(support))
    assert [tuple(group) for group in found] == sorted(group for group in expected if len(group) > 1)


groups_of_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=3, max_size=9)


@examples(80, groups_of_rows, st.sampled_from([1e-4, 0.01, 0.1]), st.integers(0, 3))
def test_moved_rows_are_a_margin_apart_in_every_column(rows, epsilon, seed):
    X = np.array(rows, float) * [3.0, 100.0]
    equal = duplicates(X)
    assume(equal and np.ptp(X, axis=0).any() and max(map(len, equal)) * epsilon < 0.9)
    moved = perturb_rows(X, None, epsilon, random_state=seed)
    twins = {int(i) for group in equal for i in group}
    assert all(np.array_equal(moved[i], X[i]) for i in range(len(X)) if i not in twins)
    assert not duplicates(moved)
    assert np.all(moved.min(axis=0) >= X.min(axis=0)) and np.all(moved.max(axis=0) <= X.max(axis=0))
    for j in np.flatnonzero(np.ptp(X, axis=0)):
        span = Fraction(moved[:, j].max()) - Fraction(moved[:, j].min())
        for group in equal:
            for i in group:
                for k in group:
                    gap = abs(Fraction(moved[i, j]) - Fraction(moved[k, j]))
                    assert i == k or gap >= Fraction(epsilon) * span


def test_a_larger_size_spreads_wider():
    X = np.array([[0.0], [5.0], [5.0], [10.0]])
    assert np.ptp(perturb_rows(X, 0.2, 0.01)[1:3]) == pytest.approx(4.0)
    assert np.ptp(perturb_rows(X, None, 0.01)[1:3]) == pytest.approx(0.1)


def test_moves_that_would_do_harm_are_refused():
    X = np.array([[0.0], [1.0], [1.0], [1.0]])
    refuses(r"3 equal rows need at least 0\.01", perturb_rows, X, 0.009, 0.01)
    refuses("at most 0.5", perturb_rows, X, 0.6, 0.01)
    refuses("need at least 0.6", perturb_rows, X, None, 0.6)
    refuses("All rows are equal", perturb_rows, np.ones((2, 2)))
    refuses("epsilon is 0", perturb_rows, X, None, 0.0)
    refuses("rounded to 2.-40 .* give 2e-12 or more", perturb_rows, X, None, 1e-12)
    scores = snap(perturb_rows(X, None, 2e-12)[:, 0])  # the advice; the range is 1
    assert np.unique(scores).size == 4
    refuses("not a margin apart in double precision", perturb_rows, 4 * X + 1e16, None, 1e-4)


def test_moved_rows_do_not_fall_on_others():
    X = np.array([[0.0], [5.0], [5.0], [10.0]])
    taken = perturb_rows(X, None, 0.01)[1:2]
    refuses("larger size", perturb_rows, np.vstack([X, taken]), None, 0.01)
    assert not duplicates(perturb_rows(np.vstack([X, taken]), 0.02, 0.01))


def test_rows_of_different_lists_and_rows_without_a_twin_stay():
    X = np.array([[0.0], [1.0], [1.0]])
    assert perturb_rows(X, qid=[1, 1, 2]).tolist() == X.tolist()
    assert perturb_rows(X[:2]).tolist() == X[:2].tolist()


def test_merging_keeps_conflicts():
    X = np.array([[1.0], [2.0], [1.0], [2.0], [3.0], [1.0]])
    merged = merge_duplicates(X, [1, 0, 1, 1, 0, 1])
    assert merged.rows.tolist() == [0, 1, 3, 4] and merged.counts.tolist() == [3, 1, 1, 1]
    assert [group.tolist() for group in merged.conflicts] == [[1, 3]]
    assert "2 rows merged" in str(merged) and "rows 1, 3 are one" in str(merged)
    by_list = merge_duplicates(X, [1, 0, 1, 1, 0, 1], qid=[1, 1, 1, 2, 2, 2])
    assert by_list.counts.tolist() == [2, 1, 1, 1, 1] and by_list.conflicts == []
    refuses("one per row", merge_duplicates, X, [1, 0])


def directions(X: np.ndarray) -> Iterator[np.ndarray]:
    """Integer weights that realise every order of integer points of the plane: each critical direction and one
    direction between any two neighbours, the axes and w = 0.
    """
    critical = {(1, 0), (0, 1), (-1, 0), (0, -1)}
    for a in X.astype(int):
        for b in X.astype(int):
            if (a != b).any():
                x, y = (int(v) for v in a - b)
                g = math.gcd(x, y)
                critical |= {(-y // g, x // g), (y // g, -x // g)}
    around = sorted(critical, key=lambda v: math.atan2(v[1], v[0]))
    between = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(around, around[1:] + around[:1])]
    yield np.zeros(2, int)
    for v in around + between:
        yield np.array(v)


def optima(X, y, a, C=0.0, max_features=2):
    """Largest objective under each rule for ranks, and the weights that reach the largest under Subrank."""
    positive, rows = np.array(y, bool), np.asarray(X)
    values = []
    for w in directions(rows):
        used = int(np.count_nonzero(w))
        if used <= max_features:
            scores = rows.astype(int) @ w
            price = Fraction(C) * used
            by_rule = [
                sum((Fraction(v) for v in a[ranks][positive]), Fraction(0)) - price
                for ranks in (subranks(scores), resolved_ranks(scores, y))
            ]
            values.append((*by_rule, tuple(w)))
    best_sub, best_resolved = max(v[0] for v in values), max(v[1] for v in values)
    keeps = all(resolved == best_resolved for sub, resolved, _ in values if sub == best_sub)
    return best_sub, best_resolved, keeps


FOUR_POINTS = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
FOUR_LABELS = [1, 1, 0, 0]
A = parse("auc").coefficients(4)


@pytest.mark.parametrize(
    ("limits", "found", "said"),
    [
        ({}, (7, 7, True), "any feature may be used"),
        ({"C": 0.125}, (6.75, 6.875, False), "Rows 0 and 1 agree in column 0 and, with C = 0.125,"),
        ({"max_features": 1}, (6, 7, True), "with at most 1 features"),
    ],
)
def test_four_points_obey_the_theorem_but_for_a_price_or_a_limit_on_the_support(limits, found, said):
    verdict = theorem_applies(FOUR_POINTS, **limits)
    assert bool(verdict) is (not limits) and said in str(verdict)
    assert optima(FOUR_POINTS, FOUR_LABELS, A, **limits) == found


def test_equal_rows_are_named_and_columns_without_a_repeated_value_are_enough():
    verdict = theorem_applies([[1, 2], [3, 4], [1, 2]])
    assert not verdict and verdict.rows == (0, 2) and "Rows 0 and 2 are equal" in verdict.reason
    assert theorem_applies([[1, 2], [3, 4], [1, 2]], qid=[1, 1, 2])
    verdict = theorem_applies([[0, 3], [1, 1], [2, 0], [3, 2]], max_features=1)
    assert verdict and "whatever the support" in verdict.reason


def test_zero_weights_refute_it_with_a_price_though_all_columns_are_distinct():
    # One feature, positives outside the negatives: either direction earns 1 + 4 = 5, no direction 1 + 2 = 3 under
    # ResolvedRank but only 1 + 1 = 2 under Subrank, which therefore buys the feature at a price of 2.5.
    X, y, C = np.array([[0, 0], [3, 3], [1, 1], [2, 2]]), [1, 1, 0, 0], 2.5
    assert optima(X, y, A, C=C, max_features=1) == (2.5, 3, False)
    assert not theorem_applies(X[:, :1], C=C) and "w = 0" in theorem_applies(X[:, :1], C=C).reason
    for known in ({"coefficients": A}, {"y": y}):  # both are needed
        assert "may be w = 0" in theorem_applies(X[:, :1], C=C, **known).reason
    verdict = theorem_applies(X[:, :1], C=C, coefficients=A, y=y)
    assert not verdict and "no single feature beats w = 0" in str(verdict)
    assert theorem_applies(X[:, :1], C=1.0, coefficients=A, y=y)
    # The best column at a price of 3 is worth what w = 0 is, which is then a maximiser, too.
    tie = {"coefficients": [1.0, 2.0, 4.0], "y": [0, 1, 1]}
    assert not theorem_applies([[0], [1], [2]], C=3.0, **tie)
    assert theorem_applies([[0], [1], [2]], C=2.9, **tie)
    # A tie of all earns nothing under either rule when only the top place counts.
    assert theorem_applies(X[:, :1], C=C, coefficients=parse("wta").coefficients(4), y=y)


def test_a_limit_that_does_not_bind_is_no_limit():
    assert theorem_applies(FOUR_POINTS, max_features=2)
    refuses("penalty C", theorem_applies, FOUR_POINTS, C=-1)
    for known in ({"coefficients": [0, 1, 2], "y": [1, 0, 0]}, {"coefficients": [1, 2, 3], "y": [1, 0, 0, 1]}):
        refuses("4 rows need as many coefficients and labels", theorem_applies, [[0], [1], [2], [3]], C=1.0, **known)


points = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=6)


@examples(
    150,
    points,
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.sampled_from(["auc", "dcg", "wta", "mrr", "precision@2"]),
    st.sampled_from([0.0, 0.0, 0.125, 1.0]),
    st.sampled_from([1, 2]),
)
def test_where_it_applies_the_theorem_holds(rows, labels, name, C, max_features):
    X, y = np.array(rows), labels[: len(rows)]
    assume(any(y) and not all(y))
    a = parse(name).coefficients(len(rows))
    sub, resolved, keeps = optima(X, y, a, C, max_features)
    assert sub <= resolved
    if theorem_applies(X, C, max_features, coefficients=a, y=y):
        assert keeps and sub == resolved


def test_a_feature_that_pays_with_a_negative_weight_rules_out_zero_weights():
    labels = [1, 1, 0, 0]
    assert theorem_applies([[0], [1], [2], [3]], C=1.0, coefficients=A, y=labels)
    assert theorem_applies([[3], [2], [1], [0]], C=1.0, coefficients=A, y=labels)
    assert not theorem_applies([[0], [3], [1], [2]], C=3.0, coefficients=A, y=labels)
