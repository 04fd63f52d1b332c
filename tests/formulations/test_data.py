"""Units, lists, options and sizes: what is accepted, bounded before it is built, or refused and in which words."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st

from formulations import auc, mixed, pairwise, resolved_rank, subrank
from formulations.compile import LONGEST_NAME, compile_model
from formulations.data import Unit, graded_lists, units_from_labels
from formulations.errors import FormulationError, ModelTooLarge
from formulations.options import BuilderOptions
from formulations.pairwise import preferences_from_gains
from tests.cases.examples import examples
from tests.cases.programs import PROGRAMS, coefficients, draw

X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
A = [1.0, 2.0, 3.0]


def unit(positive, negative, a=None, factor=1.0):
    a = np.arange(1.0, len(positive) + len(negative) + 1) if a is None else np.array(a)
    return Unit(np.array(positive, dtype=int), np.array(negative, dtype=int), a, factor)


def test_grades_are_thresholds_and_lists_share_the_weight():
    units = units_from_labels(np.zeros((6, 1)), [3, 1, 0, 0, 2, 0], lambda m: np.arange(m), qid=list("aaabbc"))
    assert [(u.positive.tolist(), u.negative.tolist(), u.factor) for u in units] == [
        ([0, 1], [2], 0.5),
        ([0], [1, 2], 1.0),
        ([4], [3], 1.0),
    ]
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
    lower, upper = BuilderOptions(signs=[1, -1, 0], box=([-0.5, -0.5, -0.25], [0.5, 0.5, 1.0])).limits(3)
    assert (lower.tolist(), upper.tolist()) == ([0.0, -0.5, -0.25], [0.5, 0.0, 1.0])


pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


def bound_and_number(case, name):
    """Upper bound on the non-zeros, known before building, and their true number."""
    bound = PROGRAMS[name][0].most_nonzeros(case.X, units=case.units, **case.options)
    return bound, compile_model(case.build(name)).matrix.nnz


@examples(40, st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(3, 12))
def test_no_model_has_more_non_zeros_than_the_bound(seed, d, n):
    case = draw(seed, d=d, n=n)
    for name in case.names:
        bound, number = bound_and_number(case, name)
        assert number <= bound, name


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_near_the_true_number(seed):
    case = draw(seed, d=4, n=16, plain=True)
    for name in case.names:
        bound, number = bound_and_number(case, name)
        assert number <= bound <= 2 * number, name


@examples(25, st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 0.1]), st.sampled_from([1, None]))
def test_no_model_of_preferences_has_more_non_zeros_than_the_bound(seed, extra_cuts, C, max_features):
    rng = np.random.default_rng(seed)
    X, table = rng.integers(0, 5, (7, 3)) / 4, rng.integers(0, 3, (7, 7)) + np.eye(7, k=1)
    np.fill_diagonal(table, 0)
    options = {"extra_cuts": extra_cuts, "C": C, "max_features": max_features}
    number = compile_model(pairwise.build(X, table, **options)).matrix.nnz
    assert number <= pairwise.most_nonzeros(X, table, **options) <= 3 * number


@pytest.mark.parametrize("seed", range(20))
def test_names_are_short_and_unique(seed):
    case = draw(seed)
    for name in case.names:
        program = compile_model(case.build(name))
        for names in (program.columns, program.rows):
            assert len(set(names)) == len(names) and all(len(one) <= LONGEST_NAME and one.isascii() for one in names)
        assert [program.columns[j] for j in program.weights] == [f"w{j}" for j in range(case.X.shape[1])]


@pytest.mark.parametrize("builder", [subrank, resolved_rank, mixed, auc])
def test_a_model_beyond_the_limit_is_refused_before_it_is_built(builder, monkeypatch):
    X, y = np.random.default_rng(0).random((60, 4)), np.arange(60) % 2
    most = builder.most_nonzeros(X, y, coefficients("auc", 60))
    builder.build(X, y, coefficients("auc", 60), max_nonzeros=most)

    def never(*_):
        raise AssertionError("built although too large")

    monkeypatch.setattr(builder.pyo, "ConcreteModel", never)
    with pytest.raises(ModelTooLarge) as caught:
        builder.build(X, y, coefficients("auc", 60), max_nonzeros=most - 1)
    assert f"{most:,} non-zeros" in str(caught.value) and "fewer candidates" in str(caught.value)


def test_pairs_beyond_the_limit_are_refused_before_they_are_listed():
    X, y = np.zeros((100_000, 1)), np.arange(100_000) % 2
    for builder in (subrank, resolved_rank, mixed, auc):
        with pytest.raises(ModelTooLarge, match="pairs, above the limit of 5,000,000"):
            builder.most_nonzeros(X, y, lambda m: np.arange(1.0, m + 1))


def test_counts_are_written_once():
    """With every win written at every level there would be about one non-zero for each pair and level."""
    n, positive = 80, 25
    X, y = np.random.default_rng(0).random((n, 3)), (np.arange(n) < positive).astype(float)
    for linking in ("ordered", "paper"):
        program = compile_model(subrank.build(X, y, coefficients("auc", n), linking=linking))
        assert program.matrix.nnz < positive * (n - 1) * (n - 1) / 8


@pytest.mark.parametrize("name", ["subrank", "mixed", "auc", "resolved_rank"])
def test_a_narrow_box_leaves_less_to_build(name):
    X, y = draw(7, d=2, n=7, plain=True).X, [1, 0, 1, 0, 0, 1, 0]
    box = np.array([0.9, 0.2]), np.array([1.0, 0.3])
    builder = PROGRAMS[name][0]
    options = [{"box": limits} for limits in (None, box)]
    wide, narrow = (builder.most_nonzeros(X, y, coefficients("auc", 7), **one) for one in options)
    assert narrow < wide / 2
    wide, narrow = (compile_model(builder.build(X, y, coefficients("auc", 7), **one)) for one in options)
    assert narrow.matrix.nnz < wide.matrix.nnz / 2


def test_mixed_asks_only_about_what_can_pay():
    # Only the top 3 of 12 places pay, so who loses to 3 or more needs no variable.
    rng = np.random.default_rng(0)
    model = mixed.build(rng.random((12, 2)), np.arange(12) < 4, coefficients("dcg@3", 12))
    assert {q for _, _, q in model.b} == {0, 1, 2}
    assert {(j, p) for _, j, p in model.y} == {(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)}


def test_pairwise_counts_repeated_pairs_once():
    X = np.random.default_rng(0).random((4, 2))
    given_ = ([[0, 1], [0, 1], [2, 3]], [1.0, 2.0, 1.0]), ([[0, 1], [2, 3]], [3.0, 1.0])
    assert len({pairwise.most_nonzeros(X, one) for one in given_}) == 1
    repeated, once = (compile_model(pairwise.build(X, one)) for one in given_)
    assert (repeated.rows, repeated.columns) == (once.rows, once.columns)
    assert repeated.cost.tolist() == once.cost.tolist()


@pytest.mark.parametrize("builder", [subrank, mixed])
def test_rows_that_cannot_reach_a_paying_place_ask_about_nobody(builder):
    # In this box row 0 always loses to row 2, so it cannot be on top; row 1 may, if it beats rows 0, 2 and 3.
    X, y = [[0.0, 0.0], [1.0, 0.2], [0.5, 0.5], [0.4, -0.9]], [1, 1, 0, 0]
    model = builder.build(X, y, coefficients("wta", 4), box=([-1.0, 0.9], [1.0, 1.0]), signs=[1, 0])
    assert {i for i, _ in model.z} == {1}
