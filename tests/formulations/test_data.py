"""Units, lists and options: what is accepted, what is refused and in which words."""

import re
from functools import partial

import numpy as np
import pytest

from formulations import mixed, pairwise, resolved_rank, subrank
from formulations.data import Unit, graded_lists, units_from_labels
from formulations.errors import FormulationError, FormulationWarning
from formulations.options import Options
from formulations.pairwise import preferences_from_gains

X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
A = [1.0, 2.0, 3.0]


def unit(positive, negative, a=None, factor=1.0):
    a = np.arange(1.0, len(positive) + len(negative) + 1) if a is None else np.array(a)
    return Unit(np.array(positive, dtype=int), np.array(negative, dtype=int), a, factor)


def test_grades_are_thresholds_and_lists_share_the_weight():
    units = units_from_labels(np.zeros((6, 1)), [3, 1, 0, 0, 2, 0], lambda m: np.arange(m), qid=list("aaabbc"))
    assert [(u.positive.tolist(), u.negative.tolist(), u.factor) for u in units] == [
        ([0, 1], [2], 0.5), ([0], [1, 2], 1.0), ([4], [3], 1.0),
    ]  # fmt: skip
    # List c has no gain and takes no share; coefficients have each list's own length.
    assert [u.coefficients.size for u in units] == [3, 3, 2]


def test_units_of_one_list_are_gathered_whatever_their_order():
    low, high = unit([0, 2], [1], factor=2.0), unit([2], [0, 1], factor=3.0)
    for order in ([low, high], [high, low]):
        (item,) = graded_lists([*order, unit([1], [0, 2], factor=0.0)], 3)
        assert item.grade.tolist() == [1, 0, 2] and item.factor.tolist() == [2.0, 0.0, 5.0]
        assert [u.positive.size for u in item.units] == [1, 2] and item.relevant.tolist() == [0, 2]


def of_units(*units):
    return subrank.build(X, units=units)


def of_labels(*arguments):
    with pytest.raises(FormulationError) as caught:
        mixed.build(*arguments)
    with pytest.raises(FormulationError, match=re.escape(str(caught.value))):
        subrank.build(*arguments)
    raise caught.value


def of_options(**options):
    return subrank.build(X, [0, 1, 0], A, **options)


UNITS = [
    ([unit([0], [0, 1])], "names a row twice"),
    ([unit([0], [3])], "outside 0..2"),
    ([unit([0], [-1])], "outside 0..2"),
    ([unit([0], [1], [2.0, 1.0])], "non-decreasing"),
    ([unit([0], [1], [-1.0, 1.0])], "non-negative"),
    ([unit([0], [1], [1.0, np.inf])], "finite"),
    ([unit([0], [1], factor=-1.0)], "factor -1.0"),
    ([unit([0], [1], factor=np.nan)], "factor nan"),
    ([unit([0], [1], factor=0.0)], "nothing to rank"),
    ([unit([0], [1, 2]), unit([1], [0, 2])], "not nested"),
]
LABELS = [
    ((X, [0, -1, 1], A), "Row 1 has no finite, non-negative gain"),
    ((X, [0, np.nan, 1], A), "Row 1"),
    ((X, [0, 0, 0], A), "nothing to rank"),
    ((X[:, 0], [0, 1, 0], A), "X has shape (3,)"),
    ((X[:, :0], [0, 1, 0], A), "X has shape (3, 0)"),
    ((np.full((3, 2), np.inf), [0, 1, 0], A), "at row 0, column 0"),
]
OPTIONS = [
    ({"epsilon": 0.0}, "epsilon is 0.0"),
    ({"epsilon": np.nan}, "epsilon is nan"),
    ({"C": -1.0}, "C is -1.0"),
    ({"big_m": "unit", "epsilon": 1.0}, "must be below 1"),
    ({"max_features": 1.5}, "max_features is 1.5; give"),
    ({"max_nonzeros": np.nan}, "max_nonzeros is nan; give"),
    ({"signs": [1]}, "each of the 2 features"),
    ({"signs": [1, 2]}, "(-1, 0 or 1)"),
    ({"box": ([0.0], [1.0])}, "each of the 2 features"),
    ({"box": ([0.5, 0.0], [0.2, 1.0])}, "non-empty"),
    ({"box": ([-1.0, -1.0], [-0.5, 1.0]), "signs": [1, 0]}, "non-empty"),
]
PREFERENCES = [
    (np.zeros((3, 3)), "nothing to rank"),
    (-np.ones((3, 3)), "not negative"),
    (([[0, 3]], [1.0]), "outside 0..2"),
]
REFUSED = [
    *((partial(of_units, *units), words) for units, words in UNITS),
    *((partial(of_labels, *arguments), words) for arguments, words in LABELS),
    *((partial(of_options, **options), words) for options, words in OPTIONS),
    *((partial(pairwise.build, X, preferences), words) for preferences, words in PREFERENCES),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_makes_no_program_is_refused(build, words):
    with pytest.raises(FormulationError, match=re.escape(words)):
        build()


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="epsillon"):
        subrank.build(X, [0, 1, 0], A, epsillon=1e-3)


def test_preferences_from_grades():
    pairs, weights = preferences_from_gains([2, 0, 1, 5, 4], qid=[0, 0, 0, 1, 1])
    assert pairs.tolist() == [[0, 1], [0, 2], [2, 1], [3, 4]] and weights.tolist() == [1.0] * 4


def test_limits_are_the_box_cut_to_the_signs():
    lower, upper = Options(signs=[1, -1, 0], box=([-0.5, -0.5, -0.25], [0.5, 0.5, 1.0])).limits(3)
    assert (lower.tolist(), upper.tolist()) == ([0.0, -0.5, -0.25], [0.5, 0.0, 1.0])


def test_a_wide_margin_in_resolved_rank_warns(recwarn):
    resolved_rank.build(X, [0, 1, 0], A, epsilon=1e-3)
    assert not recwarn
    with pytest.warns(FormulationWarning, match=r"between 0 and epsilon = 0.05.*use at most 0.001"):
        resolved_rank.build(X, [0, 1, 0], A, epsilon=0.05)
