"""RerankerCV: the held-out scores are those of plain fits, and the safeguard does what it says."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rerank
from rerank import Reranker, RerankerCV, describe, search
from rerank.errors import InputError
from rerank.io.page import as_html
from rerank.ranks import evaluate
from rerank.reranker import fit as fitting
from rerank.reranker.selection import held_out
from rerank.statistics import parse
from tests.cases.refuses import refuses

FAST = Reranker("auc", solver="search", time_limit=5, n_candidates=8)
SMALL = {"margin": [1e-3, 0.1]}


def noise(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.tile([0, 1], n // 2)


def outliers(n_lists=12, seed=0):
    """Lists whose best rows stand out by x0; a few far rows turn logistic regression against it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * 15, 2))
    qid = np.repeat(np.arange(n_lists), 15)
    y = np.zeros(len(X), dtype=int)
    for q in range(n_lists):
        rows = np.flatnonzero(qid == q)
        y[rows[np.argsort(-X[rows, 0])[:4]]] = 1
        X[rows[y[rows] == 0][0]] = [60.0, 0.0]
        X[rows[y[rows] == 0][1:3], 0] += 0.5
    return X, y, qid


def fold_of(splitter, X, y, qid):
    fold = np.empty(y.size, dtype=int)
    for number, (_, test) in enumerate(splitter.split(X, y, qid)):
        fold[test] = number
    return fold


@pytest.mark.parametrize(
    "stage",
    [LogisticRegression(), "logistic", make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["linear", "by name", "pipeline"],
)
def test_held_out_scores_are_those_of_plain_fits(stage):
    X, y, qid = outliers()
    base = clone(FAST).set_params(first_stage=stage)
    found = RerankerCV(base, grid=SMALL, cv=GroupKFold(3)).fit(X, y, qid).cv_results_
    alones, own = [], [[] for _ in found["params"]]
    dealt = fold_of(GroupKFold(3), X, y, qid)  # the first stage's scores to learn from are by the other folds
    for train, test in GroupKFold(3).split(X, y, qid):
        plain = make_pipeline(StandardScaler(), LogisticRegression()) if stage == "logistic" else clone(stage)
        plain.fit(X[train], y[train])
        alone = plain.decision_function(X[test])
        expected = evaluate("auc", y[test], alone, qid[test])
        alones.append(expected)
        for number, params in enumerate(found["params"]):
            est = clone(base).set_params(**params)
            est.fit(X[train], y[train], qid=qid[train], groups=dealt[train])
            expected = evaluate("auc", y[test], est.list_scores(X[test], qid[test]), qid[test])
            own[number].append(expected)
    alone = np.mean(alones)
    np.testing.assert_allclose(found["first_stage"], alone, atol=1e-12)
    np.testing.assert_allclose(found["value"], np.mean(own, axis=1), atol=1e-12)
    np.testing.assert_allclose(found["lead"], np.mean(own, axis=1) - alone, atol=1e-12)


@pytest.mark.parametrize("stage", [LogisticRegression(), "logistic"], ids=["linear", "by name"])
def test_the_search_starts_in_a_fold_where_it_starts_in_a_plain_fit(stage, monkeypatch):
    X, y, qid = outliers()
    real, starts = fitting.best_weights, []

    def solve(problem, plan, clock, start):
        starts.append(start)
        return real(problem, plan, clock, start)

    monkeypatch.setattr(fitting, "best_weights", solve)
    base = clone(FAST).set_params(first_stage=stage)
    RerankerCV(base, grid={"margin": [0.1]}, cv=GroupKFold(3)).fit(X, y, qid)
    in_folds = starts[:3]  # the fourth is the fit on all rows
    starts.clear()
    dealt = fold_of(GroupKFold(3), X, y, qid)
    for train, _ in GroupKFold(3).split(X, y, qid):
        clone(base).set_params(margin=0.1).fit(X[train], y[train], qid=qid[train], groups=dealt[train])
    assert len(in_folds) == len(starts) == 3
    for found, expected in zip(in_folds, starts):
        np.testing.assert_array_equal(found, expected)


def test_reranking_is_kept_where_held_out_lists_speak_for_it():
    X, y, qid = outliers()
    est = RerankerCV(FAST, grid=SMALL, cv=3).fit(X, y, qid)
    assert not est.first_stage_kept_ and est.best_estimator_.reranks_
    fresh_X, fresh_y, fresh_qid = outliers(seed=1)
    alone = evaluate("auc", fresh_y, est.best_estimator_.first_stage_scores(fresh_X), fresh_qid)
    assert est.score(fresh_X, fresh_y, fresh_qid) > alone


def test_noise_keeps_the_first_stage_and_the_safeguard_can_be_waived(tmp_path):
    X, y = noise()
    est = RerankerCV(FAST, grid=SMALL, safeguard=100.0).fit(X, y)
    assert est.first_stage_kept_ and est.result_.status == "first_stage_kept"
    assert "held-out rows" in est.result_.message
    first = est.best_estimator_.first_stage_scores(X)
    np.testing.assert_array_equal(est.rank(X), np.argsort(np.argsort(-first)) + 1)
    # Told are the out-of-fold scores of the training rows.
    assert est.result_.statistic == est.result_.first_stage_statistic and est.result_.folds == 5
    est.save(tmp_path / "model.json")
    np.testing.assert_array_equal(rerank.load(tmp_path / "model.json").rank(X), est.rank(X))
    bold = RerankerCV(FAST, grid=SMALL, safeguard=-np.inf).fit(X, y)
    assert not bold.first_stage_kept_
    assert bold.best_score_ == pytest.approx(max(bold.cv_results_["value"]))


def test_without_a_first_stage_there_is_nothing_to_keep():
    X, y = noise(30)
    est = RerankerCV(clone(FAST).set_params(first_stage=None), grid=SMALL, cv=3).fit(X, y)
    assert not est.first_stage_kept_ and np.isnan(est.cv_results_["lead"]).all()
    assert "There was no first stage to lead" in est.report()


def test_one_fold_that_leads_decides_only_without_a_safeguard():
    X, y, qid = outliers()
    cut = (np.flatnonzero(qid < 8), np.flatnonzero(qid >= 8))
    learned = clone(FAST).fit(X[cut[0]], y[cut[0]], qid=qid[cut[0]])
    reranked = learned.score(X[cut[1]], y[cut[1]], qid[cut[1]])
    alone = evaluate("auc", y[cut[1]], learned.first_stage_scores(X[cut[1]]), qid[cut[1]])
    assert reranked > alone + 0.1
    for safeguard, kept in ((50.0, True), (0.0, False)):
        est = RerankerCV(FAST, grid={}, cv=[cut], safeguard=safeguard).fit(X, y, qid)
        assert est.first_stage_kept_ is kept and est.best_estimator_.reranks_ is not kept
        assert est.best_score_ == pytest.approx(alone if kept else reranked, abs=1e-12)


def test_interrupted_it_chooses_by_the_options_that_were_tried(monkeypatch):
    X, y = noise()
    real, fits = held_out.fit, []

    def fit(*args, **options):
        fits.append(1)
        if len(fits) == 5:  # three folds an option: the second one is under way
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(held_out, "fit", fit)
    est = RerankerCV(FAST, grid=SMALL, cv=3, n_repeats=1, safeguard=-np.inf).fit(X, y)
    first, second = est.cv_results_["value"]
    assert np.isfinite(first) and np.isnan(second) and est.chosen_ == 0
    assert "not tried" in est.report()
    monkeypatch.setattr(held_out, "fit", lambda *args, **options: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):  # nothing to choose by
        RerankerCV(FAST, grid=SMALL, cv=3).fit(X, y)


def test_two_fits_agree_and_tell_their_options(capsys):
    X, y = noise()
    one, two = (RerankerCV(FAST, grid=SMALL, cv=2, n_jobs=jobs, verbose=1).fit(X, y) for jobs in (None, 2))
    assert one.cv_results_ == two.cv_results_
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("margin ")]
    assert len(lines) == 4
    for k, line in zip([0, 1] * 2, lines, strict=True):
        assert line.startswith(f"margin {SMALL['margin'][k]}: {parse(one.stat).name} ")
        assert f" {one.cv_results_['lead'][k]:+.4g} over the first stage on held-out rows, " in line
        assert line.endswith(" s in all")


def test_a_last_fit_that_fails_leaves_what_was_there(monkeypatch):
    X, y = noise()
    est = RerankerCV(FAST, grid={}, cv=2).fit(X, y)
    before = dict(vars(est))
    real = Reranker._fit_on

    def fit(self, given, *more):
        if len(given.X) == 40:
            raise InputError("the last fit")
        return real(self, given, *more)

    monkeypatch.setattr(Reranker, "_fit_on", fit)
    refuses("the last fit", est.fit, np.column_stack([X, X[:, 0] ** 2])[:40], y[:40])
    after = vars(est)
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
    monkeypatch.undo()
    np.testing.assert_array_equal(est.rank(X), est.best_estimator_.rank(X))


def test_one_limit_holds_for_all_fits_together():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 8)), rng.random(400) < 0.3
    cv = RerankerCV(Reranker("auc", solver="search", time_limit=60), grid=SMALL, cv=3, time_limit=4.0)
    search.compile_kernels()
    began = time.monotonic()
    cv.fit(X, y)
    assert time.monotonic() - began < 4.0 + 3.0  # the machine may be busy; seven fits of a minute it is not
    assert cv.best_estimator_.time_limit < 4.0 and (cv.first_stage_kept_ or cv.best_params_.keys() >= SMALL.keys())


def test_options_without_time_in_the_folds_are_not_tried_and_not_chosen(monkeypatch):
    pd = pytest.importorskip("pandas")
    X, y, qid = outliers()
    real = held_out.Folds.take

    def take(self, option, *rest):  # no time is left for the second option
        if option["margin"] == SMALL["margin"][1]:
            self._clock.limit = 0.0
        return real(self, option, *rest)

    monkeypatch.setattr(held_out.Folds, "take", take)
    est = RerankerCV(FAST, grid=SMALL, cv=3, time_limit=60).fit(X, y, qid)
    table = pd.DataFrame(est.cv_results_)
    assert table.value.notna().tolist() == [True, False] and est.chosen_ == 0
    assert list(table)[:6] == ["params", "value", "first_stage", "lead", "error", "rival"]
    assert table.rank_test_score.tolist() == [1, 2] and table.std_test_score.isna().tolist() == [False, True]
    told = "not tried: the time was over"
    assert told in est.report() and told in est._repr_html_()
    assert est.result_.evidence.leads[1] is est.result_.evidence.values[1] is None


def test_params_of_all_options_have_one_shape():
    """Those that an option does not name are the reranker's, not those of the option that was chosen."""
    grid = [{"margin": [0.1]}, {"radius": [0.3], "window": [2.0]}]
    found = RerankerCV(clone(FAST).set_params(stat="dcg@3"), grid=grid, cv=2, safeguard=-np.inf).fit(*outliers())
    known = [{"margin": 0.1, "radius": None, "window": None}, {"margin": "auto", "radius": 0.3, "window": 2.0}]
    assert found.cv_results_["params"] == known
    assert all(found.cv_results_[f"param_{name}"] == [one[name] for one in known] for name in known[0])


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_scores_are_named_as_by_scikit_learn(cv):
    X, y, qid = outliers()
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(RerankerCV(FAST, grid=SMALL, cv=cv, time_limit=60).fit(X, y, qid).cv_results_)
    splits = table[[name for name in table if name.startswith("split")]]
    assert list(splits) == [f"split{k}_test_score" for k in range(splits.shape[1])]
    assert (table.mean_test_score == table.value).all() and table.param_margin.tolist() == SMALL["margin"]
    np.testing.assert_allclose(table.std_test_score, np.nanstd(splits.to_numpy(), axis=1))
    assert table.rank_test_score.tolist() == table.value.rank(ascending=False, method="min").tolist()
    if cv != 3:  # each fold of a splitter is a split
        np.testing.assert_allclose(splits.mean(axis=1), table.value)


def test_it_reads_as_its_report_and_its_result():
    X, y, qid = outliers()
    est = RerankerCV(FAST, grid=SMALL, cv=2, n_repeats=1)
    assert str(est) == repr(est) and "<style>" in est._repr_mimebundle_()["text/html"]
    est.fit(X, y, qid)
    assert str(est) == repr(est.result_) and repr(est).startswith("RerankerCV(") and est.report() not in str(est)
    page = est._repr_mimebundle_()["text/html"]
    assert page == est._repr_html_() and est.result_._repr_html_() in page
    for value, lead in zip(est.cv_results_["value"], est.cv_results_["lead"]):
        assert f">{lead:+.4g}<" in page and f">{value:.4g}<" in page
    folded = page[page.index("<details><summary>Details</summary>") :]
    assert page.count("<details>") == 1 and "<tr>" not in page[: -len(folded)]
    tables = [part.cells for part in describe(est).details if hasattr(part, "cells")]
    assert folded.count("<tr>") == sum(map(len, tables)) and len(tables[-1]) == 1 + 3
    assert ("Chosen (*): margin" in folded) == (est.chosen_ is not None)
    with config_context(display="text"):
        assert list(est._repr_mimebundle_()) == ["text/plain"]


def test_nothing_of_a_choice_is_read_as_html():
    X, y = noise(30)
    est = RerankerCV(FAST, grid=SMALL, cv=2, n_repeats=1).fit(X, y)
    found = replace(est.result_.evidence, options=("<script>", "features ['<b>']"))
    page = as_html(found.parts())
    assert "<script>" not in page and "features [&#x27;&lt;b&gt;&#x27;]" in page


def test_breaking_the_ties_of_a_score_by_chance_leads_by_nothing():
    rng = np.random.default_rng(5)
    pd = pytest.importorskip("pandas")
    score = rng.integers(0, 6, 400)
    X = pd.DataFrame({"score": score, "chance": rng.normal(size=400)})
    y = (rng.random(400) < 0.1 + 0.08 * score).astype(int)
    base = Reranker("precision@20", first_stage="score", solver="search", node_limit=0)
    est = RerankerCV(base, grid={"radius": [0.1, 1.0]}, cv=3, n_repeats=1, random_state=0).fit(X, y)
    fair = evaluate("precision@20", y, score, ties="average")
    assert evaluate("precision@20", y, score) < fair / 2  # by the stricter rule any order of equal scores would lead
    assert est.cv_results_["first_stage"] == pytest.approx([fair, fair]) and est.first_stage_kept_
    assert any(f"{fair:.4g} on average over the orders of these rows" in note for note in est.result_.notes)
