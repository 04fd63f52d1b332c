"""Weights by kind of query: the average by definition, held-out queries one by one, files, exports and refusals."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from rerank.fusion import ScoreFusion, export, load
from rerank.reranker.blend import POOL, RIDGE
from rerank.reranker.fusion.choice import weights_by_kind
from rerank.reranker.fusion.points import RunWeights
from tests.cases.refuses import refuses
from tests.cases.stopped import interrupt
from tests.fusion import naive
from tests.fusion.test_alpha import queries_of_folds
from tests.fusion.test_files import signed
from tests.fusion.test_fit import QUICK, equal

FIXED = {"normalise": "minmax", "prior": "equal", "radius": 0.0, "cv": 4, **QUICK}


def two_kinds(n=16):
    """Queries of codes, for which r0 is good, and of questions, for which r1 is; in turn, and two of no kind."""
    (codes, first), (questions, second) = (
        naive.made(n, quality, seed=seed) for quality, seed in (((2.0, 0.1), 1), ((0.1, 2.0), 2))
    )
    runs, qrels = {"r0": {}, "r1": {}}, {}
    for k in range(n):
        for kind, some, judged in (("c", codes, first), ("w", questions, second)):
            qrels[f"{kind}{k}"] = judged[f"q{k}"]
            for name in runs:
                runs[name][f"{kind}{k}"] = some[name][f"q{k}"]
    words = {"c": "code", "w": "question"}
    kinds = {query: words[query[0]] for query in qrels if query not in ("c0", "w0")}
    return runs, qrels, kinds


def own_weights(runs, qrels, queries):
    """Weights of logistic regression, not negative, by another solver."""
    parts = [naive.fused(runs, dict.fromkeys(runs, 0.0) | {name: 1.0}, "minmax") for name in runs]
    rows = [([part[q][doc] for part in parts], qrels[q].get(doc, 0) > 0) for q in queries for doc in parts[0][q]]
    X, y = np.array([x for x, _ in rows]), np.array([label for _, label in rows])
    scale = np.sqrt(X.var(axis=0).mean())
    A = (X - X.mean(axis=0)) / scale

    def loss(w):
        margins = A @ w[:-1] + w[-1]
        return np.logaddexp(0, margins).sum() - margins[y].sum() + 0.5 * RIDGE * (w[:-1] @ w[:-1])

    bounds = [(0, None)] * len(runs) + [(None, None)]
    w = minimize(loss, np.zeros(len(runs) + 1), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}).x[:-1]
    return w / w.sum()


def pooled(runs, qrels, queries):
    return (POOL * 0.5 + len(queries) * own_weights(runs, qrels, queries)) / (POOL + len(queries))


@pytest.fixture(scope="module")
def case():
    return two_kinds()


@pytest.fixture(scope="module")
def fit(case):
    return ScoreFusion(**FIXED).fit(*case)


def test_weights_of_a_kind_are_the_average_and_are_taken_where_they_lead_on_held_out_queries(case, fit):
    runs, qrels, kinds = case
    assert fit.weights_ == pytest.approx(equal(runs)) and [kind.name for kind in fit.kinds_] == ["code", "question"]
    names, folds = list(qrels), queries_of_folds(fit)
    for kind in fit.kinds_:
        own = [query for query in qrels if kinds.get(query) == kind.name]
        assert kind.queries == len(own) == 15
        np.testing.assert_allclose(kind.weights, pooled(runs, qrels, own), atol=1e-4)
        ahead, deals = {query: [] for query in own}, len(folds) // 4
        for train, test in folds:
            learned = pooled(runs, qrels, [names[k] for k in train if names[k] in own])
            for query in (names[k] for k in test if names[k] in own):
                one = {name: {query: run[query]} for name, run in runs.items()}
                each = [
                    naive.mean_ndcg(naive.fused(one, dict(zip(runs, weights)), "minmax"), {query: qrels[query]})
                    for weights in (learned, (0.5, 0.5))
                ]
                ahead[query].append(each[0] - each[1])
        leads = np.array([math.fsum(some) / deals for some in ahead.values()])
        assert kind.lead.lead == pytest.approx(leads.mean(), abs=1e-9)
        assert kind.lead.error == pytest.approx(leads.std(ddof=1) / math.sqrt(leads.size), abs=1e-9)
        assert kind.taken and kind.lead.lead > 1.5 * kind.lead.error
    assert fit.model_.kinds["code"][0] > 0.6 and fit.model_.kinds["question"][1] > 0.6
    assert fit.score(runs, qrels, kinds) > fit.score(runs, qrels) + 0.01
    assert "taken" in str(fit) and "question" in fit._repr_html_()


def test_a_query_is_fused_by_the_weights_of_its_kind_and_others_by_the_common_ones(case, fit):
    runs, qrels, kinds = case
    later = {**kinds, "w1": "poem"}
    fused, common = fit.fuse(runs, later), fit.fuse(runs)
    for query in ("c0", "w1"):
        assert fused[query] == common[query]
    for query in ("c2", "w2"):
        weights = dict(zip(runs, fit.model_.kinds[kinds[query]]))
        wanted = naive.fused({name: {query: run[query]} for name, run in runs.items()}, weights, "minmax")[query]
        assert fused[query] == pytest.approx(wanted, abs=1e-9) and fused[query] != common[query]
    np.testing.assert_array_equal(fit.model_.of_kind("poem").weights, fit.model_.weights)


def test_kinds_that_are_alike_keep_the_common_weights(case):
    runs, qrels = naive.made(24, (1.0, 1.0), seed=4)
    kinds = {query: "odd" if int(query[1:]) % 2 else "even" for query in qrels}
    est = ScoreFusion(**FIXED).fit(runs, qrels, kinds)
    assert not any(kind.taken for kind in est.kinds_) and dict(est.model_.kinds) == {}
    assert est.fuse(runs, kinds) == est.fuse(runs)
    runs, qrels, kinds = case
    kept = ScoreFusion(**FIXED, safeguard=math.inf).fit(runs, qrels, kinds)
    assert dict(kept.model_.kinds) == {} and len(kept.kinds_) == 2
    assert ScoreFusion(**FIXED).fit(runs, qrels).kinds_ == []


def test_without_time_for_folds_no_kind_has_weights(case):
    runs, qrels, kinds = case
    est = ScoreFusion(**{**FIXED, "time_limit": 0.0}).fit(runs, qrels, kinds)
    assert dict(est.model_.kinds) == {} and all(math.isnan(kind.lead.lead) for kind in est.kinds_)


@pytest.mark.parametrize(("options", "call", "judged"), [(FIXED, 3, ["code"]), ({**FIXED, "radius": 0.3}, 1, [])])
def test_after_an_interrupt_kinds_that_were_judged_have_their_weights(case, fit, monkeypatch, options, call, judged):
    """Ctrl-C while the first kind learns its weights, or while the common weights of the first fold are searched for
    once more.
    """
    real, calls, searched = RunWeights.fit, [], []

    def cut_short(self, *given):
        calls.append(self.kind == "logistic alone" if judged else len(searched) == 1)
        if sum(calls) == call and calls[-1]:
            interrupt()
        return real(self, *given)

    plain = ScoreFusion(**options).fit(*case[:2])
    monkeypatch.setattr(RunWeights, "fit", cut_short)
    monkeypatch.setattr("rerank.reranker.fusion.estimator.weights_by_kind", noted(searched))
    est = ScoreFusion(**options).fit(*case)
    assert est.weights_ == plain.weights_ and [kind.name for kind in est.kinds_] == ["code", "question"]
    assert [kind.name for kind in est.kinds_ if not math.isnan(kind.lead.lead)] == judged == list(est.model_.kinds)
    if judged:
        np.testing.assert_array_equal(est.model_.kinds["code"], fit.model_.kinds["code"])
    assert any(note.startswith("Not judged on held-out queries") and "question" in note for note in est.notes_)


def noted(searched):
    """What takes weights by kind, and says so."""
    return lambda *given: (searched.append(True), weights_by_kind(*given))[1]


def test_corrected_weights_are_averaged_by_their_shares(case):
    runs, qrels, kinds = case
    est = ScoreFusion(normalise="minmax", radius=0.3, cv=2, node_limit=0, **QUICK).fit(runs, qrels, kinds)
    for kind in est.kinds_:
        own = [query for query in qrels if kinds.get(query) == kind.name]
        alone = own_weights(runs, qrels, own)
        wanted = (POOL * est.model_.weights + len(own) * alone) / (POOL + len(own))
        np.testing.assert_allclose(kind.weights, wanted, atol=1e-4)


def test_files_and_exports_keep_the_kinds(case, fit, tmp_path):
    runs, _, kinds = case
    fit.save(tmp_path / "m.json")
    read = load(tmp_path / "m.json")
    assert read.fuse(runs, kinds) == fit.fuse(runs, kinds)
    body = json.loads((tmp_path / "m.json").read_text())
    assert body["kinds"]["code"] == dict(zip(runs, fit.model_.kinds["code"].tolist()))
    told = json.loads(export(read, "mongodb"))
    assert told["common"] == json.loads(export(read.of_kind("poem"), "mongodb"))
    assert told["kinds"] == {kind: json.loads(export(read.of_kind(kind), "mongodb")) for kind in ("code", "question")}
    text = export(read, "formula")
    assert text.startswith("# Queries of other kinds\nfused = ")
    for kind in ("code", "question"):
        assert f'# Queries of the kind "{kind}"\n{export(read.of_kind(kind), "formula")}' in text


@pytest.mark.parametrize("damage", [{"code": {"r0": 1.0}}, {"code": {"r0": 1.0, "r1": "x"}}, {"code": 1}, [1]])
def test_damaged_kinds_of_a_file_are_refused(fit, tmp_path, damage):
    fit.save(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(signed(json.loads((tmp_path / "m.json").read_text()) | {"kinds": damage}))
    refuses("kinds.*(a finite number for each of the runs|a mapping of kinds)", load, tmp_path / "m.json")


def test_kinds_come_from_a_file(case, fit, tmp_path):
    runs, qrels, kinds = case
    path = tmp_path / "kinds.txt"
    path.write_text("".join(f"{query}\t{kind}\n" for query, kind in kinds.items()) + "\n")
    assert fit.fuse(runs, path) == fit.fuse(runs, kinds) != fit.fuse(runs)
    for line, message in (("c1 code of mine", "line 1: there are 4 columns"), ("c1 a\nc1 b", "line 2: .* two kinds")):
        path.write_text(line)
        refuses(message, fit.fuse, runs, path)
