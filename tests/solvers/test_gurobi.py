"""Gurobi through gurobipy: with the real package where it is installed, and with a stand-in everywhere."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from formulations import mps
from formulations.solutions import read_solution
from rerank.solvers import Holds, Options, Stop, commands, gateway
from rerank.solvers.commands import MODEL
from rerank.solvers.outcome import ENDINGS
from tests.cases.hand_programs import auc, infeasible, knapsack

GUROBI = commands.SOLVERS["gurobi"]

STAND_IN = """
class GurobiError(Exception):
    pass

class gurobi:
    @staticmethod
    def version():
        return (99, 1, 2)

class Env:
    def __init__(self, empty):
        assert empty
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def setParam(self, key, value):
        print("set", key, value)
    def start(self):
        pass

class Model:
    SolCount = 1
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def read(self, path):
        print("start", open(path).read().split()[:2])
    def optimize(self):
        if "{fails}":
            raise GurobiError("Model too large")
        print("Best objective -1.0, best bound -2.0, gap 100%")
        print("Time limit reached")
    def write(self, path):
        open(path, "w").write("# Solution")

def read(path, environment):
    print("read", path)
    return Model()
"""


def run(folder, *words, fails=""):
    (folder / "gurobipy.py").write_text(STAND_IN.replace("{fails}", fails))
    script = Path(commands.__file__).with_name("gurobi_process.py")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-P", str(script), *words], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_the_script_takes_the_arguments_of_gurobi_cl(tmp_path):
    (tmp_path / "start.mst").write_text("x0 1.0\n")
    words = [*GUROBI.starting, *GUROBI.arguments(Options(time_limit=5, seed=3))]
    done = run(tmp_path, *words)
    lines = done.stdout.splitlines()
    assert words[-1] == MODEL and done.returncode == 0 and lines[0] == "Gurobi Optimizer version 99.1.2"
    assert {"set Seed 3", "set Threads 1", "set TimeLimit 5.0", "set MIPGap 0.0", "read model.mps"} <= set(lines)
    assert "start ['x0', '1.0']" in lines and (tmp_path / "answer.sol").read_text() == "# Solution"
    assert not any("ResultFile" in line or "InputFile" in line for line in lines)


def test_an_error_of_gurobi_is_one_sentence(tmp_path):
    done = run(tmp_path, *GUROBI.arguments(Options()), fails="yes")
    assert done.returncode == 1 and done.stderr == "Model too large\n" and "Traceback" not in done.stdout
    asked = run(tmp_path, "--version")
    assert GUROBI.version_in(asked.stdout) == "99.1.2"


def test_gurobipy_goes_first_and_gurobi_cl_is_next(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert GUROBI.find()[-1].endswith("gurobi_process.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert GUROBI.find() is None
    (tmp_path / "gurobi_cl").touch(mode=0o755)
    assert GUROBI.find() == [str(tmp_path / "gurobi_cl")]


LOG = """Gurobi Optimizer version 13.0.3 build v13.0.3rc0 (linux64)
{start}
Explored 1234 nodes (32840 simplex iterations) in 2.02 seconds (0.92 work units)

{ending}
Best objective -3.250000000000e+02, best bound -3.380000000000e+02, gap 4.0000%
"""
ENDED = {
    "Time limit reached": (Stop.time_limit, Holds.feasible),
    "Optimal solution found (tolerance 0.00e+00)": (Stop.finished, Holds.optimal),
    "Solve interrupted": (Stop.interrupted, Holds.feasible),
}
STARTED = {
    "Loaded user MIP start with objective -3": True,
    "User MIP start did not produce a new incumbent solution": False,
    "": None,
}


@pytest.mark.parametrize("ending", ENDED)
@pytest.mark.parametrize("start", STARTED)
def test_the_log_says_how_it_ended_and_whether_the_start_was_used(ending, start):
    log = LOG.format(start=start, ending=ending)
    claim = GUROBI.claim(log)
    assert ((claim.stop, claim.holds), claim.start_accepted) == (ENDED[ending], STARTED[start])
    assert (claim.nodes, claim.objective, claim.bound) == (1234, 325.0, 338.0)
    assert GUROBI.version_in(log) == "13.0.3"


@pytest.mark.parametrize("says", ["infeasible", "unbounded", "infeasible or unbounded"])
def test_the_words_for_no_optimum(says):
    for ending in (f"{says} model".capitalize(), f"Model is {says}"):
        claim = GUROBI.claim(f"{ending}\n")
        assert (claim.stop, claim.holds) == ENDINGS["unsure" if " or " in says else says]


# -- the real one; its licence covers 2,000 rows and columns ----------------------------------------------------------

real = pytest.mark.skipif(
    importlib.util.find_spec("gurobipy") is None, reason="pip install gurobipy; its licence is not free"
)


@real
def test_gurobi_keeps_its_incumbent_at_a_limit_and_at_ctrl_c(tmp_path):
    path, _ = mps.write(auc(40, 6)[0], tmp_path / "long.mps")
    out = tmp_path / "out.sol"
    outcome = gateway.solve_file(path, "gurobi", time_limit=3, solution=out)
    assert (outcome.stop, outcome.holds) == (Stop.time_limit, Holds.feasible)
    assert outcome.objective < outcome.bound < np.inf and outcome.nodes >= 0
    again = gateway.solve_file(path, "gurobi", time_limit=3, start=out)
    assert again.start_accepted and again.objective >= outcome.objective
    threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    stopped = gateway.solve_file(path, "gurobi")
    assert (stopped.stop, stopped.holds) == (Stop.interrupted, Holds.feasible)
    assert time.monotonic() - began < 3 + 2


@real
def test_gurobi_and_what_it_cannot_do(tmp_path):
    path, _ = mps.write(infeasible(), tmp_path / "no.mps")
    outcome = gateway.solve_file(path, "gurobi")
    assert (outcome.stop, outcome.holds, outcome.bound) == (Stop.finished, Holds.nothing, -np.inf)
    made, optimum = knapsack()
    path, _ = mps.write(made, tmp_path / "sack.mps")
    outcome = gateway.solve_file(path, "gurobi", solution=tmp_path / "sack.sol")
    assert outcome.objective == pytest.approx(optimum)
    assert made.objective(list(read_solution(tmp_path / "sack.sol", made).values())) == pytest.approx(optimum)
