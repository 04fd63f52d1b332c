"""What is no feature and what tells the label: saved indexes, copies, row numbers; frames not in memory yet."""

import decimal
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rerank import Reranker, RerankerCV, load
from rerank.errors import InputError, LeakWarning
from rerank.io import datasets
from rerank.io.leaks import leaks
from rerank.scorers import RankSVM, TableLogistic
from tests.cases.refuses import refuses

N = 60
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=N), RNG.normal(size=N)
Y = RNG.integers(0, 2, N)
ROWS = np.argsort(np.argsort(Y, kind="stable"))  # numbers of rows before they were shuffled: they know the label
FRAME = pd.DataFrame({"a": A, "b": B}, index=ROWS)


def tables():
    """The same two columns, with an index as each package holds it."""
    named = pa.Table.from_pandas(FRAME.rename_axis("patient"))
    return {
        "pyarrow": (pa.Table.from_pandas(FRAME), "__index_level_0__"),
        "named": (named, "patient"),
        "polars": (pl.DataFrame(pa.Table.from_pandas(FRAME)), "__index_level_0__"),
        "csv": (pd.DataFrame({"Unnamed: 0": ROWS, "a": A, "b": B}), "Unnamed: 0"),
        "of R": (pd.DataFrame({"rownames": ROWS, "a": A, "b": B}), "rownames"),
        "empty": (pd.DataFrame({"": ROWS, "a": A, "b": B}), ""),
        "polars csv": (pl.DataFrame({"Unnamed: 0.1": ROWS, "a": A, "b": B}), "Unnamed: 0.1"),
    }


def fitted(X, y=Y, **options):
    return Reranker("dcg@10", **{"solver": "search", "time_limit": 5.0, **options}).fit(X, y)


PLAIN = fitted(FRAME)


@pytest.mark.parametrize("kind", tables())
def test_a_saved_index_is_no_feature(kind, tmp_path):
    X, name = tables()[kind]
    est = fitted(X)
    assert est.feature_names_in_.tolist() == ["a", "b"]
    assert any(repr(name) in note and "features" in note for note in est.result_.notes)
    np.testing.assert_array_equal(est.coef_, PLAIN.coef_)
    est.save(tmp_path / "m.json")
    for model in (est, load(tmp_path / "m.json"), PLAIN):
        for rows in (X, FRAME, pa.Table.from_pandas(FRAME, preserve_index=False), FRAME.to_numpy()):
            if model is not PLAIN or kind != "named" or rows is X:
                np.testing.assert_array_equal(model.rank(rows), PLAIN.rank(FRAME))
        assert model.score(X, Y) == PLAIN.score(FRAME, Y)
    first = np.argsort(PLAIN.rank(FRAME))[:5]
    np.testing.assert_array_equal(est.top(X, 5), first)
    np.testing.assert_array_equal(PLAIN.top(FRAME, 5), FRAME.index[first])  # labels of an index that is one
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert fitted(X, first_stage=pipeline, cross_fit=False).result_.value < 4


@pytest.mark.filterwarnings("ignore::rerank.errors.LeakWarning")
@pytest.mark.parametrize("kind", tables())
def test_an_index_that_is_named_is_used(kind):
    X, name = tables()[kind]
    places = list(X.column_names if hasattr(X, "column_names") else X.columns)
    numbers, mask = [places.index(name), places.index("a")], [one in (name, "a") for one in places]
    renamed = FRAME.assign(z=ROWS)
    value = fitted(renamed, features=["z", "a"]).score(renamed, Y)
    for chosen in ([name, "a"], numbers, mask, lambda table: [name, "a"]):
        est = fitted(X, features=chosen)
        assert set(est.feature_names_in_) == {name, "a", "b"}
        assert not any("saved index" in note for note in est.result_.notes)
        assert est.score(X, Y) == pytest.approx(value)
    by = fitted(X, first_stage=name or "a", n_candidates=None, radius=0.0)
    assert (name in by.feature_names_in_) == bool(name)


@pytest.mark.filterwarnings("ignore::rerank.errors.LeakWarning")
@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("kind", ["csv", "polars csv"])
def test_an_index_that_a_pipeline_names_is_seen_by_it_alone(kind, ready):
    X, name = tables()[kind]
    stage = make_pipeline(ColumnTransformer([("some", StandardScaler(), ["a", name])]), LogisticRegression())
    est = fitted(X, first_stage=stage.fit(X, Y) if ready else stage, cross_fit=False)
    columns = est.state_.columns
    assert name in est.feature_names_in_ and [columns.names[j] for j in columns.chosen] == ["a", "b"]


def test_lists_may_be_an_index():
    frame = FRAME.set_index(pd.Index(np.arange(N) % 4, name="ward"))
    X = pa.Table.from_pandas(frame)
    est = Reranker("ndcg@5", solver="search", time_limit=1).fit(X, Y, "ward")
    assert est.result_.n_lists == 4 and est.feature_names_in_.tolist() == ["a", "b"]
    assert not any("saved index" in note for note in est.result_.notes)
    np.testing.assert_array_equal(est.rank(X, "ward"), est.rank(frame, np.arange(N) % 4))


def test_cross_validation_leaves_an_index_out():
    X, name = tables()["pyarrow"]
    cv = RerankerCV(Reranker("dcg@10", solver="search", time_limit=0.5), cv=3, n_repeats=1).fit(X, Y)
    assert cv.feature_names_in_.tolist() == ["a", "b"]
    assert any(repr(name) in note for note in cv.result_.notes)
    assert cv.best_score_ < 4 and cv.rank(X).size == cv.rank(FRAME).size == N


COPIES = {
    "equal": Y,
    "reals": Y.astype(float),
    "truth": Y > 0,
    "turned": 1 - Y,
    "words": np.where(Y > 0, "yes", "no"),
    "coded": 7 - 3 * Y,
    "holed": np.where(Y > 0, 1.0, np.nan),
    "one is missing": np.where(np.arange(N) == 5, np.nan, 2.0 - Y),
    "many are missing": np.where(np.arange(N) % 3 > 0, np.nan, -Y),
    "words, some missing": np.array([None if row % 7 == 3 else "ny"[y] for row, y in enumerate(Y)], dtype=object),
    "for relevant rows": np.where(Y > 0, RNG.normal(size=N), np.nan),
    "for the others": np.array([None if y else f"day {row}" for row, y in enumerate(Y)], dtype=object),
    "numbers": ROWS,
    "from 1": ROWS + 1,
    "back": -ROWS,
    "of a larger table": ROWS + np.cumsum(np.arange(N) % 5 > 2)[ROWS],
}


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        *((pd.DataFrame, kind) for kind in COPIES),
        *((make, kind) for make in (pl.DataFrame, pa.table) for kind in ("words, some missing", "numbers")),
    ],
)
def test_a_column_that_tells_the_label_is_named(kind, make):
    told = make({"a": A, "told": COPIES[kind]})
    with pytest.warns(LeakWarning, match="column 'told'.*Leave it out of X") as caught:
        est = fitted(told)
    said = [str(one.message) for one in caught if one.category is LeakWarning]
    assert said == [note for note in est.result_.notes if "'told'" in note]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeakWarning)
        fitted(told, first_stage=None, features=["a"])


SEPARATED = {
    "cut": A + 9 * Y,
    "cut from above, whole": -20 * ROWS,
    "cut of those that are known": np.where(np.arange(N) % 3 > 0, np.nan, A + 9 * Y),
    "finer": np.where(Y > 0, RNG.integers(0, 3, N), 7),
    "codes": 2 * RNG.integers(0, 3, N) + Y,
    "words": np.array(["no", "mild", "severe"])[Y * RNG.integers(1, 3, N)],
}


@pytest.mark.parametrize("kind", SEPARATED)
def test_a_column_that_separates_the_labels_is_a_possible_leak(kind):
    """By a cut, or because no value is of both kinds of rows; of an array, too, where the column is of numbers."""
    frame, y = pd.DataFrame({"a": A, "told": SEPARATED[kind]}), Y.astype(float)
    tables = [frame, *([] if kind == "words" else [frame.to_numpy()])]
    for table in tables:
        (said,) = leaks(table, list(frame), [0, 1], y)
        assert "'told' tells the label without a mistake (" in said and "If it is known only with the label" in said
    few = np.random.default_rng(1).choice(np.flatnonzero(frame.told.notna()), 8, replace=False)
    for table in tables:  # so few rows may be separated by chance
        part = table.iloc[few] if hasattr(table, "iloc") else table[few]
        assert not leaks(part, list(frame), [0, 1], y[few])


def sorted_nearly(n=300, noise=0.6, seed=0):
    """Labels of rows that were sorted by them with noise; the share of the pairs that the numbers of rows order."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    order = np.argsort(hidden + noise * rng.normal(size=n))
    y = (hidden > 0.8).astype(float)[order]
    return y, roc_auc_score(y, np.arange(n))


@pytest.mark.parametrize("noise", [0.5, 0.8])
def test_numbers_of_rows_that_were_nearly_sorted_by_the_label_are_named(noise):
    y, share = sorted_nearly(noise=noise)
    n, rng = y.size, np.random.default_rng(1)
    assert 0.9 < share < 0.98
    shuffled = rng.permutation(n)
    rows = np.arange(n)
    for number in (rows, rows + 1, -rows, 2 * rows + rng.integers(0, 2, n)):
        frame = pd.DataFrame({"a": rng.normal(size=n), "c": number})
        (said,) = leaks(frame, ["a", "c"], [0, 1], y)
        assert f"AUC {share:.2f}" in said and "numbers the rows" in said and said.count(".") <= 3
        for name in ("PassengerId", "row_number", "index"):
            assert leaks(frame.iloc[shuffled], ["a", name], [0, 1], y[shuffled])
        # Places by another score are whole, too; and few rows are in any order by chance.
        assert not leaks(frame.iloc[shuffled], ["a", "place"], [0, 1], y[shuffled])
    assert not leaks(np.arange(24.0)[:, None], ["c"], [0], np.isin(range(24), [16, 19, 21, 23]).astype(float))


def test_honest_columns_that_tell_much_are_no_numbers_of_rows():
    y, _ = sorted_nearly()
    rng = np.random.default_rng(2)
    score = np.sort(rng.normal(size=y.size))
    honest = {"score": score, "cents": np.rint(1e5 * score), "ties": np.arange(y.size) // 2, "id": rng.permutation(300)}
    frame = pd.DataFrame({**honest, "holed": np.where(y > 0, score, np.where(rng.random(y.size) < 0.5, np.nan, score))})
    assert leaks(frame, list(frame), range(5), y) == []
    gaps = np.where(np.arange(y.size) < 292, np.nan, y)  # too few values to tell
    assert leaks(gaps[:, None], ["gaps"], [0], y) == []


HONEST = {
    "strong": A + 2 * Y,
    "numbers in another order": RNG.permutation(N),
    "nearly": np.where(np.arange(N) == 7, 1 - Y, Y),
    "constant": np.ones(N),
    "ids": [f"id{row}" for row in ROWS],
    "year": 1990 + RNG.integers(0, 20, N),
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_columns_are_not_named(kind):
    assert leaks(pd.DataFrame({"a": A, "h": HONEST[kind]}), ["a", "h"], [0, 1], Y.astype(float)) == []


def test_honest_tables_and_few_rows_are_not_named():
    table = datasets.load("haberman")
    assert leaks(table.X, table.feature_names, range(table.X.shape[1]), table.y) == []
    few = np.array([[0.0, 0], [1, 1], [2, 0], [3, 1]])
    assert leaks(few, ["a", "b"], [0, 1], few[:, 1]) == []


@given(st.integers(0, 2**32 - 1), st.integers(16, 80))
def test_the_order_of_rows_and_the_coding_change_nothing(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n).astype(float)
    coded = rng.permutation(9)[:3][y.astype(int)]
    X = np.column_stack([rng.normal(size=n), coded, np.argsort(np.argsort(y))])
    order = rng.permutation(n)
    said = leaks(X, ["a", "b", "c"], range(3), y)
    assert said == leaks(X[order], ["a", "b", "c"], range(3), y[order])
    assert not any("'a'" in one for one in said)
    if n > 40 and np.unique(y).size == 3:
        assert len(said) == 2


def lazy():
    """The same table as each package holds it before it is in memory, and as it is then."""
    plain = pa.table({"a": A, "b": B})
    return {
        "polars": lambda: pl.LazyFrame({"a": A, "b": B}),
        "batch": lambda: plain.to_batches()[0],
        "dataset": lambda: pyarrow.dataset.dataset(plain),
        "reader": lambda: plain.to_reader(),
    }


@pytest.mark.parametrize("kind", lazy())
def test_tables_that_are_not_in_memory_are_read(kind):
    make, plain = lazy()[kind], pa.table({"a": A, "b": B})
    in_memory = pl.DataFrame({"a": A, "b": B}) if kind == "polars" else plain
    est = fitted(make())
    np.testing.assert_array_equal(est.coef_, PLAIN.coef_)
    assert est.contributions(make()).equals(est.contributions(in_memory))
    for name, *more in (
        ["predict"],
        ["rank"],
        ["decision_function"],
        ["first_stage_scores"],
        ["top", 5],
        ["score", Y],
        ["list_scores", Y],
    ):
        call = getattr(est, name)
        np.testing.assert_array_equal(call(make(), *more), call(in_memory, *more))
    cv = RerankerCV(Reranker("dcg@10", solver="search", node_limit=0), grid={"radius": [0.1]}, cv=2, n_repeats=1)
    assert cv.fit(make(), Y).rank(make()).size == N
    for scorer in (TableLogistic(), RankSVM()):
        own = clone(scorer).fit(plain.to_pandas(), Y).decision_function(plain.to_pandas())
        np.testing.assert_allclose(scorer.fit(make(), Y).decision_function(make()), own, rtol=1e-9)


def test_a_lazy_frame_is_read_once_and_its_mistakes_are_one_sentence(tmp_path):
    seen = []
    counted = pl.LazyFrame({"q": Y, "a": A, "b": B}).map_batches(lambda frame: seen.append(1) or frame)
    est = Reranker("dcg@10", solver="search", time_limit=1).fit(counted, Y, "q")
    assert len(seen) == 1
    est.top(counted, 3, "q")
    assert len(seen) == 2
    refuses("A LazyFrame cannot be read", fitted, pl.scan_csv(tmp_path / "none.csv"))


def test_decimals_count_as_features_and_labels():
    amount = [decimal.Decimal(f"{value:.2f}") for value in A]
    labels = [decimal.Decimal(int(value)) for value in Y]
    kind = pd.ArrowDtype(pa.decimal128(10, 2))
    plain = fitted(pd.DataFrame({"a": [float(one) for one in amount], "b": B}))
    for X in (
        pa.table({"a": amount, "b": B}),
        pd.DataFrame({"a": amount, "b": B}),
        pl.DataFrame({"a": amount, "b": B}),
        pd.DataFrame({"a": pd.array(amount, dtype=kind), "b": B}),
    ):
        for y in (Y, labels, pd.Series(labels), pl.Series(labels), pa.array(labels)):
            est = fitted(X, y)
            assert est.result_.left_out == () and np.array_equal(est.coef_, plain.coef_)


@settings(deadline=None)
@given(st.sampled_from(["logistic", "dcg@10", "auc", "highs", "auto", "ndcg", "precision", "ap"]), st.data())
def test_no_message_proposes_the_word_that_was_given(word, data):
    place = data.draw(st.integers(0, len(word) - 1))
    slips = [word[:place] + word[place + 1 :], word.upper(), word + "x", word + "@0", "none"]
    typed, options = data.draw(st.sampled_from(slips)), {"stat": "dcg@5", "solver": "search", "node_limit": 1}
    for option in ("stat", "first_stage", "solver", "formulation"):
        try:
            Reranker(**options | {"time_limit": 0.2, option: typed}).fit(FRAME[:20], Y[:20])
        except InputError as error:
            assert typed not in re.findall("did you mean '(.*?)'", str(error))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("unit", ["datetime64[us]", "timedelta64[us]"])
def test_dates_and_durations_are_told_from_text(make, unit):
    X = make({"a": A, "when": np.arange(N).astype(unit), "word": ["x"] * N})
    assert fitted(X).result_.left_out == ("when", "word")
    refuses("'when' holds dates or times, not numbers; convert it, to days", fitted, X, features=["a", "when"])


@pytest.mark.filterwarnings("ignore")
def test_labels_may_be_a_lazy_frame_of_one_column():
    np.testing.assert_array_equal(fitted(FRAME, pl.LazyFrame({"y": Y})).coef_, PLAIN.coef_)
