"""Fits of one long list that leave rows out: the value of the whole list; and what became of parts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank import Reranker, RerankerCV
from rerank.certificate import certify
from rerank.errors import InputError
from rerank.io import Table, parquet
from rerank.io.parquet import read_parquet
from rerank.reranker import anchored
from rerank.reranker.files import model_file
from rerank.reranker.files.verify import verify

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")

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


def framed(X):
    return pa.table(list(X.T), names=NAMES)


def fitted(X, y, stat="precision@30", **options):
    return Reranker(stat, **{**OPTIONS, **options}).fit(framed(X), y)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["precision@20", "dcg@10", "window2@8", "ndcg@10", "pauc@7"]))
def test_the_rows_left_out_change_no_value(seed: int, stat: str) -> None:
    """The slow twin: the problem of all rows."""
    X, y = listed(seed, 300, graded=True)
    few = fitted(X, y, stat)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchored, "_is_cut", lambda *_: False)
        whole = fitted(X, y, stat)
    every = whole.state_.problem
    assert len(few.state_.problem.X) < len(every.X) == 300
    assert certify(every, few.state_.weights).value == certify(few.state_.problem, few.state_.weights).value
    assert few.result_.value == pytest.approx(whole.result_.value) and few.result_.proved and whole.result_.proved


def test_a_list_shorter_than_the_places_that_count() -> None:
    X, y = listed(2, 40)
    est = fitted(X, y, "precision@90")
    assert (est.result_.status, est.result_.value) == ("already_ideal", y.sum())
    assert fitted(X, y, "dcg@90").result_.proved


def test_no_relevant_row_comes_near() -> None:
    X, y = listed(3)
    y[:] = X[:, 0] < np.sort(X[:, 0])[5]
    for stat in ("precision@30", "pauc@12"):
        est = fitted(X, y, stat)
        assert est.state_.problem.lists[0].gains.max() == 0
        assert est.result_.status == "already_ideal" and est.result_.proved
        assert est.result_.notes[-1].startswith(f"No correction within the radius gives a larger {stat}; the ideal")


def test_the_file_of_a_fit_that_left_rows_out_verifies(tmp_path) -> None:
    X, y = listed(6)
    est = fitted(X, y, proof=True)
    est.save(tmp_path / "m.json")
    doc = model_file.read(tmp_path / "m.json")
    assert len(est.state_.problem.X) < 400 and doc.settings["cuts.1"] is not None
    assert verify(doc, Table(X, y, None, None, tuple(NAMES)), proof=est.result_.proof).holds
    assert not verify(doc, Table(X * 2, y, None, None, tuple(NAMES))).holds


def test_methods_for_parts_are_gone_and_say_what_to_call() -> None:
    X, y = listed(4)
    for est in (Reranker("precision@30", **OPTIONS), fitted(X, y)):
        for name in ("fit_parts", "scores_of_parts", "top_of_parts", "ranks_of_parts", "score_of_parts"):
            assert not hasattr(est, name) and name not in dir(est)
            with pytest.raises(AttributeError, match=f"^Reranker has no '{name}' any more: read the rows") as told:
                getattr(est, name)
            assert hasattr(est, str(told.value).rstrip(".").rpartition(" ")[2])
        with pytest.raises(AttributeError, match="'Reranker' object has no attribute 'fitt'"):
            est.fitt  # noqa: B018
        assert copy.deepcopy(est).get_params().keys() == pickle.loads(pickle.dumps(est)).get_params().keys()
    assert not hasattr(RerankerCV(), "fit_parts")


def test_what_is_no_table_in_memory_is_one_sentence_and_its_advice_works(tmp_path) -> None:
    X, y = listed(4)
    path = tmp_path / "list.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(framed(X), path)
    est, data = Reranker("precision@30", **OPTIONS), pytest.importorskip("pyarrow.dataset")
    for given_ in (path, str(path)):
        with pytest.raises(InputError, match="^X is '.*; pass the table of a file, such as pyarrow.dataset"):
            est.fit(given_, y)
    whole = est.fit(data.dataset(path), y).coef_
    np.testing.assert_array_equal(whole, fitted(X, y).coef_)

    class Dataset:
        def to_pandas(self):
            return framed(X).to_pandas()

        def to_table(self):
            raise MemoryError

    Dataset.__module__ = "ray.data.dataset"
    with pytest.raises(InputError, match=r"X is a Dataset of Ray, whose rows are not in memory; pass X.to_pandas\(\)"):
        est.fit(Dataset(), y)
    np.testing.assert_array_equal(est.fit(Dataset().to_pandas(), y).coef_, whole)
    Dataset.__module__ = "pyarrow._dataset"
    with pytest.raises(InputError, match="A Dataset needs more memory than there is; read the rows and columns that"):
        est.fit(Dataset(), y)
    high = pa.compute.field("score") > 0
    few = data.dataset(path).to_table(columns=NAMES[:3], filter=high)
    assert est.fit(few, y[X[:, 0] > 0]).result_.proved


def test_a_parquet_file_that_is_too_large_is_one_sentence_and_its_advice_works(tmp_path, monkeypatch) -> None:
    X, y = listed(4)
    pq = pytest.importorskip("pyarrow.parquet")
    whole = framed(X).append_column("found", [y])
    pq.write_table(whole, tmp_path / "list.parquet")
    monkeypatch.setattr(parquet, "MAX_CELLS", 400 * 11)
    with pytest.raises(InputError, match="400 rows of 4 features, over 4400 cells; choose fewer columns"):
        read_parquet(tmp_path / "list.parquet", label="found")
    names = ["score", "age", "hours"]
    assert read_parquet(tmp_path / "list.parquet", label="found", features=names).X.shape == (400, 3)
    first = pq.read_table(tmp_path / "list.parquet", filters=[("score", ">", 0.0)])
    pq.write_table(first, tmp_path / "first.parquet")
    table = read_parquet(tmp_path / "first.parquet", label="found")
    assert table.X.shape == ((X[:, 0] > 0).sum(), 4)
    assert Reranker("precision@30", **OPTIONS).fit(first.drop(["found"]), table.y).result_.proved
