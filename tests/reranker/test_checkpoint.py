"""Fits that go on with the state of an earlier search, and options with which there is none."""

import warnings

import pytest

from benchmarks.trust.limits import table
from rerank import Reranker, RerankerCV, load
from rerank.errors import InputError

OPTIONS = {"n_candidates": 100, "time_limit": None, "solver": "search"}


def test_a_fit_in_two_parts_gives_the_bits_of_a_whole_one(tmp_path):
    X, y, _ = table(200, 4)
    whole = Reranker("auc", **OPTIONS).fit(X, y).result_
    path = tmp_path / "c"
    first = Reranker("auc", node_limit=500, checkpoint=path, **OPTIONS).fit(X, y).result_
    assert first.status != "optimal" and first.nodes < whole.nodes
    est = Reranker("auc", n_jobs=2, checkpoint=path, **OPTIONS).fit(X, y)
    found = est.result_
    assert (found.value, found.bound, found.nodes, found.status) == (
        whole.value, whole.bound, whole.nodes, "optimal",
    )  # fmt: skip
    assert found.weights.tobytes() == whole.weights.tobytes()
    est.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").checkpoint is None  # a matter of the run, not of the model


def test_without_a_search_there_is_no_state_to_keep(tmp_path):
    X, y, _ = table(20, 3)
    for options, what in (({"presolve": False}, "presolve=False"), ({"solver": "none"}, "solver='none'")):
        with pytest.raises(InputError, match=what):
            Reranker(checkpoint=tmp_path / "c", **options).fit(X, y)
    for path in (3, "", b"c"):
        with pytest.raises(InputError, match="checkpoint"):
            Reranker(checkpoint=path).fit(X, y)
    assert not list(tmp_path.iterdir())


def test_a_choice_by_held_out_rows_keeps_the_last_search(tmp_path):
    X, y, _ = table(60, 3)
    base = Reranker("auc", checkpoint=tmp_path / "c", **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = RerankerCV(base, grid={"epsilon": [0.01, 0.1]}, cv=2, safeguard=float("-inf")).fit(X, y)
        again = RerankerCV(base, grid={"epsilon": [0.01, 0.1]}, cv=2, safeguard=float("-inf")).fit(X, y)
    assert (tmp_path / "c").exists() and again.result_.value == chosen.result_.value
