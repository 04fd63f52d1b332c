"""Fits of score fusion against enumeration, nulls, the guard, what may leak, and what is shown of a fit."""

import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest

from rerank.errors import InputError
from rerank.fusion import ScoreFusion
from rerank.reranker.fusion.points import RunWeights
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


def test_folds_choose_weights_that_clearly_lead():
    """Of ten queries averaged weights go up to .75, whatever the runs are."""
    runs, qrels = naive.made(10, (2.0, 0.0), seed=2, kept=25)
    found = ScoreFusion(cv=5, safeguard=0.0, node_limit=0, **QUICK).fit(runs, qrels)
    assert not found.null_kept_ and found.null_ == "logistic (minmax)" and found.weights_["r0"] > 0.9
    later, judged = naive.made(60, (2.0, 0.0), seed=3, kept=25)
    kept = ScoreFusion(prior="logistic", normalise="minmax", radius=0.0, cv=None, **QUICK).fit(runs, qrels)
    assert kept.weights_["r0"] <= 0.75 and found.score(later, judged) > kept.score(later, judged) + 0.01
    assert np.isfinite(found.cv_results_["value"]).all() and "Chosen (*)" in found.report()
    tried = [(one["prior"], one["normalise"], one["radius"], one["without"]) for one in found.cv_results_["params"]]
    points = [(kind, name, 0.0, None) for kind in ("logistic", "given") for name in ("minmax", "rank", "z")][1:]
    points += [("logistic alone", "minmax", 0.0, None), ("single", "minmax", 0.0, None)]
    kind = tried[len(points)][:2]
    assert tried[: len(points)] == points
    assert tried[len(points) :] == [(*kind, r, None) for r in (0.1, 0.3, 1.0)] + [(*kind, 0.0, run) for run in runs]
    assert set(found.nulls_) == {"RRF", "equal weighting (minmax)", "equal weighting (z)"}


def test_held_out_queries_are_ranked_by_what_the_others_say_and_runs_are_left_out():
    runs, qrels = naive.made(12, (2.0, 0.3, 0.8), seed=5, kept=25)
    found = ScoreFusion(normalise="minmax", cv=12, radius=0.0, **QUICK).fit(runs, qrels)  # each query by itself
    tried = zip(found.cv_results_["params"], found.cv_results_["value"])
    values = {one["without"] or one["prior"]: value for one, value in tried if one["normalise"] == "minmax"}

    def held_out(prior, without=""):
        total = []
        for query in qrels:
            rest = {name: {q: own for q, own in run.items() if q != query} for name, run in runs.items()}
            others = {q: grades for q, grades in qrels.items() if q != query}
            few = {name: run for name, run in rest.items() if name != without}
            learned = ScoreFusion(normalise="minmax", radius=0.0, cv=None, prior=prior).fit(few, others)
            weights = dict.fromkeys(runs, 0.0) | learned.weights_
            own = naive.fused({name: {query: run[query]} for name, run in runs.items()}, weights, "minmax")
            total.append(naive.ndcg(own[query], qrels[query]))
        return np.mean(total)

    alone = held_out("logistic")
    assert found.cv_results_["first_stage"][0] == pytest.approx(alone, abs=1e-9)
    assert values["given"] == pytest.approx(held_out("equal"), abs=1e-9)
    assert found.null_kept_ and list(found.losses_) == list(runs)
    for run, loss in found.losses_.items():
        assert loss == pytest.approx(alone - held_out("logistic", run), abs=1e-9)
        assert f"{loss:+.4f}" in str(found)


def test_the_null_is_kept_where_nothing_may_lead():
    runs, qrels = naive.made(8, (1.0, 1.0), seed=7)
    found = ScoreFusion(cv=4, safeguard=math.inf, node_limit=0, **QUICK).fit(runs, qrels)
    alone = ScoreFusion(prior="logistic", radius=0.0, cv=None, **QUICK).fit(runs, qrels)
    assert found.null_kept_ and found.weights_ == alone.weights_ and found.normaliser_ == "minmax"
    assert found.result_.message == (
        "Taken on held-out queries: logistic (minmax). No weights were searched for on all queries."
    )
    assert "Corrections" not in str(found) and "bound" not in str(found)
    rrf = ScoreFusion(prior="rrf", cv=4, safeguard=math.inf, node_limit=0, **QUICK).fit(runs, qrels)
    assert rrf.null_ == "RRF" and list(rrf.weights_.values()) == [0.5, 0.5] and rrf.normaliser_ == "rank"
    assert rrf.result_.statistic == pytest.approx(rrf.nulls_["RRF"], abs=1e-9)


def test_a_lead_has_to_exceed_the_safeguard():
    runs, qrels = naive.made(24, (2.0, 0.0), seed=1, kept=25)
    options = {"cv": 3, "normalise": "minmax", "radius": 0.0, **QUICK}
    best = ScoreFusion(safeguard=0.0, **options).fit(runs, qrels)
    lead, error = (best.cv_results_[side][best.evidence_.chosen] for side in ("lead", "error"))
    far, near = (ScoreFusion(safeguard=k * lead / error, **options).fit(runs, qrels) for k in (1.01, 0.5))
    assert far.null_kept_ and not near.null_kept_
    refuses("has no 'rule' any more", ScoreFusion, rule="strict")


def test_shares_keep_their_floors_with_and_without_a_search():
    runs, qrels = naive.made(24, (2.0, 0.0), seed=1, kept=25)
    options = {"normalise": "minmax", "constraints": ["r1 >= 0.4"], **QUICK}
    chosen = ScoreFusion(cv=3, node_limit=0, **options).fit(runs, qrels)
    free = ScoreFusion(cv=None, radius=None, **options).fit(runs, qrels)
    near = ScoreFusion(cv=None, radius=1.0, **options).fit(runs, qrels)
    for found in (chosen, free, near):
        assert found.weights_["r1"] >= 0.4 - 1e-12 and sum(found.weights_.values()) == pytest.approx(1)
    best = max(
        naive.mean_ndcg(naive.fused(runs, {"r0": 1 - share, "r1": share}, "minmax"), qrels)
        for share in np.linspace(0.4, 1, 241)
    )
    assert free.result_.proved and free.result_.bound >= best - 1e-3 and free.result_.value >= best - 1e-3
    for floors, message in ((["r1 <= 0.4"], "no floor"), (["r0 >= 0.7", "r1 >= 0.7"], "add up to 1.4")):
        refuses(message, ScoreFusion(constraints=floors).fit, runs, qrels)


def test_a_run_that_is_shut_out_of_the_first_hundred_is_told():
    runs, qrels = naive.made(3, (1.0, 1.0), seed=0, length=250, kept=120)
    for weights, told in (({"r0": 3.0, "r1": 1.0}, ["r1"]), ({"r0": 1.0, "r1": 1.0}, [])):
        found = ScoreFusion(prior=weights, normalise="rank", radius=0.0, cv=None, depth=100).fit(runs, qrels)
        fused = found.fuse(runs)
        first = [doc for query, own in fused.items() for doc in list(own)[:100] if doc not in runs["r0"][query]]
        assert bool(first) != bool(told)
        assert [note.split(" only ")[1].split()[0] for note in found.notes_ if note.startswith("None of the")] == told


def test_one_judged_query_is_no_choice():
    runs, qrels = naive.made(1, (2.0, 0.0), seed=0)
    found = ScoreFusion(node_limit=0, **QUICK).fit(runs, qrels)
    assert found.null_kept_ and found.null_ == "logistic (minmax)" and found.cv_results_ is None
    assert any("nothing can be held out" in note for note in found.notes_)


def test_after_an_interrupt_no_other_option_is_begun(monkeypatch):
    real, calls = RunWeights.fit, []

    def cut_short(*given):
        calls.append(given)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(RunWeights, "fit", cut_short)
    runs, qrels = naive.made(24, (2.0, 0.0), seed=0)
    found = ScoreFusion(cv=2, node_limit=0, **QUICK).fit(runs, qrels)
    values = np.array(found.cv_results_["value"])
    assert len(calls) == 8 and not np.isnan(values[0]) and np.isnan(values[2:]).all()


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
    [
        ("ndcg@10", ir_measures.nDCG @ 10),
        ("ap", ir_measures.AP),
        ("recall@5", ir_measures.R @ 5),
        ("rr", ir_measures.RR),
        ("precision@5", ir_measures.P @ 5),
    ],
    ids=str,
)
def test_the_statistic_is_that_of_the_evaluators_of_the_field(stat, theirs):
    runs, qrels = naive.made(5, (1.0, 0.5), seed=8, kept=12)
    options = {"gain": "linear", "cv": 2, "radius": 0.3, "normalise": "z", "node_limit": 0}
    found = ScoreFusion(stat, **options, **QUICK).fit(runs, qrels)
    assert found.result_.bound >= found.result_.value
    value = ir_measures.calc_aggregate([theirs], qrels, found.fuse(runs))
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
        assert float(line.split()[-1 - (name in est.losses_)]) == pytest.approx(value, abs=1e-6)
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
    assert ax.get_xlabel() == "lead over logistic (minmax), ndcg@10"
    assert [text.get_text() for text in ax.texts] == ["logistic (minmax)" + ", kept" * est.null_kept_]


def test_names_of_runs_are_no_html(case):
    runs, qrels = case
    evil = {f"<b>{name}": run for name, run in runs.items()}
    page = ScoreFusion(cv=None, node_limit=0, **QUICK).fit(evil, qrels)._repr_html_()
    assert "<b>r0" not in page and "&lt;b&gt;r0" in page


def test_without_time_no_option_is_tried_and_that_is_said(case):
    est = ScoreFusion(cv=3, random_state=0, time_limit=0.0).fit(*case)
    assert est.null_kept_ and pd.DataFrame(est.cv_results_).value.isna().all()
    assert est.result_.message == (
        "Logistic (minmax) is kept: no option had the time to be tried on held-out queries; raise time_limit."
    )
    assert est.result_.bound >= est.result_.value and sum(est.weights_.values()) == pytest.approx(1.0)
    assert not est.evidence_.guarded
    more = ScoreFusion(cv=3, node_limit=0, **QUICK).fit(*case)  # what the message asks for
    assert all(value == value for value in more.cv_results_["value"])
    assert more.evidence_.guarded == more.null_kept_
