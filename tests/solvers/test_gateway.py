"""Any solver through the file: found or how to install it, limited, interrupted, and verified by its point alone."""

import importlib.util
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from formulations import mps
from formulations.solutions import read_solution
from rerank.errors import InputError, SolverError
from rerank.solvers import Holds, Options, Outcome, Stop, gateway, pulp
from rerank.solvers.commands import SOLVERS
from rerank.solvers.outcome import Point, verified
from tests.cases.hand_programs import auc, infeasible, knapsack, need

OUTSIDE = ["cbc", "glpk", "scip"]


@pytest.fixture
def sack(tmp_path):
    made, optimum = knapsack()
    return mps.write(made, tmp_path / "sack.mps")[0], made, optimum


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Runs for minutes in every solver, with a first point soon."""
    return mps.write(auc(60, 6)[0], tmp_path_factory.mktemp("long") / "long.mps")[0]


@pytest.mark.parametrize("solver", ["highs", *OUTSIDE])
def test_outcome_values_and_solution_file(sack, tmp_path, solver):
    need(solver)
    path, made, optimum = sack
    outcome = gateway.solve_file(path, solver, time_limit=20, solution=tmp_path / "out.sol")
    assert (outcome.stop, outcome.holds) == (Stop.finished, Holds.optimal)
    assert outcome.objective == pytest.approx(optimum, abs=1e-6)
    assert outcome.objective == made.objective(outcome.x)
    assert outcome.bound >= outcome.objective and outcome.violation == made.violation(outcome.x) < 1e-6
    assert gateway.values(made, outcome) == pytest.approx(read_solution(tmp_path / "out.sol", made))
    assert outcome.version[0].isdigit() and outcome.log


@pytest.mark.parametrize("solver", ["highs", *OUTSIDE, "GLPK_CMD"])
def test_infeasible_is_an_outcome(tmp_path, solver):
    need(solver)
    path, _ = mps.write(infeasible(), tmp_path / "no.mps")
    outcome = gateway.solve_file(path, solver, time_limit=20, solution=tmp_path / "out.sol")
    assert (outcome.stop, outcome.holds, outcome.bound) == (Stop.finished, Holds.nothing, -np.inf)
    assert "no feasible point" in outcome.message and not (tmp_path / "out.sol").exists() and outcome.gap == np.inf


@pytest.mark.parametrize("solver", ["highs", *OUTSIDE])
def test_a_time_limit_is_an_outcome_and_is_kept(long, solver):
    need(solver)
    began = time.monotonic()
    outcome = gateway.solve_file(long, solver, time_limit=1)
    assert time.monotonic() - began < 1 + 2.5
    assert outcome.stop is Stop.time_limit and outcome.holds in (Holds.feasible, Holds.nothing)
    assert outcome.objective is None or outcome.gap == outcome.bound - outcome.objective >= 0
    assert solver != "highs" or (outcome.holds is Holds.feasible and outcome.violation < 1e-5 and outcome.gap > 0)


@pytest.mark.parametrize("solver", OUTSIDE)
def test_ctrl_c_comes_back_with_what_there_is(long, solver):
    need(solver)
    for wait in (1.2, 5.0) if solver == "cbc" else (1.2,):  # CBC has a solution by the second, also on slow cores
        threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        outcome = gateway.solve_file(long, solver)
        assert time.monotonic() - began < wait + 2.0
        assert outcome.stop is Stop.interrupted and outcome.holds in (Holds.feasible, Holds.nothing)
        if outcome.holds is Holds.feasible:
            break
    if solver == "cbc":
        assert outcome.holds is Holds.feasible


def test_an_event_stops_a_solver_outside(long):
    need("cbc")
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    outcome = gateway.solve_file(long, "cbc", cancel=cancel)
    assert outcome.stop is Stop.interrupted and outcome.seconds < 3.0


# -- finding ----------------------------------------------------------------------------------------------------------


def test_an_unknown_solver_gets_the_nearest_name(sack):
    with pytest.raises(InputError, match="did you mean 'glpk'"):
        gateway.solve_file(sack[0], "gplk")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_solver_says_how_to_install_it(sack, monkeypatch, solver):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverError, match=f"{solver} is not installed. To install it: .*install"):
        gateway.solve_file(sack[0], solver)
    line = next(line for line in gateway.available() if line["name"] == solver)
    assert not line["found"] and line["version"] is None and "install" in line["install"]


def test_the_doctor_knows_them_all():
    report = {line["name"]: line for line in gateway.available()}
    assert set(report) >= {"highs", "cbc", "scip", "glpk", "gurobi", "pulp", "cplex", "xpress"}
    for line in report.values():
        assert set(line) == {"name", "found", "version", "licence", "how", "install"} and line["licence"]
        assert line["found"] == (line["version"] is not None) == bool(line["how"])
    assert report["highs"]["found"] and report["pulp"]["found"]


CHANGED = {
    "time limit": {"time_limit": 7.0},
    "relative gap": {"mip_rel_gap": 0.1},
    "absolute gap": {"mip_abs_gap": 0.1},
    "tolerance": {"feasibility_tolerance": 1e-5},
    "threads": {"threads": 2},
    "node limit": {"node_limit": 7},
    "seed": {"seed": 7},
    "cut-off": {"cutoff": 7.0},
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_page_says_which_options_a_solver_takes(solver):
    page = (Path(__file__).parents[2] / "docs" / "solvers.md").read_text(encoding="utf-8")
    table = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines() if row.startswith("| ")]
    head = next(row for row in table if row[1:] == [*CHANGED, "start"])
    said = next((row for row in table if row[0] == solver and len(row) == len(head)), None)
    assert said is not None, f"docs/solvers.md says nothing of the options that {solver} takes"
    arguments = SOLVERS[solver].arguments
    plain = arguments(Options())
    taken = [name for name, change in CHANGED.items() if arguments(Options(**change)) != plain]
    taken += ["start"] if SOLVERS[solver].starting else []
    assert [name for name, cell in zip(head[1:], said[1:], strict=True) if cell] == taken


# -- PuLP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["COIN_CMD", "glpk_cmd"])
def test_through_the_pulp_that_is_installed(sack, tmp_path, inside):
    need(inside)
    path, made, optimum = sack
    outcome = gateway.solve_file(path, inside, time_limit=20, solution=tmp_path / "out.sol")
    assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(optimum, abs=1e-6)
    assert "PuLP" in outcome.version and list(tmp_path.glob("*.mps")) == [path]
    assert made.objective(list(read_solution(tmp_path / "out.sol", made).values())) == pytest.approx(optimum, abs=1e-6)


class FakePulp:
    """The part of PuLP 4's interface that the gateway uses; PuLP 4 needs Python 3.12."""

    __version__ = "4.2.0"

    class PulpError(Exception):
        pass

    def __init__(self, status, held, values, bound=None):
        report = SimpleNamespace(
            status=SimpleNamespace(name=status), has_solution=held, objective=None, best_bound=bound
        )
        variables = {name: SimpleNamespace(value=lambda v=v: v) for name, v in values.items()}
        model = SimpleNamespace(solve=lambda solver: report)
        self.LpProblem = SimpleNamespace(fromMPS=lambda path: (variables, model))
        self.CPLEX_PY = self.Interface

    class Interface:
        def __init__(self, msg, timeLimit=None):
            self.timeLimit = timeLimit

        def available(self):
            return True

    def listSolvers(self):
        return ["CPLEX_PY"]


@pytest.mark.parametrize(
    ("status", "held", "bound", "stop", "holds"),
    [
        ("Optimal", True, None, Stop.finished, Holds.optimal),
        ("Optimal", True, -1e9, Stop.finished, Holds.feasible),
        ("TimeLimit", True, None, Stop.time_limit, Holds.feasible),
        ("TimeLimit", False, -300.0, Stop.time_limit, Holds.nothing),
        ("Infeasible", False, None, Stop.finished, Holds.nothing),
        ("Interrupted", True, None, Stop.interrupted, Holds.feasible),
        ("NumericalError", True, None, Stop.error, Holds.feasible),
    ],
)
def test_the_statistics_of_pulp_4(sack, monkeypatch, status, held, bound, stop, holds):
    path, made, _ = sack
    point = dict(zip(made.columns, gateway.solve_file(path).x.tolist(), strict=True))
    fake = FakePulp(status, held, point if held else dict.fromkeys(point), bound)
    monkeypatch.setattr(pulp, "module", lambda: fake)
    outcome = gateway.solve_file(path, "cplex", time_limit=3)
    assert (outcome.stop, outcome.holds) == (stop, holds) and outcome.version == "PuLP 4.2.0, CPLEX_PY"
    if bound is not None:
        assert outcome.bound == made.constant - bound


@pytest.mark.parametrize(
    ("status", "words"), [("Unbounded", "unbounded; bound"), ("InfeasibleOrUnbounded", "cannot tell whether")]
)
def test_pulp_4_finds_no_best_objective(sack, monkeypatch, status, words):
    path, made, _ = sack
    monkeypatch.setattr(pulp, "module", lambda: FakePulp(status, False, dict.fromkeys(made.columns), np.inf))
    linear = type(made)(**{**vars(made), "integer": np.zeros(10, bool)})
    with pytest.raises(SolverError, match=words):
        gateway.solve_file(mps.write(linear, path)[0], "cplex")


# -- claims are not believed ------------------------------------------------------------------------------------------


def point(made, chosen):
    return dict(zip(made.columns, np.isin(np.arange(10), chosen).astype(float).tolist(), strict=True))


def said(made, claim, values):
    """A claim of a solver with a name and with the point of these values."""
    x = None if values is None else made.vector(values)
    return replace(claim, x=x, solver="Some Solver", version="1.2")


OPTIMAL = Outcome(Stop.finished, Holds.optimal)


@pytest.mark.parametrize(
    ("claim", "values", "words"),
    [
        (OPTIMAL, lambda made: point(made, range(10)), "violates the program by"),
        (OPTIMAL, lambda made: {**point(made, [0]), "x0": 0.5}, "violates the program by 0.5"),
        (replace(OPTIMAL, objective=-10.0), lambda made: point(made, [0]), "claims the objective -10"),
        (Outcome(Stop.time_limit, bound=-7.0), lambda made: point(made, [0]), "gives the bound -7"),
        (OPTIMAL, lambda made: None, "returns no point"),
    ],
)
def test_a_claim_that_does_not_fit_the_point_is_an_error(claim, values, words):
    made, _ = knapsack()
    with pytest.raises(SolverError, match=words):
        verified(made, said(made, claim, values(made)))


@pytest.mark.parametrize(
    ("claim", "values", "words"),
    [
        (OPTIMAL, lambda made: point(made, [0]), "has more than"),
        (Outcome(Stop.time_limit, bound=53.0), lambda made: point(made, [0]), "has more than 53"),
        (Outcome(Stop.time_limit, bound=53.0), lambda made: None, "has more than 53"),
        (Outcome(Stop.finished), lambda made: None, "has no feasible point"),
    ],
)
def test_a_claim_that_denies_a_known_point_is_refused(sack, claim, values, words):
    path, made, optimum = sack
    known = Point.of(made, gateway.solve_file(path).x)
    outcome = verified(made, said(made, claim, values(made)), known)
    assert (outcome.stop, outcome.holds, outcome.bound) == (Stop.contradicted, Holds.feasible, np.inf)
    assert outcome.objective == pytest.approx(optimum) and np.array_equal(outcome.x, known.x)
    assert outcome.message.startswith("Some Solver 1.2 says that")
    assert words in outcome.message and "no bound is taken" in outcome.message


def test_a_false_optimum_of_cbc():
    """A ResolvedRank program (dcg@3, margin .05, 7 rows) on which CBC 2.10.8 calls 1.7619 optimal; it is 2.1309."""
    need("cbc")
    path = Path(__file__).with_name("cbc_false_optimum.mps")
    best = gateway.solve_file(path, "highs")
    assert best.holds is Holds.optimal and best.objective == pytest.approx(1 + 1 / np.log2(3) + 0.5)
    alone = gateway.solve_file(path, "cbc")
    checked = gateway.solve_file(path, "cbc", start=best.x)
    assert checked.objective == pytest.approx(best.objective)
    if alone.version == "2.10.8":
        assert alone.holds is Holds.optimal and alone.bound < best.objective - 0.3
    if alone.bound < best.objective - 1e-6:
        assert (checked.stop, checked.holds, checked.bound) == (Stop.contradicted, Holds.feasible, np.inf)
        assert checked.message.startswith(f"CBC {alone.version} says that no point of the program has more than")


def test_a_known_point_is_never_lost_and_an_honest_claim_stands(sack):
    path, made, optimum = sack
    best = Point.of(made, gateway.solve_file(path).x)
    nothing = verified(made, Outcome(Stop.time_limit, bound=283.0), best)
    assert (nothing.stop, nothing.holds, nothing.bound) == (Stop.time_limit, Holds.feasible, 283.0)
    assert np.array_equal(nothing.x, best.x)
    worse = Point.of(made, made.vector(point(made, [0])))
    honest = Outcome(Stop.finished, Holds.optimal, best.x)
    for known in (best, worse):
        outcome = verified(made, honest, known)
        assert (outcome.stop, outcome.holds, outcome.bound) == (Stop.finished, Holds.optimal, best.objective)


@pytest.mark.parametrize("solver", ["highs", *OUTSIDE])
def test_a_start_by_array_and_by_file(sack, tmp_path, solver):
    need(solver)
    path, made, optimum = sack
    first = gateway.solve_file(path, solver, time_limit=20, solution=tmp_path / "first.sol")
    for start in (first.x, tmp_path / "first.sol"):
        outcome = gateway.solve_file(path, solver, time_limit=20, start=start)
        assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(optimum, abs=1e-6)
        assert outcome.start_accepted in ({"scip": (True,), "highs": (True, None)}.get(solver, (None,)))
    outcome = gateway.solve_file(path, solver, time_limit=20, start=np.ones(10))
    assert outcome.objective == pytest.approx(optimum, abs=1e-6) and outcome.start_accepted is False
    assert "The start violates the program by" in outcome.message
    with pytest.raises(InputError, match="The start has shape"):
        gateway.solve_file(path, solver, start=np.ones(3))


def test_a_relaxed_answer_is_caught(tmp_path, monkeypatch):
    """What PuLP 3 does with integers marked by BV bounds alone: solves the relaxation and calls it optimal."""
    made, _ = knapsack()
    path, _ = mps.write(made, tmp_path / "sack.mps")
    from rerank.solvers import highs

    relaxed = highs.solve(type(made)(**{**vars(made), "integer": np.zeros(10, bool)})).x
    fake = FakePulp("Optimal", True, dict(zip(made.columns, relaxed.tolist(), strict=True)))
    monkeypatch.setattr(pulp, "module", lambda: fake)
    with pytest.raises(SolverError, match="it solved another problem"):
        gateway.solve_file(path, "cplex")


def test_a_solver_that_fails_is_quoted(sack, monkeypatch):
    failing = [sys.executable, "-c", "print('out of licences'); raise SystemExit(3)"]
    monkeypatch.setitem(SOLVERS, "cbc", replace(SOLVERS["cbc"], find=lambda: failing))
    with pytest.raises(SolverError, match="cbc failed with exit code 3; its last words: out of licences"):
        gateway.solve_file(sack[0], "cbc")


def test_a_solver_that_ignores_its_limit_is_ended(sack, monkeypatch):
    script = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    endless = [sys.executable, "-c", script]
    monkeypatch.setitem(SOLVERS, "cbc", replace(SOLVERS["cbc"], find=lambda: endless))
    began = time.monotonic()
    outcome = gateway.solve_file(sack[0], "cbc", time_limit=0.2)
    assert (outcome.stop, outcome.holds) == (Stop.time_limit, Holds.nothing)
    assert time.monotonic() - began < 4.0


def test_a_command_that_cannot_start(sack, tmp_path, monkeypatch):
    missing = [str(tmp_path / "nothing")]
    monkeypatch.setitem(SOLVERS, "cbc", replace(SOLVERS["cbc"], find=lambda: missing))
    with pytest.raises(SolverError, match="cannot be started"):
        gateway.solve_file(sack[0], "cbc")
