"""RerankerCV: the held-out scores are those of plain fits, and the safeguard does what it says."""

import time

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rerank
from rerank import Reranker, RerankerCV, search
from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.reranker import fit as fitting
from rerank.reranker.selection import held_out
from rerank.statistics import parse
from tests.reranker.test_estimator import EXPECTED

FAST = Reranker("auc", solver="search", time_limit=5, n_candidates=8)
SMALL = {"epsilon": [1e-3, 0.1]}


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


@parametrize_with_checks(
    # Limits in nodes: a check fits twice and compares, and seconds differ from fit to fit.
    [RerankerCV(Reranker("auc", solver="search", node_limit=1, time_limit=None), grid=SMALL, cv=2)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn(estimator, check):
    check(estimator)


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
    dealt = fold_of(GroupKFold(3), X, y, qid)  # the first stage's scores to learn from are by the other folds
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
        plain = make_pipeline(StandardScaler(), LogisticRegression()) if stage == "logistic" else clone(stage)
        plain.fit(X[train], y[train])
        alone = plain.decision_function(X[test])
        expected = evaluate("auc", y[test], alone, qid[test])
        assert found["first_stage"][fold] == pytest.approx(expected, abs=1e-12)
        for number, params in enumerate(found["params"]):
            est = (
                clone(base).set_params(**params).fit(X[train], y[train], qid=qid[train], groups=dealt[train])
            )
            expected = evaluate("auc", y[test], est.list_scores(X[test], qid[test]), qid[test])
            assert found["scores"][number, fold] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(found["mean_score"], found["scores"].mean(axis=1))
    np.testing.assert_allclose(found["mean_lead"], (found["scores"] - found["first_stage"]).mean(axis=1))


@pytest.mark.parametrize("stage", [LogisticRegression(), "logistic"], ids=["linear", "by name"])
def test_the_search_starts_in_a_fold_where_it_starts_in_a_plain_fit(stage, monkeypatch):
    X, y, qid = outliers()
    real, starts = fitting.solve, []

    def solve(problem, plan, clock, start):
        starts.append(start)
        return real(problem, plan, clock, start)

    monkeypatch.setattr(fitting, "solve", solve)
    base = clone(FAST).set_params(first_stage=stage)
    RerankerCV(base, grid={"epsilon": [0.1]}, cv=GroupKFold(3)).fit(X, y, qid)
    in_folds = starts[:3]  # the fourth is the fit on all rows
    starts.clear()
    dealt = fold_of(GroupKFold(3), X, y, qid)
    for train, _ in GroupKFold(3).split(X, y, qid):
        clone(base).set_params(epsilon=0.1).fit(X[train], y[train], qid=qid[train], groups=dealt[train])
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
    est = RerankerCV(FAST, grid=SMALL, rule="strict", safeguard=100.0).fit(X, y)
    assert est.first_stage_kept_ and est.result_.status == "first_stage_kept"
    assert "Held-out" in est.result_.message
    np.testing.assert_array_equal(
        est.rank(X), np.argsort(np.argsort(-est.best_estimator_.first_stage_scores(X))) + 1
    )
    assert est.score(X, y) == pytest.approx(est.result_.statistic)
    est.save(tmp_path / "model.json")
    np.testing.assert_array_equal(rerank.load(tmp_path / "model.json").rank(X), est.rank(X))
    bold = RerankerCV(FAST, grid=SMALL, safeguard=-np.inf).fit(X, y)
    assert not bold.first_stage_kept_
    assert bold.best_score_ == pytest.approx(bold.cv_results_["mean_score"].max())


def test_without_a_first_stage_there_is_nothing_to_keep():
    X, y = noise(30)
    est = RerankerCV(clone(FAST).set_params(first_stage=None), grid=SMALL, cv=3).fit(X, y)
    assert not est.first_stage_kept_ and np.isnan(est.cv_results_["mean_lead"]).all()


def test_one_fold_that_leads_decides_only_without_a_safeguard():
    X, y, qid = outliers()
    cut = (np.flatnonzero(qid < 8), np.flatnonzero(qid >= 8))
    learned = clone(FAST).fit(X[cut[0]], y[cut[0]], qid=qid[cut[0]])
    reranked = learned.score(X[cut[1]], y[cut[1]], qid[cut[1]])
    alone = evaluate("auc", y[cut[1]], learned.first_stage_scores(X[cut[1]]), qid[cut[1]])
    assert reranked > alone + 0.1
    for safeguard, kept in ((1.0, True), (0.0, False)):
        est = RerankerCV(FAST, grid={}, cv=[cut], rule="strict", safeguard=safeguard).fit(X, y, qid)
        assert est.first_stage_kept_ is kept and est.best_estimator_.reranks_ is not kept
        assert est.best_score_ == pytest.approx(alone if kept else reranked, abs=1e-12)


def test_interrupted_it_chooses_by_the_folds_that_are_complete(monkeypatch):
    X, y = noise()
    real, fits = held_out.fit, []

    def fit(*args, **options):
        fits.append(1)
        if len(fits) == 4:  # two fits a fold: the second fold is under way
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(held_out, "fit", fit)
    est = RerankerCV(FAST, grid=SMALL, cv=3).fit(X, y)
    assert est.cv_results_["first_stage"].shape == (1,)


def test_a_number_of_jobs_that_means_nothing_is_refused():
    with pytest.raises(InputError, match="n_jobs is 0"):
        RerankerCV(FAST, grid=SMALL, cv=2, n_jobs=0).fit(*noise())


def test_two_fits_agree_and_tell_their_folds(capsys):
    X, y = noise()
    one, two = (RerankerCV(FAST, grid=SMALL, cv=2, n_jobs=jobs, verbose=1).fit(X, y) for jobs in (None, 2))
    np.testing.assert_array_equal(one.cv_results_["scores"], two.cv_results_["scores"])
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fold ")]
    assert len(lines) == 8
    scores, first = one.cv_results_["scores"], one.cv_results_["first_stage"]
    for k, line in zip([*range(4)] * 2, lines, strict=True):
        name = f"fold {k % 2 + 1} of 2 in repeat {k // 2 + 1} of 2"
        assert line.startswith(f"{name}: {parse(one.stat).name} {first[k]:.4g} by the first stage, ")
        assert f"{scores[:, k].min():.4g}" in line and f"{scores[:, k].max():.4g} by" in line


def test_a_last_fit_that_fails_leaves_what_was_there(monkeypatch):
    X, y = noise()
    est = RerankerCV(FAST, grid={}, cv=2).fit(X, y)
    before = dict(vars(est))
    real = Reranker._fit_named

    def fit(self, X, *args, **options):
        if len(X) == 40:
            raise InputError("the last fit")
        return real(self, X, *args, **options)

    monkeypatch.setattr(Reranker, "_fit_named", fit)
    with pytest.raises(InputError, match="the last fit"):
        est.fit(np.column_stack([X, X[:, 0] ** 2])[:40], y[:40])
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
    assert cv.best_estimator_.time_limit < 4.0 and cv.best_params_.keys() == SMALL.keys()


def test_options_without_time_in_the_folds_are_not_tried_and_not_chosen(monkeypatch):
    pd = pytest.importorskip("pandas")
    X, y, qid = outliers()
    real, passed = held_out.fit, []

    def fit(data, settings, options, clock, *rest):  # the second option needs more than there is
        if settings.epsilon == SMALL["epsilon"][1]:
            clock._limit = 0.0
        passed.append(clock.remaining)
        return real(data, settings, options, clock, *rest)

    monkeypatch.setattr(held_out, "fit", fit)
    est = RerankerCV(FAST, grid=SMALL, cv=3, rule="best", time_limit=60).fit(X, y, qid)
    table = pd.DataFrame(est.cv_results_)
    assert table.folds_tried.tolist() == [6, 0] and est.chosen_ == 0 and len(passed) == 12
    assert np.isnan(table.mean_lead[1]) and np.isnan(est.cv_results_["scores"][1]).all()
    assert table.split2_score[0] == est.cv_results_["scores"][0, 2]
    assert "not tried: no time" in est.report() and "not tried: no time" in est._repr_html_()
    assert est.result_.evidence.leads[1] is None and est.result_.evidence.tried == (6, 0)


def test_without_any_time_nothing_is_tried_and_that_is_said(tmp_path):
    X, y, qid = outliers()
    began = time.monotonic()
    est = RerankerCV(FAST, grid=SMALL, cv=3, time_limit=0.0).fit(X, y, qid)
    assert time.monotonic() - began < 5
    assert est.first_stage_kept_ and np.isnan(est.cv_results_["mean_lead"]).all()
    assert "no option had the time to be tried" in est.result_.message and "raise time_limit" in est.report()
    (late,) = [note for note in est.result_.notes if "nothing was left for the search" in note]
    assert "this fit had 0 s" in late and any("The fits on folds took" in note for note in est.result_.notes)
    est.save(tmp_path / "m.json")
    again = rerank.load(tmp_path / "m.json").result_.evidence
    assert again.tried == (0, 0) and again.ending == est.result_.evidence.ending
    more = RerankerCV(FAST, grid=SMALL, cv=3, time_limit=60).fit(X, y, qid)  # what the message asks for
    assert not more.first_stage_kept_ and (more.cv_results_["folds_tried"] == 6).all()


def test_it_reads_as_its_report_and_its_result():
    X, y, qid = outliers()
    est = RerankerCV(FAST, grid=SMALL, cv=2, n_repeats=1)
    assert str(est) == repr(est) and "<style>" in est._repr_mimebundle_()["text/html"]
    est.fit(X, y, qid)
    assert str(est) == f"{est.report()}\n\n{est.result_!r}" and repr(est).startswith("RerankerCV(")
    page = est._repr_mimebundle_()["text/html"]
    assert page == est._repr_html_() and est.result_._repr_html_() in page
    for lead, error in zip(est.cv_results_["mean_lead"], est.cv_results_["lead_error"]):
        assert f">{lead:+.4g}<" in page and f">{error:.2g}<" in page
    assert page.count("<tr>") == 1 + 2 + est.result_._repr_html_().count("<tr>")
    assert ("Chosen (*): epsilon" in page) == (est.chosen_ is not None)
    with config_context(display="text"):
        assert list(est._repr_mimebundle_()) == ["text/plain"]


def test_nothing_of_a_choice_is_read_as_html():
    X, y = noise(30)
    est = RerankerCV(FAST, grid=SMALL, cv=2, n_repeats=1).fit(X, y)
    est.cv_results_["params"] = np.array([{"features": ["<script>"]}, {"features": ["<b>"]}], dtype=object)
    page = est._repr_html_()
    assert "<script>" not in page and "features [&#x27;&lt;b&gt;&#x27;]" in page
