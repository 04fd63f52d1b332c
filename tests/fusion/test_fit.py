"""Fits of score fusion against enumeration, nulls, the guard, what may leak, and what is shown of a fit."""

import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest

from rerank.errors import InputError
from rerank.fusion import ScoreFusion
from rerank.reranker.fusion import choice
from rerank.reranker.fusion.choice import best_of
from tests.cases.refuses import refuses
from tests.fusion import naive

QUICK = {"time_limit": 20.0, "random_state": 0}


def equal(runs):
    return {name: 1 / len(runs) for name in runs}


def directions(runs, normaliser, rule="lowest"):
    """Weights of two runs, not negative, one for each order of the documents: a point between any two crossings."""
    parts = [naive.fused(runs, dict.fromkeys(runs, 0.0) | {name: 1.0}, normaliser, rule) for name in runs]
    angles = {0.0, math.pi / 2}
    for query in parts[0]:
        for one, other in itertools.combinations(parts[0][query], 2):
            x, y = (part[query][one] - part[query][other] for part in parts)
            if x * y < 0:
                angles.add(math.atan2(abs(x), abs(y)))
    ends = sorted(angles)
    between = [(a + b) / 2 for a, b in itertools.pairwise(ends) if b - a > 1e-9]
    return [dict(zip(runs, (math.cos(t), math.sin(t)))) for t in (0.0, math.pi / 2, *between)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("normaliser", ["minmax", "z", "rank"])
def test_free_weights_of_two_runs_are_the_best_of_all(seed, normaliser):
    runs, qrels = naive.made(3, (0.8, 0.6), seed=seed, length=12, kept=8)
    found = ScoreFusion(normalise=normaliser, radius=None, cv=None, **QUICK).fit(runs, qrels)
    best = max(
        naive.mean_ndcg(naive.fused(runs, weights, normaliser), qrels) for weights in directions(runs, normaliser)
    )
    assert found.result_.proved and found.result_.value == pytest.approx(best, abs=1e-9)
    assert found.result_.bound >= best - 1e-9
    assert naive.mean_ndcg(found.fuse(runs), qrels) == pytest.approx(best, abs=1e-9)
    assert found.score(runs, qrels) == pytest.approx(found.result_.statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_no_weights_within_the_radius_beat_the_bound(seed):
    runs, qrels = naive.made(4, (1.2, 0.2), seed=seed, length=14, kept=9)
    found = ScoreFusion(normalise="minmax", radius=0.3, cv=None, **QUICK).fit(runs, qrels)
    parts = [naive.fused(runs, dict.fromkeys(runs, 0.0) | {name: 1.0}, "minmax") for name in runs]
    columns = np.array([[part[q][doc] for part in parts] for q in parts[0] for doc in parts[0][q]])
    prior = columns.mean(axis=1).std()  # equal weights are 1/2 each
    reach = 0.3 * prior / columns.std(axis=0)
    for steps in itertools.product(np.linspace(-1, 1, 9), repeat=2):
        weights = dict(zip(runs, np.maximum(0.5 + np.array(steps) * reach, 0.0)))
        value = naive.mean_ndcg(naive.fused(runs, weights, "minmax"), qrels)
        assert value <= found.result_.bound + 1e-9
    got = np.array(list(found.weights_.values()))
    ratio = got / got.sum()
    lowest = (0.5 - reach[0]) / (0.5 - reach[0] + 0.5 + reach[1])
    highest = (0.5 + reach[0]) / (0.5 + reach[0] + max(0.5 - reach[1], 0))
    assert lowest - 1e-9 <= ratio[0] <= highest + 1e-9


def test_a_fit_of_fewer_rows_is_as_good_and_counts_all_documents():
    runs, qrels = naive.made(6, (1.0, 0.3), seed=4, length=80, kept=60)
    options = {"stat": "ndcg@3", "normalise": "minmax", "radius": None, "cv": None, **QUICK}
    few = ScoreFusion(**options).fit(runs, qrels)
    assert few.result_.shortlist.n_rows < sum(len(own) for own in few.fuse(runs).values()) / 2
    all_rows = ScoreFusion(missing="zero", **options).fit(runs, qrels)  # the same after minmax, and nothing left out
    assert few.result_.proved and few.result_.value == pytest.approx(all_rows.result_.value, abs=1e-9)
    assert few.result_.statistic == pytest.approx(naive.mean_ndcg(few.fuse(runs), qrels, 3), abs=1e-9)


def test_the_fused_run_is_the_order_of_the_formula():
    runs, qrels = naive.made(4, (1.0, 0.5, 0.2), seed=5)
    fused = ScoreFusion(cv=None, normalise="minmax", node_limit=0, **QUICK).fit(runs, qrels)
    found = fused.fuse(runs)
    wanted = naive.fused(runs, fused.weights_, "minmax")
    for query, ranked in found.items():
        assert list(ranked) == sorted(wanted[query], key=lambda doc: (round(wanted[query][doc], 9), doc), reverse=True)
    assert sum(fused.weights_.values()) == pytest.approx(1.0) and min(fused.weights_.values()) >= 0


def test_documents_that_no_run_has_count_in_the_ideal_and_nowhere_else():
    runs, qrels = naive.made(6, (1.0, 0.4), seed=2)
    options = {"normalise": "minmax", "radius": 0.3, "cv": None, "node_limit": 0, **QUICK}
    before = ScoreFusion(**options).fit(runs, qrels)
    more = {query: grades | {f"missed{i}": 2 for i in range(8)} for query, grades in qrels.items()}
    after = ScoreFusion(**options).fit(runs, more)
    fused = after.fuse(runs)
    assert not any(doc.startswith("missed") for own in fused.values() for doc in own)
    assert after.result_.statistic < before.result_.statistic
    assert after.result_.statistic == pytest.approx(naive.mean_ndcg(fused, more), abs=1e-9)
    assert after.result_.n_lists == 6 and after.result_.shortlist.n_rows == before.result_.shortlist.n_rows
    retrieved = {(query, doc) for run in runs.values() for query, own in run.items() for doc in own}
    lost = sum(g > 0 and (query, doc) not in retrieved for query, own in more.items() for doc, g in own.items())
    assert after.notes_ == (f"{lost} relevant documents are in no run; they count in the ideal list.",)


def test_documents_beyond_the_depth_are_no_candidates():
    runs, qrels = naive.made(5, (1.0, 0.4), seed=3)
    found = ScoreFusion(depth=4, cv=None, normalise="rank", node_limit=0, **QUICK).fit(runs, qrels)
    fused = found.fuse(runs)
    wanted = naive.fused(runs, found.weights_, "rank", depth=4)
    assert {query: set(own) for query, own in fused.items()} == {query: set(own) for query, own in wanted.items()}
    assert found.result_.statistic == pytest.approx(naive.mean_ndcg(fused, qrels), abs=1e-9)


def test_what_is_taken_though_it_trails_is_told_by_its_own_rule():
    runs, qrels = naive.made(24, (1.0, 1.0), seed=4, length=14, kept=9)
    told = ScoreFusion(cv=2, radius=0.0, **QUICK).fit(runs, qrels).evidence_
    assert told.chosen is not None and told.leads[told.chosen] < 0
    assert told.reason == told.remark and "breaks" not in " ".join(told.sentences())


def test_folds_choose_a_weighting_that_is_clearly_better():
    runs, qrels = naive.made(24, (2.0, 0.0), seed=1, kept=25)
    found = ScoreFusion(cv=3, node_limit=0, **QUICK).fit(runs, qrels)
    assert not found.null_kept_ and found.weights_["r0"] > 2 * found.weights_["r1"]
    later, judged = naive.made(60, (2.0, 0.0), seed=2, kept=25)
    null = naive.mean_ndcg(naive.fused(later, equal(later), "rank"), judged)
    assert found.score(later, judged) > null + 0.05
    assert np.isfinite(found.cv_results_["value"]).all() and "Chosen (*)" in found.report()
    tried = [(one["prior"], one["normalise"], one["radius"]) for one in found.cv_results_["params"]]
    points = [(kind, name, 0.0) for kind in ("logistic", "given", "logistic alone") for name in ("minmax", "rank", "z")]
    points.remove(("given", "rank", 0.0))  # RRF, which stands beside the options
    points.append(("single", "minmax", 0.0))
    around = tried[len(points)][:2]
    assert tried == [*points, *((*around, radius) for radius in (0.1, 0.3, 1.0))]
    assert set(found.nulls_) == {"RRF", "equal weighting (minmax)", "equal weighting (z)"}


@pytest.mark.parametrize("repeats", [1, 2])
def test_held_out_values_of_equal_weights_are_those_of_all_queries(repeats):
    runs, qrels = naive.made(60 if repeats == 1 else 24, (1.0, 0.5, 0.2), seed=3, kept=12)
    found = ScoreFusion(cv=3, radius=0.0, node_limit=0, **QUICK).fit(runs, qrels)
    assert found.evidence_.rounds == repeats
    values = {
        (one["prior"], one["normalise"]): value
        for one, value in zip(found.cv_results_["params"], found.cv_results_["value"])
    }
    for name in ("minmax", "z"):
        wanted = naive.mean_ndcg(naive.fused(runs, equal(runs), name), qrels)
        assert values["given", name] == pytest.approx(wanted, abs=1e-9)
    wanted = naive.mean_ndcg(naive.fused(runs, equal(runs), "rank"), qrels)
    assert found.cv_results_["first_stage"] == pytest.approx([wanted] * len(values), abs=1e-9)


def test_held_out_queries_are_ranked_by_what_the_others_say():
    runs, qrels = naive.made(24, (2.0, 0.3), seed=5, kept=12)
    found = ScoreFusion(normalise="minmax", cv=24, radius=0.0, random_state=0).fit(runs, qrels)
    values = []
    for query in qrels:
        rest = {name: {q: own for q, own in run.items() if q != query} for name, run in runs.items()}
        learned = ScoreFusion(normalise="minmax", prior="logistic", radius=0.0, cv=None).fit(
            rest, {q: grades for q, grades in qrels.items() if q != query}
        )
        own = naive.fused({name: {query: run[query]} for name, run in runs.items()}, learned.weights_, "minmax")
        values.append(naive.ndcg(own[query], qrels[query]))
    assert found.cv_results_["params"][0]["prior"] == "logistic"
    assert found.cv_results_["value"][0] == pytest.approx(np.mean(values), abs=1e-9)


def test_with_few_queries_nothing_is_searched_for_and_that_is_said(monkeypatch):
    monkeypatch.setattr(choice, "corrected", lambda *_: pytest.fail("a search"))
    runs, qrels = naive.made(8, (2.0, 0.0), seed=1)
    found = ScoreFusion(**QUICK).fit(runs, qrels)
    assert {one["prior"] for one in found.cv_results_["params"]} == {"logistic", "given"}
    assert any("With 8 judged queries no weights were searched for" in note for note in found.notes_)
    assert found.result_.proved and found.evidence_.rounds == 5


def test_the_null_is_kept_where_nothing_may_lead():
    runs, qrels = naive.made(8, (1.0, 1.0), seed=7)
    found = ScoreFusion(cv=4, safeguard=math.inf, node_limit=0, **QUICK).fit(runs, qrels)
    assert found.null_kept_ and list(found.weights_.values()) == [0.5, 0.5]
    assert found.null_ == "RRF" and found.normaliser_ == "rank"
    wanted = naive.mean_ndcg(naive.fused(runs, equal(runs), "rank"), qrels)
    assert found.result_.statistic == pytest.approx(wanted, abs=1e-9)
    assert found.result_.statistic == pytest.approx(found.nulls_[found.null_], abs=1e-9)
    assert found.result_.message == ("Taken on held-out queries: RRF. No weights were searched for on all queries.")
    assert "Corrections" not in str(found) and "bound" not in str(found)


def test_the_first_kind_is_left_only_for_a_clear_lead():
    first = np.array([0.5, 0.6, 0.7, 0.4, math.nan])
    better = first + np.array([0.1, 0.1, 0.1, 0.2, 0.0])  # leads by .125, its error is .025
    noisy = first + np.array([0.9, -0.5, 0.4, 0.1, 0.0])  # leads by .225, its error is .29
    other = first - 0.01
    untried = np.full(5, math.nan)
    assert best_of([noisy, first, better, untried], [1]) == 2
    assert best_of([noisy, first, other], [1, 2]) == 1 and best_of([noisy, other, first], [1, 2]) == 2
    assert best_of([noisy, first], [1], bar=0.7) == 0 and best_of([noisy, first], [1], bar=0.8) == 1
    assert best_of([first, untried], [1]) == 0  # what was tried is better than what was not
    assert best_of([first[:1], better[:1]], [0]) == 0  # an error of one query is not known
    assert best_of([first, first.copy()], [0]) == 0


def test_after_an_interrupt_no_other_option_is_begun(monkeypatch):
    real, calls = choice.point, []

    def cut_short(*given):
        calls.append(given)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(choice, "point", cut_short)
    runs, qrels = naive.made(60, (2.0, 0.0), seed=0)
    found = ScoreFusion(cv=2, node_limit=0, **QUICK).fit(runs, qrels)
    assert len(calls) == 5 and np.isfinite(found.cv_results_["value"]).tolist()[0]  # the null, and the first option
    assert np.isnan(found.cv_results_["value"][1:]).all()
    assert any("not tried on held-out queries: the fit was interrupted" in note for note in found.notes_)


def test_the_strict_rule_asks_for_a_lead_beyond_its_error_and_the_mean_does_not():
    runs, qrels = naive.made(24, (2.0, 0.0), seed=1, kept=25)
    options = {"cv": 3, "normalise": "minmax", "node_limit": 0, **QUICK}
    mean = ScoreFusion(**options).fit(runs, qrels)
    best = mean.evidence_.chosen
    assert best is not None and mean.evidence_.safeguard == 0
    far = 1.01 * mean.cv_results_["lead"][best] / mean.cv_results_["error"][best]
    strict = ScoreFusion(rule="strict", safeguard=far, **options).fit(runs, qrels)
    assert strict.null_kept_ and strict.cv_results_ == mean.cv_results_
    near = ScoreFusion(rule="strict", safeguard=0.5 * far, **options).fit(runs, qrels)
    assert near.evidence_.chosen == best and near.evidence_.safeguard == 0.5 * far


def test_folds_learn_from_so_many_queries_and_hold_out_all(monkeypatch):
    seen, real = [], choice.corrected

    def watched(est, data, seconds):
        seen.append(np.unique(data.qid).size)
        return real(est, data, seconds)

    monkeypatch.setattr(choice, "SOME_QUERIES", 4)
    monkeypatch.setattr(choice, "MANY_QUERIES", 4)
    monkeypatch.setattr(choice, "corrected", watched)
    runs, qrels = naive.made(9, (1.5, 0.2), seed=0)
    found = ScoreFusion(cv=3, normalise="minmax", radius=0.3, node_limit=0, **QUICK).fit(runs, qrels)
    assert seen == [4, 4, 4] and np.isfinite(found.cv_results_["value"]).all()


def test_nulls_are_worth_what_the_definition_says():
    runs, qrels = naive.made(5, (1.0, 0.3), seed=4)
    found = ScoreFusion(cv=2, radius=0.1, node_limit=0, **QUICK).fit(runs, qrels)
    for title, name in (("RRF", "rank"), ("equal weighting (minmax)", "minmax"), ("equal weighting (z)", "z")):
        wanted = naive.mean_ndcg(naive.fused(runs, equal(runs), name), qrels)
        assert found.nulls_[title] == pytest.approx(wanted, abs=1e-9)
    for name in runs:
        weights = dict.fromkeys(runs, 0.0) | {name: 1.0}
        wanted = naive.mean_ndcg(naive.fused(runs, weights, "rank", "zero"), qrels)
        assert found.runs_[name] == pytest.approx(wanted, abs=1e-9)


def test_what_is_quoted_is_what_the_fused_run_scores_where_sums_of_whole_scores_tie():
    runs, qrels = naive.made(5, (1.0, 0.4, 0.2), seed=0, scale=8.0)
    runs = {
        name: {query: {doc: round(s) for doc, s in own.items()} for query, own in run.items()}
        for name, run in runs.items()
    }
    options = {"normalise": "none", "prior": equal(runs), "cv": 2, "safeguard": math.inf, "node_limit": 0}
    found = ScoreFusion(**options, **QUICK).fit(runs, qrels)
    assert found.null_kept_ and found.null_ == "the given weighting"
    assert found.score(runs, qrels) == pytest.approx(found.result_.statistic, abs=1e-12)
    quoted = [found.nulls_[found.null_], found.result_.first_stage_statistic]
    assert quoted == pytest.approx([found.result_.statistic] * 2, abs=1e-12)


def test_runs_alone_have_missing_documents_last_and_rrf_is_as_published_or_has_another_name():
    runs, qrels = naive.made(5, (1.0, 0.4), seed=0, kept=5)
    for rule in naive.MISSING:
        found = ScoreFusion(missing=rule, cv=None, normalise="z", node_limit=0, **QUICK).fit(runs, qrels)
        for name in runs:
            weights = dict.fromkeys(runs, 0.0) | {name: 1.0}
            wanted = naive.mean_ndcg(naive.fused(runs, weights, "rank", "zero"), qrels)
            assert found.runs_[name] == pytest.approx(wanted, abs=1e-9)
        title = "RRF" if rule != "impute" else "equal weighting (rank)"
        wanted = naive.mean_ndcg(naive.fused(runs, equal(runs), "rank", rule), qrels)
        assert found.nulls_[title] == pytest.approx(wanted, abs=1e-9)


def test_one_judged_query_keeps_rrf():
    runs, qrels = naive.made(1, (2.0, 0.0), seed=0)
    found = ScoreFusion(node_limit=0, **QUICK).fit(runs, qrels)
    assert found.null_kept_ and found.null_ == "RRF" and found.cv_results_ is None
    assert any("nothing can be held out" in note for note in found.notes_)


def test_your_own_weights_are_prior_and_null():
    runs, qrels = naive.made(6, (1.0, 0.5), seed=0)
    given = {"r0": 3.0, "r1": 1.0}
    found = ScoreFusion(prior=given, normalise="minmax", radius=0.0, cv=None, **QUICK).fit(runs, qrels)
    assert list(found.weights_.values()) == pytest.approx([0.75, 0.25])
    assert list(found.nulls_) == ["the given weighting"]
    wanted = naive.mean_ndcg(naive.fused(runs, {"r0": 0.75, "r1": 0.25}, "minmax"), qrels)
    assert found.result_.statistic == pytest.approx(wanted, abs=1e-9)


def test_one_run_and_runs_that_say_nothing_are_answered_without_a_warning(recwarn):
    runs, qrels = naive.made(4, (1.0, 0.5), seed=1)
    alone = ScoreFusion(node_limit=0, **QUICK).fit({"a": runs["r0"]}, qrels)
    assert alone.weights_ == {"a": 1.0} and alone.fuse({"a": runs["r0"]}).keys() == qrels.keys()
    same = {query: dict.fromkeys(grades, 1.0) for query, grades in qrels.items()}
    for cv in (None, 2):
        found = ScoreFusion(cv=cv, node_limit=0, **QUICK).fit({"a": same, "b": same}, qrels)
        assert found.weights_ == {"a": 0.5, "b": 0.5} and found.result_.gap < 1e-9
        # Without folds min-max is taken, by which all documents are equal; RRF tells them apart by their places.
        assert found.result_.status == ("nothing_to_reorder" if cv is None else "first_stage_kept")
    beside = ScoreFusion(cv=None, node_limit=0, **QUICK).fit({"a": runs["r0"], "b": same}, qrels)
    assert beside.weights_ == {"a": 0.5, "b": 0.5}  # the weight of a run that changes nothing stays the prior's
    assert not recwarn.list


def test_without_a_limit_the_fits_on_folds_have_all_the_time_they_need():
    runs, qrels = naive.made(6, (2.0, 0.0), seed=1)
    options = {"cv": 2, "normalise": ("minmax", "z"), "radius": 0.3, "node_limit": 0}
    free, limited = (ScoreFusion(time_limit=limit, **options).fit(runs, qrels) for limit in (None, 60.0))
    assert free.cv_results_ == limited.cv_results_
    assert np.abs(free.cv_results_["lead"]).min() > 0 and free.weights_ == limited.weights_


def test_data_frames_in_a_data_frame_out():
    runs, qrels = naive.made(4, (1.0, 0.4), seed=6)

    def frame(run, value):
        rows = [(query, doc, score) for query, own in run.items() for doc, score in own.items()]
        return pd.DataFrame(rows, columns=["qid", "docno", value])

    frames = {name: frame(run, "score") for name, run in runs.items()}
    options = {"cv": 2, "radius": 0.3, "normalise": "minmax", "node_limit": 0, **QUICK}
    by_frames = ScoreFusion(**options).fit(frames, frame(qrels, "label"))
    by_dicts = ScoreFusion(**options).fit(runs, qrels)
    assert by_frames.weights_ == by_dicts.weights_ and by_frames.null_ == by_dicts.null_
    fused, wanted = by_frames.fuse(frames), by_dicts.fuse(runs)
    assert list(fused.columns) == ["qid", "docno", "score"]
    rows = [(query, doc, score) for query, own in wanted.items() for doc, score in own.items()]
    assert list(fused.itertuples(index=False, name=None)) == rows
    assert set(as_kept(fused)) == set(wanted)


def as_kept(fused):
    """Queries of a fused frame whose scores fall."""
    return [query for query, own in fused.groupby("qid") if own["score"].is_monotonic_decreasing]


def test_a_radius_of_zero_with_rrf_is_rrf():
    runs, qrels = naive.made(5, (1.0, 0.2), seed=0)
    found = ScoreFusion(prior="rrf", radius=0.0, cv=None, **QUICK).fit(runs, qrels)
    wanted = naive.fused(runs, equal(runs), "rank")
    for query, ranked in found.fuse(runs).items():
        assert [ranked[doc] for doc in ranked] == pytest.approx([wanted[query][doc] for doc in ranked], rel=1e-9)


RUNS, QRELS = naive.made(3, (1.0, 0.5), seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalise": "min-max"}, "did you mean 'minmax'"),
        ({"normalise": 3}, "normalise is 3"),
        ({"prior": {"r0": 1.0}}, "must name their one normaliser"),
        ({"prior": {"r9": 1.0}, "normalise": "z"}, "Unknown run in prior 'r9'"),
        ({"prior": 3}, "prior is 3"),
        ({"radius": -1.0}, "radius"),
        ({"radius": "big"}, "radius is 'big'"),
        ({"missing": "mean"}, "missing"),
        ({"cv": 1}, "cv"),
        ({"depth": 0}, "depth"),
        ({"rule": "median"}, "rule"),
    ],
)
def test_parameters_that_cannot_be_are_refused_in_one_sentence(options, message):
    with pytest.raises(InputError, match=message) as refused:
        ScoreFusion(**options).fit(RUNS, QRELS)
    assert "\n" not in str(refused.value)


def test_a_fusion_that_found_nothing_relevant_scores_0():
    model = ScoreFusion(cv=None, radius=0.0, node_limit=0, **QUICK).fit(RUNS, QRELS)
    assert model.score(RUNS, {query: {"elsewhere": 1} for query in QRELS}) == 0.0
    refuses("these have no document, the judgements 'q0'", model.score, {name: {"q0": {}} for name in RUNS}, QRELS)


@pytest.mark.parametrize(
    ("stat", "theirs"),
    [("ndcg@10", "nDCG@10"), ("ap", "AP"), ("recall@5", "R@5"), ("rr", "RR"), ("precision@5", "P@5")],
)
def test_the_statistic_is_that_of_the_evaluators_of_the_field(stat, theirs):
    runs, qrels = naive.made(5, (1.0, 0.5), seed=8, kept=12)
    options = {"gain": "linear", "cv": 2, "radius": 0.3, "normalise": "z", "node_limit": 0}
    found = ScoreFusion(stat, **options, **QUICK).fit(runs, qrels)
    assert found.result_.bound >= found.result_.value
    value = ir_measures.calc_aggregate([ir_measures.parse_measure(theirs)], qrels, found.fuse(runs))
    count = 5 if stat == "precision@5" else 1  # hits, where the field has their share
    assert [count * one for one in value.values()] == [pytest.approx(found.result_.statistic, abs=1e-9)]
    assert found.score(runs, qrels) == pytest.approx(found.result_.statistic, abs=1e-12)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_precision_asks_only_whether_a_document_is_relevant(gain):
    runs = {
        "a": {"q": {"g3": 1.0, "r1": 3.0, "r2": 2.5, "n": 2.0}},
        "b": {"q": {"g3": 3.0, "r1": 1.0, "r2": 0.9, "n": 2.0}},
    }
    qrels = {"q": {"g3": 3, "r1": 1, "r2": 1}}
    found = ScoreFusion("precision@2", gain=gain, cv=None, normalise="minmax", radius=None, **QUICK).fit(runs, qrels)
    assert found.result_.statistic == 2.0 and found.result_.proved


def test_mrr_says_which_measure_it_is():
    found = ScoreFusion("mrr", cv=None, normalise="minmax", node_limit=0, **QUICK).fit(RUNS, QRELS)
    assert any("the field's MRR, of the first one, is rr" in note for note in found.notes_)
    other = ScoreFusion("rr", cv=None, normalise="minmax", node_limit=0, **QUICK).fit(RUNS, QRELS)
    assert not any("MRR" in note for note in other.notes_)


# -- as text and as a piece of a page ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case():
    return naive.made(12, (1.2, 0.4), seed=0)


def test_it_shows_weights_runs_nulls_and_bound(case):
    runs, qrels = case
    est = ScoreFusion(cv=3, node_limit=0, **QUICK)
    assert str(est) == repr(est) and "<style>" in est._repr_mimebundle_()["text/html"]
    est.fit(runs, qrels)
    text, page = str(est), est._repr_html_()
    assert text.startswith(est.report()) and est.result_.message in text
    for name, weight in est.weights_.items():
        assert f"{weight:.4f}" in text and f">{weight:.4f}<" in page and name in page
    for name, value in (*est.runs_.items(), *est.nulls_.items()):
        line = next(line for line in text[len(est.report()) :].splitlines() if line.startswith(name))
        assert float(line.split()[-1]) == pytest.approx(value, abs=1e-6)
    assert "gap" not in text  # nothing was searched for
    searched = ScoreFusion(cv=None, normalise="minmax", node_limit=0, **QUICK).fit(runs, qrels)
    assert f"gap {searched.result_.gap:.9f}".rstrip("0").rstrip(".") in str(searched)
    assert str(searched).startswith("Weights of the scores normalised by minmax:")  # no folds, no report
    refuses("no folds", searched.plot)


def test_the_picture_has_a_line_for_every_option(case):
    est = ScoreFusion(cv=3, node_limit=0, **QUICK).fit(*case)
    ax = est.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == len(est.cv_results_["params"]) == len(set(names))
    assert sum(name.endswith(", chosen") for name in names) == (not est.null_kept_)
    marks = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert marks == pytest.approx(est.cv_results_["lead"])
    assert ax.get_xlabel() == "lead over RRF, ndcg@10"
    assert [text.get_text() for text in ax.texts] == ["RRF, kept" if est.null_kept_ else "RRF"]


def test_names_of_runs_are_no_html(case):
    runs, qrels = case
    evil = {f"<b>{name}": run for name, run in runs.items()}
    page = ScoreFusion(cv=None, node_limit=0, **QUICK).fit(evil, qrels)._repr_html_()
    assert "<b>r0" not in page and "&lt;b&gt;r0" in page


def test_without_time_no_option_is_tried_and_that_is_said(case, monkeypatch):
    points, real = [], choice.point
    monkeypatch.setattr(choice, "point", lambda *given: points.append(1) or real(*given))
    est = ScoreFusion(cv=3, random_state=0, time_limit=0.0).fit(*case)
    assert est.null_kept_ and not points and pd.DataFrame(est.cv_results_).value.isna().all()
    assert est.result_.message == (
        "RRF is kept: no option had the time to be tried on held-out queries; raise time_limit."
    )
    assert any("options were not tried on held-out queries: the 75%" in note for note in est.notes_)
    assert est.result_.bound >= est.result_.value and sum(est.weights_.values()) == pytest.approx(1.0)
    assert not est.evidence_.guarded
    more = ScoreFusion(cv=3, node_limit=0, **QUICK).fit(*case)  # what the message asks for
    assert points and all(value == value for value in more.cv_results_["value"])
    assert not any("not tried" in note for note in (*more.notes_, *more.result_.notes))
    assert more.evidence_.guarded == more.null_kept_
    assert "leads it by more than 1.5 standard errors" in more.report()
