"""``rerank solve``: what it loads, whose word the bound is, files of others in their own sense and unit."""

import json
import os
import resource
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from formulations import library, mps
from formulations.compile import compile_model
from formulations.solutions import parse_solution
from rerank import Reranker
from rerank.cli import app
from rerank.errors import SolverError
from rerank.solvers import Stop, commands, gateway, pulp
from tests.cases.hand_programs import auc, knapsack

NEEDLESS = ("pyomo", "sklearn", "numba", "pulp", "pandas", "matplotlib", "pyscipopt", "joblib", "gurobipy")


def solve(*words):
    return CliRunner().invoke(app, ["solve", *map(str, words)])


def test_a_trivial_file_takes_a_second_of_cpu_and_loads_no_other_solver(tmp_path):
    path, _ = mps.write(knapsack()[0], tmp_path / "sack.mps")
    code = (
        "import sys\nfrom rerank.cli import main\n"
        f"sys.argv = ['rerank', 'solve', {str(path)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print('ended', end.code)\n"
        f"print([name for name in {NEEDLESS} if name in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-2:] == ["ended 0", "[]"]
    # About 1 on an idle core; a busy machine adds to it.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4.0


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_no_solver_is_asked_for_its_version(monkeypatch, tmp_path, solver):
    def asked(*args):
        raise AssertionError("nobody asked for that")

    monkeypatch.setattr(gateway, "installed_version", asked)
    monkeypatch.setattr(pulp, "module", asked)
    path, _ = mps.write(knapsack()[0], tmp_path / "sack.mps")
    done = solve(path, "--solver", solver)
    assert done.exit_code == 0 and "on its word" in done.stdout


def test_a_claim_is_checked_against_a_start(tmp_path):
    path = Path(__file__).with_name("cbc_false_optimum.mps")
    best, own = tmp_path / "best.sol", tmp_path / "own.sol"
    assert solve(path, "--solution", best).exit_code == 0
    done = solve(path, "--solver", "cbc", "--solution", own, "--start", best)
    assert "objective 2.1309" in done.stdout
    if "2.10.8" in done.stdout:
        assert done.exit_code == 3 and "contradicted, feasible" in done.stdout and "no bound" in done.stdout
        assert "its claim is refused" in done.stderr
    made = mps.read(path)
    assert made.objective(list(mps.read_solution(own, made).values())) == pytest.approx(2.13093, abs=1e-5)


def test_the_time_limit_counts_the_reading_of_the_file(monkeypatch, tmp_path):
    from rerank.solvers import highs

    seen, honest, read = [], highs.solve, mps.read

    def slow(path):
        import time

        time.sleep(0.3)
        return read(path)

    def watched(program, options, start=None, cancel=None):
        seen.append(options.time_limit)
        return honest(program, options, start, cancel)

    monkeypatch.setattr(mps, "read", slow)
    monkeypatch.setattr(highs, "solve", watched)
    gateway.solve_file(library.path("subrank_dcg"), time_limit=5)
    assert seen[0] < 4.7


@pytest.mark.parametrize(("solver", "line"), [("highs", "MIP"), ("cbc", "Result - Optimal solution found")])
def test_the_log_of_a_solver_is_kept_in_a_file(tmp_path, solver, line):
    path, _ = mps.write(knapsack()[0], tmp_path / "sack.mps")
    log = tmp_path / "solver.log"
    done = solve(path, "--solver", solver, "--log", log, "--json")
    assert json.loads(done.stdout)["log"] == str(log) and line in log.read_text()
    assert line not in done.stdout + done.stderr
    assert json.loads(solve(path, "--solver", solver, "--json").stdout)["log"] is None
    assert solve(path, "--solver", solver, "--log", path).exit_code == 2


def test_on_a_terminal_solvers_show_progress_on_standard_error(tmp_path):
    """HiGHS shows value, bound and nodes, others the time; the answer alone is on standard output."""
    pty = pytest.importorskip("pty")
    long, _ = mps.write(auc(40, 5)[0], tmp_path / "long.mps")  # runs for minutes
    for solver, shown in (("highs", "incumbent"), ("cbc", "0:00:00")):
        given = [str(long), "--solver", solver, "--time-limit", "2", "--json", "--solution", str(tmp_path / "a.sol")]
        code = f"import sys; from rerank.cli import main; sys.argv = ['rerank', 'solve', *{given!r}]; main()"
        own, other = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=other, env={**os.environ, "TERM": "xterm"}
        )
        os.close(other)
        text = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(own, 4096):
                text += part
        os.close(own)
        assert json.loads(process.communicate()[0])["solver"].lower() == solver
        assert shown in text.decode() and f"{solver} solves {long.name}" in text.decode()


SOLVERS = ["highs", "cbc", "glpk", "scip", "COIN_CMD"]
BASE = """NAME T
{sense}ROWS
 N OBJ
 G R1
COLUMNS
 A OBJ 1.0 R1 1.0
 B OBJ 2.0 R1 1.0
RHS
 RHS R1 3.0
{constant}BOUNDS
 UP BND A 2.0
 UP BND B 5.0
ENDATA
"""


# min or max A + 2 B over A + B >= 3, A <= 2, B <= 5: 4 at (2, 1) and 12 at (2, 5).
STATED = {
    "nothing said": ("", 4.0),
    "MIN": ("OBJSENSE\n    MIN\n", 4.0),
    "minimise on a line": ("OBJSENSE MINIMISE\n", 4.0),
    "MAX": ("OBJSENSE\n    MAX\n", 12.0),
    "max on a line": ("OBJSENSE MAX\n", 12.0),
    "maximize": ("OBJSENSE\n    MAXIMIZE\n", 12.0),
}


UNBOUNDED = {
    "lp": "NAME t\nROWS\n N c\n G r\nCOLUMNS\n x c -1 r 1\nRHS\n RHS r 5\nENDATA\n",
    "integers": "NAME t\nROWS\n N c\n G r\nCOLUMNS\n x c 1\n M0 'MARKER' 'INTORG'\n k c 1 r 1\n M1 'MARKER' 'INTEND'\n"
    "RHS\nBOUNDS\n FR B x\n LO B k 0\n UP B k 1\nENDATA\n",
}


# No x <= 3 reaches 5, and y may grow: infeasible, though its relaxed dual cannot tell.
INFEASIBLE = "NAME t\nROWS\n N c\n G r\nCOLUMNS\n x r 1\n y c -1\nRHS\n RHS r 5\nBOUNDS\n UP B x 3\nENDATA\n"


# The words are read once, before any solver is called.
@pytest.mark.parametrize(
    ("stated", "solver", "constant"),
    [(s, x, c) for s in STATED for x in SOLVERS for c in (0.0, 10.0) if x == "highs" or (c and s in ("MIN", "MAX"))],
)
def test_objective_bound_and_solution_file_are_in_the_sense_and_unit_of_the_file(tmp_path, stated, constant, solver):
    sense, optimum = STATED[stated]
    path = tmp_path / "own.mps"
    # The right side of the objective row is the constant with the sign turned.
    path.write_text(BASE.format(sense=sense, constant=f" RHS OBJ {-constant}\n" if constant else ""))
    wanted = pytest.approx(optimum + constant)
    done = solve(path, "--solver", solver, "--json")
    told = json.loads(done.stdout)
    assert (told["objective"], told["bound"], done.exit_code) == (wanted, wanted, 0)
    program = mps.read(path)
    outcome = gateway.solve_file(path, solver, solution=tmp_path / "again.sol")
    assert (outcome.objective, outcome.bound, outcome.gap) == (wanted, wanted, pytest.approx(0, abs=1e-6))
    assert program.own(program.objective(outcome.x)) == outcome.objective
    for file in (tmp_path / "own.sol", tmp_path / "again.sol"):
        assert parse_solution(file, program).objective == wanted


def test_a_program_of_ones_own_is_told_in_its_own_sense_and_nothing_imports_it(tmp_path):
    import pyomo.environ as pyo

    X, y = [[0.0, 1.0], [1.0, 0.3], [0.4, 0.2]], [0, 1, 0]
    model = Reranker("dcg", first_stage=None, solver="none").fit(X, y).build_model()
    model.statistic.deactivate()
    model.least = pyo.Objective(expr=model.w[0] + 3)
    path, _ = mps.write(compile_model(model), tmp_path / "own.mps")
    outcome = gateway.solve_file(path)
    assert (outcome.objective, outcome.bound) == (pytest.approx(2.0), pytest.approx(2.0))
    done = solve(path)
    assert "objective 2, bound 2 on its word" in done.stdout and "rerank import" not in done.stderr
    assert mps.read(path).minimises


def test_an_exported_program_is_told_in_the_statistic_and_may_be_imported(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 2))
    y = (X[:, 0] + rng.normal(size=20) > 0).astype(int)
    est = Reranker("auc", first_stage=None, time_limit=10).fit(X, y)
    est.export_mps(tmp_path / "auc.mps")
    done = solve(tmp_path / "auc.mps", "--json")
    told = json.loads(done.stdout)
    assert told["objective"] == pytest.approx(est.result_.value) and told["bound"] == pytest.approx(est.result_.value)
    said = solve(tmp_path / "auc.mps").stderr
    words = shlex.split(said[said.index("rerank import") :].split(" reads it")[0])[1:]
    done = CliRunner().invoke(app, [tmp_path / "new.json" if w == "NEW.json" else w for w in words])
    assert done.exit_code == 0 and "AUC" in done.stdout.upper()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_is_said_and_bounds_help_as_advised(tmp_path, name, solver):
    path = tmp_path / "open.mps"
    path.write_text(UNBOUNDED[name])
    with pytest.raises(SolverError, match=r"unbounded; bound its columns"):
        gateway.solve_file(path, solver, time_limit=20)
    said = solve(path, "--solver", solver).stderr
    assert "unbounded" in said and "no feasible point" not in said and "exit code" not in said
    text = UNBOUNDED[name].replace("ENDATA", "ENDATA" if "BOUNDS" in UNBOUNDED[name] else "BOUNDS\nENDATA")
    path.write_text(text.replace(" FR B x\n", "").replace("BOUNDS\n", "BOUNDS\n LO B x -9\n UP B x 9\n"))
    assert gateway.solve_file(path, solver, time_limit=20).objective == pytest.approx(-9.0)


@pytest.mark.parametrize("solver", ["highs", "cbc", "glpk", "scip"])
def test_infeasible_is_never_called_unbounded(tmp_path, solver):
    path = tmp_path / "no.mps"
    path.write_text(INFEASIBLE)
    try:
        outcome = gateway.solve_file(path, solver, time_limit=20)
    except SolverError as error:
        assert "cannot tell whether" in str(error) and solver == "scip"
    else:
        assert outcome.x is None and "no feasible point" in outcome.message


def test_a_solver_that_was_killed_is_said_to_be(tmp_path, monkeypatch):
    path = Path(tmp_path / "m.mps")
    path.write_text(BASE.format(sense="", constant=""))
    for code, words in ((-9, "killed by signal 9"), (0, "ended without an answer"), (3, "exit code 3")):
        monkeypatch.setattr(commands, "run_command", lambda *_, code=code: (None, code, "some words\n"))
        with pytest.raises(SolverError, match=f"{words}; its last words: some words"):
            gateway.solve_file(path, "cbc")


ROUNDED = """NAME T
OBJSENSE
    MAX
ROWS
 N OBJ
 L R1
COLUMNS
 M0 'MARKER' 'INTORG'
 A OBJ 2.0 R1 1.0
 M1 'MARKER' 'INTEND'
 B OBJ 1.0 R1 1.0
RHS
 RHS R1 8.25
BOUNDS
 LO BND A 0.5
 UP BND A 6.5
 UP BND B 5.0
ENDATA
"""


@pytest.mark.parametrize("solver", ["highs", "cbc", "glpk", "scip", "COIN_CMD", "GLPK_CMD"])
def test_bounds_of_integer_columns_may_be_no_whole_numbers(tmp_path, solver):
    path = tmp_path / "own.mps"
    path.write_text(ROUNDED)
    outcome = gateway.solve_file(path, solver)
    assert (outcome.objective, outcome.bound) == (pytest.approx(14.25), pytest.approx(14.25))


def test_what_pulp_cannot_tell_is_no_time_limit(tmp_path):
    path = tmp_path / "own.mps"
    path.write_text(UNBOUNDED["lp"].replace("RHS r 5", "RHS r -5"))
    assert gateway.solve_file(path, "GLPK_CMD", 10).stop is Stop.error
    path.write_text(UNBOUNDED["lp"])
    with pytest.raises(SolverError, match="GLPK_CMD ended without an answer; solve the file with another solver"):
        gateway.solve_file(path, "GLPK_CMD")
    with pytest.raises(SolverError, match="unbounded"):
        gateway.solve_file(path, "highs")
