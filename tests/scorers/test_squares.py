"""Squares of columns: the numbers that NumPy gives, of any kind of table, and back from a file."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rerank.scorers import Squares, TableLogistic
from tests.cases.examples import examples
from tests.cases.refuses import refuses


def by_hand(X, new, which):
    """The columns of new rows, and squares of some of them."""
    centre, scale = X[:, which].mean(axis=0), X[:, which].std(axis=0)
    return np.column_stack([new, ((new[:, which] - centre) / scale) ** 2])


@examples(20, seed=st.integers(0, 10_000), size=st.sampled_from([1e-150, 1.0, 1e150]))
def test_the_columns_and_the_squares_that_numpy_gives(seed, size):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(2, 3, 40), rng.integers(0, 2, 40), rng.integers(0, 4, 40), np.full(40, 3.0)])
    new = rng.normal(size=(9, 4))
    made = Squares().fit(X * [size, 1, 1, 1])
    assert made.square_of_.tolist() == [0, 2]  # two values, or one, are as linear as their squares
    expected = by_hand(X, new, [0, 2]) * [size, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(made.transform(new * [size, 1, 1, 1]), expected, rtol=1e-9)


def test_the_squares_are_those_of_the_simple_first_stage():
    rng = np.random.default_rng(0)
    X = rng.normal(3, 2, (60, 3))
    stage = TableLogistic(squares=True).fit(X, (X[:, 0] + rng.normal(size=60) > 3).astype(int))
    made = Squares().fit(X)
    np.testing.assert_array_equal(stage.square_of_, made.square_of_)
    np.testing.assert_allclose(stage.centre_[:3], made.centre_, rtol=1e-14)
    np.testing.assert_allclose(stage.scale_[:3], made.scale_, rtol=1e-14)
    np.testing.assert_array_equal(stage.get_feature_names_out(), made.get_feature_names_out())


@pytest.mark.parametrize("package", [pd, pl])
def test_of_a_frame_the_complete_columns_of_numbers_are_taken_under_their_names(package):
    columns = {"age": [1.0, 4.0, 2.0], "word": ["a", "b", "c"], "gap": [1.0, None, 2.0], "age^2": [0, 3, 1]}
    made = Squares().fit(package.DataFrame(columns))
    assert made.get_feature_names_out().tolist() == ["age", "age^2", "age^2_", "age^2^2"]
    assert made.transform(package.DataFrame(columns)).shape == (3, 4)
    some = Squares(["age"]).fit(package.DataFrame(columns))
    assert some.columns_.tolist() == [0] and some.get_feature_names_out().tolist() == ["age", "age^2"]


def test_sparse_rows_need_names_and_no_squares_is_no_error():
    X = csr_array(np.diag([1.0, 2.0, 3.0]))
    refuses("sparse", Squares().fit, X)
    np.testing.assert_array_equal(Squares([1]).fit(X).transform(X)[:, 0], [0, 2, 0])
    flags = np.array([[0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(Squares().fit(flags).transform(flags), flags)


CHANGES = {
    "n_columns": [2, 0, None],
    "columns": [[0, 3], [], [1, 0, 2], [0, 1, 1], [-1, 1, 2], ["0", 1, 2]],
    "square_of": [[1, 0], [0, 5], [0]],
    "centre": [[1.0], [1, 2.0], [0.0, float("inf")]],
    "scale": [[1.0, 0.0], [1.0, float("nan")]],
    "more": [1],
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_stored_comes_back_and_anything_else_is_refused(name):
    X = np.column_stack([[1.0, 3.0, 7.0], [2.0, 5.0, 4.0], [0.0, 1.0, 0.0]])
    made = Squares().fit(X)
    body = made.to_dict()
    np.testing.assert_array_equal(Squares.from_dict(body).transform(X), made.transform(X))
    for value in CHANGES[name]:
        refuses("stored squares", Squares.from_dict, body | {name: value})
