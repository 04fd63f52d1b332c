"""Fits of one long list that leave rows out: the value of the whole list; and what became of parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank import Reranker, verify
from rerank.certificate import certify
from rerank.reranker import training
from rerank.reranker.files import model_file
from tests.cases.drawn import as_table, read_back

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")

NAMES = ["score", "age", "hours", "same"]
OPTIONS = dict(
    first_stage="score",
    radius=0.05,
    margin=1e-6,
    features=["age", "hours"],
    n_candidates=None,
    solver="search",
    time_limit=None,
)


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
        patch.setattr(training, "depth_of", lambda *_: None)
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
    read_back(est, tmp_path, X, y, proof=est.result_.proof)
    doc = model_file.read(tmp_path / "m.json")
    assert len(est.state_.problem.X) < 400 and doc.settings["cuts.1"] is not None
    assert not verify(doc, as_table(est, X * 2, y)).holds
