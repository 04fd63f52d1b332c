import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from rerank.errors import InputError
from rerank.io import Table, read_svmlight, read_table, svmlight, write_svmlight
from tests.cases.refuses import refuses

LETOR = (
    "2 qid:10 1:0.5 3:-1.25 #docid = GX1 inc = 1\n# a comment alone\n0 qid:10 2:1 # docid = GX2\n\n1 qid:9 #GX3 rest\n"
)


def test_grades_lists_and_document_names(file):
    table = read_svmlight(file(LETOR))
    np.testing.assert_array_equal(table.X, [[0.5, 0, -1.25], [0, 1, 0], [0, 0, 0]])
    assert table.y.tolist() == [2, 0, 1] and table.qid.tolist() == ["10", "10", "9"]
    assert table.ids.tolist() == ["GX1", "GX2", "GX3"] and table.feature_names == ("f1", "f2", "f3")


def test_columns_can_be_set_and_counted_from_zero(file):
    assert read_svmlight(file("0 2:1\n"), n_features=4).X.tolist() == [[0, 1, 0, 0]]
    table = read_svmlight(file("0 0:7 2:1\n"), zero_based=True)
    assert table.X.tolist() == [[7, 0, 1]] and table.feature_names == ("f0", "f1", "f2")
    assert table.qid is None and table.ids is None


BAD = [
    ("", {}, "is empty"),
    ("# nothing\n", {}, "is empty"),
    ("x 1:2\n", {}, "line 1: column 'label' holds 'x'"),
    ("1 1:2\nnan 1:2\n", {}, r"line 2: column 'label' has no value \('nan'\)"),
    ("2 1:2\n-1 1:2\n", {}, "line 2: the label is -1, but labels are 0/1, -1/1 or grades"),
    ("1 1:2 2\n", {}, "line 1: '2' is not index:value"),
    ("1 -1:2\n", {}, "line 1: '-1:2' is not index:value"),
    ("1 1:2\n1 2:inf 3:1\n", {}, "line 2: column 'value' holds inf"),
    ("1 1:x\n", {}, "line 1: column 1 holds 'x'"),
    ("1 1:2 1:3\n", {}, "line 1: a feature index comes twice"),
    ("1 0:2\n", {}, "line 1: there is a feature index 0; pass zero_based=True"),
    ("1 3:2\n", {"n_features": 2}, "line 1: the feature index 3 is beyond the 2 features"),
    ("1 qid:1 1:2\n1 1:2\n", {}, "line 2: some rows have a qid and others have none"),
    ("1 1:2\n1 qid:1 1:2\n", {}, "line 2: some rows have a qid"),
    ("1 qid: 1:2\n", {}, "line 1: 'qid:' names no list"),
    (b"1 1:\xff\n", {}, "line 1: the text is not UTF-8"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), BAD)
def test_bad_input_is_one_sentence_with_its_place(file, text, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read_svmlight(file(text), **options)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_too_large_a_table_is_refused_before_memory_is_taken(file, monkeypatch):
    monkeypatch.setattr(svmlight.np, "zeros", lambda *a, **k: pytest.fail("allocated"))
    with pytest.raises(InputError, match="over"):
        read_svmlight(file("1 1:1\n0 2:1\n"), n_features=10**17)


def test_of_indices_far_apart_the_columns_that_some_row_holds_are_read(file):
    """One index of 3,000,000 in 41 rows was a gigabyte of zeros, and a fit of hours."""
    last = 99999999999999999
    table = read_svmlight(file(f"1 7:2\n0 {last}:3 7:1\n"))
    assert table.feature_names == ("f7", f"f{last}") and table.X.tolist() == [[2, 0], [1, 3]]
    assert f"up to {last}" in table.notes[0]
    again = read_table(file("0 8:5 7:4\n", "t.svm"), **svmlight.columns_like(table.feature_names))
    assert again.feature_names == table.feature_names and again.X.tolist() == [[4, 0]]
    refuses("no feature 'a'", read_svmlight, file("0 1:1\n"), features=["a"])


def test_scikit_learn_reads_the_same_table_both_ways(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 5)) * (rng.random((30, 5)) < 0.6)
    y, qid = rng.integers(0, 3, 30).astype(float), np.repeat(np.arange(6), 5)
    ours, theirs = tmp_path / "ours.svm", tmp_path / "theirs.svm"
    write_svmlight(ours, Table(X, y, qid.astype(str).astype(object), None, tuple("abcde")))
    sparse, labels, lists = load_svmlight_file(str(ours), query_id=True, zero_based=False, n_features=5)
    np.testing.assert_array_equal(sparse.toarray(), X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(lists, qid)
    dump_svmlight_file(X, y, str(theirs), query_id=qid, zero_based=False)
    back = read_svmlight(theirs, n_features=5)
    np.testing.assert_allclose(back.X, X, rtol=1e-14)  # scikit-learn writes 16 digits
    np.testing.assert_array_equal(back.y, y)
    assert back.qid.tolist() == [str(q) for q in qid]
