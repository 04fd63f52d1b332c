"""Theorem 4.2 and its counterexamples, by exact enumeration in the plane."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.perturb import theorem_applies
from rerank.ranks import resolved_ranks, subranks
from rerank.statistics import parse


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


def test_four_points_without_a_price_obey_the_theorem():
    assert theorem_applies(FOUR_POINTS)
    assert optima(FOUR_POINTS, FOUR_LABELS, A) == (7, 7, True)


def test_four_points_with_a_price_refute_the_published_theorem():
    C = 0.125
    verdict = theorem_applies(FOUR_POINTS, C=C)
    assert not verdict and verdict.rows == (0, 1) and "agree in column 0 and, with C = 0.125," in str(verdict)
    assert optima(FOUR_POINTS, FOUR_LABELS, A, C=C) == (7 - 2 * C, 7 - C, False)


def test_four_points_with_a_support_limit_refute_it_too():
    verdict = theorem_applies(FOUR_POINTS, max_features=1)
    assert not verdict and "at most 1 features" in str(verdict)
    assert optima(FOUR_POINTS, FOUR_LABELS, A, max_features=1)[:2] == (6, 7)


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


def test_equal_rows_are_named():
    verdict = theorem_applies([[1, 2], [3, 4], [1, 2]])
    assert not verdict and verdict.rows == (0, 2) and "Rows 0 and 2 are equal" in verdict.reason
    assert theorem_applies([[1, 2], [3, 4], [1, 2]], qid=[1, 1, 2])


def test_a_limit_that_does_not_bind_is_no_limit():
    assert theorem_applies(FOUR_POINTS, max_features=2)
    with pytest.raises(InputError, match="penalty C"):
        theorem_applies(FOUR_POINTS, C=-1)
    with pytest.raises(InputError, match="4 rows need as many coefficients and labels; got 3 and 3"):
        theorem_applies([[0], [1], [2], [3]], C=1.0, coefficients=[0, 1, 2], y=[1, 0, 0])
    with pytest.raises(InputError, match="as many coefficients and labels"):
        theorem_applies([[1], [2]], C=1, coefficients=[1, 2, 3], y=[1, 0])


points = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=6)


@settings(deadline=None, max_examples=150)
@given(
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


def test_columns_without_a_repeated_value_need_no_more_than_that():
    verdict = theorem_applies([[0, 3], [1, 1], [2, 0], [3, 2]], max_features=1)
    assert verdict and "whatever the support" in verdict.reason


def test_a_feature_that_pays_with_a_negative_weight_rules_out_zero_weights():
    labels = [1, 1, 0, 0]
    assert theorem_applies([[0], [1], [2], [3]], C=1.0, coefficients=A, y=labels)
    assert theorem_applies([[3], [2], [1], [0]], C=1.0, coefficients=A, y=labels)
    assert not theorem_applies([[0], [3], [1], [2]], C=3.0, coefficients=A, y=labels)
