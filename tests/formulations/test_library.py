"""The library and programs built by hand: the same bytes from the same code, one optimum whoever looks for it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from fractions import Fraction
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmarks.library import __main__ as command
from benchmarks.library import enumeration
from benchmarks.library.instances import INSTANCES, Instance, coefficients
from formulations import library, mps
from formulations.compile import compile_model
from formulations.data import units_from_labels
from rerank.solvers import Holds, Stop, gateway, highs
from tests.cases.hand_programs import auc, every_bound, knapsack, linear, mixed_signs, need, program
from tests.cases.programs import PROGRAMS
from tests.oracles import programs as oracle

BY_NAME = {instance.name: instance for instance in INSTANCES}
QUICK = [one.name for one in INSTANCES if len(one.X) == 4 or one.name in ("auc_price", "pairwise_cycle")]


def test_the_folder_holds_what_the_table_says():
    assert library.names() == sorted(BY_NAME) and len(BY_NAME) == len(INSTANCES) >= 12
    assert {one.program for one in INSTANCES} == {*PROGRAMS, "pairwise"}
    options = [one.choices for one in INSTANCES]
    for wanted in ("C", "max_features", "signs", "box", "big_m"):
        assert any(wanted in one for one in options), wanted
    with pytest.raises(KeyError, match="no instance 'subrank'"):
        library.path("subrank")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_files_are_byte_stable(name, tmp_path):
    """Built anew, with the optimum the sidecar claims, both files come out as they are."""
    _, card = library.load(name)
    fresh = mps.write(compile_model(BY_NAME[name].model()), tmp_path / f"{name}.mps", card)
    for path, kept in zip(fresh, (library.path(name), mps.sidecar_path(library.path(name))), strict=True):
        assert path.read_bytes() == kept.read_bytes()
    instance = BY_NAME[name].card(Fraction(card["optimum_exact"]), tuple(map(Fraction, card["weights_exact"])), 0)
    assert {k: v for k, v in tidy(instance).items() if k != "proof"} == {k: v for k, v in card.items() if k != "proof"}


def tidy(value):
    """As JSON gives it back: lists for tuples."""
    if isinstance(value, dict):
        return {key: tidy(entry) for key, entry in value.items()}
    return [tidy(entry) for entry in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", sorted(QUICK))
def test_the_enumeration_repeats_itself(name):
    value, weights, tried = enumeration.optimum(BY_NAME[name])
    _, card = library.load(name)
    assert (str(value), [str(w) for w in weights]) == (card["optimum_exact"], card["weights_exact"])
    assert card["proof"] == f"{tried} vertices enumerated in rational arithmetic"


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_optima_by_another_enumeration(name):
    """In doubles, from units, with other planes and another way to count."""
    instance = BY_NAME[name]
    X, options = np.array(instance.X), instance.choices
    limits = {key: options[key] for key in ("max_features", "signs", "box", "C") if key in options}
    if instance.preferences:
        pairs = [(i, k) for i, k, _ in instance.preferences]
        weights = [weight for _, _, weight in instance.preferences]

        def value(w):
            return oracle.pairwise_value(X, pairs, weights, w, options["epsilon"])
    else:
        units = units_from_labels(
            X, instance.gains, lambda m: coefficients(instance.statistic, m), instance.lists or None
        )
        if options.get("big_m") == "unit":
            both = instance.program == "resolved_rank"
            limits |= {"unit_pairs": enumeration._asked(instance), "unit_both": both}

        def value(w):
            return PROGRAMS[instance.program][1](X, units, w, options["epsilon"])

    best, _ = oracle.best_over_vertices(value, X, options["epsilon"], **limits)
    _, card = library.load(name)
    assert best == pytest.approx(card["optimum"], abs=1e-9)
    assert enumeration.objective(instance, tuple(map(Fraction, card["weights_exact"]))) == Fraction(
        card["optimum_exact"]
    )


def test_only_the_flag_writes(tmp_path, monkeypatch, capsys):
    tiny = Instance("tiny", "one pair", "auc", ((1.0,), (0.0,)), (1.0, 0.0))
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "INSTANCES", (tiny,))
    assert command.main([]) == 0 and not list(tmp_path.iterdir())
    (tmp_path / "left_over.mps").write_text("")
    assert command.main(["--regenerate"]) == 0
    # What is no instance any more is removed.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.json", "tiny.mps"]
    assert "tiny" in capsys.readouterr().out and library.load("tiny")[1]["optimum"] == 2.0


SOLVERS = ("highs", "cbc", "glpk", "scip", *(["gurobi"] if find_spec("gurobipy") else []))
SIDES = [0.0, -1.0], [1.5, 0.25], [0.0] * 3, [1.0] * 3
ODD = "spaces and ümlauts", [1.0, 1.0, -2.0], [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], *SIDES, [1, 0, 0]
HAND = {
    "every_bound": (every_bound(), 5.475),
    "knapsack": knapsack(),
    "mixed_signs": mixed_signs(),
    "linear": (linear(), 2.75),
    "auc_16_3": (auc(16, 3)[0], None),
    "odd_names": (program(*ODD, columns=("a b", "x0", "é" * 20), rows=("RHS", "COST")), 1.25),
}


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
