import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.io.arrays import check_labels, check_matrix, check_qid
from tests.cases.refuses import refuses


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1, 2], [3, 4]], dtype=object),
        np.asfortranarray([[1.0, 2], [3, 4]]),
        pl.DataFrame({"a": [1, 3], "b": [2, 4]}),
    ],
    ids=["list", "int8", "object", "fortran", "polars"],
)
def test_tables_of_any_make_become_contiguous_doubles(X):
    out = check_matrix(X)
    assert out.dtype == np.float64 and out.flags.c_contiguous and out.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([[[1]]], "3 dimension"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        ([[1, 2], [1, np.nan]], "NaN in row 1, column 1, one of 1 entries"),
        ([[-np.inf, 2], [1, np.nan]], "-inf in row 0, column 0, one of 2 entries"),
        ([[1, None]], "NaN in row 0, column 1"),
        (np.array([[1, "x"]], dtype=object), "Row 0, column 1 holds 'x'"),
        (np.array([["1", "2"]]), "Row 0, column 0 holds '1'"),
        (pl.DataFrame({"a": [1, 3], "b": [2.0, float("inf")]}), r"inf in row 1, column 1 \('b'\)"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_the_place(X, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        check_matrix(X)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_feature_names_are_used():
    refuses(r"column 1 \('year'\)", check_matrix, [[1, np.nan]], ["age", "year"])


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([1, 1, 1], r"one class only \(1 in all 3 rows\)"),
        ([0, -1, 1], "-1 in row 1, .*recode"),
        ([0, np.nan, 1], "y contains NaN in row 1"),
        ([0, np.inf, 1], "y contains inf in row 1"),
        (["a", "b", "a"], "holds 'a'"),
        (np.zeros((3, 2)), "2 dimension"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, sentence):
    refuses(sentence, check_labels, y, 3)


def test_labels_may_be_bool_grades_a_column_or_of_one_class_when_only_scored():
    assert check_labels([True, False]).tolist() == [1, 0]
    assert check_labels([[2], [0.5]]).tolist() == [2, 0.5]
    assert check_labels([0, 0], 2, one_class=True).tolist() == [0, 0]


def test_any_hashable_in_any_order_is_a_list_id():
    for qid in ([3, 1, 3], ["a", "b", "a"], np.array([("x", 1), "y", 2], dtype=object)):
        assert list(check_qid(qid, 3)) == list(qid)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.floats(), min_size=2, max_size=2), min_size=1, max_size=4))
def test_what_passes_is_finite_and_what_is_finite_passes(rows):
    finite = all(np.isfinite(rows).ravel())
    try:
        out = check_matrix(rows)
    except InputError:
        assert not finite
    else:
        assert finite and out.tolist() == rows
