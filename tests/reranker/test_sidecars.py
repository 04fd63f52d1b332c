"""Sidecars of exported programs: changed ones are refused in a sentence, and so are rows of the user's own."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import mps
from formulations.compile import compile_model
from rerank import Reranker, verify
from rerank.errors import CertificateError, InputError
from rerank.io import Table
from rerank.reranker.estimator import restored
from rerank.reranker.files.document import document
from rerank.reranker.files.export import imported
from rerank.solvers import gateway
from tests.cases.mutants import json_mutants, signed
from tests.cases.refuses import refuses
from tests.reranker.test_reranker import lists, table

STEP = 17
"""One changed sidecar in so many is tried; ``python -m tests.reranker.test_sidecars`` tries all."""
CASES = ("one list", "lists")


@cache
def exported(case, folder):
    """An estimator, its table, and the bytes of its program, sidecar and solution."""
    if case == "lists":
        X, y, qid = lists(4, n_lists=3, m=4)
        options = {"stat": "ndcg@3", "formulation": "mixed", "C": 0.01}
    else:
        X, y = table(4, n=8, d=2)
        qid, options = None, {"stat": "dcg@3", "formulation": "subrank", "max_features": 1}
    stat = options.pop("stat")
    est = Reranker(stat, first_stage=None, solver="none", margin=1e-3, **options).fit(X, y, qid)
    program, sidecar = est.export_mps(Path(folder) / "p.mps")
    gateway.solve_file(program, "highs", solution=Path(folder) / "p.sol")
    return est, Table(X, y, qid, None, est.state_.columns.names), Path(program), Path(sidecar)


@pytest.fixture
def files(tmp_path_factory, tmp_path, request):
    """The same in a folder of this test."""
    base = tmp_path_factory.getbasetemp() / "exported" / request.param.replace(" ", "_")
    base.mkdir(parents=True, exist_ok=True)
    est, given, program, sidecar = exported(request.param, base)
    for path in (program, sidecar, program.with_suffix(".sol")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return est, given, tmp_path / "p.mps", tmp_path / "p.json", tmp_path / "p.sol"


def changed_sidecars(card):
    """Every part of a sidecar changed, the digest of its model made to fit."""
    for change, body in json_mutants(card):
        data = body.get("data") if isinstance(body, dict) else None
        model = data.get("model") if isinstance(data, dict) else None
        if isinstance(model, dict) and change.startswith("data.model") and "digest" not in change:
            body = {**body, "data": {**data, "model": signed(model)}}
        yield change, body


def survivors(program, sidecar, solution, given, step=1, start=0):
    """What is read from changed sidecars: how many, and the models that a verification contradicts."""
    card, count, wrong = json.loads(sidecar.read_text()), 0, []
    for change, body in islice(changed_sidecars(card), start, None, step):
        count += 1
        try:
            sidecar.write_text(json.dumps(body))
            state = imported(program, solution)
        except (InputError, CertificateError) as error:
            assert str(error).endswith(".") and "\n" not in str(error), change
            continue
        assert Fraction(state.result.value) <= state.result.certificate.value <= Fraction(state.result.bound)
        # Statements of the model itself are for a verification to find.
        if not change.startswith("data.model") and not verify(document(state), given).holds:
            wrong.append(change)
    sidecar.write_text(json.dumps(card))
    return count, wrong


@pytest.mark.parametrize("files", CASES, indirect=True)
def test_a_changed_sidecar_is_refused_in_a_sentence_or_still_true(files):
    _, given, program, sidecar, solution = files
    count, wrong = survivors(program, sidecar, solution, given, STEP, start=len(given) % STEP)
    assert count > 50 and not wrong


@pytest.mark.parametrize("files", CASES, indirect=True)
def test_an_imported_model_is_verified(files):
    est, given, program, _, solution = files
    state = imported(program, solution)
    assert state.result.value >= est.result_.value and verify(document(state), given).holds
    assert np.array_equal(restored(state).rank(given.X, given.qid).shape, (len(given),))


@pytest.mark.parametrize("files", CASES, indirect=True)
def test_a_solution_better_than_the_bound_contradicts_it(files):
    est, _, program, sidecar, solution = files
    best = imported(program, solution).result.value
    card = json.loads(sidecar.read_text())
    low = est.result_.value + (best - est.result_.value) / 2 if best > est.result_.value else best - 0.1
    model = card["data"]["model"]
    model["result"] |= {"bound": {"hex": float(low).hex()}, "bound_source": "search"}
    card["data"]["model"] = signed(model)
    sidecar.write_text(json.dumps(card))
    with pytest.raises(CertificateError, match="above the bound"):
        imported(program, solution)


# -- rows of one's own -------------------------------------------------------------------------------------------------


def with_own_row(est, program, sidecar):
    """The exported program with a row more, under a sidecar that fits."""
    model = est.build_model()
    first = next(iter(model.w.values()))
    model.mine = pyo.Constraint(expr=first <= 0.25)
    mps.write(compile_model(model), program, json.loads(sidecar.read_text())["data"])


@pytest.mark.parametrize("files", CASES, indirect=True)
def test_a_row_of_ones_own_is_refused(files):
    est, _, program, sidecar, solution = files
    with_own_row(est, program, sidecar)
    gateway.solve_file(program, "highs", solution=solution)
    for read in (lambda: imported(program, solution), lambda: est.load_solution(solution)):
        refuses("rows.*give the model", read)
    alone = solution.with_name("alone.sol")  # no program beside it: HiGHS says how many rows there were
    alone.write_bytes(solution.read_bytes())
    refuses("rows.*give the model", est.load_solution, alone)


@pytest.mark.parametrize("files", CASES, indirect=True)
def test_a_column_of_ones_own_and_other_numbers_are_refused(files):
    est, _, program, sidecar, solution = files
    data = json.loads(sidecar.read_text())["data"]
    model = est.build_model()
    model.mine = pyo.Var(bounds=(0, 1))
    mps.write(compile_model(model), program, data)
    refuses("columns.*give the model", imported, program, solution)
    model = est.build_model()
    next(iter(model.w.values())).setub(0.5)
    mps.write(compile_model(model), program, data)
    refuses("other numbers", imported, program, solution)


if __name__ == "__main__":
    import tempfile

    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            _, table_, program_, sidecar_ = exported(case, folder)
            print(case, survivors(program_, sidecar_, program_.with_suffix(".sol"), table_))


def test_no_file_of_another_kind_takes_the_place_of_a_sidecar(tmp_path):
    X, y = table(4, n=8, d=2)
    est = Reranker("dcg@3", first_stage=None, solver="none", margin=1e-3).fit(X, y)
    program, sidecar = map(Path, est.export_mps(tmp_path / "own.mps"))
    gateway.solve_file(program, "highs", solution=tmp_path / "own.sol")
    refuses("own.json is the sidecar of own.mps, .* choose another name", est.save, sidecar)
    assert imported(program, tmp_path / "own.sol").result.value >= est.result_.value
    est.export_mps(program)  # the program itself may be written again
    program.unlink()
    est.save(sidecar)  # nothing needs it any more
