"""Sizes counted before building, the refusal of large models, and names short enough for any file."""

import numpy as np
import pytest

from formulations import auc, mixed, pairwise, resolved_rank, subrank
from formulations.compile import LONGEST_NAME, compile_model
from formulations.errors import ModelTooLarge
from tests.cases.programs import PROGRAMS, coefficients, draw

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


@pytest.mark.parametrize("seed", range(40))
def test_the_counted_size_is_the_built_size(seed):
    case = draw(seed)
    for name in case.names:
        program = compile_model(case.build(name))
        size = PROGRAMS[name][0].size(case.X, units=case.units, **case.options)
        assert (size.rows, size.columns, size.nonzeros) == (*program.matrix.shape, program.matrix.nnz), name


@pytest.mark.parametrize("seed", range(40))
def test_names_are_short_and_unique(seed):
    case = draw(seed)
    for name in case.names:
        program = compile_model(case.build(name))
        for names in (program.columns, program.rows):
            assert len(set(names)) == len(names) and all(
                len(one) <= LONGEST_NAME and one.isascii() for one in names
            )
        assert [program.columns[j] for j in program.weights] == [f"w{j}" for j in range(case.X.shape[1])]


@pytest.mark.parametrize("builder", [subrank, resolved_rank, mixed, auc])
def test_a_model_beyond_the_limit_is_refused_before_it_is_built(builder, monkeypatch):
    X, y = np.random.default_rng(0).random((60, 4)), np.arange(60) % 2
    size = builder.size(X, y, coefficients("auc", 60))
    builder.build(X, y, coefficients("auc", 60), max_nonzeros=size.nonzeros)

    def never(*_):
        raise AssertionError("built although too large")

    monkeypatch.setattr(builder.pyo, "ConcreteModel", never)
    with pytest.raises(ModelTooLarge) as caught:
        builder.build(X, y, coefficients("auc", 60), max_nonzeros=size.nonzeros - 1)
    assert f"{size.nonzeros:,} non-zeros" in str(caught.value) and "fewer candidates" in str(caught.value)


def test_pairs_beyond_the_limit_are_refused_before_they_are_listed():
    X, y = np.zeros((100_000, 1)), np.arange(100_000) % 2
    for builder in (subrank, resolved_rank, mixed, auc):
        with pytest.raises(ModelTooLarge, match="pairs, above the limit of 5,000,000"):
            builder.size(X, y, lambda m: np.arange(1.0, m + 1))


def test_counts_are_written_once():
    """With every win written at every level there would be about one non-zero for each pair and level."""
    n, positive = 80, 25
    X, y = np.random.default_rng(0).random((n, 3)), (np.arange(n) < positive).astype(float)
    for linking in ("ordered", "paper"):
        size = subrank.size(X, y, coefficients("auc", n), linking=linking)
        assert size.nonzeros < positive * (n - 1) * (n - 1) / 8


@pytest.mark.parametrize("name", ["subrank", "mixed", "auc", "resolved_rank"])
def test_a_narrow_box_leaves_less_to_build(name):
    X, y = draw(7, d=2, n=7, plain=True).X, [1, 0, 1, 0, 0, 1, 0]
    box = np.array([0.9, 0.2]), np.array([1.0, 0.3])
    builder = PROGRAMS[name][0]
    wide, narrow = (builder.size(X, y, coefficients("auc", 7), box=given) for given in (None, box))
    assert narrow.nonzeros < wide.nonzeros / 2


def test_mixed_asks_only_about_what_can_pay():
    # Only the top 3 of 12 places pay, so who loses to 3 or more needs no variable.
    rng = np.random.default_rng(0)
    model = mixed.build(rng.random((12, 2)), np.arange(12) < 4, coefficients("dcg@3", 12))
    assert {q for _, _, q in model.b} == {0, 1, 2}
    assert {(j, p) for _, j, p in model.y} == {(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)}


def test_pairwise_counts_repeated_pairs_once():
    X = np.random.default_rng(0).random((4, 2))
    repeated = pairwise.size(X, ([[0, 1], [0, 1], [2, 3]], [1.0, 2.0, 1.0]))
    assert repeated == pairwise.size(X, ([[0, 1], [2, 3]], [3.0, 1.0]))


@pytest.mark.parametrize("builder", [subrank, mixed])
def test_rows_that_cannot_reach_a_paying_place_ask_about_nobody(builder):
    # In this box row 0 always loses to row 2, so it cannot be on top; row 1 may, if it beats rows 0, 2 and 3.
    X, y = [[0.0, 0.0], [1.0, 0.2], [0.5, 0.5], [0.4, -0.9]], [1, 1, 0, 0]
    model = builder.build(X, y, coefficients("wta", 4), box=([-1.0, 0.9], [1.0, 1.0]), signs=[1, 0])
    assert {i for i, _ in model.z} == {1}
