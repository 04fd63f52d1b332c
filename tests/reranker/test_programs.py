"""Reranker with a program: alone, confirming the search, and going on where the search stopped."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import rerank
from rerank import Reranker, search
from rerank.errors import CertificateError
from rerank.ranks.rationals import CLOSED
from rerank.reranker.solve.program import chosen_formulation, shares_optimum
from rerank.reranker.solve.verified import verified
from rerank.solvers import Holds, Stop, gateway, highs
from tests.oracles.oracle import optimum
from tests.reranker.test_reranker import lists, table

SMALL = {"first_stage": None, "margin": 0.02, "time_limit": 30}


def small(seed, n=9):
    return table(seed, n=n, d=2)


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize("formulation", ["subrank", "resolved_rank", "mixed", "auc", "pairwise"])
def test_a_program_alone_reaches_the_optimum_and_says_whose_bound_it_is(formulation):
    X, y = small(1)
    est = Reranker("auc", solver="highs", presolve=False, formulation=formulation, **SMALL).fit(X, y)
    result = est.result_
    assert result.value == pytest.approx(float(optimum(est.state_.problem).value), abs=1e-9)
    assert result.program_value == pytest.approx(result.program_bound, abs=1e-6)
    if formulation in ("mixed", "auc", "pairwise"):
        assert (result.bound_source, result.status) == ("solver", "optimal_by_solver")
        assert result.bound_solver.startswith("HiGHS 1.")
        assert f"on the word of {result.bound_solver}:" in result.message
    else:
        assert (result.bound_source, result.status) == ("ideal", "feasible")
        assert result.bound_solver is None and "on the word" not in result.message
        assert any("no bound on the value" in note for note in result.notes)
    assert result.model_size["nonzeros"] > 0 and result.start_accepted is not False


@pytest.mark.parametrize("formulation", ["subrank", "resolved_rank", "mixed"])
def test_a_program_confirms_what_the_search_proved(formulation):
    X, y = small(3)
    options = {**SMALL, "time_limit": 60, "margin": 1e-3}
    result = Reranker("dcg@3", solver="highs", formulation=formulation, **options).fit(X, y).result_
    assert (result.status, result.formulation) == ("optimal", formulation)
    assert result.bound_source in ("search", "ideal")
    assert result.program_value <= result.bound + 1e-6
    assert {"search", "build", "highs", "certificate"} <= set(result.seconds)


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
def test_a_program_that_does_not_admit_the_proved_weights_says_so():
    X, y = small(3)
    options = {**SMALL, "formulation": "resolved_rank", "time_limit": 60}
    result = Reranker("dcg@3", solver="highs", **options).fit(X, y).result_
    assert result.status == "optimal" and result.program_value is None
    assert any("does not admit" in note for note in result.notes)


def stopping_short(honest):
    """A search that finds and proves little: the start only, the ideal bound, the whole box."""

    def solve(problem, start=None, **options):
        found = honest(problem, start=start, **options)
        first = np.zeros(problem.n_features)
        first[0] = 1.0
        value = verified(problem, first).value
        return replace(found, value=value, bound=problem.ideal, weights=first, closed=False, box=None)

    return solve


@pytest.mark.parametrize("stat", ["dcg@3", "mrr"])
@pytest.mark.parametrize("seed", [4, 5])
def test_highs_goes_on_where_the_search_stopped(monkeypatch, stat, seed):
    monkeypatch.setattr(search, "solve", stopping_short(search.solve))
    X, y = small(seed, n=8)
    est = Reranker(stat, solver="highs", **SMALL).fit(X, y)
    result = est.result_
    best = float(optimum(est.state_.problem).value)
    assert result.value == pytest.approx(best, abs=1e-9)
    assert result.bound >= best - CLOSED and result.formulation == "mixed"
    assert result.status in ("optimal", "optimal_by_solver")
    if result.bound_source == "solver":
        assert any("search had proved" in note for note in result.notes)


def test_graded_lists_through_a_program():
    X, y, qid = lists(5, n_lists=3, m=5)
    est = Reranker("ndcg@3", solver="highs", presolve=False, formulation="mixed", **SMALL).fit(X, y, qid)
    assert est.result_.value == pytest.approx(float(optimum(est.state_.problem).value), abs=1e-9)
    assert est.result_.status == "optimal_by_solver"


def test_an_inflated_claim_fails_loudly(monkeypatch):
    honest = highs.solve

    def inflated(program, options=None, start=None, cancel=None):
        outcome = honest(program, options, start, cancel)
        return replace(outcome, objective=outcome.objective + 0.5, bound=outcome.bound + 0.5)

    monkeypatch.setattr(highs, "solve", inflated)
    X, y = small(6)
    with pytest.raises(CertificateError, match="recomputed exactly"):
        Reranker("dcg@3", solver="highs", presolve=False, formulation="mixed", **SMALL).fit(X, y)


def lying(honest):
    """CBC as it was seen once in some thousand programs: a feasible point that it falsely calls optimal."""

    def by_command(solver, command, program, options, folder, cancel):
        claim, text = honest(solver, command, program, options, folder, cancel)
        nothing = np.zeros(len(program.columns))
        said = replace(claim, stop=Stop.finished, holds=Holds.optimal, objective=None, bound=np.inf)
        return replace(said, x=nothing), text

    return by_command


@pytest.mark.parametrize("presolve", [False, True])
@pytest.mark.parametrize("formulation", ["mixed", "subrank"])
def test_an_optimum_below_what_is_known_is_refused(monkeypatch, formulation, presolve):
    monkeypatch.setattr(gateway, "by_command", lying(gateway.by_command))
    X, y = small(4)
    options = {**SMALL, "time_limit": 90}
    est = Reranker("dcg@3", solver="cbc", presolve=presolve, formulation=formulation, **options).fit(X, y)
    result = est.result_
    assert any("its claim is refused, and no bound is taken from it" in note for note in result.notes)
    assert any(note.startswith("CBC 2.") for note in result.notes)
    assert result.bound_source != "solver" and result.bound_solver is None and result.program_bound is None
    assert result.bound >= float(optimum(est.state_.problem).value) - CLOSED
    if presolve:
        assert result.status == "optimal" and not any("confirms" in note for note in result.notes)


def test_an_optimum_below_what_the_search_holds_is_refused(monkeypatch):
    monkeypatch.setattr(search, "solve", stopping_short(search.solve))
    monkeypatch.setattr(gateway, "by_command", lying(gateway.by_command))
    est = Reranker("dcg@3", solver="cbc", **SMALL).fit(*small(5))
    result = est.result_
    assert result.formulation == "mixed" and any("claim is refused" in note for note in result.notes)
    assert result.bound_source != "solver"
    assert result.bound >= float(optimum(est.state_.problem).value) - CLOSED


def test_weights_on_the_very_margin_are_polished():
    X, y = small(7)
    est = Reranker("auc", solver="highs", presolve=False, formulation="auc", **SMALL).fit(X, y)
    assert est.result_.certificate.margin >= est.state_.problem.epsilon


def test_the_automatic_margin_grows_with_the_rows_of_the_program():
    X, y = table(9, n=30, d=40)
    est = Reranker("dcg@3", first_stage=None, solver="highs", time_limit=0.5).fit(X, y)
    alone = Reranker("dcg@3", first_stage=None, solver="search", time_limit=0.2).fit(X, y)
    assert est.result_.epsilon > 1e-4 and alone.result_.epsilon == 1e-4


@pytest.mark.parametrize(("stat", "program"), [("auc", "auc"), ("dcg@3", "mixed"), ("pos@top", "pos_top")])
def test_the_automatic_formulation_has_the_optimum_of_the_problem(stat, program, tmp_path):
    X, y = small(3)
    est = Reranker(stat, solver="highs", presolve=False, **SMALL).fit(X, y)
    assert est.formulation == "auto" and est.result_.formulation == program
    assert (est.result_.bound_source, est.result_.status) == ("solver", "optimal_by_solver")
    assert shares_optimum(chosen_formulation("auto", est.state_.task.statistic), est.state_.task.statistic)
    assert est.build_model().rerank_info.kind == program
    path, _ = est.export_mps(tmp_path / "p.mps")
    highs_says = gateway.solve_file(path, solution=tmp_path / "p.sol")
    assert highs_says.objective is not None and highs_says.holds == "optimal"
    est.save(tmp_path / "m.json")
    assert rerank.load(tmp_path / "m.json").formulation == "auto"
    assert est.load_solution(tmp_path / "p.sol").state_.task.given.formulation == "auto"


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_what_a_search_prints(capfd, verbose):
    """Without a terminal 1 is the last line alone, which is what the result says, and 2 those before it, too."""
    X, y = table(3, n=40, d=4)
    options = {"first_stage": None, "solver": "search", "time_limit": 20}
    result = Reranker("auc", verbose=verbose, **options).fit(X, y).result_
    printed = capfd.readouterr()
    lines = [line for line in printed.err.splitlines() if line.startswith("search")]
    assert printed.out == "" and min(len(lines), 2) == verbose
    if verbose == 1:  # where the first stage ranks as it is, nothing is searched
        Reranker("auc", verbose=1, radius=0.0, solver="search").fit(X, y)
        assert "search" not in capfd.readouterr().err
    if verbose:
        assert lines[-1].startswith("search ends: auc at margin ")
        assert f" >= {result.value:.6g}, <= {result.bound:.6g}, " in lines[-1]
        assert all(" boxes, " in line for line in lines)


def test_the_search_alone_builds_no_model_and_loads_no_solver():
    code = (
        "import numpy as np, sys; from rerank import Reranker; rng = np.random.default_rng(0);"
        "X = rng.normal(size=(30, 2)); y = (X[:, 0] + rng.normal(size=30) > .5) * 1;"
        "Reranker(solver='search', n_candidates=20).fit(X, y);"
        "print([m for m in ('pyomo', 'highspy', 'pulp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
