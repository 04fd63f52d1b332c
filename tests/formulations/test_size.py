"""Sizes bounded before building, the refusal of large models, and names short enough for any file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import auc, mixed, pairwise, resolved_rank, subrank
from formulations.compile import LONGEST_NAME, compile_model
from formulations.errors import ModelTooLarge
from tests.cases.programs import PROGRAMS, coefficients, draw

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


def bound_and_number(case, name):
    """Upper bound on the non-zeros, known before building, and their true number."""
    bound = PROGRAMS[name][0].most_nonzeros(case.X, units=case.units, **case.options)
    return bound, compile_model(case.build(name)).matrix.nnz


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(3, 12))
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


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 0.1]), st.sampled_from([1, None]))
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
