"""``rerank solve``: it loads what the solver needs and no more, and says whose word the bound is."""

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formulations import library, mps
from rerank.cli import app
from rerank.solvers import gateway, pulp
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
