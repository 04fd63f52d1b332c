"""``solver_options`` of a fit: a start in the table's own units, limits of the solver, options of its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from rerank import Reranker
from rerank.errors import SolverError
from tests.cases.hand_programs import need
from tests.cases.refuses import refuses
from tests.cli.commands import OPEN, run


def table(seed=0, n=25, scale=(1.0, 100.0, 0.01)):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = (Z @ [1.0, -0.6, 0.3] + rng.normal(size=n) > 0.3).astype(int)
    return pd.DataFrame(Z * scale + 5, columns=["age", "income", "dose"]), y


def fitted(data=None, **options):
    X, y = table() if data is None else data
    return Reranker("dcg", **{"first_stage": None, "margin": 1e-3, "time_limit": 20, **options}).fit(X, y)


STAGES = {
    "free": {},
    "affine first stage": {"first_stage": LogisticRegression(C=1e-4), "radius": 2.0, "cross_fit": False},
    "scores": {"first_stage": table()[0]["age"].to_numpy(), "radius": 0.5},
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_start_is_in_the_units_of_coef(stage):
    """With no boxes at all a fit from weights is worth as much as these."""
    options = STAGES[stage]
    best = fitted(solver="search", **options)
    assert best.reranks_
    by_name = dict(zip(("age", "income", "dose"), best.coef_.tolist()))
    for start in (best.coef_, by_name):
        again = fitted(solver="none", solver_options={"start": start}, **options)
        # Nothing is solved: the weights are those that were given.
        assert again.result_.weights == pytest.approx(best.result_.weights, abs=1e-9)
    quick = fitted(solver="search", node_limit=0, solver_options={"start": by_name}, **options)
    assert quick.result_.value >= best.result_.value - 1e-9


def test_a_start_keeps_within_the_limits_of_the_fit():
    start = {"age": -1.0, "income": 0.02, "dose": 0.001}
    w = fitted(solver="none", positive=True, max_features=1, solver_options={"start": start}).result_.weights
    assert w.tolist() == [0.0, 1.0, 0.0]
    w = fitted(solver="none", max_features=1, solver_options={"start": start}, **STAGES["scores"]).result_.weights
    assert w[0] == 1.0 and np.count_nonzero(w[1:]) == 1 and np.abs(w[1:]).max() <= 0.5


@pytest.mark.parametrize("given", [["threads"], {1: 2}, {"": 3}])
def test_options_are_a_mapping_by_name(given):
    refuses("solver_options is", fitted, solver_options=given)


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "glpk"])
def test_every_solver_proves_the_same_and_says_what_it_has_not(tmp_path, solver):
    need(solver)
    own = {
        "highs": {"mip_heuristic_effort": 0.2},
        "scip": {"separating/maxrounds": 2},
        "cbc": {"cuts": "on"},
        "glpk": {"cuts": True},
    }
    data = table(n=14)
    wanted = fitted(data, solver="search")
    options = {"threads": 1, "seed": 3, "log": tmp_path / "log", "start": wanted.coef_, **own[solver]}
    result = fitted(data, solver=solver, presolve=False, solver_options=options).result_
    assert result.value == pytest.approx(wanted.result_.value, abs=1e-9)
    assert result.status == "optimal_by_solver" and (tmp_path / "log").stat().st_size > 0
    said = [note for note in result.notes if "has no option for" in note]
    lacks = {"highs": [], "scip": ["threads"], "cbc": ["start"], "glpk": ["start, threads"]}[solver]
    assert [note.partition("option for ")[2].partition(", and was")[0] for note in said] == lacks


def test_a_gap_or_cutoff_that_stops_a_solver_is_said_and_no_time_is_advised():
    best = fitted(solver="search").result_
    for options in ({"gap": 0.2}, {"cutoff": 9.0}):
        result = fitted(presolve=False, solver_options=options).result_
        if not result.proved:
            assert "More time would not change that" in result.message
            assert any(f"solver_options hold {next(iter(options))}" in note for note in result.notes)
        assert result.value <= best.value + 1e-9 <= result.bound + 2e-9
    assert fitted(presolve=False, solver_options={"cutoff": best.value - 0.1}).result_.proved


def test_an_unknown_option_of_a_solver_is_its_complaint():
    with pytest.raises(SolverError, match='refuses nonsense = 1: .*"nonsense" is unknown'):
        fitted(presolve=False, solver_options={"nonsense": 1})
    result = fitted(solver_options={"nonsense": 1}).result_
    assert result.proved and any("nonsense" in note for note in result.notes)


def test_the_command_passes_them_on(tmp_path):
    X, y = table()
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    log, own = tmp_path / "solver.log", "--solver-option"
    fit = ("fit", tmp_path / "t.csv", "--label", "y", "--model", tmp_path / "m.json", "--free", "--stat", "dcg")
    more = ("--first-stage", "none", "--no-presolve", own, f"log={log}", own, 'start={"age": 1}', own, "threads=1")
    run(*fit, *more, code=OPEN)
    assert "HiGHS" in log.read_text()
    assert "mip_nonsense" in run(*fit, *more, own, "mip_nonsense=1", code=4).stderr
