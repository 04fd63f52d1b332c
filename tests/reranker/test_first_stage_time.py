"""First stages of others and the clock: no fit is begun that would not end in time, and what is kept says so."""

import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

from rerank import Reranker, RerankerCV, load
from rerank.errors.compiling import uncounted
from rerank.reranker import clock, cross_fit
from rerank.reranker.selection import held_out
from rerank.reranker.selection.held_out import Judge, _timed
from tests.cases.drawn import read_back

FITS = []


class Slow(BaseEstimator):
    """A first stage that memorises its rows, and takes its time."""

    def __init__(self, seconds=0.15):
        self.seconds = seconds

    def fit(self, X, y):
        FITS.append(len(y))
        time.sleep(self.seconds)
        self.known_ = {tuple(row): float(label) for row, label in zip(np.asarray(X).tolist(), y)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(tuple(row), 0.0) + 0.01 * row[0] for row in np.asarray(X).tolist()])


def table(lists=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (rng.random(60) < 0.4).astype(int), (np.arange(60) // 6 if lists else None)


@pytest.mark.parametrize("radius", [None, 0.1])
@pytest.mark.parametrize("lists", [False, True])
def test_a_fit_stops_between_folds_and_keeps_the_first_stage(radius, lists, tmp_path):
    X, y, qid = table(lists)
    FITS.clear()
    est = Reranker("dcg@5", first_stage=Slow(), radius=radius, time_limit=0.2, solver="search").fit(X, y, qid)
    assert 1 <= len(FITS) <= 2
    result = est.result_
    assert not est.reranks_ and result.folds == 0 and est.state_.prior_scores is None
    (note,) = (note for note in result.notes if "were not ready in time" in note)
    assert f"({len(FITS) - 1} of 5 folds), so it is kept as it is" in note and "raise time_limit" in note
    if radius is None and not lists:
        alone = Reranker("dcg@5", first_stage=est.first_stage_).fit(X, y)
        np.testing.assert_array_equal(est.rank(X), alone.rank(X))
    read_back(est, tmp_path, X, y, qid, first_stage=est.first_stage_)
    FITS.clear()
    more = clone(est).set_params(time_limit=30, node_limit=0).fit(X, y, qid)  # the advice
    assert len(FITS) == 6 and more.result_.folds == 5
    assert not any("in time" in note for note in more.result_.notes)


def test_a_choice_stops_between_folds_and_keeps_the_first_stage(tmp_path):
    X, y, _ = table()
    FITS.clear()
    began = time.perf_counter()
    est = RerankerCV(Reranker("dcg@5", first_stage=Slow(), solver="search"), time_limit=0.4).fit(X, y)
    assert len(FITS) <= 4 and time.perf_counter() - began < 10
    assert est.first_stage_kept_ and est.chosen_ is None and not est.best_estimator_.reranks_
    assert np.isnan(est.best_score_) and np.isnan(est.cv_results_["value"]).all()
    told = "No option had the time to be tried on held-out rows; raise time_limit."
    assert told in est.report() and told in est._repr_html_() and "not tried" in est.report()
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json", first_stage=est.first_stage_).result_.evidence
    assert again.report() == est.report() and again.first_stage is None
    FITS.clear()
    base = Reranker("dcg@5", first_stage=Slow(0.01), solver="search")
    more = RerankerCV(base, time_limit=60, cv=3, n_repeats=1, grid={"radius": [0.1]}).fit(X, y)  # the advice
    assert len(FITS) == 3 + 3 + 6 and np.isfinite(more.best_score_)


def test_a_deal_that_is_not_ready_is_left_out(monkeypatch):
    X, y, _ = table()
    FITS.clear()
    base = Reranker("dcg@5", first_stage=Slow(0.0), solver="search", radius=0.1, node_limit=0)
    real, deals = Judge.lead, []

    def lead(self, some):  # every option leads, so that all deals are asked for
        deals.append(len(some))
        return real(self, some)._replace(lead=1.0)

    monkeypatch.setattr(Judge, "lead", lead)
    for module in (clock, cross_fit, held_out):  # a fit of the first stage takes .1 s, all else nothing, on any machine
        monkeypatch.setattr(module, "working_time", lambda: 0.1 * len(FITS))
    est = RerankerCV(base, grid={}, cv=3, n_repeats=8, time_limit=2.0).fit(X, y)
    assert deals == [1, 2] and len(FITS) < 8 * 6  # a deal of the folds takes .6 of 1.5 s
    assert np.isfinite(est.cv_results_["value"]).all()


class Compiled(LogisticRegression):
    """A first stage whose kernels have to be compiled, or loaded, in every process and fold."""

    def fit(self, X, y, sample_weight=None):
        with uncounted():
            time.sleep(0.6)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_what_processes_compile_is_not_in_the_limit_of_a_choice(backend):
    X, y, _ = table()
    base = Reranker("dcg@5", first_stage=Compiled(), solver="search", node_limit=0)
    choice = RerankerCV(base, grid={"radius": [0.1]}, cv=2, n_repeats=1, time_limit=2.5, n_jobs=2)
    with parallel_config(backend):
        choice.fit(X, y)
    # Each of two folds takes 6 such fits, and so does the last fit.
    assert np.isfinite(choice.cv_results_["value"]).all() and choice.result_.folds == 5


def test_kernels_are_compiled_before_processes_would_each_do_it(monkeypatch):
    X, y, _ = table()
    order = []
    monkeypatch.setattr(held_out, "is_compiled", lambda: False)
    monkeypatch.setattr(held_out, "compile_kernels", lambda: order.append("compile"))
    monkeypatch.setattr(held_out, "_timed", lambda *job: order.append("job") or _timed(*job))
    for solver, expected in (("search", ["compile"]), ("none", [])):
        for n_jobs in (1, 2):
            order.clear()
            base = Reranker("dcg@5", solver=solver, node_limit=0)
            with parallel_config("threading"):
                RerankerCV(base, grid={"radius": [0.0]}, cv=2, n_repeats=1, n_jobs=n_jobs).fit(X, y)
            assert order[:1] == (expected or ["job"] if n_jobs == 2 else []) and order.count("compile") <= 1


def test_where_folds_learn_from_fewer_rows_no_first_stage_is_fitted_in_vain():
    """Each fold has three folds of its own: four fits, as the last fit has."""
    X, y, _ = table()
    splits = [
        (np.delete(np.arange(60), np.r_[test, (test[:5] + 20) % 60]), test) for test in np.split(np.arange(60), 3)
    ]
    base = Reranker("auc", first_stage=Slow(0.0), cross_fit=3, solver="search", n_candidates=None)
    FITS.clear()
    RerankerCV(base, grid={"radius": [0.1]}, cv=splits).fit(X, y)
    assert len(FITS) == 4 * (len(splits) + 1)
