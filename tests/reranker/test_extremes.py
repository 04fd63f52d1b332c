"""Numbers that a double can just hold, or no longer: every one is fitted, or refused in one sentence."""

import contextlib
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rerank import Reranker, load
from rerank.errors import InputError, RerankError
from rerank.problem import problem_of
from rerank.ranks import evaluate
from rerank.search import solve
from rerank.statistics import InLists, Window, parse

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 1.5 * RNG.normal(size=N) > 0.6).astype(int)
LISTS = np.arange(N) // 10


def fitted(y=Y, rows=X, qid=None, weights=None, query_weight=None, **options):
    est = Reranker(**{"stat": "dcg@5", "solver": "search", "node_limit": 20, "first_stage": None, **options})
    return est.fit(rows, y, qid, sample_weight=weights, query_weight=query_weight)


def refused(message, call):
    with pytest.raises(InputError, match=message) as told:
        call()
    assert len(str(told.value)) < 400 and str(told.value).endswith(".")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e308, 5e-324])
@pytest.mark.parametrize("first_stage", [None, "logistic"])
def test_weights_whose_sums_are_no_numbers_are_refused(size, first_stage):
    many = np.where(Y > 0, size, size / 2)
    refused("largest sample_weight.*divide all", lambda: fitted(weights=many, first_stage=first_stage))
    refused("largest query_weight.*divide all", lambda: fitted(qid=LISTS, query_weight=dict.fromkeys(range(4), size)))
    refused("largest sample_weight.*divide all", lambda: evaluate("dcg@5", Y, X[:, 0], sample_weight=many))
    refused("largest query_weight", lambda: evaluate("dcg@5", Y, X[:, 0], LISTS, query_weight=np.full(N, size)))
    for scale in (2.0**900, 2.0**-900):
        assert fitted(weights=np.where(Y > 0, scale, scale / 2), first_stage=first_stage).rank(X).size == N


@pytest.mark.parametrize("stat", ["dcg@5", "auc", "ndcg@5", "pauc@5", "pnorm@4", "mrr"])
def test_labels_beyond_those_that_sums_hold_are_refused_and_others_are_no_classes(stat, tmp_path):
    refused("label of row 0 is 1e.308", lambda: fitted(Y * 1e308, stat=stat, gain="linear"))
    refused("sample_weight of row", lambda: fitted(Y * 1e300, stat=stat, gain="linear", weights=np.full(N, 1e9)))
    est = fitted(Y * 1e300, stat=stat, gain="linear")
    assert est.classes_ is None and np.array_equal(est.rank(X), fitted(stat=stat).rank(X))
    est.save(tmp_path / "m.json")
    assert np.array_equal(load(tmp_path / "m.json").rank(X), est.rank(X))


def test_windows_and_lists_beyond_all_are_refused():
    refused("depth of a window", lambda: Window(10**400))
    refused("list_length", lambda: InLists(parse("dcg@5"), 10**12))
    assert re.fullmatch("window2@100", Window(100).name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"first_stage": "logistic"}, {"first_stage": "logistic", "radius": 0.1}])
def test_a_column_whose_range_is_beyond_all_is_ranked_explained_and_no_number_of_rows(options):
    wide = X / np.abs(X).max(axis=0) * [1.0, 1.7e308, 1.0]
    est = fitted(rows=wide, **options)
    tame = fitted(rows=wide * [1.0, 2.0**-20, 1.0], **options)
    assert np.array_equal(est.rank(wide), tame.rank(wide * [1.0, 2.0**-20, 1.0]))
    np.testing.assert_allclose(est.coef_ * [1.0, 2.0**20, 1.0], tame.coef_, rtol=1e-9)
    assert len(est.result_.notes) == len(tame.result_.notes)
    est.contributions(wide)


SIZES = [1e-310, 1e-200, 1e-8, 1.0, 1.0, 1e15, 1e150, 1e300, 1e308]
STATISTICS = ["dcg", "auc", "precision@3", "pairs", "ndcg@5"]
STAGES = ["logistic", "ranksvm", "toppush", "robirank", "logistic+squares", "logistic+head20", None]


@settings(max_examples=25, deadline=None)
@example(239, "ndcg@5", None, None)  # sums beyond the largest double, by the kernels' form for Python
@given(st.integers(0, 10**6), st.sampled_from(STATISTICS), st.sampled_from(STAGES), st.sampled_from([None, 0.1]))
def test_whatever_the_table_a_fit_ends_or_says_what_to_do(seed: int, stat: str, stage: Any, radius: Any) -> None:
    """Few rows, grades, lists, and columns whose sizes are far apart: folds may hold one label alone."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 14)), int(rng.integers(1, 4))
    X = np.clip(rng.normal(size=(n, d)), -1.7, 1.7) * rng.choice(SIZES, d)
    y, qid = rng.integers(0, 3, n), rng.integers(0, 3, n) if seed % 2 else None
    with warnings.catch_warnings(), contextlib.suppress(RerankError):
        warnings.simplefilter("ignore")
        Reranker(stat, first_stage=stage, radius=radius, node_limit=50).fit(X, y, qid=qid)
    with contextlib.suppress(RerankError):
        solve(problem_of(X, y * rng.choice([1.0, 1e-310, 1e290]), parse(stat), qid=qid), node_limit=50)


def test_where_a_rest_of_the_folds_has_one_label_the_scores_are_of_rows_seen() -> None:
    X, y = np.array([[1.0], [1.0], [-1.0]]), [3, 0, 1]
    found = Reranker("dcg", radius=0.1).fit(X, y, qid=["q2", "q1", "q1"])
    assert any("all labels are equal" in note for note in found.result_.notes)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("first_stage", ["logistic", "logistic+squares", "logistic+head10", "given", None])
@pytest.mark.parametrize("radius", [0.1, None])
@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e300])
def test_what_is_fitted_scores_every_row_by_a_number(first_stage, radius, scale):
    rows = X * scale
    stage = {"given": X[:, 0]}.get(first_stage, first_stage)
    try:
        est = fitted(rows=rows, first_stage=stage, radius=radius, n_candidates=None)
    except InputError as error:
        assert "multiply" in str(error) or "cannot order" in str(error) or "divide" in str(error), error
        return
    if first_stage != "given":
        assert np.isfinite(est.decision_function(rows)).all()
