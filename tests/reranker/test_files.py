"""Fitted rerankers through files: models, programs, solutions, and what is refused on the way."""

import json
from fractions import Fraction

import numpy as np
import pytest

import rerank
from formulations import mps
from rerank import Reranker, verify
from rerank.errors import CertificateError, InputError
from rerank.reranker.estimator import restored
from rerank.reranker.files.export import imported
from rerank.solvers import gateway
from tests.cases.models import CASES, fitted
from tests.cases.mutants import signed
from tests.reranker.test_reranker import table


@pytest.mark.parametrize("case", CASES)
def test_a_saved_model_ranks_the_same_to_the_last_bit(tmp_path, case):
    est, table = fitted(case)
    est.save(tmp_path / "m.json")
    twin = rerank.load(tmp_path / "m.json")
    X = table.X if case == "texts and gaps" else np.vstack([table.X, 5 * table.X[::2] ** 2])
    qid = None if table.qid is None else np.append(table.qid, table.qid[::2])
    assert np.array_equal(twin.decision_function(X, qid), est.decision_function(X, qid))
    assert np.array_equal(twin.rank(X, qid), est.rank(X, qid))
    assert np.array_equal(twin.coef_, est.coef_) and twin.threshold_ == est.threshold_
    assert twin.result_.to_dict() == est.result_.to_dict()
    assert twin.result_.certificate == est.result_.certificate
    twin.save(tmp_path / "n.json")
    assert (tmp_path / "n.json").read_bytes() == (tmp_path / "m.json").read_bytes()


# -- programs and solutions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["subrank", "resolved_rank", "mixed"])
def test_a_program_out_and_a_solution_back(tmp_path, formulation):
    X, y = table(4, n=9, d=2)
    options = {"first_stage": None, "margin": 1e-3, "formulation": formulation}
    est = Reranker("dcg@3", solver="none", **options).fit(X, y)
    start = est.result_.value
    program, _ = est.export_mps(tmp_path / "p.mps")
    outcome = gateway.solve_file(program, "highs", solution=tmp_path / "p.sol")
    est.load_solution(tmp_path / "p.sol")
    result = est.result_
    assert result.value >= max(start, outcome.objective - 1e-9) and result.solver == "file"
    assert result.value <= result.bound and result.certificate.value >= Fraction(result.value)
    assert result.statistic == pytest.approx(est.score(X, y), abs=1e-12)
    other = restored(imported(program, tmp_path / "p.sol"))
    assert other.result_.value == result.value and np.array_equal(other.rank(X), est.rank(X))


def test_a_solution_that_claims_too_much_is_refused(tmp_path):
    X, y = table(5, n=9, d=2)
    est = Reranker("auc", first_stage=None, margin=1e-3, formulation="auc", solver="none").fit(X, y)
    program, _ = est.export_mps(tmp_path / "p.mps")
    # Every pair is said to be won by weights that win few.
    rows = [f"{name} {1 if name[0] == 'z' else 0.5 * (name == 'w0')}" for name in mps.read(program).columns]
    (tmp_path / "p.sol").write_text("\n".join(["# Objective value = 0", *rows]) + "\n")
    with pytest.raises((CertificateError, InputError)):
        est.load_solution(tmp_path / "p.sol")
    assert est.result_.solver == "none"


def test_files_of_earlier_versions_hold_thinning_without_a_value_and_say_price_for_penalty(tmp_path):
    est, given = fitted("shortlist")
    path = tmp_path / "m.json"
    est.save(path)
    body = json.loads(path.read_text())
    said = body["result"]["message"].replace("penalty", "price")
    assert said != body["result"]["message"]
    for part, entries in (("settings", {"thinning": None}), ("result", {"message": said})):
        path.write_text(json.dumps(signed(body | {part: body[part] | entries})))
        assert np.array_equal(rerank.load(path).rank(given.X), est.rank(given.X))
        assert verify(path, given).holds
