"""The whole library, and programs built by hand, through every free solver: one optimum, whoever looks for it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from formulations import library, mps
from rerank.solvers import gateway, highs
from rerank.solvers.outcome import Holds, Stop
from tests.cases.hand_programs import auc, every_bound, knapsack, linear, mixed_signs, need, program

SOLVERS = ("highs", "cbc", "glpk", "scip")
HAND = {
    "every_bound": (every_bound(), 5.475),
    "knapsack": knapsack(),
    "mixed_signs": mixed_signs(),
    "linear": (linear(), 2.75),
    "auc_16_3": (auc(16, 3)[0], None),
    "odd_names": (
        program(
            "spaces and ümlauts", [1.0, 1.0, -2.0], [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], [0.0, -1.0], [1.5, 0.25],
            [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1, 0, 0], columns=("a b", "x0", "é" * 20), rows=("RHS", "COST"),
        ),
        1.25,
    ),
}  # fmt: skip


def by_highs_own_reader(path):
    """Optimum of a file as HiGHS reads it, in the file's minimise sense: neither our reader nor our arrays."""
    reader = pytest.importorskip("highspy", reason="pip install highspy").Highs()
    for option, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_feasibility_tolerance", 1e-6)):
        reader.setOptionValue(option, value)
    assert "kError" not in str(reader.readModel(str(path)))
    reader.run()
    program, lp = mps.read(path), reader.getLp()
    assert reader.getModelStatus().name == "kOptimal" and tuple(lp.col_names_) == program.columns
    return program.objective(reader.getSolution().col_value) - program.constant


def by_everyone(path):
    """Outcome of each solver; those outside this process side by side."""
    for solver in SOLVERS:
        need(solver)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SOLVERS, pool.map(lambda solver: gateway.solve_file(path, solver, time_limit=60), SOLVERS)))


@pytest.mark.parametrize("name", library.names())
def test_the_library(name):
    path = library.path(name)
    made, data = library.load(name)
    for solver, outcome in by_everyone(path).items():
        assert (outcome.stop, outcome.holds) == (Stop.finished, Holds.optimal), solver
        assert outcome.objective == pytest.approx(data["optimum"], abs=1e-6), solver
    assert by_highs_own_reader(path) == pytest.approx(data["optimum"] - made.constant, abs=1e-6)


@pytest.mark.parametrize("solver", [*SOLVERS, "COIN_CMD", "GLPK_CMD"])
@pytest.mark.parametrize("name", HAND)
def test_programs_built_by_hand(tmp_path, name, solver):
    """Every kind of bound and row, in every reader; PuLP's own reader among them."""
    need(solver)
    made, optimum = HAND[name]
    path, _ = mps.write(made, tmp_path / "hand.mps")
    outcome = gateway.solve_file(path, solver, time_limit=60)
    assert (outcome.stop, outcome.holds) == (Stop.finished, Holds.optimal)
    assert outcome.objective == pytest.approx(optimum or highs.solve(made).objective, abs=1e-6)
    assert gateway.values(made, outcome).keys() == set(made.columns)


def test_the_page_on_solvers_prints_what_it_says():
    page = (Path(__file__).parents[2] / "docs" / "solvers.md").read_text()
    code, printed = (page.split(f"```{kind}\n", 1)[1].split("```", 1)[0] for kind in ("python", "text"))
    with redirect_stdout(StringIO()) as out:
        exec(compile(code, "docs/solvers.md", "exec"), {})
    assert out.getvalue() == printed
