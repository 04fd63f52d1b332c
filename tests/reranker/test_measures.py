"""Fits of AP, RR, success@N, Pos@Top, recall@N and RBP: numbers, files, proofs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank import Reranker, RerankerCV, verify
from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.io import Table
from rerank.ranks import evaluate
from tests.cases.refuses import refuses

MEASURES = ("ap", "rr", "success@2", "pos@top", "recall@3", "rbp@0.7")
HITS = MEASURES[:3]


def lists(seed=0, n_lists=8, m=9):
    """Graded lists; the first has no relevant row of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * m, 2))
    y = np.digitize(X @ [1.0, -0.5] + 1.5 * rng.normal(size=n_lists * m), [1.0, 2.0]).astype(float)
    y[:m] = 0
    return X, y, np.repeat(np.arange(n_lists), m)


def fitted(stat, X, y, qid=None, **options):
    given = {key: options.pop(key) for key in ("sample_weight", "ideal_gains") if key in options}
    return Reranker(stat, **{"solver": "search", "time_limit": 20, **options}).fit(X, y, qid, **given)


@pytest.mark.parametrize("stat", MEASURES)
@pytest.mark.parametrize("n_candidates", [4, None])
def test_the_numbers_are_those_of_the_ranking_and_survive_files(tmp_path, stat, n_candidates):
    X, y, qid = lists()
    missed = {0: [1, 2], 3: [1]}
    est = fitted(stat, X, y, qid, n_candidates=n_candidates, ideal_gains=missed, proof=True)
    result = est.result_
    by_rank = evaluate(stat, y, est.list_scores(X, qid), qid, ideal_gains=missed)
    assert result.status == "optimal" and result.bound_source in ("search", "ideal")
    assert result.statistic == pytest.approx(by_rank, abs=1e-12)
    assert est.score(X, y, qid, ideal_gains=missed) == pytest.approx(by_rank, abs=1e-12)
    if result.status != "first_stage_kept":  # head and tail together
        assert float(result.certificate.statistic) == pytest.approx(by_rank, abs=1e-12)
    assert result.value <= result.bound <= est.state_.problem.ideal
    est.save(tmp_path / "m.json")
    save_proof(result.proof, tmp_path / "p.npz")
    assert verify_proof(est.state_.problem, load_proof(tmp_path / "p.npz")).ok
    table = Table(X, y, qid, None, est.state_.columns.names, ideal_gains=missed)
    report = verify(tmp_path / "m.json", table)
    assert report.holds, report
    assert np.array_equal(rerank.load(tmp_path / "m.json").rank(X, qid), est.rank(X, qid))


@pytest.mark.parametrize("stat", MEASURES)
def test_grades_above_zero_count_alike(stat):
    X, y, qid = lists(1)
    graded, binary = fitted(stat, X, y, qid, first_stage=None), fitted(stat, X, y > 0, qid, first_stage=None)
    assert graded.result_.value == binary.result_.value
    assert np.array_equal(graded.coef_, binary.coef_)
    assert graded.score(X, y, qid) == graded.score(X, y > 0, qid) == graded.score(X, 2 * y, qid)


@pytest.mark.parametrize("stat", HITS)
def test_no_program_states_them(stat):
    X, y, qid = lists(2)
    est = fitted(stat, X, y, qid, solver="highs", first_stage=None)
    assert est.result_.status == "optimal" and est.result_.bound_source in ("search", "ideal")
    assert f"No program states {stat}; the search had all of the time." in est.result_.notes


def test_recall_rbp_and_pos_at_top_are_programs_too():
    X, y, qid = lists(3, n_lists=3, m=6)
    for stat, program in (("recall@2", "mixed"), ("rbp@0.5", "mixed"), ("pos@top", "pos_top")):
        both = ({"solver": "search"}, {"solver": "highs", "formulation": program})
        found = [fitted(stat, X, y, qid, first_stage=None, **options) for options in both]
        assert found[1].result_.formulation == program
        alone = fitted(stat, X, y, qid, solver="highs", presolve=False, first_stage=None)
        for est in (*found, alone):
            assert est.result_.value == pytest.approx(found[0].result_.value, abs=1e-9)


def test_weights_of_rows():
    X, y, qid = lists(4)
    for stat in (*HITS, "pos@top"):
        refuses(f"{stat} counts whole rows", fitted, stat, X, y, qid, sample_weight=np.where(y > 0, 0.5, 1.0))
        kept = (np.arange(y.size) % 3 > 0).astype(float)
        some = fitted(stat, X, y, qid, sample_weight=kept, first_stage=None)
        there = kept > 0  # the other rows take no place
        only = fitted(stat, X[there], y[there], qid[there], first_stage=None)
        assert some.result_.value == only.result_.value
    heavy = np.where(np.arange(y.size) % 2, 3.0, 1.0)
    est = fitted("recall@3", X, y, qid, sample_weight=heavy, first_stage=None)
    expected = evaluate("recall@3", y, est.list_scores(X, qid), qid, sample_weight=heavy)
    assert est.result_.statistic == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("stat", ["ap", "pos@top", "recall@3"])
def test_they_are_chosen_on_held_out_lists(stat):
    X, y, qid = lists(5)
    est = RerankerCV(Reranker(stat, solver="search"), cv=2, n_repeats=1, time_limit=20).fit(X, y, qid)
    # There is no place to put a window around in average precision.
    corrected = [params for params in est.cv_results_["params"] if params["radius"] != 0]
    assert all((params.get("window") is not None) == (stat == "recall@3") for params in corrected)
    value = est.score(X, y, qid)
    assert value == pytest.approx(est.score(X, y > 0, qid)) and 0 < value <= 1
    rows = est.best_estimator_.state_
    known = rows.list_scores(rows.columns.rows(X), np.unique(qid, return_inverse=True)[1], rows.prior_scores)
    assert evaluate(stat, y, known, qid) == pytest.approx(est.result_.statistic, abs=1e-12)
