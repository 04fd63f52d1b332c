"""Runs against judgements: trec_eval by way of ir_measures, the definition, and differences between runs."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from rerank.errors import InputError
from rerank.io.trec import Qrels, Run
from rerank.ranks.runs import differences, run_values
from tests.cases.examples import examples
from tests.cases.refuses import refuses

OURS = ["ndcg@3", "ndcg", "ap", "rr", "precision@2", "recall@3", "success@2", "ap@2"]
THEIRS = [
    ir_measures.nDCG @ 3, ir_measures.nDCG, ir_measures.AP, ir_measures.RR, ir_measures.P @ 2, ir_measures.R @ 3,
    ir_measures.Success @ 2, ir_measures.AP @ 2,
]  # fmt: skip
DOCUMENTS = ["a", "b", "B", "d10", "d9", "z"]
# Scores that differ by less than single precision, and negative ones, are ties or not as in trec_eval.
SCORES = st.sampled_from([-2.0, 0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 3.5])


def tables(run, qrels):
    made = [(q, d, s) for q, own in run.items() for d, s in own.items()]
    judged = [(q, d, g) for q, own in qrels.items() for d, g in own.items()]
    text = [[np.array([row[k] for row in rows], dtype=object) for k in (0, 1)] for rows in (made, judged)]
    scores = np.array([row[2] for row in made], dtype=np.float64)
    return Run(*text[0], scores, "t"), Qrels(*text[1], np.array([row[2] for row in judged], dtype=np.int64))


def lists(values):
    return st.dictionaries(st.sampled_from(DOCUMENTS), values, min_size=1)


@examples(
    150, run=st.dictionaries(st.sampled_from(["1", "2", "3", "x"]), lists(SCORES), min_size=1),
    # pytrec_eval never ends for a query that has negative judgements alone; those are tested below.
    qrels=st.dictionaries(st.sampled_from(["1", "2", "3"]), lists(st.integers(0, 3)), min_size=1),
    level=st.integers(1, 2),
)
def test_every_query_agrees_with_trec_eval(run, qrels, level) -> None:
    if not run.keys() & qrels.keys():
        refuses("No query of the run is judged", run_values, *tables(run, qrels), OURS)
        return
    if not any(run.get(query, {}).keys() & own.keys() for query, own in qrels.items()):
        refuses("No document of the run is judged", run_values, *tables(run, qrels), OURS)
    found = run_values(*tables(run, qrels), OURS, level=level, strangers=True)
    # The script of MS MARCO breaks ties by the order of lines, so trec_eval's value is cut by hand.
    cut = run_values(*tables(run, qrels), ["rr@2"], level=level, strangers=True).values[:, 0]
    assert cut.tolist() == [value if value >= 0.5 else 0.0 for value in found.values[:, OURS.index("rr")]]
    measures = [m if "nDCG" in str(m) else m(rel=level) for m in THEIRS]
    expected = {(one.query_id, one.measure): one.value for one in ir_measures.iter_calc(measures, qrels, run)}
    for number, query in enumerate(found.queries):
        for k, measure in enumerate(measures):
            assert math.isclose(found.values[number, k], expected[query, measure], abs_tol=1e-9), (query, measure)
    means = ir_measures.calc_aggregate(measures, qrels, run)
    np.testing.assert_allclose(found.means, [means[m] for m in measures], atol=1e-9)
    assert found.n_missing == len(qrels.keys() - run.keys()) and found.n_unjudged == len(run.keys() - qrels.keys())


def test_exponential_gains_and_rank_biased_precision_by_hand() -> None:
    run, qrels = tables({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 3, "lost": 2}})
    dcg, ideal = 1 + 7 / 2, 7 + 3 / math.log2(3) + 1 / 2
    found = run_values(run, qrels, ["ndcg", "rbp@0.5"], gain="exponential")
    assert found.values[0].tolist() == pytest.approx([dcg / ideal, 0.5 + 0.125])


def test_a_negative_grade_counts_as_none() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}
    negative = run_values(*tables(run, {"q": {"a": -1, "b": 2, "c": -3, "lost": -1}, "r": {"a": -1}}), OURS)
    zero = run_values(*tables(run, {"q": {"a": 0, "b": 2, "c": 0, "lost": 0}, "r": {"a": 0}}), OURS)
    assert negative.values.tolist() == zero.values.tolist() and not negative.values[1].any()


def test_ties_by_document_or_against_the_relevant() -> None:
    run, qrels = tables({"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1}})
    values = {
        ties: run_values(run, qrels, ["rr"], ties=ties).means[0]
        for ties in ("trec", "pessimistic", "optimistic", "average")
    }
    assert values == {"trec": 1.0, "pessimistic": 0.5, "optimistic": 1.0, "average": 0.75}


def test_differences_are_those_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    qrels = {str(q): {d: int(rng.integers(0, 3)) for d in DOCUMENTS} for q in range(12)}
    first, second = (
        run_values(*tables({q: {d: float(rng.normal()) for d in DOCUMENTS} for q in qrels}, qrels)) for _ in range(2)
    )
    for k, one in enumerate(differences(second, first)):
        a, b = second.values[:, k], first.values[:, k]
        assert one.mean == pytest.approx((a - b).mean()) and (one.wins, one.losses) == ((a > b).sum(), (a < b).sum())
        if one.half:
            low, high = ttest_rel(a, b).confidence_interval(0.95)
            assert (one.mean - one.half, one.mean + one.half) == pytest.approx((low, high))
    refuses("other measures", differences, first, run_values(*tables({"0": {"a": 1.0}}, qrels), ["ap"]))


JUDGED = {f"q{k}": {"a": 1, "b": 0} for k in range(4)}
FOUND = {query: {"a": 2.0, "c": 1.0} for query in JUDGED}


def suffixed(run, end="#0"):
    return {query: {document + end: score for document, score in own.items()} for query, own in run.items()}


def test_ids_that_match_nothing_are_refused_with_both_sides():
    with pytest.raises(InputError, match="for query 'q0' the run has 'a#0', and the judgements have 'a'"):
        run_values(suffixed(FOUND), JUDGED)
    with pytest.raises(InputError, match="the run has 'Qq0', and the judgements have 'q0'"):
        run_values({f"Q{query}": own for query, own in FOUND.items()}, JUDGED)
    refuses("the run has 'none'", run_values, tables({}, {})[0], JUDGED)
    found = run_values(suffixed(FOUND), JUDGED, strangers=True)
    assert not found.means.any() and found.n_known == 0 and "check that their ids" in found.notes[0]
    again = run_values(FOUND, JUDGED)  # the advice: the same ids
    assert again.means[0] == 1.0 and again.n_known == 4 and again.notes == ()


def test_what_makes_every_value_0_is_said_or_refused():
    assert "a grade of 3 or more" in run_values(FOUND, JUDGED, ["ap"], level=3).notes[0]
    assert "is rr" in run_values(FOUND, JUDGED, ["mrr"]).notes[0]
    refuses("judgements is empty", run_values, FOUND, {})


def test_a_run_of_distances_is_told_and_the_advice_turns_it():
    rng = np.random.default_rng(0)
    qrels = {f"q{k}": {f"d{d}": 1 for d in range(3)} for k in range(20)}
    near = {query: {f"d{d}": float(rng.normal() - 1.5 * (d < 3)) for d in range(20)} for query in qrels}
    told = run_values(near, qrels, ["ndcg@10"])
    assert "worse than a random order" in told.notes[0] and "give -score in place of each score" in told.notes[0]
    turned = {query: {document: -score for document, score in own.items()} for query, own in near.items()}
    found = run_values(turned, qrels, ["ndcg@10"])
    assert found.notes == () and found.means[0] > 0.7 > 0.3 > told.means[0]
    chance = {query: dict.fromkeys(own, 0.0) for query, own in near.items()}
    expected = run_values(chance, qrels, ["ndcg@10"], ties="average").means[0]
    assert f"against {expected:.4f} over 20 queries" in told.notes[0]
    for seed in range(10):  # a random order is rarely taken for a distance, and a single query never
        rng = np.random.default_rng(seed)
        drawn = {query: {document: float(rng.normal()) for document in own} for query, own in near.items()}
        assert not run_values({"q0": near["q0"]}, {"q0": qrels["q0"]}).notes
        assert run_values(drawn, qrels, ["ndcg@10"]).notes == ()
