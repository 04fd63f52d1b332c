"""Logistic regression on tables as they come: the same as the recipes a user would write, and its state as numbers."""

import copy
import json
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rerank.errors import InputError
from rerank.scorers import TableLogistic
from tests.cases.examples import examples
from tests.cases.mixed import LIBRARIES, columns, mixed, recipe
from tests.cases.mutants import json_mutants
from tests.cases.refuses import refuses

KINDS = [{}, {"squares": True}, {"head": 0.2}, {"balanced": True}, {"squares": True, "head": 0.4, "balanced": True}]


def plain(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(d)
    return X, (X[:, 0] + X[:, 1] ** 2 / 60 + 2 * rng.normal(size=n) > 1.5).astype(int)


def scored(fitted, X):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*feature names")
        return fitted.decision_function(X)


def test_it_is_the_pipeline_that_a_user_would_write():
    pytest.importorskip("pandas")
    X, y = mixed("pandas")
    ours, theirs = TableLogistic().fit(X, y), recipe(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    later, _ = mixed("pandas", seed=1)
    later.loc[3, "colour"] = "never seen"
    np.testing.assert_allclose(ours.decision_function(later), theirs.decision_function(later), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(later), theirs.predict_proba(later), atol=1e-9)
    assert (ours.predict(later) == theirs.predict(later)).all()


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_every_library_gives_the_same_bits_and_so_does_the_stored_state(options):
    fits = [TableLogistic(**options).fit(*mixed(library)) for library in LIBRARIES]
    tables = [mixed(library, seed=1)[0] for library in LIBRARIES]
    first = scored(fits[0], tables[0])
    again = TableLogistic.from_dict(json.loads(json.dumps(fits[0].to_dict())))
    assert again.get_params() == fits[0].get_params() and again.to_dict() == fits[0].to_dict()
    for fitted in (*fits, again):
        for table in tables:
            assert (scored(fitted, table) == first).all()


def test_it_says_which_columns_it_saw():
    X, y = mixed("pandas")
    fitted = TableLogistic(squares=True).fit(X, y)
    assert fitted.told() == (
        "Logistic regression learned from 4 columns: 3 of numbers, 1 of text; left out: name (nearly a text for each "
        "row), seen (a date), one (constant). Give dates as numbers, such as days since the first of them."
    )
    assert ", ".join(fitted.get_feature_names_out()) == (
        "age, age is missing, colour = blue, colour = green, colour = red, colour is another text, colour is missing, "
        "size, flag, age^2, size^2"
    )
    assert fitted.coef_.shape == (1, 11)


def test_complete_numbers_are_standardised_logistic_regression():
    X, y = plain()
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    np.testing.assert_allclose(TableLogistic().fit(X, y).decision_function(X), theirs.decision_function(X), atol=1e-9)


def squared(X):
    z = StandardScaler().fit_transform(X)
    return np.hstack([z, StandardScaler().fit_transform(z**2)])


def test_squares_are_those_of_the_recipe():
    X, y = plain()
    theirs = LogisticRegression(max_iter=1000).fit(squared(X), y).decision_function(squared(X))
    np.testing.assert_allclose(TableLogistic(squares=True).fit(X, y).decision_function(X), theirs, atol=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
def test_a_head_is_refitted_by_the_recipe(share):
    X, y = plain()
    first = LogisticRegression(max_iter=1000).fit(squared(X), y).decision_function(squared(X))
    head = np.argsort(-first)[: round(share * y.size)]
    second = LogisticRegression(max_iter=1000).fit(squared(X)[head], y[head]).decision_function(squared(X))
    scores = TableLogistic(squares=True, head=share).fit(X, y).decision_function(X)
    rest = np.setdiff1d(np.arange(y.size), head)
    np.testing.assert_array_equal(np.argsort(-scores[head]), np.argsort(-second[head]))
    np.testing.assert_allclose(scores[rest], first[rest], atol=1e-9)
    assert scores[head].min() > scores[rest].max()


def test_rows_to_come_are_in_the_head_by_the_threshold_of_the_training_rows():
    X, y = plain()
    fitted, alone = TableLogistic(head=0.2).fit(X, y), TableLogistic().fit(X, y)
    later = plain(seed=1)[0]
    first, scores = alone.decision_function(later), fitted.decision_function(later)
    head = first >= np.sort(alone.decision_function(X))[-60]
    assert 0 < head.sum() < head.size and (scores[~head] == first[~head]).all()
    assert scores[head].min() >= fitted.head_threshold_ > scores[~head].max()
    second = fitted.predict_proba(later)[head, 1]
    assert (np.diff(scores[head][np.argsort(second)]) >= 0).all()


def test_a_head_of_one_class_keeps_the_first_model_and_says_so():
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] >= 50).astype(int)
    fitted = TableLogistic(head=0.1).fit(X, y)
    assert fitted.head_coef_ is None and fitted.head_threshold_ is None
    assert (fitted.decision_function(X) == TableLogistic().fit(X, y).decision_function(X)).all()
    assert fitted.told().endswith("The first 10% of the rows are of one class, so the first model orders them too.")


def test_balanced_gives_both_classes_the_same_weight():
    X, y = plain()
    z = StandardScaler().fit_transform(X)
    theirs = LogisticRegression(max_iter=1000, class_weight="balanced").fit(z, y).decision_function(z)
    np.testing.assert_allclose(TableLogistic(balanced=True).fit(X, y).decision_function(X), theirs, atol=1e-9)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_weights_of_0_are_rows_that_are_not_there_and_whole_weights_repeated_rows(options):
    pandas = pytest.importorskip("pandas")
    found, y = columns()
    X = pandas.DataFrame(found).drop(columns=["colour", "name"])  # frequent texts are counted by rows
    weight = np.random.default_rng(0).integers(0, 3, y.size)
    X.loc[weight == 0, "size"] = None  # no gap to learn from
    again = np.repeat(np.arange(y.size), weight)
    weighted = TableLogistic(**options).fit(X, y, sample_weight=weight)
    repeated = TableLogistic(**options).fit(X.iloc[again], y[again])
    assert weighted.get_feature_names_out().tolist() == repeated.get_feature_names_out().tolist()
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)
    whole = TableLogistic(**options).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert (whole.decision_function(X) == weighted.decision_function(X)).all()
    gone, Z = weight == 0, X.select_dtypes("number").fillna(0.0).to_numpy(dtype=float)
    at, odd = TableLogistic(**options).fit(Z[~gone], y[~gone], weight[~gone]), Z.copy()
    odd[gone] = np.inf
    unread = TableLogistic(**options).fit(odd, np.where(gone, np.nan, y), weight)
    assert (unread.decision_function(Z) == at.decision_function(Z)).all()


def test_frequent_texts_have_a_column_and_50_at_most():
    texts = np.repeat([f"t{j:02d}" for j in range(60)], np.arange(6, 66)).astype(object)
    y = np.random.default_rng(0).integers(0, 2, texts.size)
    names = TableLogistic().fit(texts[:, None], y).get_feature_names_out().tolist()
    assert names == [f"x0 = t{j:02d}" for j in range(10, 60)] + ["x0 is another text"]
    few = TableLogistic().fit(np.column_stack([texts[:30], np.arange(30.0)]).astype(object), y[:30])
    assert few.left_out_ == {0: "no text in 10 rows"}


def test_sparse_rows_stay_sparse_and_are_scored_alike_when_dense():
    X, y = plain()
    X[np.abs(X) < 0.5] = 0
    fitted = TableLogistic(head=0.4).fit(csr_matrix(X), y)
    again = TableLogistic.from_dict(fitted.to_dict())
    assert (again.decision_function(csr_matrix(X)) == fitted.decision_function(X)).all()
    z = StandardScaler(with_mean=False).fit_transform(X)
    np.testing.assert_allclose(
        TableLogistic().fit(csr_matrix(X), y).decision_function(X),
        LogisticRegression(max_iter=1000).fit(csr_matrix(z), y).decision_function(z),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        TableLogistic().fit(X, y).decision_function(csr_matrix(X)), TableLogistic().fit(X, y).decision_function(X)
    )
    refuses("squares=True needs dense rows", TableLogistic(squares=True).fit, csr_matrix(X), y)
    TableLogistic(squares=False).fit(csr_matrix(X), y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_of_another_kind_is_refused_in_a_sentence_and_one_without_values_is_not(library):
    X, y = mixed(library)
    fitted = TableLogistic().fit(X, y)
    found, _ = columns()
    kind = type(X) if library != "pyarrow" else pytest.importorskip("pyarrow").table
    swapped = kind({**found, "age": found["colour"]})
    refuses("Column 'age' held numbers at the fit and does not now; give numbers", fitted.decision_function, swapped)
    with pytest.raises(InputError, match="Column 'colour' held texts at the fit and holds numbers now; give texts"):
        fitted.decision_function(kind({**found, "colour": found["size"]}))
    empty = kind({**found, "age": [None] * y.size, "colour": [None] * y.size})
    assert np.isfinite(fitted.decision_function(empty)).all()
    lacks = kind({name: values for name, values in found.items() if name != "age"})
    with pytest.raises(ValueError, match="age"):
        fitted.decision_function(lacks)


def test_categories_dates_and_what_is_neither():
    pandas = pytest.importorskip("pandas")
    n, y = 60, np.arange(60) % 2
    times = pandas.date_range("2024-01-01", periods=n, freq="h")
    X = pandas.DataFrame(
        {
            "cut": pandas.cut(pandas.Series(np.arange(n)), 3),
            "code": pandas.Series(np.arange(n) % 2).astype("category"),
            "text": pandas.array(["a", "b", None] * 20, dtype="string"),
            "yes": pandas.array([True, False, None] * 20, dtype="boolean"),
            "object": np.array([True, False, None] * 20, dtype=object),
            "time": times,
            "zone": times.tz_localize("Europe/Berlin"),
            "span": times - times[0],
            "list": [[1, 2]] * n,
            "none": [None] * n,
        }
    )
    fitted = TableLogistic().fit(X, y)
    names = fitted.get_feature_names_out().tolist()
    told = "code = 0, code = 1, text = a, text = b, text is missing, yes, yes is missing, object, object is missing"
    assert names[3:] == told.split(", ")
    dates = dict.fromkeys((5, 6, 7), "a date")
    assert names[0].startswith("cut = (")
    assert fitted.left_out_ == {**dates, 8: "neither numbers nor text", 9: "no value"}
    arrays = TableLogistic().fit(np.column_stack([times.to_numpy().astype(object), y]).astype(object), y)
    assert set(arrays.left_out_) <= {0}


def test_what_cannot_be_learned_from_is_refused():
    X, y = plain()
    refuses("no column to learn from .'x0': constant", TableLogistic().fit, np.ones((300, 1)), y)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="inf"):
        TableLogistic().fit(X, y)
    refuses("1 class", TableLogistic().fit, plain()[0], y, sample_weight=y)


def test_a_state_that_was_changed_is_refused_or_gives_finite_numbers_of_the_same_shape():
    X, y = mixed("pandas", n=100)
    body = TableLogistic(squares=True, head=0.3).fit(X, y).to_dict()
    tried = refused = 0
    for change, other in json_mutants(body):
        tried += 1
        try:
            found = TableLogistic.from_dict(copy.deepcopy(other))
        except InputError as error:
            refused += 1
            assert str(error).endswith((".", "again.")), change
            continue
        assert scored(found, X).shape == y.shape, change
        assert found.to_dict() == other, change
    assert refused > 0.5 * tried > 100


@examples(25, st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_a_row_has_the_same_score_among_any_rows(seed, options):
    rng = np.random.default_rng(seed)
    n = 60
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.choice(["a", "b"], n)]).astype(object)
    X[rng.random(n) < 0.2, 0] = None
    fitted = TableLogistic(**options).fit(X, np.arange(n) % 2)
    whole, some = fitted.decision_function(X), rng.permutation(n)[: rng.integers(1, n)]
    assert (fitted.decision_function(X[some]) == whole[some]).all()
    assert (clone(fitted).fit(X, np.arange(n) % 2).decision_function(X) == whole).all()


@pytest.mark.parametrize("size", [1e-320, 1e-310, 1e155, 1e200, 1.7e308])
@pytest.mark.parametrize("options", [KINDS[0], KINDS[-1]], ids=str)
def test_columns_of_any_size_are_learned_from(size, options):
    """Squares of such numbers overflow or vanish; the scores are those of the table in another unit."""
    X, y = plain(d=3)
    X[:, 2] = np.clip(np.rint(4 * X[:, 2] / np.abs(X[:, 2]).max()), -4, 4) / 4
    wide = X * [1.0, 1.0, size]
    ours, usual = TableLogistic(**options).fit(wide, y), TableLogistic(**options).fit(X, y)
    if size > 1e-320:  # where a double has bits left
        np.testing.assert_allclose(ours.decision_function(wide), usual.decision_function(X), atol=1e-3)
    again = TableLogistic.from_dict(json.loads(json.dumps(ours.to_dict())))
    assert (again.decision_function(wide) == ours.decision_function(wide)).all()


def test_sparse_columns_of_any_size_are_learned_from():
    X, y = plain()
    wide = csr_matrix(X * [1e200, 1.0, 1e-200, 1e155])
    ours, usual = TableLogistic().fit(wide, y), TableLogistic().fit(csr_matrix(X), y)
    np.testing.assert_allclose(ours.decision_function(wide), usual.decision_function(csr_matrix(X)), atol=1e-6)
