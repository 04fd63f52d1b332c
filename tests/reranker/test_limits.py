"""Limits of a fit: time, nodes and memory, for each way to solve; and fits that go on where a limit ended one."""

import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from benchmarks.trust.limits import excess, processor_clock, table
from rerank import Reranker, RerankerCV, load
from rerank.errors import SolverError
from rerank.errors.kernels import at_once
from rerank.search import compile_kernels
from tests.cases.refuses import refuses

SHAPES = {
    "many pairs": ({"rows": 1000, "features": 50}, {"solver": "search", "first_stage": None}),
    "too many pairs": ({"rows": 2000, "features": 50}, {"solver": "search"}),
    "a program too large to build": (
        {"rows": 300, "features": 6},
        {"solver": "highs", "presolve": False, "formulation": "resolved_rank", "first_stage": None},
    ),
    "many lists": ({"rows": 40_000, "features": 8, "lists": 2000}, {"solver": "highs"}),
    "many features": ({"rows": 1000, "features": 500}, {"stat": "auc", "first_stage": None}),
    "a first stage of ours": ({"rows": 100_000, "features": 20}, {"first_stage": "toppush", "n_candidates": 50}),
}


def fitted(shape, options, **more):
    X, y, qid = table(**shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reranker(**{"stat": "dcg@10", "n_candidates": None, **options, **more}).fit(X, y, qid)


@pytest.mark.parametrize("name", SHAPES)
def test_a_fit_keeps_its_time_limit(name):
    shape, options = SHAPES[name]
    compile_kernels()
    with at_once():
        fitted({"rows": 40, "features": 3}, options, time_limit=5.0)  # loads what is loaded once
    with processor_clock():
        began = time.process_time()
        est = fitted(shape, options, time_limit=1.0)
        assert excess(time.process_time() - began, 1.0) <= 1
    assert est.result_.value <= est.result_.bound
    if name == "a program too large to build":
        assert any("was not built" in note for note in est.result_.notes)
        assert est.result_.certificate is not None and est.result_.bound_source == "ideal"
    seconds = est.result_.seconds
    assert sum(seconds.values()) <= 2 * seconds["total"] + 1e-6


@pytest.mark.parametrize("options", [{"solver": "search"}, {"solver": "search", "max_features": 4}])
def test_a_node_limit_gives_the_same_bits_on_every_run_with_any_n_jobs(options):
    X, y, _ = table(60, 8)
    est = Reranker("auc", n_candidates=50, node_limit=60, time_limit=None, **options)
    found = [est.set_params(n_jobs=n).fit(X, y).result_ for n in (1, 2, None)]
    assert found[0].nodes >= 60 and found[0].status != "optimal"
    bits = [(one.value.hex(), one.bound.hex(), one.nodes, one.weights.tobytes()) for one in found]
    assert bits == bits[:1] * 3


class Slow(BaseEstimator):
    """A first stage of somebody else's, which takes its time."""

    def fit(self, X, y):
        time.sleep(0.3)
        self.coef_ = np.zeros((1, X.shape[1]))
        return self

    def predict(self, X):
        return np.arange(len(X)) % 7


def test_a_first_stage_that_uses_up_the_time_is_reported():
    X, y, _ = table(60, 3)
    est = Reranker("dcg@5", first_stage=Slow(), solver="search", time_limit=0.1).fit(X, y)
    assert any("nothing was left for the search" in note for note in est.result_.notes)
    assert est.result_.value <= est.result_.bound


@pytest.mark.parametrize(
    ("d", "n", "options", "note"),
    [
        (6, 16, {"formulation": "auc"}, "stands without a second opinion"),
        (10, 60, {"node_limit": 1}, "The program brought nothing"),
    ],
)
def test_a_solver_that_fails_takes_nothing_away(monkeypatch, d, n, options, note):
    def failing(*args, **kwargs):
        raise SolverError("The licence has expired.")

    X, y, _ = table(60, d)
    plain = Reranker("auc", n_candidates=n, solver="search", margin=1e-4, **options).fit(X, y).result_
    monkeypatch.setattr("rerank.reranker.solve.optimise.run", failing)
    est = Reranker("auc", n_candidates=n, solver="highs", **options).fit(X, y)
    assert any(f"{note}: The licence has expired." in one for one in est.result_.notes)
    assert est.result_.bound_source == "search" and est.result_.bound >= est.result_.value
    assert (est.result_.status == "optimal") == (plain.status == "optimal") == ("node_limit" not in options)


# -- a search that goes on ---------------------------------------------------------------------------------------------


OPTIONS = {"n_candidates": 100, "time_limit": None, "solver": "search"}


def test_a_fit_in_two_parts_gives_the_bits_of_a_whole_one(tmp_path):
    X, y, _ = table(200, 4)
    whole = Reranker("auc", **OPTIONS).fit(X, y).result_
    path = tmp_path / "c"
    first = Reranker("auc", node_limit=500, checkpoint=path, **OPTIONS).fit(X, y).result_
    assert first.status != "optimal" and first.nodes < whole.nodes
    est = Reranker("auc", n_jobs=2, checkpoint=path, **OPTIONS).fit(X, y)
    found = est.result_
    assert found.status == "optimal" and found.nodes == whole.nodes
    assert (found.value, found.bound) == (whole.value, whole.bound)
    assert found.weights.tobytes() == whole.weights.tobytes()
    est.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").checkpoint is None  # a matter of the run, not of the model


def test_without_a_search_there_is_no_state_to_keep(tmp_path):
    X, y, _ = table(20, 3)
    for options, what in (({"presolve": False}, "presolve=False"), ({"solver": "none"}, "solver='none'")):
        refuses(what, Reranker(checkpoint=tmp_path / "c", **options).fit, X, y)
    for path in (3, "", b"c"):
        refuses("checkpoint", Reranker(checkpoint=path).fit, X, y)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")
def test_a_choice_by_held_out_rows_keeps_the_last_search(tmp_path):
    X, y, _ = table(60, 3)
    base = Reranker("auc", checkpoint=tmp_path / "c", **OPTIONS)
    choice = RerankerCV(base, grid={"margin": [0.01, 0.1]}, cv=2, safeguard=-np.inf)
    chosen, again = (clone(choice).fit(X, y) for _ in range(2))
    assert (tmp_path / "c").exists() and again.result_.value == chosen.result_.value
