"""Lists numbered in order of first appearance, and their rows in order of name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.ranks.lists import number_lists, places_by_list, rows_by_list
from rerank.ranks.row_gains import gains

ids = st.one_of(
    st.lists(st.integers(-3, 3)),
    st.lists(st.booleans()),
    st.lists(st.sampled_from([0.5, -0.0, 0.0, 2.0, -1.5])),
    st.lists(st.sampled_from(["b", "a", "10", "9", ""])),
)


@settings(deadline=None, max_examples=150)
@given(ids, st.booleans())
def test_numbers_and_names_by_hand(qid, as_objects):
    array = np.array(qid, dtype=object if as_objects else None)
    known, codes = number_lists(array)
    assert known == tuple(dict.fromkeys(qid)) and codes.dtype == np.intp and codes.shape == (len(qid),)
    assert [known[code] for code in codes] == qid
    found = [(name, rows.tolist()) for name, rows in rows_by_list(array, len(qid))]
    expected = [(name, [row for row, other in enumerate(qid) if other == name]) for name in sorted(set(qid))]
    assert found == expected and all(type(name) in (int, bool, float, str) for name, _ in found)


def test_any_hashable_value_is_an_id():
    qid = np.empty(4, dtype=object)
    qid[:] = [("a", 1), 7, "x", ("a", 1)]
    known, codes = number_lists(qid)
    assert known == (("a", 1), 7, "x") and codes.tolist() == [0, 1, 2, 0]


def test_without_ids_there_is_one_list():
    assert [(name, rows.tolist()) for name, rows in rows_by_list(None, 3)] == [(0, [0, 1, 2])]
    with pytest.raises(InputError, match="3 rows and qid has shape"):
        list(rows_by_list([1, 2], 3))


def test_gains():
    assert gains([0, 1, 2, 3]).tolist() == [0, 1, 3, 7] and gains([0, 1, 2.5], "linear").tolist() == [0, 1, 2.5]
    assert gains([True, False]).tolist() == [1, 0] and gains([1.5]).tolist() == [2**1.5 - 1]
    assert gains([60]).tolist() == [2.0**60 - 1]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1))
def test_places_by_hand(rows):
    scores = np.array([score for score, _ in rows], dtype=float)
    found = places_by_list(scores, np.array([name for _, name in rows]))
    for row, (score, name) in enumerate(rows):
        before = [k for k, (other, own) in enumerate(rows) if own == name and (-other, k) < (-score, row)]
        assert found[row] == len(before) + 1
