"""Verification of model files: every stated fact is recomputed, refused, or listed by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from rerank import Reranker, verify
from rerank.errors import InputError
from rerank.io import Table
from rerank.reranker.files import document as files
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, state_of
from rerank.reranker.files.verify import refitted
from tests.cases.drawn import as_table
from tests.cases.models import CASES, PROVED, fitted, noisy, surviving
from tests.cases.mutants import signed
from tests.cases.refuses import refuses
from tests.reranker.test_reranker import lists

STEP = 40
"""One mutant in so many is tried by a test, others in each case; ``python -m tests.cases.models`` tries all."""


EVERY = [*((case, False) for case in CASES), *((case, True) for case in PROVED)]


@pytest.mark.parametrize(("case", "proved"), EVERY)
def test_no_changed_field_passes_unlisted(case, proved):
    found, count = surviving(case, proved, STEP)
    assert not found and sum(count.values()) > 30


# -- forgeries that the first version accepted -----------------------------------------------------------------------


def forged(case, proof=None, result=(), **changes):
    """The report on a model with these entries of the result, and these fields, changed."""
    est, given = fitted(case)
    doc = document(est.state_)
    body = model_file.to_dict(replace(doc, result={**doc.result, **dict(result)}, **changes))
    return verify(model_file.from_dict(signed(body)), given, proof and est.result_.proof, where="m.json")


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        *(("shortlist", {"status": s}) for s in ("already_ideal", "nothing_to_find", "nothing_to_reorder")),
        *((case, more) for case in ("ideal", "nothing", "nothing found") for more in ({}, {"statistic": 999.0})),
    ],
)
def test_a_value_that_no_list_has(case, changes):
    assert not forged(case, result={"value": 999.0, "bound": 999.0, **changes}).holds
    assert not forged(case, result={"first_stage_statistic": 999.0}).holds


def test_a_bound_that_is_not_the_proofs():
    est, _ = fitted("lists and a head")
    assert est.result_.bound_source == "search" and est.result_.status == "optimal"
    assert forged("lists and a head", proof=True).complete
    for bound in (999.0, np.nextafter(est.result_.bound, 2), np.nextafter(est.result_.bound, 0)):
        assert not forged("lists and a head", proof=True, result={"bound": float(bound)}).holds
    assert not forged("lists and a head", result={"bound": 999.0}).holds  # the status does not follow from it


def test_a_program_that_claims_more_than_was_proved_and_a_bound_below_the_value():
    est, _ = fitted("highs")
    bound = est.result_.bound
    assert est.result_.bound_source != "solver" and est.result_.program_value is not None
    for claim in (99.0, bound + 0.01):
        report = forged("highs", result={"program_value": claim})
        assert "result.program_value" in [check.name for check in report.checks if not check.holds]
    assert forged("highs", result={"program_value": bound}).holds
    doc = document(fitted("open")[0].state_)
    below = replace(doc, result={**doc.result, "bound": doc.result["value"] - 0.5})
    assert not verify(below, without_data=True).holds


RECORDS = {
    "settings": [
        {"positive_label": True},
        {"positive_label": 3},
        {"weight_column": 3},
        {"qid_column": True},
        {"time_limit": -1.0},
        {"time_limit": True},
        {"presolve": "no"},
        {"named_features": "x"},
        {"prior_scale": "2"},
        {"label_negative": "alive", "label_positive": "dead", "positive_label": "alive"},
        {"label_negative": "dead", "label_positive": "dead"},
    ],
    "result": [
        {"nodes": 2**40},
        {"seconds.total": -1.0},
        {"formulation": "best"},
        {"model_size.integer_columns": 10**6},
        {"model_size.nonzeros": 10**9},
    ],
    "versions": [{"numpy": True}],
}


@pytest.mark.parametrize(("part", "more"), [(part, more) for part, each in RECORDS.items() for more in each])
def test_a_record_of_another_kind_or_without_sense_is_refused(part, more):
    est, given = fitted("highs")
    doc = document(est.state_)
    body = model_file.to_dict(doc)
    body[part] = body[part] | {key: {"hex": one.hex()} if isinstance(one, float) else one for key, one in more.items()}
    refuses("can(not| be used)", lambda: verify(model_file.from_dict(signed(body)), given))


def test_a_solver_that_says_less_than_was_proved():
    est, _ = fitted("highs")
    r = est.result_
    assert r.start_accepted and r.program_bound >= r.program_value - 1e-6
    for entry, figures in (
        ("program_bound", {"program_bound": r.value - 0.5}),
        ("program_bound", {"program_bound": r.value - 0.5, "program_value": r.value - 0.5}),
        ("program_value", {"program_value": r.value - 0.5}),
    ):
        report = forged("highs", result=figures)
        assert f"result.{entry}" in [check.name for check in report.checks if not check.holds]
    below = replace(r, program_bound=r.value - 0.5).within_bound()
    assert below.program_bound is None and below.program_value == r.program_value


def test_what_nobody_can_recompute_is_listed_as_given():
    for case in ("folds", "guarded"):
        report = forged(case, result={"notes.0": "Proved by a friend."})
        given = {one.name for one in report.not_looked_at if not one.open}
        assert {"result.evidence", "result.notes"} <= given and report.holds


def test_a_figure_of_a_solver_above_a_proved_bound_is_left_out_with_a_note():
    est, _ = fitted("highs")
    above = replace(est.result_, program_value=est.result_.bound + 1.0).within_bound()
    assert above.program_value is None and "above the proved bound" in above.notes[-1]
    assert est.result_.within_bound() is est.result_


def without_certificate(doc):
    return {key: value for key, value in doc.result.items() if not key.startswith("certificate.")}


@pytest.mark.parametrize("case", ["shortlist", "kept", "lists", "unsolved"])
def test_a_certificate_or_a_digest_that_is_left_out(case):
    est, given = fitted(case)
    doc = document(est.state_)
    assert not verify(replace(doc, result=without_certificate(doc)), given).holds
    assert not verify(replace(doc, data_sha256=None), given).holds
    bare = replace(doc, result=without_certificate(doc), data_sha256=None)
    assert not verify(bare, given, without_data=True).holds


# -- what is looked at -----------------------------------------------------------------------------------------------


def test_everything_stated_holds_only_with_nothing_open():
    est, given = fitted("lists and a head")
    doc = document(est.state_)
    proved, alone = verify(doc, given, proof=est.result_.proof), verify(doc, given)
    assert proved.complete and proved.verdict.startswith("Everything stated holds; taken as given: ")
    assert alone.holds and not alone.complete
    opened = "All that could be checked holds; not looked at: result.bound, result.bound_source;"
    assert alone.verdict.startswith(opened)
    for report in (proved, alone):
        assert {"versions", "result.seconds", "result.nodes"} <= {one.name for one in report.not_looked_at}
    word = verify(document(fitted("solver's word")[0].state_), fitted("solver's word")[1])
    why = [one.why for one in word.not_looked_at if one.name == "result.bound"]
    assert why == ["taken on the solver's word"]


def test_the_file_alone():
    est, _ = fitted("shortlist")
    doc = document(est.state_)
    refuses("--without-data", verify, doc)
    report = verify(doc, without_data=True)
    listed = {one.name for one in report.not_looked_at}
    assert report.holds and not report.complete
    assert {"low", "result.value", "result.bound", "data_sha256", "threshold", "weights"} <= listed
    forgeries = {"status": "feasible", "message": "", "value": 999.0, "certificate.epsilon": "0x1p-3"}
    for name, value in forgeries.items():
        assert not verify(replace(doc, result={**doc.result, name: value}), without_data=True).holds


def test_a_first_stage_that_is_not_in_the_file():
    X, y = noisy()
    forest = RandomForestClassifier(5, random_state=0).fit(X[:13], y[:13])
    est = Reranker("dcg@5", first_stage=forest, solver="search", n_candidates=14).fit(X, y)
    doc, given = document(est.state_), as_table(est, X, y)
    report = verify(doc, given)
    assert report.holds
    assert "result.first_stage_statistic" in {one.name for one in report.not_looked_at if one.open}
    known = verify(doc, given, first_stage=forest)
    assert known.holds and "threshold" not in {one.name for one in known.not_looked_at}
    other = RandomForestClassifier(5, random_state=1).fit(X, 1 - y)
    assert not verify(doc, given, first_stage=other).holds


def test_weights_of_lists_are_given_again():
    X, y, qid = lists(3)
    est = Reranker("ndcg@4", solver="search", n_candidates=5).fit(X, y, qid, query_weight={"q1": 3.0})
    doc, given = document(est.state_), Table(X, y, qid, None, est.state_.columns.names)
    refuses("weights of lists", verify, doc, given)
    assert verify(doc, given, query_weight={"q1": 3.0}).holds
    assert not verify(doc, given, query_weight={"q1": 2.0}).holds


def test_fractions_too_long_for_a_file_are_compared_by_their_digest(monkeypatch):
    monkeypatch.setattr(files, "MAX_TEXT", 70)
    X, y, qid = lists(3)
    est = Reranker("ndcg@4", solver="search", n_candidates=5).fit(X, y, qid)
    doc, given = document(est.state_), Table(X, y, qid, None, est.state_.columns.names)
    assert doc.result["certificate.value"].startswith("sha256:")
    assert verify(doc, given).holds
    assert model_file.to_dict(document(state_of(doc))) == model_file.to_dict(doc)
    for name in ("value", "statistic", "margin"):
        text = doc.result[f"certificate.{name}"]
        changed = {**doc.result, f"certificate.{name}": text[:-1] + ("0" if text[-1] != "0" else "1")}
        assert not verify(replace(doc, result=changed), given).holds


def test_a_statistic_whose_name_is_too_long_for_a_file():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 1))
    y = (X[:, 0] + rng.normal(size=700) > 1.5).astype(float)
    est = Reranker(np.sort(rng.random(700)), solver="search", n_candidates=8).fit(X, y)
    doc, given = document(est.state_), as_table(est, X, y)
    assert len(est.result_.message) > 10_000 and doc.result["message"].startswith("sha256:")
    assert state_of(doc).result.message == est.result_.message
    assert verify(model_file.from_dict(model_file.to_dict(doc)), given).holds
    changed = {**doc.result, "message": doc.result["message"][:-4] + "0000"}
    assert not verify(replace(doc, result=changed), given).holds


def test_columns_and_labels_have_to_be_those_of_the_fit():
    est, given = fitted("labels")
    doc = document(est.state_)
    assert verify(doc, given).holds
    assert not verify(doc, replace(given, feature_names=("x1", "x0", "x2"))).holds
    refuses("2 columns", verify, doc, replace(given, X=given.X[:, :2]))
    with pytest.raises(InputError):
        verify(doc, replace(given, y=given.y + 3))


@pytest.mark.filterwarnings("ignore")
def test_a_head_of_equal_rows():
    """Six rows tie above all others, so that no column varies among the rows to be ordered."""
    X = np.concatenate([np.ones(6), np.zeros(14)])[:, None]
    y = np.array([1.0, 1, 0, 1, 0, 1, *[0] * 13, 1])
    est = Reranker("dcg@3", n_candidates=4, solver="search").fit(X, y)
    assert est.result_.status == "nothing_to_reorder" and est.result_.shortlist.n_tied == 2
    doc, given = document(est.state_), as_table(est, X, y)
    report = verify(doc, given)
    assert report.holds and "epsilon" in {one.name for one in report.not_looked_at}
    assert not verify(replace(doc, data_sha256="0" * 64), given).holds
    assert not verify(replace(doc, features=np.array([0])), given).holds
    for status in ("nothing_to_find", "optimal", "feasible"):
        assert not verify(replace(doc, result={**doc.result, "status": status}), given).holds
    # A fitted model whose head ties on another table, and the reverse.
    other, _ = fitted("shortlist")
    wide = Table(np.ones((20, 3)) * X, y, None, None, other.state_.columns.names)
    assert not verify(other, wide).holds


def test_a_table_without_labels_or_of_other_rows_states_no_problem():
    est, given = fitted("shortlist")
    doc = document(est.state_)
    refuses("no labels", refitted, doc, replace(given, y=None), "m.json")
    refuses("not the one m.json was fitted on", refitted, doc, replace(given, X=2 * given.X), "m.json")
    assert refitted(doc, given, "m.json").training.problem is not None
