"""Tables and first stages of other packages: the first stage sees the table, the reranked columns are numbers."""

import json

import numpy as np
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from rerank import Reranker, RerankerCV, load, verify
from rerank.errors import InputWarning
from rerank.io import Table
from rerank.io.frames import names_of
from rerank.reranker.columns import columns_of
from rerank.reranker.estimator import fit_table
from rerank.reranker.files import model_file
from rerank.reranker.first_stage import FirstStage
from tests.cases.mutants import signed
from tests.cases.refuses import refuses

N = 120


def parts(seed=0):
    rng = np.random.default_rng(seed)
    age, size = rng.normal(40, 10, N), rng.normal(size=N)
    colour = rng.choice(["red", "green", "blue"], N)
    y = (0.05 * age + size + (colour == "red") + rng.normal(size=N) > 3.2).astype(int)
    holed = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N))
    return age, size, colour, holed, rng.random(N) < 0.5, y


def frame(library, seed=0):
    age, size, colour, holed, flag, y = parts(seed)
    columns = {"age": age, "colour": colour, "size": size, "holed": holed, "flag": flag}
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame(columns)
        table["colour"] = table["colour"].astype("category")
        table["seen"] = pandas.date_range("2024-01-01", periods=N)
        table["count"] = pandas.array(np.arange(N) % 7, dtype="Int64")
        return table, y
    if library == "polars":
        polars = pytest.importorskip("polars")
        table = polars.DataFrame(columns)
        return table.with_columns(polars.Series("count", np.arange(N) % 7)), y
    pyarrow = pytest.importorskip("pyarrow")
    columns["holed"] = pyarrow.array(holed, from_pandas=True)
    return pyarrow.table({**columns, "count": np.arange(N) % 7}), y


LIBRARIES = ["pandas", "polars", "pyarrow"]


def fitted(X, y, **options):
    base = {"solver": "search", "time_limit": 5.0, "radius": 0.1, "cross_fit": 3}
    return Reranker("precision@15", **base | options).fit(X, y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_texts_and_gaps_are_reranked_as_columns_made_by_hand(library, tmp_path):
    X, y = frame(library)
    age, size, colour, holed, flag, _ = parts()
    known, middle = ~np.isnan(holed), np.nanmedian(holed)
    made = {"age": age, **{f"colour = {one}": colour == one for one in ("blue", "green", "red")}, "size": size}
    made |= {
        "holed": np.where(known, holed, middle),
        "holed is missing": ~known,
        "flag": flag,
        "count": np.arange(N) % 7,
    }
    row = "`colour = red` >= `holed is missing`"
    est = fitted(X, y, first_stage="size", constraints=[row])
    assert set(est.result_.left_out) == ({"seen"} if library == "pandas" else set())
    names = est.state_.columns.names
    assert set(names) == set(made) and set(est.features_) <= set(made)
    plain = np.column_stack([made[name] for name in names]).astype(float)
    by_place = {name: f"x{j}" for j, name in enumerate(names)}
    twin = fitted(
        plain,
        y,
        first_stage=by_place["size"],
        constraints=[f"{by_place['colour = red']} >= {by_place['holed is missing']}"],
    )
    assert est.result_.value == twin.result_.value
    np.testing.assert_array_equal(est.coef_, twin.coef_)
    np.testing.assert_array_equal(est.rank(X), twin.rank(plain))
    est.save(tmp_path / "m.json")
    new, _ = frame(library, 1)  # gaps and texts of rows to come
    np.testing.assert_array_equal(load(tmp_path / "m.json").decision_function(new), est.decision_function(new))
    assert names_of(est.contributions(new)) == names_of(load(tmp_path / "m.json").contributions(new))
    if library == "pandas":
        with pytest.warns(InputWarning, match="'colour': 1 row holds a text that no row of the fit had"):
            est.rank(new.assign(colour=["pink", *new["colour"][1:]]))
    named = fitted(X, y, first_stage="size", features=["colour", "age"])
    assert named.state_.columns.names == tuple(name for name in names if name == "age" or name.startswith("colour"))


@pytest.mark.parametrize("names", ["abc", None], ids=["frame", "array"])
def test_a_table_with_a_gap_in_every_column_is_corrected_in_folds_too_and_verified(names, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=200) > 1.5).astype(int)
    X[[3, 4, 5], [0, 1, 2]] = np.nan
    table = X if names is None else pandas.DataFrame(X, columns=list(names))
    weight = rng.integers(1, 4, 200)
    names = names or ["x0", "x1", "x2"]
    for first_stage in ("logistic", "trees"):
        base = Reranker("precision@20", first_stage=first_stage, solver="search", node_limit=0, radius=0.3)
        chosen = RerankerCV(base, grid={"radius": [0.3]}, cv=3, n_repeats=1, safeguard=-np.inf)
        est = chosen.fit(table, y, sample_weight=weight).best_estimator_
        assert est.reranks_ and est.state_.columns.names[:2] == (names[0], f"{names[0]} is missing")
        est.save(tmp_path / "m.json")
        read = Table(table, y.astype(float), None, None, tuple(names), sample_weight=weight.astype(float))
        found = verify(tmp_path / "m.json", read)
        assert found.holds, found
        body = json.loads((tmp_path / "m.json").read_text())
        body["settings"]["encoded.columns.0.fill"] = {"hex": (0.5).hex()}
        assert not verify(model_file.from_dict(signed(body)), read).holds


def test_a_pipeline_by_column_name_sees_the_whole_frame(tmp_path):
    X, y = frame("pandas")
    encode = ColumnTransformer(
        [("colour", OneHotEncoder(), ["colour"]), ("rest", "passthrough", ["age", "size"])], remainder="drop"
    )
    est = fitted(X, y, first_stage=make_pipeline(encode, LogisticRegression(max_iter=1000)))
    assert est.prior_weight_ == 1.0 and est.result_.folds == 3
    np.testing.assert_allclose(est.first_stage_scores(X), est.first_stage_.decision_function(X))
    est.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json", first_stage=est.first_stage_)
    np.testing.assert_array_equal(again.decision_function(X), est.decision_function(X))
    chosen = RerankerCV(Reranker("precision@15", first_stage=est.first_stage, solver="search", time_limit=0.5), cv=3)
    assert chosen.fit(X, y).rank(X).size == N


def test_a_learner_of_missing_values_and_categories_gets_them():
    X, y = frame("pandas")
    numeric = X.drop(columns=["seen"])
    stage = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=10)
    est = fitted(numeric, y, first_stage=stage)
    assert est.first_stage_.feature_names_in_.tolist() == list(numeric.columns)
    assert est.first_stage_scores(numeric).shape == (N,)


@pytest.mark.parametrize(
    "features, names",
    [
        (["size", "age"], ["age", "size"]),
        ("size", ["size"]),
        ([2, 0], ["age", "size"]),
        (make_column_selector(dtype_include=np.float64, pattern="age|size"), ["age", "size"]),
        (lambda table: ["flag"], ["flag"]),
    ],
)
def test_columns_to_rerank_are_chosen_by_name_number_or_callable(features, names):
    X, y = frame("pandas")
    rows = columns_of(X, y, features)
    assert [rows.columns.names[j] for j in rows.columns.chosen] == names
    est = fitted(X, y, features=features, radius=0.5, first_stage="size")
    moved = np.flatnonzero(est.coef_ != est.state_.first_stage.coef)
    assert bool(moved.size) == est.reranks_ and {names_of(X)[j] for j in moved} <= set(names)
    assert est.reranks_ or len(names) == 1  # one column may have nothing to correct


def test_a_transformer_makes_the_columns_to_rerank():
    X, y = frame("pandas")
    newer = "quantile_method" in KBinsDiscretizer().get_params()
    cut = KBinsDiscretizer(3, encode="onehot-dense", **({"quantile_method": "linear"} if newer else {}))
    bins = ColumnTransformer([("bins", cut, ["age", "size"])])
    est = fitted(X, y, features=bins, first_stage="size")
    assert est.coef_.size == 6 and est.prior_weight_ == 1.0
    whole = est.first_stage_scores(X) + est.state_.columns.transformer.transform(X) @ est.coef_
    order = np.argsort(est.rank(X))
    assert np.all(np.diff(whole[order]) <= 1e-9)


def test_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(list("abcdefgh"), 5)) for _ in range(N)]
    X = CountVectorizer(token_pattern=r"\w").fit_transform(words)
    y = (X[:, 0].toarray()[:, 0] + rng.random(N) > 1.2).astype(int)
    refuses("sparse with 8 columns", fitted, X, y)

    class Refuses(LogisticRegression):
        def fit(self, X, y):
            assert scipy.sparse.issparse(X)
            return super().fit(X, y)

    est = fitted(X, y, features=[0, 1], first_stage=Refuses())
    assert est.rank(X).shape == (N,) and est.result_.value >= 0
    assert fitted(X, y, features=[0, 1]).rank(X).shape == (N,)


def test_scores_that_are_ready_need_no_fit():
    X, y = frame("pandas")
    by_name = fitted(X, y, first_stage="size", features=["age"])
    by_function = fitted(X, y, first_stage=lambda table: table["size"].to_numpy(), features=["age"])
    by_array = fitted(X, y, first_stage=X["size"].to_numpy(), features=["age"])
    for est in (by_function, by_array):
        assert est.result_.value == by_name.result_.value and est.result_.folds == 0
    np.testing.assert_array_equal(by_function.rank(X), by_name.rank(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_list_of_a_row_may_be_a_column(library, tmp_path):
    X, y = frame(library)
    ids = np.repeat([f"q{q}" for q in range(12)], 10)
    with_ids = X.assign(query=ids) if library == "pandas" else X.with_columns(query=ids.tolist())
    if library == "polars":
        with_ids = X.hstack([type(X.to_series(0))("query", ids.tolist())])
    options = {"solver": "search", "time_limit": 2.0, "features": ["age", "size"]}
    named = Reranker("ndcg@5", **options).fit(with_ids, y, qid="query")
    plain = Reranker("ndcg@5", **options).fit(X, y, qid=ids)
    np.testing.assert_array_equal(named.rank(with_ids, "query"), plain.rank(X, ids))
    np.testing.assert_array_equal(named.rank(X, ids), plain.rank(X, ids))
    assert named.score(with_ids, y, "query") == plain.score(X, y, ids)
    assert "query" not in named.feature_names_in_
    # A model that is read back leaves the column out too, and so does one that learned from ids, whatever its name.
    named.save(tmp_path / "m.json")
    read = load(tmp_path / "m.json")
    for est in (read, plain):
        for ask in ("rank", "list_scores", "decision_function"):
            found, wanted = (getattr(one, ask)(with_ids, "query") for one in (est, named))
            np.testing.assert_array_equal(found, wanted)
        assert est.score(with_ids, y, "query") == named.score(with_ids, y, "query")
    np.testing.assert_array_equal(read.first_stage_scores(with_ids), named.first_stage_scores(with_ids))


def test_a_column_may_be_called_as_what_another_library_calls_its_names():
    X, y = frame("pandas")
    found = Reranker("precision@15", solver="none").fit(X[["age", "size"]].rename(columns={"age": "column_names"}), y)
    assert found.feature_names_in_.tolist() == ["column_names", "size"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_count_by_name_and_one_that_is_missing_is_one_sentence(library, tmp_path):
    X, y = frame(library)
    est = fitted(X, y, features=["age", "size"], first_stage="logistic")
    est.save(tmp_path / "m.json")
    names = list(names_of(X))
    less = [name for name in names if name not in ("age", "flag")]
    choose = (lambda table, some: table[some]) if library == "pandas" else lambda table, some: table.select(some)
    for one in (est, load(tmp_path / "m.json")):
        for ask in (one.predict, one.rank, one.decision_function):
            refuses("^X lacks the 2 columns 'age', 'flag' of the fit; add [^.]*\\.$", ask, choose(X, less))
            refuses("^X lacks the column 'age' of the fit", ask, choose(X, [name for name in names if name != "age"]))
            np.testing.assert_array_equal(ask(choose(X, names[::-1])), ask(X))
            if library == "pandas":
                np.testing.assert_array_equal(ask(X.assign(extra=1.0)[["extra", *names[::-1]]]), ask(X))


def test_a_model_of_a_file_takes_columns_of_a_frame_by_name(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    table = Table(X, (X[:, 0] > X[:, 1]).astype(float), None, None, ("a", "b", "c"))
    fit_table(Reranker("auc", solver="search", time_limit=2), table).save(tmp_path / "m.json")
    est, named = load(tmp_path / "m.json"), pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])
    more = named.assign(more="x")[["more", "b", "c", "a"]]
    for other in (named, named[["c", "b", "a"]], more, named.set_axis([*"xyz"], axis=1)):
        np.testing.assert_array_equal(est.rank(other), est.rank(X))
    for other, lost in ((named[["a", "b"]], "c"), (named.rename(columns={"a": "z"}), "a"), (named[["b", "c"]], "a")):
        refuses(f"^X lacks the column '{lost}' of the fit; add", est.rank, other)


def test_a_fit_on_an_array_takes_columns_of_a_frame_by_place():
    """Its columns have no names of the user's; those that a result shows for them name nothing in a frame."""
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2))
    est = Reranker("dcg@10", solver="none", first_stage="logistic").fit(X, (X[:, 0] > 0.5).astype(int))
    for names in (["x1", "x0"], ["x1", "x2"], ["a", "b"]):
        np.testing.assert_array_equal(est.rank(pd.DataFrame(X, columns=names)), est.rank(X))


@pytest.mark.parametrize("module, name", [("lightgbm", "LGBM"), ("xgboost", "XGB"), ("catboost", "CatBoost")])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor", "Ranker"])
def test_boosted_trees_are_first_stages(module, name, kind):
    package = pytest.importorskip(module)
    quiet = {"lightgbm": {"verbose": -1}, "xgboost": {}, "catboost": {"verbose": 0, "allow_writing_files": False}}
    count = {"iterations": 5} if module == "catboost" else {"n_estimators": 5}
    learner = getattr(package, name + kind)(**quiet[module], **count)
    age, size, _, _, _, y = parts()
    X, qid = np.column_stack([age, size]), np.arange(N) % 8
    for lists in (None, qid):
        stat = "precision@15" if lists is None else "ndcg@5"
        est = Reranker(stat, first_stage=learner, radius=0.1, solver="search", node_limit=20, cross_fit=2)
        est.fit(X, y, lists, sample_weight=np.ones(N))
        assert est.result_.folds == 2 and est.rank(X, lists).size == N
        assert est.result_.first_stage_statistic > 0


def test_a_first_stage_without_weights_asks_for_no_column():
    X, y = frame("pandas")
    none = FirstStage("nothing", None, np.zeros(X.shape[1]), 2.5)
    np.testing.assert_array_equal(none.scores(columns_of(X[["colour", "age"]], y, ["age"])), np.full(N, 2.5))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "first_stage", ["logistic", "logistic+squares+head20", "trees", "forest", "toppush", "ranksvm", "robirank"]
)
def test_names_of_columns_may_come_and_go_without_a_remark(first_stage, tmp_path):
    """A command, for instance, has an array of the columns that it has found by their names."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y, frame = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=N) > 1).astype(int), pandas.DataFrame(X, columns=list("abc"))
    est = Reranker("dcg@5", first_stage=first_stage, solver="search", node_limit=0, n_candidates=30)
    for rows, others in ((frame, X), (X, frame)):
        found = est.fit(rows, y)
        found.save(tmp_path / "m.json")
        for each in (found, load(tmp_path / "m.json")):
            for name in ("predict", "rank", "decision_function", "first_stage_scores", "list_scores", "contributions"):
                assert np.array_equal(getattr(each, name)(rows), getattr(each, name)(others))
            assert each.score(rows, y) == each.score(others, y)


@pytest.mark.filterwarnings("error")
def test_a_score_beyond_all_numbers_is_one_sentence():
    rng = np.random.default_rng(0)
    X = 1e-300 * rng.normal(size=(N, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    est = Reranker("dcg@5", solver="search", node_limit=0, n_candidates=30).fit(X, y)
    assert est.predict(X * 1e250).size == N
    for ask in (est.predict, est.rank, est.decision_function):
        refuses("NaN or inf", ask, X * 1e307 * 1e300)
