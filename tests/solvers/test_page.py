"""The page on solvers: every command that it gives is run where its solver is installed, and its solution imported."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from formulations.solutions import NAMES
from rerank import Reranker
from rerank.reranker.files.export import BoundClaim, imported
from rerank.solvers.outcome import COMMON

PAGE = (Path(__file__).parents[2] / "docs" / "solvers.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| solver | command |")[2].partition("\n\n")[0]
COMMANDS = [command for command in re.findall(r"`([^`]+)`", TABLE) if "program.mps" in command]
NEEDED = {"cbc", "glpsol", "pyscipopt", "rerank"}
"""What the tests of this package need in any case; other commands are run where they are found."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("page"), np.random.default_rng(0)
    X = rng.normal(size=(10, 2))
    y = (X @ [1.0, -0.6] + rng.normal(size=10) > 0.3).astype(int)
    best = Reranker("dcg", first_stage=None, solver="search", margin=1e-3).fit(X, y)
    assert best.result_.proved
    Reranker("dcg", first_stage=None, solver="none", margin=1e-3).fit(X, y).export_mps(folder / "program.mps")
    (folder / "zero.txt").write_text("mip_rel_gap = 0\n")
    return folder, best.result_.value


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_solves_an_exported_program(exported, command):
    folder, optimum = exported
    name = re.findall(r"import (\w+);", command)[0] if command.startswith("python -c") else command.split()[0]
    found = importlib.util.find_spec(name) if command.startswith("python -c") else shutil.which(name)
    if not found:
        assert name not in NEEDED, f"{name} is missing, and the tests need it"
        pytest.skip(f"{name} is not installed")
    (target,) = set(re.findall(r"program\.(?:sol|slx)", command)) or {"program.sol"}
    (folder / target).unlink(missing_ok=True)
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    result = imported(folder / "program.mps", folder / target, support=BoundClaim(prove=20)).result
    assert result.value == pytest.approx(optimum, abs=1e-9) and result.proved
    assert not any("more than those of the file" in note for note in result.notes)


def test_the_page_names_every_solver_dialect_and_option():
    assert len(COMMANDS) == 12
    dialects = PAGE.partition("| dialect | files |")[2].partition("\n\n")[0]
    assert set(NAMES) <= set(re.findall(r"`(\w+)`", dialects))
    options = PAGE.partition("| option | `rerank solve` |")[2].partition("\n\n")[0]
    assert set(COMMON) <= set(re.findall(r"`(\w+)`", options))
