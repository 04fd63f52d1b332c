"""Runs against judgements: trec_eval by way of ir_measures, the definition, and differences between runs."""

import math
import warnings

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from rerank import evaluate_runs
from rerank.errors import InputError, InputWarning
from rerank.io import Qrels, Run, texts, write_run
from rerank.io.texts import Texts
from rerank.ranks import evaluate
from rerank.ranks.runs import differences, run_values
from tests.cases.examples import examples
from tests.cases.refuses import refuses

OURS = ["ndcg_cut_3", "ndcg", "ap", "recip_rank", "P_2", "recall_3", "hit@2", "map_cut_2", "Rprec", "bpref"]
THEIRS = [
    ir_measures.nDCG @ 3,
    ir_measures.nDCG,
    ir_measures.AP,
    ir_measures.RR,
    ir_measures.P @ 2,
    ir_measures.R @ 3,
    ir_measures.Success @ 2,
    ir_measures.AP @ 2,
    ir_measures.Rprec,
    ir_measures.Bpref,
]
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
    80,
    run=st.dictionaries(st.sampled_from(["1", "2", "3", "x"]), lists(SCORES), min_size=1),
    # pytrec_eval never ends for a query that has negative judgements alone; those are tested below.
    qrels=st.dictionaries(
        st.sampled_from(["1", "2", "3"]),
        lists(st.integers(-1, 3)).filter(lambda own: max(own.values()) >= 0),
        min_size=1,
    ),
    level=st.integers(1, 2),
    precision=st.sampled_from(["single", "double"]),
)
def test_every_query_agrees_with_trec_eval(run, qrels, level, precision) -> None:
    if not run.keys() & qrels.keys():
        refuses("No query of the run is judged", run_values, *tables(run, qrels), OURS)
        return
    if not any(run.get(query, {}).keys() & own.keys() for query, own in qrels.items()):
        refuses("judged documents occur in the run", run_values, *tables(run, qrels), OURS)
    found = run_values(*tables(run, qrels), OURS, level=level, strangers=True, precision=precision)
    # The script of MS MARCO breaks ties by the order of lines, so trec_eval's value is cut by hand.
    cut = run_values(*tables(run, qrels), ["rr@2"], level=level, strangers=True, precision=precision).values[:, 0]
    assert cut.tolist() == [value if value >= 0.5 else 0.0 for value in found.values[:, OURS.index("recip_rank")]]
    if precision == "double":  # ir_measures has trec_eval 9, which tells whole numbers apart
        steps = sorted({score for own in run.values() for score in own.values()})
        run = {query: {doc: float(steps.index(score)) for doc, score in own.items()} for query, own in run.items()}
    measures = [m if "nDCG" in str(m) else m(rel=level) for m in THEIRS]
    expected = {(one.query_id, one.measure): one.value for one in ir_measures.iter_calc(measures, qrels, run)}
    for number, query in enumerate(found.queries):
        for k, measure in enumerate(measures):
            assert math.isclose(found.values[number, k], expected[query, measure], abs_tol=1e-9), (query, measure)
    means = ir_measures.calc_aggregate(measures, qrels, run)
    np.testing.assert_allclose(found.means, [means[m] for m in measures], atol=1e-9)
    assert found.n_missing == len(qrels.keys() - run.keys()) and found.n_unjudged == len(run.keys() - qrels.keys())


RUNS = st.dictionaries(st.sampled_from(["1", "2"]), lists(SCORES), min_size=2)
GRADES = st.dictionaries(st.sampled_from(["1", "2"]), lists(st.integers(0, 3)), min_size=2)


@examples(60, run=RUNS, qrels=GRADES, ties=st.sampled_from(["pessimistic", "optimistic", "average"]))
def test_other_ties_are_those_of_evaluate(run, qrels, ties) -> None:
    names = ["ndcg@2", "ndcg", "dcg@3", "ap", "rr", "ap@2", "recall@2", "auc", "rbp@0.5", "wta", "precision@50%"]
    found = run_values(*tables(run, qrels), names, ties=ties, strangers=True)
    for number, query in enumerate(found.queries):
        own = run[query]
        y = [qrels[query].get(doc, 0) for doc in own]
        missed = {query: [grade for doc, grade in qrels[query].items() if doc not in own]}
        for k, name in enumerate(names):
            y_ = [float(grade > 0) for grade in y] if name.startswith("precision") else y
            value = evaluate(
                name, y_, list(own.values()), [query] * len(y), ties=ties, gain="linear", empty=0, ideal_gains=missed
            )
            assert found.values[number, k] == pytest.approx(value, abs=1e-12), name


@examples(60, run=RUNS, qrels=GRADES)
def test_bpref_rprec_and_judged_by_their_definitions(run, qrels) -> None:
    run = {query: {doc: score + k / 8 for k, (doc, score) in enumerate(own.items())} for query, own in run.items()}
    run = {query: dict(zip(own, np.argsort(np.argsort(list(own.values()))) + 1.0)) for query, own in run.items()}
    found = run_values(*tables(run, qrels), ["bpref", "rprec", "judged@2", "judged"], strangers=True)
    for query, values in zip(found.queries, found.values):
        ranked = sorted(run[query], key=run[query].__getitem__, reverse=True)
        relevant = {doc for doc, grade in qrels[query].items() if grade > 0}
        R, N = len(relevant), len(qrels[query]) - len(relevant)
        bpref = 0.0
        for place, doc in enumerate(ranked):
            if doc in relevant:
                above = sum(other in qrels[query] and other not in relevant for other in ranked[:place])
                bpref += 1 - (min(above, R) / min(N, R) if above else 0)
        judged = [doc in qrels[query] for doc in ranked]
        expected = [
            bpref / R if R else 0,
            len(relevant & set(ranked[:R])) / R if R else 0,
            np.mean(judged[:2]),
            np.mean(judged),
        ]
        assert values.tolist() == pytest.approx(expected)
    theirs = ir_measures.calc_aggregate([ir_measures.Judged @ 2, ir_measures.Judged @ 9], qrels, run)
    assert found.means[2:].tolist() == pytest.approx([theirs[ir_measures.Judged @ 2], theirs[ir_measures.Judged @ 9]])


@examples(20, run=RUNS, qrels=GRADES)
def test_ids_that_share_a_key_are_told_apart(run, qrels) -> None:
    """With keys of 16 bits "d10" and "d10-3" share one; values stay the same."""
    longer = {query: {**own, **{f"{doc}-{k}": k / 7 for doc in own for k in range(9)}} for query, own in run.items()}
    wanted = run_values(*tables(longer, qrels), ["ndcg", "bpref"], strangers=True).values.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_mixed", lambda keys, k: keys & np.uint64(2**16 - 1))
        assert len(set(Texts.of(["d10", "d10-3", "d10-4"]).keys(np.zeros(3, dtype=int)).tolist())) == 1
        assert run_values(*tables(longer, qrels), ["ndcg", "bpref"], strangers=True).values.tolist() == wanted


def test_names_of_the_field_are_read() -> None:
    run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 1, "c": 2}}
    same = {
        "ndcg@2": ["ndcg_cut_2", "nDCG@2", "ndcg_cut.2", ir_measures.nDCG @ 2],
        "ap": ["map", "AP", ir_measures.AP],
        "ap@2": ["map_cut_2", "map@2"],
        "rr": ["mrr", "recip_rank", "RR", "MRR"],
        "rr@1": ["mrr@1", "RR@1"],
        "precision@2": ["P_2", "P@2", "p@2"],
        "recall@2": ["recall_2", "R@2"],
        "success@2": ["success_2", "hit@2", "hit_rate@2"],
        "rprec": ["Rprec", "r-precision", ir_measures.Rprec],
        "bpref": ["Bpref"],
        "judged@2": ["judged_2", ir_measures.Judged @ 2],
    }
    for name, others in same.items():
        found = run_values(run, qrels, [name, *others])
        assert (found.values == found.values[0, 0]).all() and found.measures[1] == str(others[0])
    two = run_values(run, qrels, ["AP(rel=2)", "nDCG(dcg='exp-log2')@2", ir_measures.AP(rel=2)]).values[0]
    assert two[0] == two[2] == run_values(run, qrels, ["ap"], level=2).values[0, 0]
    assert two[1] == run_values(run, qrels, ["ndcg@2"], gain="exponential").values[0, 0]
    refuses("judged_only=True' is not read", run_values, run, qrels, ["AP(judged_only=True)"])
    refuses("write 'rprec', 'bpref' or 'judged@10'", run_values, run, qrels, ["rprec@3"])


def test_exponential_gains_and_rank_biased_precision_by_hand() -> None:
    run, qrels = tables({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 3, "lost": 2}})
    dcg, ideal = 1 + 7 / 2, 7 + 3 / math.log2(3) + 1 / 2
    found = run_values(run, qrels, ["ndcg", "rbp@0.5"], gain="exponential")
    assert found.values[0].tolist() == pytest.approx([dcg / ideal, 0.5 + 0.125])


def test_a_negative_grade_counts_as_none_and_for_bpref_as_not_judged() -> None:
    names = [name for name in OURS if name != "bpref"]
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}
    negative = run_values(*tables(run, {"q": {"a": -1, "b": 2, "c": -3, "lost": -1}, "r": {"a": -1}}), names)
    zero = run_values(*tables(run, {"q": {"a": 0, "b": 2, "c": 0, "lost": 0}, "r": {"a": 0}}), names)
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
    refuses("0 of 8 judged documents occur in the run: ids look like 'a#0' in", run_values, suffixed(FOUND), JUDGED)
    with pytest.raises(InputError, match="the run has 'Qq0', and the judgements have 'q0'"):
        run_values({f"Q{query}": own for query, own in FOUND.items()}, JUDGED)
    refuses("the run has 'none'", run_values, tables({}, {})[0], JUDGED)
    found = run_values(suffixed(FOUND), JUDGED, strangers=True)
    assert not found.means.any() and found.n_known == 0 and "check that their ids" in found.notes[0]
    again = run_values(FOUND, JUDGED)  # the advice: the same ids
    assert again.means[0] == 1.0 and again.n_known == 4 and again.notes == ()


class Ranx:
    """As runs and judgements of ranx are."""

    def __init__(self, given, name=None):
        self.given, self.name = given, name

    def to_dict(self):
        return self.given


def rows(given):
    return [(query, doc, value) for query, own in given.items() for doc, value in own.items()]


OTHER = {query: {"b": 2.0, "a": 1.0} for query in JUDGED}
FORMS = {
    "dictionaries": lambda given, grades: given,
    "ranx": lambda given, grades: Ranx(given, "any"),
    "ir_measures": lambda given, grades: [
        (ir_measures.Qrel if grades else ir_measures.ScoredDoc)(*one) for one in rows(given)
    ],
    "generators": lambda given, grades: (one for one in rows(given)),
    "pyterrier": lambda given, grades: pd.DataFrame(
        rows(given), columns=["qid", "docno", "label" if grades else "score"]
    ),
    "frames of ir_measures": lambda given, grades: pd.DataFrame(
        rows(given), columns=["query_id", "doc_id", "relevance" if grades else "score"]
    ),
    "beir": lambda given, grades: pl.DataFrame(rows(given), schema=["query-id", "corpus-id", "score"], orient="row"),
}


@pytest.mark.filterwarnings("ignore:The run second alone is worse")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_runs_and_judgements_are_taken_in_every_form(form):
    runs = {"first": form(FOUND, False), "second": form(OTHER, False)}
    found = evaluate_runs(runs, form(JUDGED, True), ["rr", "ndcg@10"])
    assert found.base == "first" and found.means == {
        "first": {"rr": 1.0, "ndcg@10": 1.0},
        "second": {"rr": 0.5, "ndcg@10": pytest.approx(1 / math.log2(3))},
    }
    lead = found.table[2]
    assert (lead["run"], lead["measure"], lead["value"], lead["losses"]) == ("second", "rr", 0.5, 4)
    assert lead["low"] == lead["difference"] == lead["high"] == -0.5
    second = {"run": "second", "query": "q3", "rr": 0.5, "ndcg@10": pytest.approx(1 / math.log2(3))}
    assert found.per_query[-1] == second
    assert "second against first, mean over 4 queries:" in str(found) and "<table>" in found._repr_html_()
    assert list(evaluate_runs(form(FOUND, False), form(JUDGED, True)).runs) in (["run"], ["any"])


@pytest.mark.filterwarnings("ignore:The run .* alone is worse")
def test_runs_have_names_of_their_own(tmp_path):
    write_run(tmp_path / "bm25.run.gz", *zip(*rows(FOUND)))
    found = evaluate_runs([tmp_path / "bm25.run.gz", Ranx(OTHER, "dense"), OTHER], JUDGED, "rr")
    assert list(found.runs) == ["bm25", "dense", "run 3"]


def test_what_is_most_likely_not_meant_is_a_warning_in_python():
    with pytest.warns(InputWarning) as heard:
        evaluate_runs({"a": {"q0": FOUND["q0"]}, "b": {"q1": FOUND["q1"]}}, JUDGED)
    said = [str(one.message) for one in heard]
    assert said[0] == "a has nothing for 3 of 4 judged queries, which count 0." and len(said) == 3
    assert said[2].startswith("The runs a and b share no judged query; check")
    apart = {query: {"b": 1.0} for query in JUDGED}, {query: {"a": 1.0} for query in JUDGED}
    with pytest.warns(InputWarning) as heard:
        evaluate_runs(list(apart), {query: {"a": 1, "b": 1} for query in JUDGED}, ["rr"])
    assert [str(one.message).partition(";")[0] for one in heard] == [
        "The runs run and run 2 share no judged document in any query"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        more = evaluate_runs({"a": {**FOUND, "x": {"a": 1.0}}, "b": FOUND}, JUDGED)
    assert more.notes == ("a has 1 queries without a judgement, which do not count.",)
    refuses("0 of 8 judged documents occur in the run b", evaluate_runs, {"a": FOUND, "b": suffixed(FOUND)}, JUDGED)
    refuses("or exchange runs and judgements", evaluate_runs, JUDGED, {"q0": {"a": 2.5}})


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
