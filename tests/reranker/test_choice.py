"""What the guard takes and what it leaves alone, on drawn tables whose lists to come can be drawn too."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rerank import Reranker, RerankerCV, compare, datasets, load
from rerank.reranker.selection.options import Lead, contends
from tests.cases.drawn import read_back

BASE = Reranker("precision@50", first_stage="logistic", solver="search", node_limit=0)


def hits(scores, table, n=50):
    return table.y[np.argsort(-scores, kind="stable")[:n]].sum()


def test_a_large_effect_is_taken_at_once():
    made, later = datasets.machines(4000, 3), [datasets.machines(4000, 1_000_000 + k) for k in range(4)]
    grid = {"radius": [0.03, 1.0], "margin": [0.1], "window": [2.0]}
    est = RerankerCV(BASE, grid=grid, cv=2, n_repeats=1).fit(made.X, made.y)
    assert not est.first_stage_kept_ and est.best_params_["radius"] == 1.0
    assert est.cv_results_["lead"][1] > 2 * est.cv_results_["error"][1]
    ours = sum(hits(est.decision_function(one.X), one) for one in later)
    first = sum(hits(est.best_estimator_.first_stage_scores(one.X), one) for one in later)
    assert ours > first + 4 * 5  # more than five hits a list


def test_where_logistic_regression_is_right_it_is_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = rng.random(1500) < 1 / (1 + np.exp(2.5 - X @ [1.0, 0.6, 0.3, 0.0]))
    grid = [{"radius": [0.1, 1.0], "margin": [0.1], "window": [2.0]}, {"radius": [None]}]
    est = RerankerCV(BASE, grid=grid, cv=3, n_repeats=1).fit(X, y.astype(int))
    assert est.first_stage_kept_ and est.result_.status == "first_stage_kept"
    np.testing.assert_array_equal(est.decision_function(X), est.best_estimator_.first_stage_scores(X))


def two_ways(n=900, seed=0):
    made = datasets.machines(n, seed)
    return made.X, made.y


def test_simple_first_stages_beside_a_given_score_are_rivals_and_never_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] ** 2 > 2.2).astype(int)  # squares find what the score cannot
    base = Reranker("precision@30", first_stage=0.2 * X[:, 0] + rng.normal(size=600), solver="search", node_limit=0)
    est = RerankerCV(base, cv=3, n_repeats=1).fit(X, y)
    rivals = np.array(est.cv_results_["rival"])
    assert rivals.tolist() == [True] * 5 + [False] * (len(rivals) - 5)
    assert np.argmax(est.cv_results_["lead"]) == 0 and est.cv_results_["params"][0]["first_stage"] == "logistic+squares"
    assert est.chosen_ is None or est.chosen_ >= 5
    kept = clone(est).set_params(safeguard=np.inf).fit(X, y)
    text, page = kept.report(), kept._repr_html_()
    assert text.count("compared only") == 5 and "logistic+squares alone has" in text and "compare it" in text
    assert "logistic+squares alone has" in page


@pytest.mark.parametrize(
    "params",
    [
        {"first_stage": "logistic+head20", "radius": 0.0},
        {"first_stage": "logistic+head20", "radius": 0.5, "margin": 0.1},
    ],
    ids=["alone", "corrected"],
)
def test_a_chosen_first_stage_is_named_saved_and_verified(params, tmp_path):
    X, y = two_ways()
    grid = {name: [value] for name, value in params.items()}
    est = RerankerCV(BASE, grid=grid, cv=3, n_repeats=1, safeguard=-np.inf).fit(X, y)
    assert not est.first_stage_kept_ and est.best_params_ == params
    assert est.best_estimator_.first_stage == "logistic+head20" and "logistic+head20" in str(est)
    again = read_back(est, tmp_path, X, y)
    assert again.first_stage == "logistic+head20" and again.result_.evidence.report() == est.report()


def test_list_length_says_which_depth_is_counted():
    """Lists to come of half the length: a row counts as often as it is among the first 40 of 200 that are drawn."""
    X, y = two_ways(400)
    told = {}
    for stat, length in (("precision@40", None), ("precision@40", 200), ("precision@10%", None)):
        base = Reranker(stat, first_stage=X[:, 2], radius=0.3, solver="search", node_limit=0, list_length=length)
        est = RerankerCV(base, grid={}, cv=2, n_repeats=1).fit(X, y)
        told[stat, length] = est.cv_results_["first_stage"][0]
        by_length = stat == "precision@40"  # a share of the list needs no length
        assert ("Counted for lists to come" in est.report()) == by_length
        assert not by_length or est.result_.evidence.list_length == (length or 400)
    order = np.argsort(-X[:, 2], kind="stable")
    assert told["precision@40", None] == told["precision@10%", None] == y[order[:40]].sum()  # the first 40 of 400
    among = binom.cdf(39, np.arange(400), 0.5)  # each better row is there by chance; at most 39 of them are
    assert told["precision@40", 200] == pytest.approx((y[order] * among).sum() / 2)


def test_a_grid_may_vary_the_first_stage_and_all_lead_the_same():
    X, y = two_ways()
    other = np.asarray(X[:, 2])
    grid = {"first_stage": ["logistic", other], "radius": [0.0]}
    est = RerankerCV(BASE, grid=grid, cv=3, n_repeats=1).fit(X, y)
    assert est.cv_results_["lead"][0] == 0 and est.cv_results_["first_stage"][0] == est.cv_results_["first_stage"][1]
    assert est.report()  # names of options that are arrays


def test_the_value_of_each_row_is_that_of_the_first_stage_and_its_lead():
    X, y = two_ways()
    est = RerankerCV(BASE, cv=3, n_repeats=1).fit(X, y)
    table = pd.DataFrame(est.cv_results_)
    assert table.first_stage.nunique() == 1 and table.value.notna().all()
    np.testing.assert_allclose(table.value, table.first_stage + table.lead)
    text, page, kept = est.report(), est._repr_html_(), est.result_.evidence.to_dict()
    for value, lead in zip(table.value, table.lead):
        assert f"{value:.4g}" in text and f"{lead:+.4g}" in text and f">{lead:+.4g}<" in page
    assert kept["values"] == table.value.tolist() and kept["leads"] == table.lead.tolist()
    assert kept["first_stage"] == table.first_stage[0]


def test_a_chosen_first_stage_that_is_ideal_in_training_is_not_said_to_be_the_one_that_was_led(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] ** 2 > 2.2).astype(int)
    grid = {"first_stage": ["logistic+squares"], "radius": [0.0]}
    est = RerankerCV(BASE, grid=grid, cv=3, n_repeats=1).fit(X, y)
    assert est.chosen_ == 0 and est.result_.status == "already_ideal" and "Chosen (*)" in est.report()
    assert est.result_.message == "Held-out rows chose this first stage, as it is."
    read_back(est, tmp_path, X, y)


def test_a_correction_that_does_not_lead_on_most_folds_is_ended_and_the_choice_is_that_of_all_folds(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.2 * X[:, 1] + rng.normal(size=300) > 1.2).astype(int)
    base = Reranker("precision@30", first_stage="x0", solver="search", node_limit=0)
    est = RerankerCV(base, cv=5, n_repeats=1).fit(X, y)
    ended = set(est.result_.evidence.ended)
    corrected = [k for k, rival in enumerate(est.cv_results_["rival"]) if not rival]
    assert ended and ended < set(corrected) and est.report().count("on 3 folds, where it does not lead") == len(ended)
    every = [est.cv_results_["params"][k] for k in corrected]
    whole = RerankerCV(base, grid=[{name: [one] for name, one in params.items()} for params in every], n_repeats=1)
    whole.fit(X, y)
    assert not whole.result_.evidence.ended and est.first_stage_kept_ == whole.first_stage_kept_
    for k, lead in zip(corrected, whole.cv_results_["lead"], strict=True):
        mine = est.cv_results_["lead"][k]
        assert mine <= 0 if k in ended else mine == pytest.approx(lead, abs=1e-9)
    again = read_back(est, tmp_path, X, y)
    assert (
        again.result_.evidence.ended == est.result_.evidence.ended and again.result_.evidence.report() == est.report()
    )


def test_further_deals_are_for_what_leads_by_half_of_the_safeguard():
    leads = [Lead(1.0, 0.0, lead, 1.0) for lead in (-0.5, 0.9, 1.1)]
    assert [contends(one, leads, 2.0) for one in leads] == [False, False, True]
    assert [contends(one, leads, 0.0) for one in leads] == [False, True, True]


def test_a_first_stage_that_leads_within_errors_is_taken_if_it_leads_clearly_by_auc(tmp_path):
    """The oracle fits both scores to the folds and takes their areas from scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = (X[:, 0] * X[:, 1] + 0.6 * X[:, 2] + rng.standard_normal(300) > 1.2).astype(int)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    base = Reranker("precision@10", solver="search", node_limit=0)
    est = RerankerCV(base, cv=folds).fit(X, y)
    found, k = est.result_.evidence, est.chosen_
    assert 0 < found.leads[k] < 2 * found.errors[k] and found.auc_leads[k] > 2 * found.auc_errors[k] > 0
    assert all(lead - 2 * error <= 0 for lead, error in zip(found.leads, found.errors) if lead is not None)
    areas = []
    for train, test in folds.split(X, y):
        stages = [Reranker("auc", first_stage=one, radius=0.0, cross_fit=False) for one in ("logistic", "forest")]
        scores = [one.fit(X[train], y[train]).decision_function(X[test]) for one in stages]
        areas.append(np.subtract(*(roc_auc_score(y[test], one) for one in reversed(scores))))
    assert found.options[k] == "forest" and found.auc_leads[k] == pytest.approx(np.mean(areas), abs=1e-12)
    assert "clearly by AUC, is taken" in est.report()
    est.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").result_.evidence.to_dict() == found.to_dict()
    assert clone(est).set_params(safeguard=20.0).fit(X, y).first_stage_kept_
    assert RerankerCV(clone(base), n_repeats=1).fit(X, y, qid=np.arange(300) % 6).result_.evidence.auc_leads == ()
    taken = compare(X, y, "precision@10", methods=("logistic", "forest"), folds=3)
    assert taken.take == "forest" and "by AUC" in taken.sentence and taken.methods[1].interval[0] < 0
