"""Fits of lists in parts: the fit in memory bit by bit, however the list is cut, and what is refused."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rerank import Reranker, load
from rerank.certificate import certify
from rerank.errors import CertificateError, InputError, NotSupportedError
from rerank.errors.compiling import working_time
from rerank.io import Table
from rerank.io.row_groups import row_groups
from rerank.problem import reduced
from rerank.reranker import anchored, clock
from rerank.reranker.files import model_file
from rerank.reranker.files.verify import verify
from rerank.reranker.parts.cuts import first_scores

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NAMES = ["score", "age", "hours", "same"]
OPTIONS = dict(
    first_stage="score", radius=0.05, margin=1e-6, features=["age", "hours"], n_candidates=None, solver="search",
    time_limit=None,
)  # fmt: skip


def listed(seed=0, n=400, graded=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 0] + [0, 50, 0, 3]
    y = (X[:, 0] + 0.01 * X[:, 1] + rng.normal(size=n) > 2).astype(float)
    return X, y * rng.integers(1, 3, n) if graded else y


def cut(X, y, places):
    """Functions that read what is between the places."""
    return [lambda a=a, z=z: (X[a:z], y[a:z]) for a, z in pairwise([0, *sorted(places), len(X)])]


def framed(X):
    return pa.table(list(X.T), names=NAMES)


def in_parts(X, y, places=(), stat="precision@30", **options):
    return Reranker(stat, **{**OPTIONS, **options}).fit_parts(cut(X, y, places), columns=NAMES)


def in_memory(X, y, stat="precision@30", **options):
    return Reranker(stat, **{**OPTIONS, **options}).fit(framed(X), y)


def assert_same(parts, memory, but=("seconds", "proof")):
    for field in fields(memory.result_):
        if field.name not in but:
            mine, other = getattr(parts.result_, field.name), getattr(memory.result_, field.name)
            assert np.array_equal(mine, other) if field.name == "weights" else mine == other, field.name
    for name in ("coef_", "features_", "feature_names_in_"):
        assert np.array_equal(getattr(parts, name), getattr(memory, name)), name
    for name in ("names", "cuts"):
        mine, other = getattr(parts.state_.classes, name), getattr(memory.state_.classes, name)
        assert np.array_equal(mine, other) and mine.dtype == other.dtype, name
    assert np.array_equal(parts.classes_, memory.classes_)
    for name in ("n_features_in_", "prior_weight_", "threshold_", "reranks_"):
        assert getattr(parts, name) == getattr(memory, name), name


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 400), max_size=9),
    st.sampled_from(["precision@30", "dcg@10", "ndcg@5", "pauc@12", "recall@20"]),
    st.sampled_from([{}, {"window": 1.5}, {"positive": True, "C": 0.01}, {"max_features": 1}, {"radius": 0.0}]),
)
def test_parts_of_every_size_give_the_fit_in_memory(seed, places, stat, options) -> None:
    X, y = listed(seed, graded=not stat.startswith("recall"))
    assert_same(in_parts(X, y, places, stat, **options), in_memory(X, y, stat, **options))


@pytest.mark.parametrize("places", [range(1, 60), [0, 0, 60], [1], [59, 60, 60]], ids=["rows", "none", "first", "last"])
def test_parts_of_one_row_or_none(places) -> None:
    X, y = listed(1, 60)
    assert_same(in_parts(X, y, places, "precision@8"), in_memory(X, y, "precision@8"))


def test_a_list_shorter_than_the_places_that_count() -> None:
    X, y = listed(2, 40)
    parts = in_parts(X, y, [7], "precision@90")
    assert_same(parts, in_memory(X, y, "precision@90"))
    assert (parts.result_.status, parts.result_.value) == ("already_ideal", y.sum())
    assert_same(in_parts(X, y, [7], "dcg@90"), in_memory(X, y, "dcg@90"))


def test_no_relevant_row_comes_near() -> None:
    X, y = listed(3)
    y[:] = X[:, 0] < np.sort(X[:, 0])[5]
    for stat in ("precision@30", "pauc@12"):
        parts, memory = in_parts(X, y, [100], stat), in_memory(X, y, stat)
        assert_same(parts, memory)
        assert parts.state_.problem.lists[0].gains.max() == 0
        assert parts.result_.status == "already_ideal" and parts.result_.proved
        assert parts.result_.notes[-1].startswith(f"No correction within the radius gives a larger {stat}; the ideal")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["precision@20", "dcg@10", "window2@8", "ndcg@10", "pauc@7"]))
def test_the_rows_left_out_change_no_value(seed: int, stat: str) -> None:
    """The slow twin: the problem of all rows."""
    X, y = listed(seed, 300, graded=True)
    parts = in_parts(X, y, [50], stat)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchored, "_is_cut", lambda *_: False)
        whole = in_memory(X, y, stat)
    every = whole.state_.problem
    assert len(parts.state_.problem.X) < len(every.X) == 300
    assert certify(every, parts.state_.weights).value == certify(parts.state_.problem, parts.state_.weights).value
    assert parts.result_.value == pytest.approx(whole.result_.value) and parts.result_.proved and whole.result_.proved


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two files of a list, with a column of words."""
    X, y = listed(4)
    whole, folder = framed(X).append_column("name", [["word"] * 400]), tmp_path_factory.mktemp("list")
    whole = whole.append_column("found", [y])
    for k, (begin, n, size) in enumerate([(0, 150, 70), (150, 250, 10)]):
        parquet.write_table(whole.slice(begin, n), folder / f"{k}.parquet", row_group_size=size)
    return [folder / "0.parquet", folder / "1.parquet"]


def test_row_groups_of_files(path, tmp_path) -> None:
    X, y = listed(4)
    memory = in_memory(X, y)
    est = Reranker("precision@30", **OPTIONS)
    assert est.fit_parts(path, "found") is est
    assert_same(est, memory)
    assert_same(Reranker("precision@30", **OPTIONS, n_jobs=2).fit_parts(row_groups(path, NAMES, "found")), memory)
    np.testing.assert_array_equal(np.concatenate(list(est.scores_of_parts(path))), memory.decision_function(framed(X)))
    rows, scores = est.top_of_parts(path, 50)
    order = np.argsort(memory.rank(framed(X)))[:50]
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_array_equal(scores, memory.decision_function(framed(X))[order])
    places = list(est.ranks_of_parts(path))
    assert len(places) > 2 and np.array_equal(np.concatenate(places), memory.rank(framed(X)))
    one = Reranker("precision@30", **OPTIONS).fit_parts(str(path[0]), "found")
    assert_same(one, in_memory(X[:150], y[:150]))
    # A list to come has no labels, and a model in a file ranks it.
    parquet.write_table(framed(X), tmp_path / "new.parquet")
    est.save(tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").top_of_parts(tmp_path / "new.parquet", 9)[0], order[:9])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), places=st.lists(st.integers(0, 400), max_size=6))
def test_places_of_all_rows_with_equal_scores(seed, places) -> None:
    X, y = listed(seed)
    X = X.round(0)  # many rows are equal
    est = in_memory(X, y)
    found = np.concatenate(list(est.ranks_of_parts(cut(X, y, places))))
    np.testing.assert_array_equal(found, est.rank(framed(X)))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 99), places=st.lists(st.integers(0, 400), max_size=6), digits=st.sampled_from([0, 9]),
    stat=st.sampled_from(["precision@30", "ndcg@7", "recall@20"]),
)  # fmt: skip
def test_the_statistic_of_a_list_in_parts_is_that_of_score(seed, places, digits, stat) -> None:
    X, y = listed(seed, graded=stat == "ndcg@7")
    new, labels = listed(seed + 1, graded=stat == "ndcg@7")
    est = in_memory(X, y, stat)
    for table, given_ in ((X, y), (new, labels)):
        table = table.round(digits)  # without digits many scores are equal
        assert est.score_of_parts(cut(table, given_, places)) == est.score(framed(table), given_)
    est.set_params(stat="auc")
    assert est.score_of_parts(cut(new, labels, places)) == est.score(framed(new), labels)


def test_the_statistic_of_files_and_what_it_refuses(path) -> None:
    X, y = listed(4)
    est = in_memory(X, y)
    assert est.score_of_parts(path, "found") == est.score(framed(X), y) == est.result_.statistic
    with pytest.raises(InputError, match="y is None; name the column of the labels"):
        est.score_of_parts(path)
    with pytest.raises(InputError, match="y holds -1 in row 0, but labels are 0/1 or grades"):
        est.score_of_parts(cut(X, y - 1, [7]))
    with pytest.raises(InputError, match="row"):
        est.score_of_parts([lambda: (X[:0], y[:0])])
    named = Reranker("precision@30", **OPTIONS).fit(framed(X), np.where(y > 0, 1, -1))
    assert named.score_of_parts(cut(X, np.where(y > 0, 1, -1), [9])) == named.score(framed(X), np.where(y > 0, 1, -1))


@settings(max_examples=100, deadline=None)
@given(
    scores=st.lists(st.integers(-3, 3), min_size=1, max_size=40), most=st.integers(1, 40),
    places=st.lists(st.integers(0, 40), max_size=5),
)  # fmt: skip
def test_the_first_scores_and_one_below_whatever_the_parts(scores, most, places) -> None:
    values, merged = np.array(scores, dtype=float), np.empty(0)
    for a, z in pairwise([0, *sorted(places), values.size]):
        merged = first_scores(np.concatenate([merged, first_scores(values[a:z], most)]), most)
    ordered = sorted(values.tolist(), reverse=True)
    lower = [x for x in ordered if x < ordered[:most][-1]][:1]
    assert merged.tolist() == ordered[:most] + lower


def test_grades_that_are_no_whole_numbers_have_no_classes() -> None:
    X, y = listed(3, graded=True)
    parts = in_parts(X, y / 2, [100], "dcg@10")
    assert parts.classes_ is None and in_memory(X, y / 2, "dcg@10").classes_ is None
    with pytest.raises(NotSupportedError, match="labels were no whole numbers"):
        parts.predict(framed(X))


def test_the_scores_of_a_shortlist_are_not_those_of_parts(path) -> None:
    X, y = listed(4)
    est = in_memory(X, y, radius=None, margin=None, epsilon=1e-6, n_candidates=60)
    for call in (est.scores_of_parts, est.ranks_of_parts, partial(est.top_of_parts, n=5), est.score_of_parts):
        with pytest.raises(InputError, match="reranks the 60 rows of a shortlist"):
            call(path)


def by_hand(X):
    return X[:, 0] if isinstance(X, np.ndarray) else X["score"].to_numpy()


@pytest.mark.parametrize("kind", ["affine", "forest", "function", "weights"])
def test_first_stages_that_are_ready(kind) -> None:
    X, y = listed(5)
    sample = X[:200], y[:200]
    options = {
        "affine": lambda: {
            "first_stage": FrozenEstimator(make_pipeline(StandardScaler(), LogisticRegression()).fit(*sample)),
            "positive": True,
        },
        "forest": lambda: {"first_stage": RandomForestClassifier(10, max_depth=4, random_state=0).fit(*sample)},
        "function": lambda: {"first_stage": by_hand},
        "weights": lambda: {"first_stage": None, "prior": [0.01, 2.0]},
    }[kind]()
    assert_same(in_parts(X, y, [3, 200], **options), in_memory(X, y, **options))


def test_the_file_is_that_of_the_fit_in_memory_and_verifies(tmp_path) -> None:
    X, y = listed(6)
    parts, memory = in_parts(X, y, [9], proof=True), in_memory(X, y, proof=True)
    parts.save(tmp_path / "parts.json")
    memory.save(tmp_path / "memory.json")
    mine, other = (model_file.read(tmp_path / name) for name in ("parts.json", "memory.json"))
    assert mine.settings["cuts.1"] is not None
    assert mine.data_sha256 == other.data_sha256 and mine.settings == other.settings
    mine = model_file.read(tmp_path / "parts.json")
    np.testing.assert_array_equal(parts.predict(framed(X)), memory.predict(framed(X)))
    np.testing.assert_array_equal(load(tmp_path / "parts.json").predict(framed(X)), memory.predict(framed(X)))
    table = Table(X, y, None, None, tuple(NAMES))
    report = verify(mine, table, proof=parts.result_.proof)
    assert report.holds, [check for check in report.checks if not check.holds]
    assert not verify(mine, Table(X * 2, y, None, None, tuple(NAMES))).holds
    alone = verify(mine, without_data=True)
    assert alone.holds and not alone.complete and alone.outcome == "All that could be checked holds."
    assert "Only the file itself was checked" in str(alone.remarks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": None, "margin": None}, "radius is None, and free weights"),
        ({"n_candidates": 50}, "n_candidates is 50, and of a list in parts every row"),
        ({"list_length": 900}, "list_length is 900, which"),
        ({"pos_label": 1}, "pos_label is 1, which is for labels that are no grades; .* leave pos_label out"),
        ({"stat": "auc"}, "auc looks at every place"),
        ({"stat": "ap"}, "ap looks at every place or at several"),
        ({"first_stage": "logistic"}, "first_stage is 'logistic', which to fit would take the whole list in memory"),
        ({"first_stage": "scores"}, r"is no column \(did you mean 'score'\?\), and to fit would take"),
        ({"first_stage": LogisticRegression()}, "LogisticRegression, which is not fitted"),
        ({"first_stage": np.zeros(400)}, "first_stage is an array of scores"),
        ({"first_stage": None}, "prior is 'auto', and the deviations that it takes would take the whole list"),
        ({"first_stage": "same"}, "gives all rows the same score"),
        ({"first_stage": lambda X: X["score"]}, "cannot score a part, which is an array of the columns score, age"),
        ({"features": ["ages"]}, "no column 'ages'; did you mean 'age'"),
        ({"features": ["age", 1]}, "name each column to rerank once"),
        ({"features": ["same"]}, "Each column to rerank is constant"),
        ({"features": StandardScaler()}, "parts are read one by one"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_what_parts_do_not_allow_is_one_sentence(options, message) -> None:
    X, y = listed()
    est = Reranker("precision@30", **OPTIONS).set_params(**options)
    with pytest.raises(InputError, match=message):
        est.fit_parts(cut(X, y, [100]), columns=NAMES)
    assert not hasattr(est, "result_") and not hasattr(est, "n_features_in_")


def test_parts_and_labels_that_cannot_be_used(path, monkeypatch) -> None:
    X, y = listed()
    est = Reranker("precision@30", **OPTIONS)
    fit = partial(est.fit_parts, columns=NAMES)
    with pytest.raises(InputError, match="give Parquet files, a Ray Dataset, or functions"):
        fit(X)
    with pytest.raises(InputError, match="y is None; name the column of the labels"):
        est.fit_parts(path)
    with pytest.raises(InputError, match="did you mean 'found'"):
        est.fit_parts(path, "fond")
    with pytest.raises(InputError, match="without the one of the labels"):
        est.fit_parts(path, "found", columns=[*NAMES, "found"])
    with pytest.raises(InputError, match=r"name the columns of the table with columns=\[...\]"):
        est.fit_parts(cut(X, y, []))
    for short in (cut(X[:, :3], y, []), [lambda: (X, y[1:])]):
        with pytest.raises(InputError, match="give one label a row, and the columns score, age, hours, same"):
            fit(short)
    with pytest.raises(InputError, match="NaN"):
        fit(cut(np.where(X[7, 1] == X, np.nan, X), y, []))
    with pytest.raises(InputError, match="label of row 0 is -1.0; give numbers >= 0"):
        fit(cut(X, y - 1, []))
    with pytest.raises(InputError, match="The parts hold no row"):
        fit(cut(X[:0], y[:0], [0]))
    with pytest.raises(InputError, match="No row has a label above 0"):
        fit(cut(X, 0 * y, []))
    with pytest.raises(InputError, match="Every row has a label above 0"):
        fit(cut(X, 0 * y + 1, []))
    with pytest.raises(InputError, match="labels other than 0 and 1"):
        est.set_params(stat="recall@9").fit_parts(cut(X, 2 * y, []), columns=NAMES)
    monkeypatch.setattr(reduced, "MOST_ROWS", 20)
    with pytest.raises(InputError, match="rows can reach the places that count, more than 20"):
        fit(cut(X, y, []))


@pytest.mark.parametrize("error", [InputError("The disk is gone."), KeyboardInterrupt()], ids=["error", "ctrl-c"])
@pytest.mark.parametrize("readings", [0, 1, 2, 3, 4])
def test_after_an_error_in_a_pass_the_estimator_is_as_it_was(error, readings) -> None:
    X, y = listed(7)
    est = in_parts(X, y)
    before = dict(vars(est))
    count = []

    def broken():
        count.append(1)
        if len(count) > readings:
            raise error
        return X, y

    with pytest.raises(type(error)):
        est.fit_parts([broken, *cut(X, y, [])], columns=NAMES)
    assert vars(est) == before


def test_the_time_limit_is_not_for_the_passes(monkeypatch) -> None:
    X, y = listed(9)
    began = math.floor(working_time())  # whole seconds are added without rounding
    passed = []

    def read():
        passed.append(1)
        return X, y

    monkeypatch.setattr(clock, "working_time", lambda: began + 100.0 * len(passed))
    est = Reranker("precision@30", **{**OPTIONS, "time_limit": 60.0}).fit_parts([read], columns=NAMES)
    assert est.result_.proved and est.result_.nodes > 0 and est.result_.seconds["first_stage"] == 300
    assert not any("nothing was left for the search" in note for note in est.result_.notes)


def test_a_list_that_changes_between_the_passes_is_refused() -> None:
    X, y = listed(8)
    count = []

    def read():
        count.append(1)
        return X, y if len(count) < 4 else np.zeros(len(y))

    with pytest.raises(CertificateError, match="give parts that do not change"):
        Reranker("precision@30", **OPTIONS).fit_parts([read], columns=NAMES)
