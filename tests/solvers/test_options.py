"""Options of solvers: common names mean the same for all, a solver's own reach it, and what it has not is said."""

import numpy as np
import pytest
from typer.testing import CliRunner

from formulations import mps
from rerank.cli import app
from rerank.errors import InputError, SolverError
from rerank.solvers import Holds, Options, Stop, gateway, pulp
from rerank.solvers.commands import SOLVERS
from rerank.solvers.outcome import COMMON
from tests.cases.hand_programs import auc, knapsack, need

OUTSIDE = ["cbc", "glpk", "scip"]
THROUGH = [
    *OUTSIDE,
    "highs",
    "COIN_CMD",
    pytest.param(
        "gurobi",
        marks=pytest.mark.skipif(
            SOLVERS["gurobi"].find() is None, reason="pip install gurobipy; its licence is not free"
        ),
    ),
]


def lacks(solver):
    return SOLVERS[solver].lacks if solver in SOLVERS else pulp.LACKS if solver != "highs" else frozenset()


@pytest.fixture
def sack(tmp_path):
    made, optimum = knapsack()
    return mps.write(made, tmp_path / "sack.mps")[0], made, optimum


@pytest.mark.parametrize("solver", THROUGH)
def test_common_names_are_taken_by_all_or_named(sack, tmp_path, solver):
    need(solver)
    path, made, optimum = sack
    best = gateway.solve_file(path).x
    chosen = {"threads": 1, "gap": 0.0, "node_limit": 10_000, "seed": 3, "log": tmp_path / "log", "start": best}
    options = Options().chosen({**chosen, "cutoff": optimum - 1})
    assert options.asked == COMMON.keys()
    outcome = gateway.solve_file(path, solver, 20, options=options, start=best)
    assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(optimum, abs=1e-6)
    said = outcome.message.partition("has no option for ")[2].partition(", and was not given any")[0]
    assert set(filter(None, said.split(", "))) == lacks(solver)
    assert (tmp_path / "log").exists() == ("log" not in lacks(solver))
    # Nobody is told of options that nobody chose.
    assert "has no option" not in gateway.solve_file(path, solver, 20, start=best).message


@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi"])
@pytest.mark.parametrize("above", [-1.0, 0.5])
def test_a_cutoff_is_in_the_unit_of_the_file_and_never_a_false_optimum(tmp_path, solver, above):
    if solver == "gurobi" and SOLVERS["gurobi"].find() is None:
        pytest.skip("pip install gurobipy; its licence is not free")
    need(solver)
    # min 2 A + 3 B + 10 over A + B >= 3.5 with whole A <= 2 and B: 10 + 4 + 6.
    path = tmp_path / "own.mps"
    path.write_text(
        "NAME T\nROWS\n N OBJ\n G R1\nCOLUMNS\n M0 'MARKER' 'INTORG'\n A OBJ 2.0 R1 1.0\n B OBJ 3.0 R1 1.0\n"
        " M1 'MARKER' 'INTEND'\nRHS\n RHS R1 3.5\n RHS OBJ -10\nBOUNDS\n UP BND A 2.0\n UP BND B 9.0\nENDATA\n"
    )
    assert gateway.solve_file(path).objective == pytest.approx(20.0)
    outcome = gateway.solve_file(path, solver, 20, options=Options().chosen({"cutoff": 20.0 - above}))
    assert outcome.stop is Stop.finished
    if above < 0:
        assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(20.0)
    else:
        assert outcome.holds is not Holds.optimal and outcome.bound <= 19.5
        assert "finds no point better than the cut-off 19.5" in outcome.message
    told = CliRunner().invoke(app, ["solve", str(path), "--solver", solver, "--cutoff", str(20.0 - above)])
    assert told.exit_code == (0 if above < 0 else 3 if outcome.x is not None else 4)


OWN = {
    "highs": ({"mip_heuristic_effort": 0.5, "mip_allow_restart": False}, {"mip_heuristic_efort": 0.5}),
    "cbc": ({"cuts": "off", "heuristicsOnOff": "off"}, {"cutz": "off"}),
    "scip": ({"separating/maxrounds": 3, "branching/preferbinary": True}, {"separating/maxround": 3}),
    "glpk": ({"bfs": True, "memlim": 500}, {"bsf": True}),
    "COIN_CMD": ({"options": ["cuts off"]}, {"option": ["cuts off"]}),
    "gurobi": ({"MIPFocus": 2, "Heuristics": 0.1}, {"MipFocuss": 2}),
}
SHOWN = {"cbc": "cutsOnOff changed", "glpk": "--bfs", "gurobi": "Set parameter MIPFocus to value 2"}


@pytest.mark.parametrize("solver", THROUGH)
def test_options_of_its_own_reach_a_solver_and_its_complaint_the_user(sack, solver):
    need(solver)
    path, made, optimum = sack
    fine, unknown = OWN[solver]
    outcome = gateway.solve_file(path, solver, 20, options=Options().chosen(fine))
    assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(optimum, abs=1e-6)
    assert SHOWN.get(solver, "") in (outcome.log or "")
    (name,) = unknown
    with pytest.raises(SolverError, match=name) as caught:
        gateway.solve_file(path, solver, 20, options=Options().chosen(unknown))
    assert "Traceback" not in str(caught.value)
    words = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in fine.items()]
    if solver != "COIN_CMD":
        done = CliRunner().invoke(
            app, ["solve", str(path), "--solver", solver, *(part for word in words for part in ("--option", word))]
        )
        assert done.exit_code == 0 and f"objective {optimum:.9g}" in done.stdout


NONE = {"scip": {"limits/gap": -4}, "cbc": {"maxNodes": -5, "ratioGap": "abc"}, "glpk": {"mipgap": "abc"}}
NONE["highs"] = {"presolve": "maybe", "threads": 2.5}


@pytest.mark.parametrize("solver, name, value", [(s, *pair) for s, options in NONE.items() for pair in options.items()])
def test_values_that_are_none_are_refused(sack, solver, name, value):
    need(solver)
    with pytest.raises((SolverError, InputError), match=f"{name}|mip gap"):
        gateway.solve_file(sack[0], solver, 20, options=Options().chosen({name: value}))


def test_what_an_interface_of_pulp_does_not_take_is_said(sack):
    need("GLPK_CMD")
    outcome = gateway.solve_file(sack[0], "GLPK_CMD", 20, options=Options().chosen({"threads": 2, "gap": 0.0}))
    assert outcome.objective == pytest.approx(sack[2]) and outcome.message == "GLPK_CMD takes no gap, threads."


def test_a_node_limit_and_a_gap_stop_a_solver_early(tmp_path):
    made, _ = auc(30, 4)
    path, _ = mps.write(made, tmp_path / "long.mps")
    for solver in ("highs", "scip"):
        need(solver)
        outcome = gateway.solve_file(path, solver, 60, options=Options().chosen({"gap": 0.5, "node_limit": 5}))
        assert outcome.holds is Holds.feasible and outcome.stop in (Stop.finished, Stop.node_limit)
        assert np.isfinite(outcome.gap)


BAD = {"threads": (0, "2"), "gap": (-1.0,), "node_limit": (-1, 1.5), "cutoff": (float("nan"), float("inf"))}
BAD |= {"seed": (-1,), "log": (3, "no/folder/log.txt")}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in BAD.items() for value in values])
def test_a_common_name_with_a_value_that_it_cannot_have_is_refused(name, value):
    with pytest.raises(InputError, match=f"^{name} is "):
        Options().chosen({name: value})


def test_the_command_refuses_what_is_no_option(sack):
    def said(*words):
        done = CliRunner().invoke(app, ["solve", str(sack[0]), *words])
        return done.exit_code, done.stderr

    assert said("--option", "threads=2")[0] == 2 and "write --threads" in said("--option", "threads=2")[1]
    assert said("--option", "threads")[0] == 2 and "write NAME=VALUE" in said("--option", "threads")[1]
    code, words = said("--option", "nonsense=1")
    assert code == 4 and 'Option "nonsense" is unknown' in words and words.count("\n") <= 2
