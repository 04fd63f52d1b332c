"""Relevant items that nothing retrieved: in the ideal, never a row, and 0 where all of a list's were missed."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank import Reranker, RerankerCV
from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.statistics import parse, presentation
from tests.oracles.oracle import optimum

GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=7)


def drawn(seed, n_lists=5, m=6, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * m, d))
    y = rng.integers(0, 3, n_lists * m).astype(float)
    qid = np.repeat([f"q{k}" for k in range(n_lists)], m)
    y[qid == "q0"] = 0
    return X, y, qid, {"q0": [2.0, 1.0], "q1": [1.0], "q3": [2.0], "elsewhere": [1.0]}


@given(
    st.lists(st.tuples(GRADES, st.lists(st.integers(1, 3), max_size=3)), min_size=1, max_size=4), st.randoms()
)
@settings(max_examples=100, deadline=None)
def test_ndcg_agrees_with_trec_eval(lists, random):
    """trec_eval takes the ideal from all judged documents, retrieved or not."""
    y, scores, qid, missed, run, qrels = [], [], [], {}, [], []
    for q, (grades, gone) in enumerate(lists):
        order = random.sample(range(100), len(grades))
        for k, (grade, score) in enumerate(zip(grades, order)):
            y.append(grade)
            scores.append(float(score))
            qid.append(str(q))
            run.append(ir_measures.ScoredDoc(str(q), f"d{k}", float(score)))
            qrels.append(ir_measures.Qrel(str(q), f"d{k}", grade))
        qrels += [ir_measures.Qrel(str(q), f"gone{k}", grade) for k, grade in enumerate(gone)]
        missed[str(q)] = gone
    if not any(y) and not any(map(len, missed.values())):
        return
    ours = evaluate("ndcg@3", y, scores, qid, gain="linear", ideal_gains=missed, empty=0)
    assert ours == pytest.approx(ir_measures.calc_aggregate([ir_measures.nDCG @ 3], qrels, run)[ir_measures.nDCG @ 3])


@pytest.mark.parametrize("stat", ["auc", "ndcg@3", "dcg@3", "precision@2", "mrr"])
def test_a_missed_item_changes_the_scale_and_nothing_else(stat):
    _, y, qid, missed = drawn(1)
    scores = np.random.default_rng(0).normal(size=y.size)
    whole = evaluate(stat, y, scores, qid, ideal_gains=missed)
    total = 0.0
    for q in np.unique(qid):
        own = qid == q
        gains = 2.0 ** y[own] - 1
        gone = 2.0 ** np.array(missed.get(q, [])) - 1
        if gains.any():
            every = np.concatenate([gains, gone])
            scales = [presentation(parse(stat), g.size, g)[1] for g in (gains, every)]
            total += evaluate(stat, y[own], scores[own]) * scales[0] / scales[1]
    # The list whose items were all missed counts 0; it is one of the lists.
    assert whole == pytest.approx(total / 5)


@pytest.mark.parametrize("stat", ["auc", "ndcg@3", "dcg@3"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_knows_the_ideal_and_its_numbers_are_those_of_the_ranking(stat, seed):
    X, y, qid, missed = drawn(seed)
    est = Reranker(stat, first_stage=None, solver="search", time_limit=10).fit(X, y, qid, ideal_gains=missed)
    result = est.result_
    assert result.status == "optimal" and result.n_empty_lists == 0
    assert result.value == pytest.approx(float(optimum(est.state_.problem).value), abs=1e-12)
    scores = est.list_scores(X, qid)
    assert result.statistic == pytest.approx(evaluate(stat, y, scores, qid, ideal_gains=missed))
    assert est.score(X, y, qid, ideal_gains=missed) == pytest.approx(result.statistic)
    assert result.statistic < est.score(X, y, qid)
    assert result.shortlist.n_rows == y.size


def test_cross_validation_judges_with_the_same_ideal():
    X, y, qid, missed = drawn(3, n_lists=9, m=8)
    cv = RerankerCV(Reranker("ndcg@3", solver="search", time_limit=2), grid={"epsilon": [1e-3]}, cv=3)
    with_missed = cv.fit(X, y, qid, ideal_gains=missed).cv_results_
    without = cv.fit(X, y, qid).cv_results_
    assert with_missed["first_stage"][0] < without["first_stage"][0]
    assert with_missed["value"][0] < without["value"][0]


def test_ids_that_name_no_list_are_refused():
    X, y, qid, _ = drawn(1)
    with pytest.raises(InputError, match="give the same ids"):
        evaluate("ndcg@3", y, X[:, 0], qid, ideal_gains={7: [1.0]})
    with pytest.raises(InputError, match="give the same ids"):
        Reranker("ndcg@3", first_stage=None).fit(X, y, qid, ideal_gains={7: [1.0]})
